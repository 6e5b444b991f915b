/* faults_of_time.c - programs that lose time in one way, 0.3 s of it.
 * chain|chain-even: ranks compute one after the other; all at once. idle|idle-even: the last rank has no work; it has
 * as much as the others. last|last-even: rank 1 works on alone before MPI_Finalize; all do.
 * far|near: ranks exchange with the one half of them away; with the next. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP_S 0.1
#define BYTES (4 << 20)

static int rank, ranks;

/* Without a processor, so that ranks do not disturb each other. */
static void compute(double seconds)
{
	usleep((useconds_t)(seconds * 1e6));
}

static void chain(int even)
{
	int value = 0;
	if (rank > 0 && !even)
		MPI_Recv(&value, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	compute(STEP_S);
	if (rank + 1 < ranks && !even)
		MPI_Send(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void idle(int even)
{
	for (int i = 0; i < 3; i++) {
		if (rank + 1 < ranks || even)
			compute(STEP_S);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

static void last(int even)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1 || even)
		compute(3 * STEP_S);
}

static void pairs(int distance)
{
	char *out = calloc(1, BYTES), *in = calloc(1, BYTES);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 40; i++)
		MPI_Sendrecv(out, BYTES, MPI_BYTE, rank ^ distance, 0, in, BYTES, MPI_BYTE, rank ^ distance, 0,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	free(out);
	free(in);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int even = strstr(argv[1], "-even") != NULL;
	if (strncmp(argv[1], "chain", 5) == 0)
		chain(even);
	else if (strncmp(argv[1], "idle", 4) == 0)
		idle(even);
	else if (strncmp(argv[1], "last", 4) == 0)
		last(even);
	else
		pairs(strcmp(argv[1], "far") == 0 ? ranks / 2 : 1);
	MPI_Finalize();
	return 0;
}
