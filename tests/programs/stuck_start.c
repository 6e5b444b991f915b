/* stuck_start.c inside|before - one process, the first by Slurm's or MPI's number, never comes out of MPI_Init, or
 * never calls it; the others are in it and wait. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAYS_S 2 /* after so long it is stuck in MPI_Init, */
#define COME_S 6  /* which none can leave before the others come */

static volatile sig_atomic_t inside;

/* As a library that waits for something that never comes. */
static void stay(int number)
{
	(void)number;
	while (inside)
		pause();
}

static int is_first(void)
{
	static const char *const names[] = {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (getenv(names[i]) != NULL)
			return strcmp(getenv(names[i]), "0") == 0;
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = stay};
	int hangs = strcmp(argv[argc - 1], "inside") == 0;
	while (is_first() && !hangs)
		pause();
	if (hangs && is_first()) {
		sigaction(SIGALRM, &act, NULL);
		inside = 1;
		alarm(STAYS_S);
	} else if (hangs)
		sleep(COME_S);
	MPI_Init(&argc, &argv);
	inside = 0;
	return MPI_Finalize();
}
