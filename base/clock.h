/* clock.h - what time it is. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Of CLOCK_MONOTONIC: for how long something may take, or took. */
static inline int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t now_ms(void)
{
	return now_ns() / 1000000;
}

static inline double now_s(void)
{
	return (double)now_ns() / 1e9;
}
