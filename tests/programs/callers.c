/* callers.c - one call of MPI_Allreduce from two functions, one within the other too: who called is in the trace only
 * where stack=N asks for it. */
#include <mpi.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

static volatile int rounds;

APART static void sum(void)
{
	int one = 1, all = 0;
	MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	rounds += all;
}

APART static void solve(int depth)
{
	if (depth > 0)
		solve(depth - 1);
	sum();
	rounds++; /* no tail call */
}

APART static void advance(void)
{
	for (int i = 0; i < 100; i++)
		sum();
	rounds++;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	advance();
	for (int i = 0; i < 100; i++)
		solve(2);
	MPI_Finalize();
	return rounds > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
