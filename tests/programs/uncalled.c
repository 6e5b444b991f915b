/* uncalled.c - linked with MPI, and calls nothing of it. */
#include <mpi.h>

int main(void)
{
	int (*volatile init)(int *, char ***) = MPI_Init;
	return init == 0;
}
