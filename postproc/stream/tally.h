/* tally.h - what one shard's ranks did, added up while the stream passes; merged at its end. Times in ns. */
#pragma once

#include "postproc/stream/defects.h"
#include "postproc/stream/wait_sums.h"

#define TIME_WINDOWS 100

/* One of the equal parts of the run. */
struct time_window {
	uint64_t events, bytes, transfers, completions, barriers, collectives;
	int64_t class_ns[MPIX_CLASSES]; /* thread 0 of all ranks */
	/* The same of runs of unsuccessful tests, each one event: whole, with what was between two of them. */
	int64_t runs_ns[MPIX_CLASSES];
	int64_t wait_ns, present_ns;
	double tracing_ns; /* set at the end */
};

/* How far apart the members of a communicator enter a collective operation. */
struct spread {
	uint64_t operations;
	int64_t sum_ns, max_ns;
	uint32_t last; /* most frequent last rank, by majority vote (Boyer, Moore) */
	uint64_t votes;
};

/* Of many times: 32 steps to a power of two, so a quantile is right within 3 %. */
#define HISTOGRAM_STEPS 32u
#define HISTOGRAM_BINS (60u * HISTOGRAM_STEPS)

struct histogram {
	uint64_t count[HISTOGRAM_BINS], all;
};

/* A message that was sent and never received. */
struct orphan {
	uint32_t src, dst, site;
};

#define ORPHANS_MAX 64u /* named; all are counted */

struct tally {
	int64_t window_ns; /* length of a time window */
	int64_t last_ns;   /* begin of the one that was asked for last */
	unsigned last;
	struct time_window windows[TIME_WINDOWS];
	struct waits waits;
	struct histogram waited;
	int64_t sent_from_ns, sent_to_ns; /* of all messages received */
	uint64_t transfers, bytes;
	struct spread *spreads; /* of barriers, by communicator */
	struct spread
		*arrivals;   /* of all collectives, by call site of the last to enter; behind the last site: unknown */
	uint64_t *came_last; /* by rank: how often in a collective of two or more */
	VEC(struct orphan) orphans;
	struct defects defects;
};

/* 0 or -ENOMEM. */
int tally_begin(struct tally *t, const struct step *s);
/* Add what another saw. */
int tally_merge(struct tally *into, const struct tally *from, const struct step *s);
void tally_done(struct tally *t);
/* Which time window that is, if it is not the one that was asked for last. */
unsigned tally_other_window(struct tally *t, int64_t ns);
/* tally_stretch() over any number of windows. */
void tally_spread(struct tally *t, int64_t from, int64_t to, int64_t *first);

static inline unsigned tally_window_of(struct tally *t, int64_t ns)
{
	bool same = (uint64_t)ns - (uint64_t)t->last_ns < (uint64_t)t->window_ns;
	return same ? t->last : tally_other_window(t, ns);
}

/* Spread a stretch of time over the windows that it covers: to the member at `first` of window 0. */
static inline void tally_stretch(struct tally *t, int64_t from, int64_t to, int64_t *first)
{
	bool same = (uint64_t)from - (uint64_t)t->last_ns < (uint64_t)t->window_ns && from < to &&
		    to - t->last_ns <= t->window_ns;
	if (same)
		add_ns((int64_t *)(void *)((char *)first + t->last * sizeof(struct time_window)), to - from);
	else
		tally_spread(t, from, to, first);
}

void histogram_add(struct histogram *h, int64_t ns);
/* One more operation, entered so far apart; who was last. */
void spread_add(struct spread *sp, int64_t ns, uint32_t last);
/* The value of which the share `part` is below; 0 of none. */
double histogram_quantile(const struct histogram *h, double part);
