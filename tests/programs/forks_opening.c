/* forks_opening.c FORKS - whenever the tracer has opened a file to go on in, a signal comes whose handler forks, and
 * the children go on to the end of the call in which they began. One rank sends to itself until they are FORKS; prints
 * how often. The tracer finds this open() before the C library's: link with -rdynamic. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int forks;
static int wanted;
static pid_t parent;

static int is_child(void)
{
	return getpid() != parent;
}

static void fork_here(int number)
{
	(void)number;
	forks++;
	pid_t pid = fork();
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void interrupt(const char *path)
{
	if (strstr(path, ".mpit") != NULL && !is_child() && forks < wanted)
		raise(SIGUSR2);
}

int open64(const char *path, int flags, ...)
{
	static int (*next)(const char *, int, ...);
	va_list rest;
	va_start(rest, flags);
	mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	if (next == NULL)
		next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
	interrupt(path);
	return next(path, flags, mode);
}

int main(int argc, char **argv)
{
	long n = 0;
	int a = 1, b, size;
	MPI_Init(&argc, &argv);
	signal(SIGUSR2, fork_here);
	wanted = atoi(argv[1]);
	parent = getpid();
	for (; forks < wanted; n++) {
		MPI_Sendrecv(&a, 1, MPI_INT, 0, (int)(n % 7), &b, 1, MPI_INT, 0, (int)(n % 7), MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
		if (is_child())
			_exit(0);
		MPI_Comm_size(MPI_COMM_SELF, &size);
		if (is_child())
			_exit(0);
	}
	MPI_Finalize();
	printf("%ld\n", n);
	return 0;
}
