/* self.c N - one rank, Isend and Irecv to itself, Waitall: nothing but the library and the tracer. */
#include "bench.h"

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	int a = 1, b, rank;
	double start = 0;
	MPI_Request r[2];
	bench_begin(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (long i = -1000; i < n; i++) {
		if (i == 0)
			start = now_s();
		MPI_Irecv(&b, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(&a, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	}
	bench_end(rank, 3.0 * (double)n, now_s() - start);
	return 0;
}
