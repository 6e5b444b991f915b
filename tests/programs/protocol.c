/* protocol.c - messages of known order, for `mpitrace check` and `show --epochs`. 4 ranks.
 *
 *	protocol ring STEPS     rank r sends to r + 1: STEPS epochs of 4 messages, each rank in all of them
 *	protocol star STEPS     all others send to rank 0, in order of ranks, and get an answer: 6 * STEPS messages
 *	protocol pairs STEPS    0 to 1 and 2 to 3, one way: messages of which none depends on another's end
 *	protocol deaf STEPS     0 to 1 and to 2, which does not receive
 *	protocol stuck STEPS    0 to 1, and at last to 2, which does not receive: its own time limit ends rank 0 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks, value;

static void send_to(int peer)
{
	MPI_Send(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD);
}

static void receive_from(int peer)
{
	MPI_Recv(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ring(void)
{
	MPI_Request requests[2];
	int in;
	MPI_Irecv(&in, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(&value, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void star(void)
{
	if (rank > 0) {
		send_to(0);
		receive_from(0);
		return;
	}
	for (int r = 1; r < ranks; r++) {
		receive_from(r);
		send_to(r);
	}
}

static void pairs(void)
{
	if (rank % 2 == 0)
		send_to(rank + 1);
	else
		receive_from(rank - 1);
}

static void deaf(void)
{
	if (rank == 0)
		send_to(1);
	if (rank == 0)
		send_to(2);
	if (rank == 1)
		receive_from(0);
}

static void to_one(void)
{
	if (rank == 0)
		send_to(1);
	if (rank == 1)
		receive_from(0);
}

static void stuck(void)
{
	if (rank == 0) {
		alarm(1);
		MPI_Ssend(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
	}
}

static const struct {
	const char *name;
	void (*step)(void);
} kinds[] = {{"ring", ring}, {"star", star}, {"pairs", pairs}, {"deaf", deaf}, {"stuck", to_one}};

static void steps(const char *kind, int n)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		for (int i = 0; i < n && strcmp(kind, kinds[k].name) == 0; i++)
			kinds[k].step();
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	steps(argv[1], atoi(argv[2]));
	if (strcmp(argv[1], "stuck") == 0)
		stuck();
	if (argc > 3)
		MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
