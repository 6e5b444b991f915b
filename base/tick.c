/* tick.c - see tick.h. */
#include "base/tick.h"

#include "base/clock.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

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
	return (uint64_t)now_ns();
}

struct tick_sample tick_sample(void)
{
	int64_t monotonic_ns = now_ns();
	uint64_t tick = tick_now();
	return (struct tick_sample){tick, monotonic_ns, clock_ns(CLOCK_REALTIME)};
}
