/* paused.c - two ranks; 0 sends 5 messages of 8 B, switches its events off, sends 5 more of 8 B over PAUSE_US, switches
 * them on, and sends 5 of 800 B: calls before, in and after the pause are of one place. */
#include <mpi.h>
#include <unistd.h>

#define PAUSE_US 200000

static char b[800];

static void pass(int rank, int bytes)
{
	if (rank == 0)
		MPI_Send(b, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
	else
		MPI_Recv(b, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pass_five(int rank, int bytes)
{
	for (int i = 0; i < 5; i++)
		pass(rank, bytes);
}

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	pass_five(rank, 8);
	if (rank == 0)
		MPI_Pcontrol(0);
	pass_five(rank, 8);
	usleep(PAUSE_US);
	if (rank == 0) {
		MPI_Barrier(MPI_COMM_SELF);
		MPI_Pcontrol(1);
	}
	pass_five(rank, 800);
	MPI_Barrier(MPI_COMM_WORLD);
	return MPI_Finalize();
}
