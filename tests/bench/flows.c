/* flows.c CASE - programs whose messages take time: ring (4 MB to the next rank, all at once), receives (rank 0 sends 2
 * MB to each other rank, which waits for it), exchange (1 MB both ways with one partner), mixed (small and large by
 * turns). Computing is sleeping. */
#include "../programs/cases.h"

#define STEPS 40
#define LARGE (4 << 20)

static void shift(int bytes, int to, int from)
{
	MPI_Request r[2];
	MPI_Irecv(buffer, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(buffer + LARGE, bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void ring(void)
{
	for (int i = 0; i < STEPS; i++) {
		compute(2);
		shift(LARGE, (rank + 1) % size, (rank + size - 1) % size);
	}
}

static void receives(void)
{
	for (int i = 0; i < STEPS; i++) {
		if (rank == 0)
			compute(2);
		for (int r = 1; r < size; r++)
			if (rank == 0)
				MPI_Send(buffer, LARGE / 2, MPI_BYTE, r, 0, MPI_COMM_WORLD);
			else if (rank == r)
				MPI_Recv(buffer, LARGE / 2, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static void exchange(void)
{
	for (int i = 0; i < STEPS; i++) {
		compute(1 + rank % 2);
		shift(LARGE / 4, rank ^ 1, rank ^ 1);
	}
}

static void mixed(void)
{
	for (int i = 0; i < STEPS; i++) {
		compute(1);
		shift(i % 4 == 0 ? LARGE : 64, (rank + 1) % size, (rank + size - 1) % size);
	}
}

int main(int argc, char **argv)
{
	static const struct program_case cases[] = {
		{"ring", ring}, {"receives", receives}, {"exchange", exchange}, {"mixed", mixed}};
	return run_case(argc, argv, cases, sizeof(cases) / sizeof(cases[0]), "", 2 * LARGE);
}
