/* ring.c [RANK] - a few messages round a ring and the end; RANK, if given, is killed before MPI_Finalize. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, size, out = 1, in = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 10 && size > 1; i++)
		MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 3, &in, 1, MPI_INT, (rank + size - 1) % size, 3,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (argc > 1 && rank == atoi(argv[1]))
		raise(SIGKILL);
	MPI_Finalize();
	return 0;
}
