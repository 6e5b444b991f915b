/* hard.c CASE - what other tracers broke on. Prints a result that must not change. */
#include "resident.h"

#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size;

/* 20,000 requests in one Waitall */
static void outstanding(void)
{
	enum { N = 10000 };
	static MPI_Request r[2 * N];
	static int in[N], out[N];
	for (int i = 0; i < N; i++)
		MPI_Irecv(&in[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &r[i]);
	for (int i = 0; i < N; i++) {
		out[i] = i;
		MPI_Isend(&out[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &r[N + i]);
	}
	MPI_Waitall(2 * N, r, MPI_STATUSES_IGNORE);
	long sum = 0;
	for (int i = 0; i < N; i++)
		sum += in[i];
	printf("sum %ld\n", sum);
}

/* 3,000 persistent requests, started at once */
static void startall(void)
{
	enum { N = 1500 };
	static MPI_Request r[2 * N];
	static int in[N], out[N];
	for (int i = 0; i < N; i++) {
		MPI_Recv_init(&in[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &r[i]);
		MPI_Send_init(&out[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &r[N + i]);
	}
	for (int k = 0; k < 3; k++) {
		MPI_Startall(2 * N, r);
		MPI_Waitall(2 * N, r, MPI_STATUSES_IGNORE);
	}
	for (int i = 0; i < 2 * N; i++)
		MPI_Request_free(&r[i]);
	printf("started\n");
}

/* freed requests leave nothing behind */
static void freed(void)
{
	int a = 1, b;
	long before = 0;
	for (int i = 0; i < 400000; i++) {
		MPI_Request r;
		MPI_Isend(&a, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &r);
		MPI_Request_free(&r);
		MPI_Recv(&b, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (i == 50000)
			before = resident_kib();
	}
	/* The tracer's ring may still grow to its 4 MiB; 350,000 requests of 32 bytes would be 11. */
	printf("grew %s\n", resident_kib() - before < 5120 ? "no" : "yes");
}

/* a test that polls a million times, and then succeeds */
static void polls(void)
{
	int b, flag = 0, a = 1;
	MPI_Request r;
	MPI_Irecv(&b, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &r);
	for (int i = 0; i < 1000000; i++)
		MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
	MPI_Send(&a, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	printf("flag %d\n", flag);
}

/* all ways to ask in vain */
static void pollers(void)
{
	int b[2], flag = 0, index, n, which[2], a = 1;
	MPI_Request r[2];
	MPI_Irecv(&b[0], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(&b[1], 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &r[1]);
	for (int i = 0; i < 1000000; i++)
		MPI_Testany(2, r, &index, &flag, MPI_STATUS_IGNORE);
	for (int i = 0; i < 100000; i++) {
		MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
		MPI_Testsome(2, r, &n, which, MPI_STATUSES_IGNORE);
		MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE);
	}
	MPI_Send(&a, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
	MPI_Send(&a, 1, MPI_INT, rank, 2, MPI_COMM_WORLD);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	printf("flag %d\n", flag);
}

/* two messages of each tag, to be remembered: 64,000 different signatures */
static void tags(void)
{
	int a = 1, b;
	for (int i = 0; i < 64000; i++) {
		MPI_Request r;
		MPI_Irecv(&b, 1, MPI_INT, rank, i / 2, MPI_COMM_WORLD, &r);
		MPI_Send(&a, 1, MPI_INT, rank, i / 2, MPI_COMM_WORLD);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	int flag, found = 0;
	for (int i = 0; i < 3000; i++) { /* the dictionary is full, and these find nothing */
		MPI_Iprobe(rank, i / 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		found += flag;
	}
	printf("done, found %d\n", found);
}

#define THREADS 64
static void *talk(void *arg)
{
	int me = (int)(long)arg, b, a = me;
	for (int i = 0; i < 500; i++) {
		MPI_Request r[2];
		MPI_Irecv(&b, 1, MPI_INT, rank, me, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(&a, 1, MPI_INT, rank, me, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[THREADS];
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, talk, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("threads done\n");
}

/* longjmp out of an error handler, that is: out of an MPI call */
static jmp_buf out_of_it;
static void handler(MPI_Comm *c, int *code, ...)
{
	(void)c;
	(void)code;
	longjmp(out_of_it, 1);
}

static void jumps(void)
{
	MPI_Errhandler h;
	volatile int jumped = 0;
	int b;
	MPI_Comm_create_errhandler(handler, &h);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
	for (volatile int i = 0; i < 100; i++)
		if (setjmp(out_of_it) == 0)
			MPI_Send(&b, 1, MPI_INT, 1000000, 1, MPI_COMM_WORLD);
		else
			jumped++;
	for (int i = 0; i < 10; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	printf("jumped %d\n", jumped);
}

/* Threads that end in a call, one after the other: of half of them the error handler ends the thread, the other half
 * jumps out of it and makes no other call. Nobody comes after the last one. */
static __thread jmp_buf out_of_mine;
static __thread bool ends_there;
static void ends(MPI_Comm *c, int *code, ...)
{
	(void)c;
	(void)code;
	if (ends_there)
		pthread_exit(NULL);
	longjmp(out_of_mine, 1);
}

static void *leave(void *of)
{
	int b;
	ends_there = of != NULL;
	if (setjmp(out_of_mine) == 0)
		MPI_Send(&b, 1, MPI_INT, 1000000, 1, MPI_COMM_WORLD);
	return NULL;
}

static void leavers(void)
{
	MPI_Errhandler h;
	MPI_Comm_create_errhandler(ends, &h);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
	for (int i = 0; i < 100; i++) {
		pthread_t t;
		pthread_create(&t, NULL, leave, i % 2 != 0 ? &h : NULL);
		pthread_join(t, NULL);
	}
	for (int i = 0; i < 10; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	printf("left\n");
}

/* What MPI calls of the program calls MPI: when an attribute goes, when a request is asked for its status, and of an
 * error. */
static int asks(MPI_Comm comm, int key, void *value, void *state)
{
	int flag;
	(void)key, (void)value, (void)state;
	return MPI_Iprobe(MPI_ANY_SOURCE, 99, comm, &flag, MPI_STATUS_IGNORE);
}

static int answers(void *state, MPI_Status *status)
{
	int size_of_it;
	(void)state;
	MPI_Status_set_elements(status, MPI_INT, 0);
	MPI_Status_set_cancelled(status, 0);
	return MPI_Comm_size(MPI_COMM_SELF, &size_of_it);
}

static int frees(void *state)
{
	(void)state;
	return MPI_SUCCESS;
}

static int cancels(void *state, int complete)
{
	(void)state, (void)complete;
	return MPI_SUCCESS;
}

static void complains(MPI_Comm *comm, int *code, ...)
{
	char text[MPI_MAX_ERROR_STRING];
	int len;
	(void)comm;
	MPI_Error_string(*code, text, &len);
}

#define CALLBACKS 20

static void callbacks(void)
{
	int key, b, refused = 0;
	MPI_Errhandler h;
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, asks, &key, NULL);
	MPI_Comm_create_errhandler(complains, &h);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
	for (int i = 0; i < CALLBACKS; i++) {
		MPI_Comm c;
		MPI_Request r;
		MPI_Comm_dup(MPI_COMM_SELF, &c);
		MPI_Comm_set_attr(c, key, NULL);
		MPI_Comm_free(&c);
		MPI_Grequest_start(answers, frees, cancels, NULL, &r);
		MPI_Grequest_complete(r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		refused += MPI_Send(&b, 1, MPI_INT, 1000000, 1, MPI_COMM_WORLD) != MPI_SUCCESS;
	}
	printf("called back, %d refused\n", refused);
}

/* Waitall that fails for one of its requests: the message was longer than there was room for */
static void errors(void)
{
	int one = 0, two = 0, four[4] = {1, 2, 3, 4}, failed = 0, sum = 0;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int i = 0; i < 50; i++) {
		MPI_Request r[4];
		MPI_Status status[4];
		MPI_Irecv(&one, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &r[0]);
		MPI_Irecv(&two, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &r[1]);
		MPI_Isend(four, 4, MPI_INT, rank, 1, MPI_COMM_WORLD, &r[2]);
		MPI_Isend(&i, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &r[3]);
		failed += MPI_Waitall(4, r, status) != MPI_SUCCESS;
		for (int k = 0; k < 4; k++)
			if (r[k] != MPI_REQUEST_NULL)
				MPI_Wait(&r[k], MPI_STATUS_IGNORE);
		sum += two;
	}
	printf("failed %d sum %d\n", failed, sum);
}

/* More communicators than a thread may define. */
static void communicators(void)
{
	for (int i = 0; i < 200000; i++) {
		MPI_Comm c;
		MPI_Comm_dup(MPI_COMM_SELF, &c);
		MPI_Comm_free(&c);
	}
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";
	int level;
	bool several = strcmp(which, "threads") == 0 || strcmp(which, "leavers") == 0;
	MPI_Init_thread(&argc, &argv, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (strcmp(which, "outstanding") == 0)
		outstanding();
	if (strcmp(which, "startall") == 0)
		startall();
	if (strcmp(which, "freed") == 0)
		freed();
	if (strcmp(which, "polls") == 0)
		polls();
	if (strcmp(which, "pollers") == 0)
		pollers();
	if (strcmp(which, "tags") == 0)
		tags();
	if (strcmp(which, "threads") == 0)
		threads();
	if (strcmp(which, "jumps") == 0)
		jumps();
	if (strcmp(which, "leavers") == 0)
		leavers();
	if (strcmp(which, "callbacks") == 0)
		callbacks();
	if (strcmp(which, "errors") == 0)
		errors();
	if (strcmp(which, "communicators") == 0)
		communicators();
	MPI_Finalize();
	return 0;
}
