/* no_room.c user|memory|threads - what the tracer needs room for comes when it gets no more: the process may no longer
 * open files, or have more memory (MPI begins before), or 250 threads at once send to themselves with 1,000 tags
 * each. */
#include <mpi.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#define THREADS 250
#define TAGS 1000

static void messages(int times, int first_tag)
{
	int a = 0, b;
	for (int i = 0; i < times; i++)
		MPI_Sendrecv(&a, 1, MPI_INT, 0, first_tag + i % 9000, &b, 1, MPI_INT, 0, first_tag + i % 9000,
			     MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static pthread_barrier_t all;

static void *thread(void *at)
{
	int a = 1, b = 1, n = (int)(size_t)at;
	pthread_barrier_wait(&all);
	messages(TAGS, n * TAGS);
	for (int i = 0; i < 10; i++)
		MPI_Reduce_local(&a, &b, 1, MPI_INT, MPI_SUM);
	pthread_barrier_wait(&all);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int level, a = 1, b;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	if (strcmp(argv[1], "threads") == 0) {
		pthread_barrier_init(&all, NULL, THREADS);
		for (size_t i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, thread, (void *)i);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	} else {
		int limited = strcmp(argv[1], "memory") == 0 ? RLIMIT_AS : RLIMIT_NOFILE;
		struct rlimit before, none;
		getrlimit(limited, &before);
		none = before;
		none.rlim_cur = 0;
		setrlimit(limited, &none);
		messages(60000, 0);
		for (int i = 0; i < 1000; i++) {
			MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
			MPI_Barrier(MPI_COMM_SELF);
		}
		MPI_Comm_size(MPI_COMM_SELF, &b);
		setrlimit(limited, &before);
	}
	MPI_Finalize();
	return 0;
}
