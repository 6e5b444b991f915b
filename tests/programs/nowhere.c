/* nowhere.c - MPI_Init_thread that has nowhere to say what it provides: MPICH lets it. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, rc = MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	printf("%d: %d\n", rank, rc);
	MPI_Finalize();
	return 0;
}
