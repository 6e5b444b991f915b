/* mpix_head.h - what an .mpix file that is being written says of itself and of its ranks: lanes, clocks, shape,
 * signatures. Private to format/mpix_*.c. */
#pragma once

#include "format/mpix_layout.h"

struct mpix_sigs {
	struct mpix_signature *at;
	uint32_t n;
	size_t cap;
};

struct mpix_head {
	struct mpix_info info; /* a copy, with copies of all lists */
	char **ops;
	struct mpix_lanes lanes;
	struct mpix_shape shape;
	struct mpix_sigs *sigs; /* by rank */
};

/* 0, -EINVAL for what the format does not hold, -ENOMEM; mpix_head_done() frees in any case. */
int mpix_head_begin(struct mpix_head *h, const char *path, const struct mpix_info *info, struct error *e);
void mpix_head_done(struct mpix_head *h);

/* Lanes of a group: the first, and where the next group begins. */
static inline void mpix_group_lanes(const struct mpix_head *h, uint32_t group, uint32_t *ret_first, uint32_t *ret_end)
{
	uint64_t first = (uint64_t)group * h->shape.group_ranks, end = first + h->shape.group_ranks;
	*ret_first = h->lanes.first[first];
	*ret_end = h->lanes.first[end < h->info.ranks ? end : h->info.ranks];
}

static inline const struct mpix_clock *mpix_clock_of(const struct mpix_head *h, uint32_t lane)
{
	return &h->info.clocks[h->info.clock_of_lane != NULL ? h->info.clock_of_lane[lane] : 0];
}
