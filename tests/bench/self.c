/* self.c N - one rank, Isend and Irecv to itself, Waitall: nothing but the library and the tracer. */
#include "bench.h"

static int a = 1, b, rank;

static long step(long i)
{
	MPI_Request r[2];
	(void)i;
	MPI_Irecv(&b, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(&a, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	return 3;
}

int main(int argc, char **argv)
{
	return bench_main(argc, argv, 1000000, &rank, step);
}
