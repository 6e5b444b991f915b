/* unseen.c op|query|requests|anybody|sends|aborts - 2 ranks. What happens where no call is recorded:
 *   op        MPI_Wait in a reduction function completes a request, behind which others get the same handle and wait
 *             for late senders
 *   query     the same in the function of a generalized request that MPI_Test calls
 *   requests  MPI_Waitall of many, MPI_Test and MPI_Request_free in a reduction function
 *   anybody   wildcard MPI_Isendrecv, of which MPICH does not say from whom it received
 *   sends     a send in a function that MPI_Comm_free calls
 *   aborts    an error handler that calls MPI_Abort */
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
	if (nopen == 1 && open_requests[0] != MPI_REQUEST_NULL)
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

static int query(void *state, MPI_Status *status)
{
	(void)state;
	MPI_Wait(&open_requests[0], MPI_STATUS_IGNORE);
	MPI_Status_set_elements(status, MPI_INT, 0);
	MPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = status->MPI_TAG = 0;
	return MPI_SUCCESS;
}

static int over(void *state)
{
	(void)state;
	return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
	(void)state, (void)complete;
	return MPI_SUCCESS;
}

static void test_one(void)
{
	MPI_Request request;
	int flag = 0;
	if (rank != 0)
		return;
	MPI_Grequest_start(query, over, cancel, NULL, &request);
	MPI_Grequest_complete(request);
	while (!flag)
		MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static int send_one(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm, (void)key, (void)value, (void)extra;
	return MPI_Send(buffer, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
}

static void sends(void)
{
	int key;
	MPI_Comm comm;
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, send_one, &key, NULL);
	MPI_Comm_dup(MPI_COMM_SELF, &comm);
	if (rank == 0)
		MPI_Comm_set_attr(comm, key, NULL);
	else
		MPI_Recv(buffer, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Comm_free(&comm);
}

static void give_up(MPI_Comm *comm, int *code, ...)
{
	(void)code;
	MPI_Abort(*comm, 5);
}

static void aborts(void)
{
	MPI_Errhandler handler;
	MPI_Comm_create_errhandler(give_up, &handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		MPI_Send(buffer, 1, MPI_INT, 1000000, 1, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
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
	if (strcmp(argv[1], "anybody") == 0)
		anybody();
	if (strcmp(argv[1], "sends") == 0)
		sends();
	if (strcmp(argv[1], "aborts") == 0)
		aborts();
	if (strchr("oqr", argv[1][0]) == NULL)
		return MPI_Finalize();
	MPI_Op_create(complete, 1, &op);
	open_some(argv[1][0] == 'r' ? MANY : 1);
	if (argv[1][0] == 'q')
		test_one();
	MPI_Allreduce(&one, &all, 1, MPI_INT, op, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	late();
	printf("%d: %d, %d open\n", rank, all, nopen);
	MPI_Op_free(&op);
	return MPI_Finalize();
}
