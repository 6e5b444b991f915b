/* plugin_runs.c - all of MPI in a plugin, which is linked with it; the calls of opens.c. */
#include <mpi.h>
#include <stdio.h>

void plugin_runs(void);

void plugin_runs(void)
{
	int rank, size, sum;
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 30; i++)
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	PMPI_Barrier(MPI_COMM_WORLD);
	printf("%d of %d: %d\n", rank, size, sum);
	fflush(stdout);
	MPI_Finalize();
}
