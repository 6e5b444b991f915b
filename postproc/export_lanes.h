/* export_lanes.h - the events of a step as .mpix wants them: lane by lane, cut at windows; private to export*.c. */
#pragma once

#include "postproc/analysis.h"

/* Events of one thread of one rank, without those that only continue the one before. */
struct lane {
	uint64_t *enter, *leave; /* ns as ticks of a clock at 1 GHz */
	uint32_t *sig;
	uint32_t *number; /* index into ops.colls, or NONE */
	uint32_t n;
	uint32_t *begin;	       /* of each window, and one more: its first event */
	VEC(struct mpix_extra) extras; /* index: within the lane */
};

struct lanes {
	const struct analysis *a;
	uint32_t *threads;   /* of each rank */
	uint32_t *first;     /* lane of each rank, and one more */
	uint32_t **place_of; /* by rank, by event: its number within its lane */
	struct lane *at;
	uint32_t n;
	int64_t zero_ns;	 /* the earliest start, or 0 */
	VEC(int64_t) boundaries; /* of windows: one more than there are */
};

static inline uint32_t lanes_windows(const struct lanes *l)
{
	return (uint32_t)l->boundaries.n - 1;
}

/* 0 or -ENOMEM. */
int lanes_make(struct lanes *ret_lanes, const struct analysis *a);
void lanes_done(struct lanes *l);
/* Where event `at` of rank is. */
struct mpix_position lanes_position(const struct lanes *l, uint32_t rank, uint32_t at);
/* Which lane and which of its events. */
const struct lane *lanes_event(const struct lanes *l, uint32_t rank, uint32_t at, uint32_t *ret_place);
