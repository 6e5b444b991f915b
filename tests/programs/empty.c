/* empty.c - messages of 0 bytes round a ring, and a number that all come to: what is counted has no size. */
#include <mpi.h>

int main(int argc, char **argv)
{
	int rank, size, one = 1, all = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 10; i++)
		MPI_Sendrecv(NULL, 0, MPI_INT, (rank + 1) % size, 3, NULL, 0, MPI_INT, (rank + size - 1) % size, 3,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
