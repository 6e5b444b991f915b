/* tick.c - see tick.h. */
#include "base/tick.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#define NS_PER_S 1000000000ll

bool tick_is_tsc;

void tick_choose(void)
{
#ifdef __x86_64__
	unsigned a = 0, b = 0, c = 0, d = 0;
	tick_is_tsc = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
	tick_is_tsc = true;
#endif
}

uint64_t tick_monotonic(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * (uint64_t)NS_PER_S + (uint64_t)t.tv_nsec;
}

struct tick_sample tick_sample(void)
{
	struct timespec mono, real;
	clock_gettime(CLOCK_MONOTONIC, &mono);
	uint64_t tick = tick_now();
	clock_gettime(CLOCK_REALTIME, &real);
	return (struct tick_sample){tick, mono.tv_sec * NS_PER_S + mono.tv_nsec, real.tv_sec * NS_PER_S + real.tv_nsec};
}
