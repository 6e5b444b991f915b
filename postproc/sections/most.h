/* most.h - rows of a table, of which those with the largest figure come first. */
#pragma once

#include <stdint.h>

struct most {
	uint32_t at; /* which rank, call site, link */
	double by;
};

/* For qsort(); of equal ones the lower number comes first. */
static inline int most_first(const void *a, const void *b)
{
	const struct most *x = a, *y = b;
	return x->by != y->by ? (x->by < y->by) - (x->by > y->by) : (x->at > y->at) - (x->at < y->at);
}
