/* delayed.c - a ring of ranks with a residual a step, in which the last rank can be made to come late. Arguments:
 * steps; milliseconds that it needs more before it sends on, and before the residual; the step from which on it does.
 * Compiled with -DMORE there is a call more. Working is sleeping, so that the processor's load changes nothing. */
#include <mpi.h>

#include <stdlib.h>
#include <time.h>

static void work(double ms)
{
	struct timespec t = {.tv_sec = (time_t)(ms / 1e3), .tv_nsec = (long)(ms * 1e6) % 1000000000};
	nanosleep(&t, NULL);
}

static void pass_on(int rank, int ranks, double late_ms)
{
	double out[100] = {0}, in[100];
	MPI_Request request;
	MPI_Irecv(in, 100, MPI_DOUBLE, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &request);
	if (rank == ranks - 1)
		work(late_ms);
	MPI_Send(out, 100, MPI_DOUBLE, (rank + 1) % ranks, 1, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static double residual(int rank, int ranks, double late_ms)
{
	double mine = 1, all;
	if (rank == ranks - 1)
		work(late_ms);
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#ifdef MORE
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
#endif
	return all;
}

int main(int argc, char **argv)
{
	int rank, ranks, steps = argc > 1 ? atoi(argv[1]) : 10, from = argc > 4 ? atoi(argv[4]) : 0;
	double send_ms = argc > 2 ? atof(argv[2]) : 0, residual_ms = argc > 3 ? atof(argv[3]) : 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < steps; i++) {
		work(5);
		pass_on(rank, ranks, i >= from ? send_ms : 0);
		residual(rank, ranks, i >= from ? residual_ms : 0);
	}
	MPI_Finalize();
	return 0;
}
