/* slurm_fleet.c - one of four programs of a site, by KIND: slurm_fleet ROUNDS. Each round every rank reckons for the
 * same number of steps, whatever the processor, and then 0: adds up, 1: passes on in a ring, 2: waits for rank 0, which
 * has reckoned twice as long, 3: once in ten rounds meets at a barrier. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS 4000000L

static double reckon(long steps)
{
	volatile double x = 1;
	for (long i = 0; i < steps; i++)
		x = x * 1.0000001 + 1e-9;
	return x;
}

static void meet(int round, int rank, int size, double mine)
{
	double other = 0;
	if (KIND == 0)
		MPI_Allreduce(&mine, &other, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	else if (KIND == 1)
		MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 7, &other, 1, MPI_DOUBLE,
			     (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else if (KIND == 2)
		MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	else if (round % 10 == 9)
		MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 20;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++)
		meet(i, rank, size, reckon(KIND == 2 && rank == 0 ? 2 * STEPS : STEPS));
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
