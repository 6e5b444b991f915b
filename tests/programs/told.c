/* told.c - says how many arguments it has, waits until a signal comes, at most the seconds of the first one, and ends
 * with its number. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void note(int number)
{
	told = number;
}

int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) * 100 : 0;
	MPI_Init(&argc, &argv);
	signal(SIGUSR1, note);
	signal(SIGUSR2, note);
	printf("%d\n", argc);
	fflush(stdout);
	for (; told == 0 && left > 0; left--)
		usleep(10000);
	MPI_Finalize();
	return told;
}
