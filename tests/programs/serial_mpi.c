/* serial_mpi.c - a library that stands in for MPI, and (-DPROGRAM) a program that is linked with it. */
#include <stdio.h>

int MPI_Init(int *argc, char ***argv);
int MPI_Comm_rank(int comm, int *rank);
int MPI_Finalize(void);
int PMPI_Comm_rank(int comm, int *rank);

#ifdef PROGRAM
int main(int argc, char **argv)
{
	int rank = -1;
	MPI_Init(&argc, &argv);
	for (int i = 0; i < 3; i++)
		if (MPI_Comm_rank(i, &rank) != 0 || rank != i)
			return 1;
#ifdef PROFILED
	if (PMPI_Comm_rank(9, &rank) != 0 || rank != 9)
		return 2;
#endif
	return MPI_Finalize();
}
#else
#ifdef PROFILED
#define NAME(x) P##x
#pragma weak MPI_Init = PMPI_Init
#pragma weak MPI_Comm_rank = PMPI_Comm_rank
#pragma weak MPI_Finalize = PMPI_Finalize
#else
#define NAME(x) x
#endif

int NAME(MPI_Init)(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	return puts("serial") < 0;
}

int NAME(MPI_Comm_rank)(int comm, int *rank)
{
	*rank = comm;
	if (comm == 2)
		puts("serial");
	return 0;
}

int NAME(MPI_Finalize)(void)
{
	return puts("serial") < 0;
}
#endif
