/* mpix_samples.h - one sample of all threads as bytes: the payload of SAMPLES of an .mpix, and what whoever serves a
 * running job hands out. SPEC.md draws it. */
#pragma once

#include "base/buf.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "format/mpix.h"

/* What a sample that was read, or two that were joined, points into; zeroed at first, used again, ended by _done. */
struct mpix_sample_memory {
	VEC(struct mpix_sample_thread) threads;
	VEC(struct mpix_sample_cell) cells;
};

/* Append s to out, whatever it says: what is impossible is refused by who reads. start_ns and end_ns are not part. */
void mpix_put_sample(struct buf *out, const struct mpix_sample *s);
/* The reverse. ret_sample: start_ns and end_ns are given, the rest is set and points into m. lanes, nops: what there
 * is. 0, -EBADMSG, -ENOMEM. */
int mpix_get_sample(struct cursor bytes, uint32_t lanes, uint32_t nops, struct mpix_sample_memory *m,
		    struct mpix_sample *ret_sample);
/* b follows a: both as one, in m, which is of neither. 0 or -ENOMEM. */
int mpix_join_samples(const struct mpix_sample *a, const struct mpix_sample *b, struct mpix_sample_memory *m,
		      struct mpix_sample *ret_sample);
uint64_t mpix_sample_cells(const struct mpix_sample *s);
void mpix_sample_done(struct mpix_sample_memory *m);
