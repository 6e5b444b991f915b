/* mprobes.c - messages that a matched probe has found, received after others of the same envelope: rank 0 sends 4 B and
 * 400 B, rank 1 probes one or both and receives the second before the first. */
#include <mpi.h>
#include <stdlib.h>

#define TIMES 10
#define SHORT 4
#define LONG 400

static char a[LONG], b[LONG];

/* Another receive comes between the probe and its Mrecv. */
static void between(int rank)
{
	MPI_Message first;
	if (rank == 0) {
		MPI_Send(a, SHORT, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
		MPI_Send(a, LONG, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
		return;
	}
	MPI_Mprobe(0, 7, MPI_COMM_WORLD, &first, MPI_STATUS_IGNORE);
	MPI_Recv(b, LONG, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Mrecv(b, SHORT, MPI_CHAR, &first, MPI_STATUS_IGNORE);
}

static void find(MPI_Message *message)
{
	for (int found = 0; !found;)
		MPI_Improbe(0, 8, MPI_COMM_WORLD, &found, message, MPI_STATUS_IGNORE);
}

/* Two are found, and received in the other order. */
static void turned(int rank)
{
	MPI_Message first, second;
	MPI_Request requests[2];
	if (rank == 0) {
		MPI_Send(a, SHORT, MPI_CHAR, 1, 8, MPI_COMM_WORLD);
		MPI_Send(a, LONG, MPI_CHAR, 1, 8, MPI_COMM_WORLD);
		return;
	}
	find(&first);
	find(&second);
	MPI_Imrecv(b, LONG, MPI_CHAR, &second, &requests[0]);
	MPI_Imrecv(a, SHORT, MPI_CHAR, &first, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < TIMES; i++) {
		between(rank);
		turned(rank);
	}
	return MPI_Finalize();
}
