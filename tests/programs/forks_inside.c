/* forks_inside.c fork|clone N - callbacks of MPI fork while their call is open, and the children return from it, too.
 * One rank makes 60 communicators, sends itself N messages of different tags, frees them and reduces 100 times. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMS 60
#define REDUCTIONS 100

static int raw;
static pid_t child = -1;

static void fork_here(void)
{
	child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
	if (child > 0)
		waitpid(child, NULL, 0); /* it is there before us */
}

static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm, (void)key, (void)value, (void)extra;
	fork_here();
	return MPI_SUCCESS;
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *n; i++)
		((int *)inout)[i] += ((int *)in)[i];
	if (child < 0)
		fork_here();
}

static void end_of_child(void)
{
	if (child == 0)
		_exit(0);
}

int main(int argc, char **argv)
{
	MPI_Comm comms[COMMS];
	MPI_Op op;
	int key, a = 1, b = 0;
	MPI_Init(&argc, &argv);
	raw = strcmp(argv[1], "clone") == 0;
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
	for (int i = 0; i < COMMS; i++) {
		MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
		MPI_Comm_set_attr(comms[i], key, &key);
	}
	for (int i = 0; i < atoi(argv[2]); i++)
		MPI_Sendrecv(&a, 1, MPI_INT, 0, i, &b, 1, MPI_INT, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	for (int i = 0; i < COMMS; i++) {
		MPI_Comm_free(&comms[i]);
		end_of_child();
	}
	MPI_Op_create(add, 1, &op);
	child = -1;
	b = 0;
	for (int i = 0; i < REDUCTIONS; i++) {
		MPI_Reduce_local(&a, &b, 1, MPI_INT, op);
		end_of_child();
	}
	printf("sum %d\n", b);
	MPI_Finalize();
	return 0;
}
