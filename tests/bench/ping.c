/* ping.c N - two ranks, 8 bytes there and back. */
#include "bench.h"

static double value;
static int rank;

/* Both ranks' calls are on the critical path: per round trip two calls of each. */
static long step(long i)
{
	(void)i;
	if (rank == 0) {
		MPI_Send(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
		MPI_Recv(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (rank == 1) {
		MPI_Recv(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
	}
	return 4;
}

int main(int argc, char **argv)
{
	return bench_main(argc, argv, 500000, &rank, step);
}
