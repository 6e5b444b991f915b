/* multiple.c - MPI calls from several threads of known duration.
 * multiple workers: two threads of rank 0 wait 0.3 s at the same time, each for its own message; the first computes.
 * multiple progress: a thread of rank 0 probes all the time while the first computes as long as rank 1 does.
 * multiple single: one thread a rank; the first waits 0.3 s for the second. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define WAIT_S 0.3

static atomic_int over;

/* Without MPI. */
static void compute(double seconds)
{
	usleep((useconds_t)(seconds * 1e6));
}

static void *receive(void *tag)
{
	int value;
	MPI_Recv(&value, 1, MPI_INT, 1, (int)(long)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return NULL;
}

static void *probe(void *nothing)
{
	int flag;
	(void)nothing;
	while (!over) {
		MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		usleep(1000);
	}
	return NULL;
}

static void workers(int rank)
{
	pthread_t t[2];
	for (long i = 0; rank == 0 && i < 2; i++)
		pthread_create(&t[i], NULL, receive, (void *)i);
	compute(WAIT_S);
	for (int i = 0; rank == 1 && i < 2; i++)
		MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
	for (long i = 0; rank == 0 && i < 2; i++)
		pthread_join(t[i], NULL);
}

static void progress(int rank)
{
	pthread_t t;
	if (rank == 0)
		pthread_create(&t, NULL, probe, NULL);
	compute(WAIT_S);
	over = 1;
	if (rank == 0)
		pthread_join(t, NULL);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void single(int rank)
{
	int value = 0;
	if (rank == 0) {
		receive((void *)0);
		return;
	}
	compute(WAIT_S);
	MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank, provided;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (provided < MPI_THREAD_MULTIPLE)
		MPI_Abort(MPI_COMM_WORLD, 77);
	MPI_Barrier(MPI_COMM_WORLD);
	if (strcmp(argv[1], "workers") == 0)
		workers(rank);
	else if (strcmp(argv[1], "progress") == 0)
		progress(rank);
	else
		single(rank);
	MPI_Finalize();
	return 0;
}
