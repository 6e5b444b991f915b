/* merge.h - the samples of all nodes as one: each merged sample has a number, a time, and all threads of the step. A
 * node that is late is waited for only so long; what it did is in a later one, so that all of them together are the
 * exact totals. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct merge;

struct merged {
	uint64_t number; /* from 1, of this struct merge */
	int64_t realtime_ns;
	char *json; /* schema mpitrace/sample/1, one line; to be freed */
	size_t len_bytes;
	char *summary; /* a row of mpitrace/summary/1; to be freed */
};

/* path: a directory of .mpic files, or one. 0 or -ENOMEM. */
int merge_create(const char *path, struct merge **ret_merge);
void merge_destroy(struct merge *m);
/* Read what came since. 0, or -errno with text: as step_load(), but that files which are none yet are passed over. */
int merge_update(struct merge *m, struct error *e);
/* The next one that all nodes have, or that has waited long enough at now_ns (CLOCK_REALTIME): 1, 0 when there is none
 * now, -ENOMEM. */
int merge_next(struct merge *m, int64_t now_ns, struct merged *ret_merged);
/* All files are finished, and all of their samples are handed out. */
bool merge_over(const struct merge *m);
