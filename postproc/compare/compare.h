/* compare.h - what changed between groups of runs. In: their analyses.  Out: an object "mpitrace/diff/1", described
 * in docs/diff.schema.json. */
#pragma once

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* Did the problem grow with the number of ranks? */
enum compare_reading {
	COMPARE_BOTH,	/* not known: both readings are given */
	COMPARE_STRONG, /* the same problem on more ranks */
	COMPARE_WEAK,	/* the same problem a rank */
};

struct compare_run {
	const char *path;
	cJSON *analysis; /* owned */
	unsigned group;
	double ranks;
};

/* Runs of group 0 come first, then those of group 1 and so on; each group has one at least. */
struct compare_input {
	struct compare_run *runs;
	size_t nruns;
	unsigned ngroups; /* 2 or more: the first is compared with the last, scaling is about all */
	enum compare_reading reading;
};

/* The analysis in an .mpix, or in a file of JSON: 0, or -errno with text. */
int compare_load(const char *path, struct compare_run *ret_run, struct error *e);
/* 0 and the object, which the caller deletes; -EINVAL: runs of one group that have different numbers of ranks;
 * -ENOMEM. */
int compare_runs(const struct compare_input *in, cJSON **ret_diff, struct error *e);
