/* cancelled.c - a thread is to be cancelled, and makes calls of MPI that are no cancellation points: it ends behind
 * them, and the others go on. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define CALLS 12000 /* of a tag each: what is recorded of them grows */

static atomic_int ready, asked, whole;

static void calls(int from)
{
	int x = 0;
	for (int i = 0; i < CALLS; i++) {
		MPI_Request request;
		MPI_Send_init(&x, 1, MPI_INT, MPI_PROC_NULL, from + i, MPI_COMM_WORLD, &request);
		MPI_Request_free(&request);
	}
}

static void *works(void *unused)
{
	(void)unused;
	ready = 1;
	while (!asked)
		;
	calls(0);
	whole = 1;
	for (;;)
		pthread_testcancel();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int provided;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	pthread_create(&thread, NULL, works, NULL);
	while (!ready)
		;
	pthread_cancel(thread);
	asked = 1;
	pthread_join(thread, NULL);
	calls(CALLS);
	MPI_Finalize();
	printf("the thread's calls: %s\n", whole ? "all" : "not all");
	return 0;
}
