/* inlined.c - calls in functions that are inlined into others. */
#include <mpi.h>

static inline __attribute__((always_inline)) void inner(int *value)
{
	MPI_Bcast(value, 1, MPI_INT, 0, MPI_COMM_WORLD);
	*value += 1;
}

static inline __attribute__((always_inline)) void middle(int *value)
{
	inner(value);
	MPI_Barrier(MPI_COMM_WORLD);
	*value += 1;
}

static __attribute__((noinline)) void outer(int *value)
{
	middle(value);
	MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	*value += 1;
}

int main(int argc, char **argv)
{
	int value = argc;
	MPI_Init(&argc, &argv);
	outer(&value);
	MPI_Finalize();
	return value < 0;
}
