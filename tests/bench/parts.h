/* parts.h - how long many equal steps take where others use the machine, too. */
#pragma once

#include <stdlib.h>
#include <time.h>

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define PARTS 50

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Seconds of n steps, as PARTS times the median of PARTS equal parts of them: others that have the processor for some
 * milliseconds are left out, what each step costs is in. A step returns how many calls it made. */
static inline double bench_timed(long (*step)(long i), long n, long *ret_calls)
{
	double parts[PARTS];
	for (int p = 0; p < PARTS; p++) {
		double start = now_s();
		for (long i = n * p / PARTS; i < n * (p + 1) / PARTS; i++)
			*ret_calls += step(i);
		parts[p] = now_s() - start;
	}
	qsort(parts, PARTS, sizeof(parts[0]), by_value);
	return PARTS * (parts[PARTS / 2 - 1] + parts[PARTS / 2]) / 2;
}
