/* unseen.c op|requests|anybody - 2 ranks. Requests that are completed where no call is recorded:
 *   op        by MPI_Wait in a reduction function, behind which others get the same handle and wait for late senders
 *   requests  by MPI_Waitall of many, MPI_Test and MPI_Request_free there
 *   anybody   wildcard MPI_Isendrecv, of which MPICH 4.0 does not say from whom it received */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MANY 40
#define LATE 3
#define LATE_US 100000

static int rank, inside[MANY], buffer[MANY];
static MPI_Request open_requests[MANY];
static int nopen;

static void complete(void *in, void *inout, int *len, MPI_Datatype *type)
{
	int flag = 0;
	(void)type;
	for (int i = 0; i < *len; i++)
		((int *)inout)[i] += ((int *)in)[i];
	if (nopen == 1)
		MPI_Wait(&open_requests[0], MPI_STATUS_IGNORE);
	if (nopen == MANY) {
		while (!flag)
			MPI_Test(&open_requests[0], &flag, MPI_STATUS_IGNORE);
		MPI_Request_free(&open_requests[1]);
		MPI_Waitall(MANY - 2, open_requests + 2, MPI_STATUSES_IGNORE);
	}
	nopen = 0;
}

static void open_some(int n)
{
	nopen = rank == 0 ? n : 0;
	for (int i = 0; i < n; i++)
		if (rank == 0)
			MPI_Irecv(&inside[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &open_requests[i]);
		else
			MPI_Send(&inside[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void late(void)
{
	MPI_Request request;
	for (int i = 0; i < LATE; i++) {
		if (rank == 1) {
			usleep(LATE_US);
			MPI_Send(buffer, 2 + i, MPI_INT, 0, MANY + i, MPI_COMM_WORLD);
			continue;
		}
		MPI_Irecv(buffer, MANY, MPI_INT, 1, MANY + i, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

static void anybody(void)
{
	int out = rank, in;
	for (int i = 0; i < LATE; i++) {
#if MPI_VERSION >= 4
		MPI_Request request;
		MPI_Isendrecv(&out, 1, MPI_INT, 1 - rank, 9, &in, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD,
			      &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
#else
		MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 9, &in, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
#endif
	}
}

int main(int argc, char **argv)
{
	int one = 1, all = 0;
	MPI_Op op;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (strcmp(argv[1], "anybody") == 0) {
		anybody();
		return MPI_Finalize();
	}
	MPI_Op_create(complete, 1, &op);
	open_some(strcmp(argv[1], "op") == 0 ? 1 : MANY);
	MPI_Allreduce(&one, &all, 1, MPI_INT, op, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	late();
	printf("%d: %d, %d open\n", rank, all, nopen);
	MPI_Op_free(&op);
	return MPI_Finalize();
}
