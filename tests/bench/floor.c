/* floor.c - two reads of the processor's counter and nothing else, per pair. */
#include "parts.h"

#include <stdint.h>
#include <stdio.h>

static uint64_t sum;

static long step(long i)
{
	enum { PAIRS = 1000 };
	for (int k = 0; k < PAIRS; k++) {
		uint64_t enter = __builtin_ia32_rdtsc();
		sum += __builtin_ia32_rdtsc() - enter;
	}
	(void)i;
	return PAIRS;
}

int main(void)
{
	long pairs = 0;
	double seconds = bench_timed(step, 20000, &pairs);
	printf("BENCH %ld %.9f %d 0 0\n", pairs, seconds, sum == 0);
	return 0;
}
