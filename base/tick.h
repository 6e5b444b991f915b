/* tick.h - the clock of a record: the processor's invariant counter, or CLOCK_MONOTONIC in nanoseconds where there
 * is none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

extern bool tick_is_tsc __attribute__((visibility("hidden")));

/* Invariant TSC as in Intel SDM vol. 3, 18.17.1 / AMD APM vol. 3, CPUID Fn8000_0007_EDX[8]. Of aarch64 the virtual
 * counter of the generic timer (Arm ARM, D12), which is always there. Call once at start. */
void tick_choose(void) __attribute__((visibility("hidden")));

uint64_t tick_monotonic(void) __attribute__((visibility("hidden"), cold));

static inline __attribute__((always_inline)) uint64_t tick_now(void)
{
#ifdef __aarch64__
	uint64_t tick;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick));
	return tick;
#else
	return __builtin_expect(tick_is_tsc, true) ? __builtin_ia32_rdtsc() : tick_monotonic();
#endif
}

/* Between two looks at a lock: the processor does something else meanwhile. */
static inline void spin_pause(void)
{
#ifdef __aarch64__
	__asm__ volatile("yield");
#else
	__builtin_ia32_pause();
#endif
}

/* One moment on three clocks; the tick is read between the other two. */
struct tick_sample {
	uint64_t tick;
	int64_t monotonic_ns;
	int64_t realtime_ns;
};

struct tick_sample tick_sample(void) __attribute__((visibility("hidden")));
