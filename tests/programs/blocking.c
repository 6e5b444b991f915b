/* blocking.c - calls that wait for somebody, each for a known time. Three ranks.
 * blocking CASE MILLISECONDS: one rank comes so much late to one thing. Rank 1 always waits, and ends last. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size, late_ms;
static char bytes[1 << 16];

static void late(void)
{
	struct timespec t = {late_ms / 1000, late_ms % 1000 * 1000000};
	while (nanosleep(&t, &t) != 0)
		;
}

static void send_to(int who, int tag)
{
	MPI_Send(bytes, 512, MPI_BYTE, who, tag, MPI_COMM_WORLD);
}

static void recv_from(int who, int tag)
{
	MPI_Recv(bytes, sizeof(bytes), MPI_BYTE, who, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* ---- rank 0 sends late; rank 1 waits for it in a probe ---- */

static void probe(void)
{
	MPI_Status s;
	if (rank == 0) {
		late();
		send_to(1, 1);
	} else if (rank == 1) {
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
		recv_from(s.MPI_SOURCE, s.MPI_TAG);
	}
}

static void mprobe(void)
{
	MPI_Message m;
	if (rank == 0) {
		late();
		send_to(1, 1);
	} else if (rank == 1) {
		MPI_Mprobe(0, 1, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
		MPI_Mrecv(bytes, sizeof(bytes), MPI_BYTE, &m, MPI_STATUS_IGNORE);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"probe", probe},
	{"mprobe", mprobe},
};

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	late_ms = argc > 2 ? atoi(argv[2]) : 300;
	MPI_Barrier(MPI_COMM_WORLD);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	if (rank == 1)
		late();
	MPI_Finalize();
	return 0;
}
