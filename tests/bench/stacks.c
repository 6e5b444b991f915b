/* stacks.c N [fibre] - one rank that sends to nobody, called by five functions of 2 KiB each: on the stack of the
 * thread, or on a fibre's. What the callers cost (stack=4) where the stack is known, and where it is asked for. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define APART __attribute__((noinline, noclone))
#define STACK_BYTES (256u << 10)

static ucontext_t back, there;
static long turns, calls;
static double seconds;

APART static long deep(int depth)
{
	volatile char room[2048];
	int a = 1;
	room[0] = 1;
	if (depth > 0)
		return deep(depth - 1) + room[0];
	MPI_Send(&a, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
	return room[0];
}

static long step(long i)
{
	(void)i;
	deep(4);
	return 1;
}

static void work(void)
{
	bench_timed(step, 1000, &calls);
	calls = 0;
	seconds = bench_timed(step, turns, &calls);
}

int main(int argc, char **argv)
{
	int rank;
	turns = argc > 1 ? atol(argv[1]) : 1000000;
	bench_begin(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc > 2 && strcmp(argv[2], "fibre") == 0) {
		getcontext(&there);
		there.uc_stack.ss_sp = malloc(STACK_BYTES);
		there.uc_stack.ss_size = STACK_BYTES;
		there.uc_link = &back;
		makecontext(&there, work, 0);
		swapcontext(&back, &there);
	} else {
		work();
	}
	bench_end(rank, (double)calls, seconds);
	return 0;
}
