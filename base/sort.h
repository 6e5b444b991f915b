/* sort.h - sorting what is nearly sorted already: lists put together of a few that are each in order. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sort_key {
	uint64_t major, minor;
	uint32_t at; /* which it is; not compared */
};

/* By major, then minor; equal ones keep their order. room: for n keys. One comparison a key where all is in order, else
 * one more for each time the number of runs in order can be halved. */
void sort_keys(struct sort_key *keys, struct sort_key *room, size_t n);

/* For qsort() and bsearch(): ascending. */
int sort_by_u32(const void *a, const void *b);
int sort_by_i64(const void *a, const void *b);
int sort_by_double(const void *a, const void *b);

/* The middle of n values, the mean of both where there are two; 0 of none. Sorts them. */
double sort_median(double *values, size_t n);
