/* halo.c N - 2-D halo exchange with the four neighbours of a periodic grid, then an Allreduce. */
#include "bench.h"

#define LINE 128

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 5000;
	int dims[2] = {0, 0}, periods[2] = {1, 1}, rank, size, peer[4];
	double in[4][LINE], out[4][LINE] = {{0}}, sum, part = 1, start = 0;
	MPI_Comm grid;
	MPI_Request r[8];
	bench_begin(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Dims_create(size, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
	MPI_Comm_rank(grid, &rank);
	MPI_Cart_shift(grid, 0, 1, &peer[0], &peer[1]);
	MPI_Cart_shift(grid, 1, 1, &peer[2], &peer[3]);
	for (long i = -100; i < n; i++) {
		if (i == 0)
			start = now_s();
		for (int k = 0; k < 4; k++)
			MPI_Irecv(in[k], LINE, MPI_DOUBLE, peer[k], k, grid, &r[k]);
		for (int k = 0; k < 4; k++)
			MPI_Isend(out[k], LINE, MPI_DOUBLE, peer[k ^ 1], k, grid, &r[4 + k]);
		MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
		MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, grid);
	}
	bench_end(rank, 10.0 * (double)n, now_s() - start);
	return 0;
}
