/* mpix_summary.h - the pyramid of shares of time (mpix_summary.c): it owns the finest level while parts are added.
 * Private to format/mpix_*.c. */
#pragma once

#include "format/mpix_chunks.h"
#include "format/mpix_pack.h"

/* Shares of time of the finest level. */
struct mpix_summary {
	uint16_t *share; /* [rank][class - 1][bin], 65535 = the whole bin */
	struct mpix_open_bin {
		float busy_ns[MPIX_PLANES];
		uint32_t bin;
	} * open; /* of each rank: the bin that may still grow */
	uint32_t bins;
	double width_ns, bins_per_ns;
};

/* Sets the head's time_levels. 0 or -ENOMEM. */
int mpix_summary_init(struct mpix_summary *s, struct mpix_head *h);
void mpix_summary_done(struct mpix_summary *s);
/* Begin the sums of a part: 0 or -ENOMEM. */
int mpix_summary_begin(const struct mpix_summary *s, const struct mpix_head *h, const struct mpix_part *part,
		       struct mpix_packed *p);
/* mpix_summary_add() of any stretch of time. */
void mpix_summary_spread(const struct mpix_summary *s, struct mpix_packed *p, uint32_t row, unsigned class,
			 int64_t from_ns, int64_t to_ns);

/* Rank of the group (row) was in a call of a class. */
static inline void mpix_summary_add(const struct mpix_summary *s, struct mpix_packed *p, uint32_t row, unsigned class,
				    int64_t from_ns, int64_t to_ns)
{
	if (from_ns >= p->bin_from_ns && to_ns <= p->bin_to_ns && from_ns < to_ns)
		p->busy_ns[((size_t)row * MPIX_PLANES + class - 1) * p->nbins + p->bin] += (float)(to_ns - from_ns);
	else
		mpix_summary_spread(s, p, row, class, from_ns, to_ns);
}
void mpix_summary_put(struct mpix_summary *s, const struct mpix_head *h, const struct mpix_packed *p);
/* Write all tiles of all levels. */
int mpix_summary_write(struct mpix_summary *s, const struct mpix_head *h, struct mpix_chunks *out, struct error *e);
