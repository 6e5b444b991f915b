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
void mpix_sample_done(struct mpix_sample_memory *m);

/* ---- those of a file that is being written: as many as there is room for ---- */

struct mpix_head;
struct mpix_chunks;

/* As it will be written: the last ones can still become one with their neighbours. */
struct mpix_held_sample {
	int64_t start_ns, end_ns;
	uint32_t records;
	struct buf bytes;
};

struct mpix_held_samples {
	VEC(struct mpix_held_sample) list;
	uint64_t bytes, max_bytes;
	uint64_t next; /* the least number of the next one */
};

/* 0, -EINVAL for what cannot be, -ENOMEM. */
int mpix_samples_add(struct mpix_held_samples *held, const struct mpix_head *h, const struct mpix_sample *sample);
int mpix_samples_write(const struct mpix_held_samples *held, struct mpix_chunks *out, struct error *e);
void mpix_samples_done(struct mpix_held_samples *held);
