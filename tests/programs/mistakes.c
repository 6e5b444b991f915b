/* mistakes.c late | barriers N - what earlier tracers told wrongly about programs that ran well. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size;

/* 20 messages that their sender starts 5 ms late, received by MPI_Irecv and MPI_Wait with any tag, on a
 * communicator that is the third on one rank and the first on the others: its handle, and its Fortran number,
 * differ. */
static void late(void)
{
	MPI_Comm comm, own[2];
	int value = 0;
	for (int i = 0; i < 2 && rank == 0; i++)
		MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
	MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm); /* ranks in it are not those of the world */
	for (int i = 0; i < 20; i++) {
		MPI_Barrier(comm);
		if (rank == 0) {
			nanosleep(&(struct timespec){0, 5000000}, NULL);
			MPI_Send(&i, 1, MPI_INT, size - 2, i, comm);
		} else if (rank == 1) {
			MPI_Request request;
			MPI_Irecv(&value, 1, MPI_INT, size - 1, MPI_ANY_TAG, comm, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		}
	}
	if (rank == 1)
		printf("last %d\n", value);
}

static void barriers(int n)
{
	for (int i = 0; i < n; i++)
		MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (strcmp(argv[1], "late") == 0)
		late();
	else
		barriers(atoi(argv[2]));
	MPI_Finalize();
	return 0;
}
