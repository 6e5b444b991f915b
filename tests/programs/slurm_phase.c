/* slurm_phase.c - a program that stays in a phase until it is ended: slurm_phase PHASE. Rank 0 sleeps before MPI_Init
 * (init) or before MPI_Finalize (finalize), and the others are in that call; all talk for ever (run) or until a file is
 * there (until=FILE), or one takes ever more memory (memory), or does so slowly (grow), as much as it is told and until
 * a file is there (grow=MIB [until=FILE]). Rank 1 makes the file $PHASE_FILE when it is there. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 5000 /* then there is something to see */

static const char *phase;

/* Before MPI_Init only the environment tells who we are. */
static int task(void)
{
	const char *text = getenv("SLURM_PROCID");
	return text != NULL ? atoi(text) : 0;
}

static void say_so(void)
{
	const char *path = getenv("PHASE_FILE");
	int fd = path != NULL ? open(path, O_WRONLY | O_CREAT, 0666) : -1;
	if (fd >= 0)
		close(fd);
}

static void come_to(const char *name)
{
	if (strcmp(phase, name) != 0)
		return;
	if (task() != 0)
		say_so();
	while (task() == 0)
		sleep(1000);
}

static void take_memory(void)
{
	for (size_t bytes = 16u << 20;;) {
		char *more = malloc(bytes);
		if (more != NULL)
			memset(more, 1, bytes);
	}
}

/* So that what comes is seen to come: 1 MiB in 40 ms; without end slower before 200 MiB are there, for the agent of a
 * busy machine as well. */
static void grow(long mib, const char *until)
{
	for (long i = 0; mib == 0 || i < mib; i++) {
		char *more = malloc(1u << 20);
		if (more != NULL)
			memset(more, 1, 1u << 20);
		usleep(mib == 0 && i > 150 ? 250000 : 40000);
	}
	while (until != NULL && access(until, F_OK) != 0)
		usleep(40000);
}

/* All ranks leave in the same round. */
static void talk(const char *until)
{
	int rank, size, in = 0, go_on = 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (long round = 0; go_on; round++) {
		MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &in, 1, MPI_INT, (rank + size - 1) % size, 7,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (round % 1000 == 999) {
			go_on = until == NULL || access(until, F_OK) != 0;
			MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
		}
		if (round == ROUNDS && strcmp(phase, "memory") == 0 && rank == size - 1)
			take_memory();
		if (round == ROUNDS && strncmp(phase, "grow", 4) == 0) {
			if (rank == size - 1)
				grow(phase[4] == '=' ? atol(phase + 5) : 0, until);
			break;
		}
		if (round == ROUNDS && (strcmp(phase, "init") == 0 || strcmp(phase, "finalize") == 0))
			break;
		if (round == ROUNDS && rank != 0)
			say_so();
	}
}

int main(int argc, char **argv)
{
	phase = argc > 1 ? argv[1] : "run";
	const char *last = argc > 1 ? argv[argc - 1] : "";
	come_to("init");
	MPI_Init(&argc, &argv);
	talk(strncmp(last, "until=", 6) == 0 ? last + 6 : NULL);
	come_to("finalize");
	MPI_Finalize();
	return 0;
}
