/* mpic_times.h - the times of an event block as its columns (format/SPEC.md, EVENTS); used by mpic_events.c, and for
 * other numbers by mpic_words.c. */
#pragma once

#include "base/buf.h"
#include "base/cursor.h"

#include <stdint.h>

struct mpic_time_coder; /* what coding needs for a while; kept between blocks */

struct mpic_time_columns {
	struct buf tables, symbols, others, bits;
	uint32_t period; /* of the clock's steps, in ticks */
};

/* Start on a block: sample holds times of it, to look for the clock's steps. NULL: no memory. */
struct mpic_time_coder *mpic_times_begin(struct mpic_time_coder *coder, const uint64_t *sample, uint32_t nsamples,
					 struct mpic_time_columns *out);
/* Append n events, which get tables of their own. gaps and durations[i] belong to one event. -ENOMEM. */
int mpic_times_put(struct mpic_time_coder *coder, const uint64_t *gaps, const uint64_t *durations, uint32_t n,
		   struct mpic_time_columns *out);
/* No more: the last bits. */
void mpic_times_end(struct mpic_time_coder *coder, struct mpic_time_columns *out);
void mpic_times_done(struct mpic_time_coder *coder);

/* Append n numbers below 2^32 that are alike, with steps and a table of their own; between times nothing of them may
 * be pending. *coder as for mpic_times_begin(). -ENOMEM. */
int mpic_numbers_put(struct mpic_time_coder **coder, const uint64_t *numbers, uint32_t n,
		     struct mpic_time_columns *out);
/* Bits that it would take, about; negative without memory. */
float mpic_numbers_bits(struct mpic_time_coder **coder, const uint64_t *numbers, uint32_t n);

#define MPIC_RANGES_MAX 255u /* of a table; and one symbol for what is in no range */
#define MPIC_RANGE_BITS_MAX 32
#define MPIC_PERIOD_MAX 256u
#define MPIC_RESIDUES_MAX 4u

/* mpic_times_read.c. The columns of a payload. */
struct mpic_time_cursors {
	struct cursor tables, symbols, others, bits;
	uint32_t period;
};

/* ret_times[2 * i], [2 * i + 1]: gap and duration of event i of count. -EBADMSG: damaged. */
int mpic_times_read(struct mpic_time_cursors *in, uint32_t count, uint64_t *ret_times);
/* What mpic_numbers_put() wrote is taken from the cursors; other columns may follow. */
int mpic_numbers_read(struct mpic_time_cursors *in, uint32_t n, uint64_t *ret_numbers);

/* The same of version 2 (mpic_times_v2.c). */
struct mpic_time_cursors_v2 {
	struct cursor small, dense, escapes, misfits;
	uint32_t quantum;
};
int mpic_times_read_v2(struct mpic_time_cursors_v2 *in, uint32_t count, uint64_t *ret_times);
