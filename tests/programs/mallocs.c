/* mallocs.c - a program whose malloc() asks MPI whether it is up and what time it is, as one that follows its memory
 * does. The loader takes memory from it as well. mallocs LIBRARY: MPI is called first while that one is opened. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
static int asks, busy;
static double last;

void *malloc(size_t bytes)
{
	int up = 0;
	if (asks && !__atomic_exchange_n(&busy, 1, __ATOMIC_SEQ_CST)) {
		MPI_Initialized(&up);
		if (up)
			last = MPI_Wtime();
		__atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
	}
	return __libc_malloc(bytes);
}

int main(int argc, char **argv)
{
	int rank, sum = 1, all;
	asks = 1;
	if (argc > 1 && dlopen(argv[1], RTLD_NOW) == NULL)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	free(malloc(10));
	for (int i = 0; i < 10; i++)
		MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("%d of %d\n", rank, all);
	MPI_Finalize();
	return 0;
}
