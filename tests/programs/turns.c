/* turns.c CASE [N] - threads that come and go, each calls MPI.
 * turns turns N: N threads one after the other, a Sendrecv each. turns groups N: four at once.
 * turns crowd N: N threads at once, ten Sendrecvs each, all there until the last has made its own. Of two ranks the
 * second has 20 more.
 * turns killed N: the same, and then it is killed.
 * turns outlives N: the first thread ends, and another makes N Sendrecvs in as many milliseconds.
 * turns ends N: threads that call MPI in destructors of keys, leave unsuccessful tests behind, and events off. */
#include "resident.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_barrier_t all, stayed;
static int peer;
static pthread_key_t keys[2];

static void *exchange(void *tag)
{
	int out = 1, in = 0;
	MPI_Sendrecv(&out, 1, MPI_INT, peer, (int)(long)tag % 4, &in, 1, MPI_INT, peer, (int)(long)tag % 4,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return NULL;
}

static void *in_crowd(void *tag)
{
	for (int i = 0; i < 10; i++)
		exchange(tag);
	pthread_barrier_wait(&all);
	return NULL;
}

/* The first thread has ended: to the kernel the process is a zombie with a thread. */
static void *outlives(void *n)
{
	for (long i = 0; i < (long)n; i++) {
		exchange(0);
		usleep(1000);
	}
	puts("outlived");
	MPI_Finalize();
	exit(0);
}

/* One that is there until the end. */
static void *stays(void *unused)
{
	int flag;
	(void)unused;
	MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
	pthread_barrier_wait(&stayed);
	pause();
	return NULL;
}

/* So that the two ranks have not room for as many. */
static void stay(int n)
{
	pthread_t t;
	pthread_barrier_init(&stayed, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t, NULL, stays, NULL) != 0)
			exit(2);
	pthread_barrier_wait(&stayed);
}

static void run(int n, int at_once, void *(*function)(void *))
{
	pthread_t *t = calloc((size_t)at_once, sizeof(*t));
	for (int i = 0; i < n; i += at_once) {
		for (long k = 0; k < at_once; k++)
			if (pthread_create(&t[k], NULL, function, (void *)k) != 0)
				exit(2);
		for (int k = 0; k < at_once; k++)
			pthread_join(t[k], NULL);
	}
	free(t);
}

/* A destructor calls MPI, and again the next time that destructors run. */
static void destroy(void *rounds)
{
	exchange(0);
	if ((long)rounds > 1)
		pthread_setspecific(keys[0], (void *)((long)rounds - 1));
}

static void *ending(void *nothing)
{
	MPI_Request r;
	int in, flag;
	(void)nothing;
	pthread_setspecific(keys[0], (void *)4);
	pthread_setspecific(keys[1], (void *)1);
	MPI_Irecv(&in, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &r);
	for (int i = 0; i < 3; i++)
		MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
	MPI_Cancel(&r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Iprobe(0, 9, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
	MPI_Pcontrol(0);
	return NULL;
}

int main(int argc, char **argv)
{
	int level, rank, size, n = argc > 2 ? atoi(argv[2]) : 100;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	peer = size - 1 - rank; /* of one rank: itself */
	pthread_barrier_init(&all, NULL, (unsigned)n);
	pthread_key_create(&keys[0], destroy);
	pthread_key_create(&keys[1], destroy);
	if (strcmp(argv[1], "turns") == 0 || strcmp(argv[1], "groups") == 0) {
		int at_once = argv[1][0] == 't' ? 1 : 4;
		run(n / 2, at_once, exchange);
		long before = resident_kib();
		run(n / 2, at_once, exchange);
		printf("grew %s\n", resident_kib() - before < 6144 ? "no" : "yes");
	} else if (strcmp(argv[1], "outlives") == 0) {
		pthread_t t;
		if (pthread_create(&t, NULL, outlives, (void *)(long)n) == 0)
			pthread_exit(NULL);
	} else if (strcmp(argv[1], "ends") == 0) {
		run(n, 1, ending);
	} else {
		if (rank > 0)
			stay(20);
		run(n, n, in_crowd);
	}
	fflush(stdout);
	if (strcmp(argv[1], "killed") == 0)
		raise(SIGKILL);
	MPI_Finalize();
	return 0;
}
