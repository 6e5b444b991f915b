/* long_turns.c - each rank in its turn computes for seconds, while the others wait in a barrier, or for its message. */
#include <mpi.h>

#define SECONDS 1.5
#define ROUNDS 2

static void compute(void)
{
	double end = MPI_Wtime() + SECONDS;
	while (MPI_Wtime() < end)
		;
}

int main(int argc, char **argv)
{
	int rank, size, a = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < ROUNDS * size; i++) {
		if (rank == i % size)
			compute();
		if (i < size)
			MPI_Barrier(MPI_COMM_WORLD);
		else if (rank != i % size)
			MPI_Recv(&a, 1, MPI_INT, i % size, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		else
			for (int r = 0; r < size; r++)
				if (r != rank)
					MPI_Send(&a, 1, MPI_INT, r, i, MPI_COMM_WORLD);
	}
	return MPI_Finalize();
}
