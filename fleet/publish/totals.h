/* totals.h - sums that a destination holds in place of records: a value for each metric and set of labels. */
#pragma once

#include "base/index.h"
#include "base/vec.h"

struct total {
	char *metric, *labels; /* labels as the destination writes them */
	double value, was;     /* was: as the state has it, NAN: not at all */
};

struct totals {
	VEC(struct total) all;
	struct index by_name;
};

/* The one of that name, value 0 when it is new; NULL without memory. Good until the next call. */
struct total *totals_at(struct totals *t, const char *metric, const char *labels);
/* Is there one? */
bool totals_has(const struct totals *t, const char *metric, const char *labels);
/* Harmless for a zeroed one. */
void totals_done(struct totals *t);
