/* forks_anywhere.c FORKS - a timer's handler forks again and again, whatever this thread is doing, and the children go
 * on to the end of the call in which they began. One rank sends to itself as fast as it can; prints how often. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AFTER_NS 1000000

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static volatile int is_child, forks;
static int wanted;
static timer_t timer;

static void set_timer(void)
{
	struct itimerspec soon = {{0, 0}, {0, AFTER_NS + forks * 997}};
	timer_settime(timer, 0, &soon, NULL);
}

static void fork_here(int number)
{
	(void)number;
	if (is_child || forks >= wanted)
		return;
	forks++;
	pid_t pid = fork();
	if (pid > 0)
		waitpid(pid, NULL, 0);
	is_child = pid == 0;
	if (!is_child)
		set_timer();
}

int main(int argc, char **argv)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
	long n = 0;
	int a = 1, b, rank;
	MPI_Init(&argc, &argv);
	wanted = atoi(argv[1]);
	signal(SIGUSR2, fork_here);
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid); /* a library's thread is not to fork */
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		return 1;
	set_timer();
	for (; forks < wanted; n++) {
		MPI_Sendrecv(&a, 1, MPI_INT, 0, (int)(n % 7), &b, 1, MPI_INT, 0, (int)(n % 7), MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
		if (is_child)
			_exit(0);
		MPI_Comm_size(MPI_COMM_SELF, &rank);
		if (is_child)
			_exit(0);
	}
	MPI_Finalize();
	printf("%ld\n", n);
	return 0;
}
