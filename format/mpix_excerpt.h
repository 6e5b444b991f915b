/* mpix_excerpt.h - which bytes of an .mpix are enough to look at some places of it: superblock, index, description,
 * analysis and sums of all of the run, and calls, messages and waits of some of its windows. Who has only these bytes
 * reads the file as it is, and knows by its index what he has not. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "format/mpix.h"

#include <stdbool.h>
#include <stdint.h>

struct mpix_excerpt;

struct mpix_bytes {
	uint64_t offset, bytes;
};

/* At most max_bytes of the file. 0; -E2BIG: what must be in it is more; -EINVAL: version 1; -ENOMEM. f stays the
 * caller's, open until mpix_excerpt_free(). */
int mpix_excerpt_new(const struct mpix_file *f, uint64_t max_bytes, struct mpix_excerpt **ret_excerpt);
/* Also the windows that overlap [from_ns, to_ns), of the groups of ranks first to last: all of it, or nothing and false
 * when there is no room. */
bool mpix_excerpt_add(struct mpix_excerpt *x, int64_t from_ns, int64_t to_ns, uint32_t first_rank, uint32_t last_rank);
/* Also the windows before and after it, nearest first, of all ranks, as long as there is room. */
void mpix_excerpt_fill(struct mpix_excerpt *x, int64_t around_ns);
/* Append the bytes to out, and where they stand in the file to ret_ranges, ascending, which the caller frees. 0 or
 * -errno. */
int mpix_excerpt_read(const struct mpix_excerpt *x, struct buf *out, struct mpix_bytes **ret_ranges,
		      size_t *ret_nranges);
void mpix_excerpt_free(struct mpix_excerpt *x);
