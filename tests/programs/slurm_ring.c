/* slurm_ring.c - a ring of messages that ends as told: slurm_ring [ROUNDS] [exit=N|kill=SIGNAL|abort]. The end
 * comes half-way on the last rank for kill and abort, and after MPI_Finalize on all ranks for exit. Writes one
 * line a rank to stdout and rank 0 one to stderr. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void end_half_way(const char *how)
{
	if (strncmp(how, "kill=", 5) == 0)
		raise(atoi(how + 5));
	if (strcmp(how, "abort") == 0)
		MPI_Abort(MPI_COMM_WORLD, 9);
}

int main(int argc, char **argv)
{
	int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 100, value = 0;
	const char *how = argc > 2 ? argv[2] : "exit=0";
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++) {
		MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &value, 1, MPI_INT, (rank + size - 1) % size, 7,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (i == rounds / 2 && rank == size - 1)
			end_half_way(how);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	printf("rank %d of %d got %d\n", rank, size, value);
	if (rank == 0)
		fprintf(stderr, "ring done\n");
	MPI_Finalize();
	return strncmp(how, "exit=", 5) == 0 ? atoi(how + 5) : 0;
}
