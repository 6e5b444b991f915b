/* deaths.c HOW - twenty steps of 2 ms with a barrier; then all ranks go to one more, and rank 2 of four computes for
 * 100 ms and dies, or not. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define DIES 2

static int rank;

static void rest(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};
	while (nanosleep(&left, &left) != 0)
		;
}

static void segv(void)
{
	raise(SIGSEGV);
}

static void exits(void)
{
	_exit(3);
}

/* That of MPICH 4.2 may come back before the launcher ends the run. */
static void aborts(void)
{
	MPI_Abort(MPI_COMM_WORLD, 7);
	for (;;)
		pause();
}

/* Inside of MPI, which cannot know that this is no memory. */
static void inside(void)
{
	MPI_Allreduce((void *)8, (void *)4104, 1 << 16, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void pauses(void)
{
	for (;;)
		pause();
}

/* Of all ranks at about the same time: before a launcher has heard of the first. */
static void set_timer(void)
{
	struct itimerval timer = {.it_value = {1, rank == DIES ? 0 : 20000}};
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void hangs(void)
{
	alarm(1);
	pauses();
}

/* Of which MPI ends the program, unless it is told otherwise. */
static void errs(void)
{
	MPI_Send(&rank, -1, MPI_INT, 0, 1, MPI_COMM_WORLD);
}

static void lives(void)
{
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*die)(void);
	} all[] = {{"segv", segv},  {"exit", exits},	{"abort", aborts}, {"inside", inside},
		   {"hang", hangs}, {"timers", pauses}, {"error", errs},   {"right", lives}};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 20; i++) {
		rest(2);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (argc > 1 && strcmp(argv[1], "timers") == 0)
		set_timer();
	rest(rank == DIES ? 100 : 0);
	for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(all[0]) && rank == DIES; i++)
		if (strcmp(all[i].name, argv[1]) == 0)
			all[i].die();
	MPI_Barrier(MPI_COMM_WORLD);
	return MPI_Finalize();
}
