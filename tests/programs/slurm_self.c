/* slurm_self.c - messages to oneself for so long: slurm_self SECONDS [CALLS]. As many events as a processor can
 * make, or at most CALLS messages a rank, none of which the other ranks or the network have a part in. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	long calls = argc > 2 ? atol(argv[2]) : -1, done = 0;
	int rank, size, in = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (double end = MPI_Wtime() + seconds; done != calls && (done % 64 != 0 || MPI_Wtime() < end); done++) {
		MPI_Request requests[2];
		MPI_Irecv(&in, 1, MPI_INT, rank, (int)(done % 3), MPI_COMM_WORLD, &requests[0]);
		MPI_Isend(&rank, 1, MPI_INT, rank, (int)(done % 3), MPI_COMM_WORLD, &requests[1]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	}
	printf("rank %d of %d did %ld\n", rank, size, done);
	MPI_Finalize();
	return 0;
}
