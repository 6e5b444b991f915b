/* floor.c - two reads of the processor's counter and nothing else, per pair. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

int main(void)
{
	enum { N = 20000000 };
	struct timespec a, b;
	uint64_t sum = 0;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < N; i++) {
		uint64_t enter = __builtin_ia32_rdtsc();
		sum += __builtin_ia32_rdtsc() - enter;
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("BENCH %d %.9f %d 0 0\n", N, (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec),
	       sum == 0);
	return 0;
}
