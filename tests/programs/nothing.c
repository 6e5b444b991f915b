/* nothing.c - linked with MPI, never calls it but to ask. */
#include <mpi.h>
#include <stdio.h>

int main(void)
{
	int flag;
	MPI_Initialized(&flag);
	printf("initialized %d\n", flag);
	return flag;
}
