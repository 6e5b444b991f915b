/* many_threads.c - two ranks, each with so many threads that compute and exchange with the same thread of the other,
 * for about three seconds, however many processors there are. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

static int rank;
static double until;

static void *work(void *number)
{
	int tag = (int)(intptr_t)number, mine = 1, other = 1;
	volatile double x = 0;
	while (mine && other) {
		for (int i = 0; i < 1000000; i++)
			x += i;
		mine = MPI_Wtime() < until;
		MPI_Sendrecv(&mine, 1, MPI_INT, 1 - rank, tag, &other, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int provided, n = argc > 1 ? atoi(argv[1]) : 4;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	if (threads == NULL || provided != MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 1);
	until = MPI_Wtime() + 3;
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	MPI_Finalize();
	return 0;
}
