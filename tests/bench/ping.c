/* ping.c N - two ranks, 8 bytes there and back. */
#include "bench.h"

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 500000;
	double value = 0, start = 0;
	int rank;
	bench_begin(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (long i = -1000; i < n; i++) {
		if (i == 0)
			start = now_s();
		if (rank == 0) {
			MPI_Send(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
			MPI_Recv(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else if (rank == 1) {
			MPI_Recv(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
		}
	}
	/* Both ranks' calls are on the critical path: per round trip two calls of each. */
	bench_end(rank, 4.0 * (double)n, now_s() - start);
	return 0;
}
