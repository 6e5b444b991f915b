/* parts.h - what the parts of a comparison share: the two sides, and tables of one value a run. */
#pragma once

#include "base/index.h"
#include "base/vec.h"
#include "postproc/compare/compare.h"

/* What is compared: the runs of the first and of the last group, one behind the other. */
struct sides {
	const struct compare_run **run;
	size_t na, nb, n;		  /* run[0 .. na) is side a, run[na .. n) is side b */
	const struct compare_run **again; /* given once more, and left out */
	size_t nagain;
	double *seen;	  /* of each run: ranks that have a record, at least 1 */
	bool *has_events; /* of each run: single calls were recorded, so waits are known */
	bool tested;	  /* noise is known, and no record lacks anything */
	double region_s;  /* of the longer side */
};

/* Rows: one thing each, with a value a run. */
struct row {
	cJSON *object; /* what it is, and later what was found; owned until table_put() */
	double *value;
	size_t added; /* order of making: decides between equals */
	bool outside; /* of the traced region: sorted behind the others */
};

struct table {
	const struct sides *sides;
	VEC(struct row) rows;
	VEC(char *) keys; /* beside rows */
	struct index index;
	bool failed; /* without memory, once and for all */
};

/* A value that is a sum over ranks is shown as the sum and judged a rank; what is no time is judged as it is. */
enum value_kind { VALUE_RANK_SECONDS, VALUE_SECONDS, VALUE_FACTOR };

int sides_init(const struct compare_input *in, struct sides *ret_sides);
void sides_done(struct sides *s);
/* Members a, b, runs, noise and notes. */
int sides_put(const struct sides *s, cJSON *diff);
/* Of side a (0) or b (1): its first run, and how many. */
size_t side_first(const struct sides *s, unsigned side);
size_t side_count(const struct sides *s, unsigned side);
/* A value of each run of the side, in one place. */
double side_mean(const struct sides *s, unsigned side, const double *value);

/* The row of this key, made when there is none; its object is then empty and its values are 0. NULL without memory. */
struct row *table_row(struct table *t, const char *key, bool *ret_made);
/* Compare all rows and give them to the array: with `sorted` the largest change of a rank first. 0 or -ENOMEM. */
int table_put(struct table *t, enum value_kind kind, bool sorted, cJSON *array);
void table_done(struct table *t);

/* Members time, efficiency, operations, wait_states, ranks, iterations. */
int tables_put(const struct sides *s, cJSON *diff);
/* Members callsites and wait_sites. */
int callsites_put(const struct sides *s, cJSON *diff);
int issues_put(const struct sides *s, cJSON *diff);
/* Member scaling: null where all groups have as many ranks. */
int scaling_put(const struct compare_input *in, cJSON *diff);
