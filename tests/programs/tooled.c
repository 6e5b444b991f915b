/* tooled.c - calls that a profiling library (tool.c) counts, and words for it that MPI does not know. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, size, got, sum = 0, in = 0, out = 7;
	MPI_Comm both;
	MPI_Request r[2];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_dup(MPI_COMM_WORLD, &both);
	for (int i = 0; i < 20; i++) {
		MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, both, &r[0]);
		MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 1, both, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, both);
		sum += got + in;
	}
	MPI_Barrier(both);
	PMPI_Barrier(both); /* past all profiling libraries */
	MPI_Pcontrol(77, 5, 2.5);
	MPI_Pcontrol(1);
	MPI_Comm_free(&both);
	printf("sum %d\n", sum);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
