/* periods.h - when calls come again: of each call site of one rank how often, when first and last, and how its distance
 * in time from one call to the next changes. Some numbers a call site, whatever the length of the run. A visitor of the
 * stream around another one; looks at the first threads of two ranks, the first and the middle one. */
#pragma once

#include "postproc/stream/stream.h"

#define PERIOD_RANKS 2
#define PERIOD_PIECES 32 /* of a loop: as many distances in each, a power of two */

/* Distances between the starts of a site's calls, numbered from 0: sums about their means (Welford). */
struct period {
	uint64_t calls;
	int64_t first_ns, last_ns, last_end_ns; /* starts of the first and the last call, end of the last */
	int64_t next_ns;			/* start of the call after the last one, of any site; INT64_MIN: none */
	double mean_ns, mean_k, sum_kk, sum_gg, sum_kg;
	double shortest_ns, longest_ns, before_ns; /* before_ns: the last one */
	double sum_ns, steady_ns;		   /* of all; of those between half and twice the one before */
	double piece_ns[PERIOD_PIECES];		   /* sums of distances, one behind the other */
	unsigned piece_log2;			   /* distances in each but the last: 1 << piece_log2 */
	bool of_all;				   /* a collective of the whole world */
};

struct periods {
	const struct stream_visitor *inner;
	size_t nsites;
	struct periods_of {
		uint32_t rank; /* NONE: not looked at */
		uint32_t last_site;
		struct period *at; /* by call site */
	} of[PERIOD_RANKS];
};

/* The visitor to give to stream_run() in place of inner; x holds what it finds. 0 or -ENOMEM. */
int periods_watch(struct periods *x, const struct step *s, const struct stream_visitor *inner,
		  struct stream_visitor *ret_visitor);
void periods_done(struct periods *x);

/* How many distances are in piece i, from 0 on; 0 behind the last. */
uint64_t period_piece_of(const struct period *b, unsigned i);

/* Of distances, as a straight line over their number: at that number; and how far they are from it, in units of their
 * mean. Needs 3 calls. */
double period_line_ns(const struct period *b, double k);
double period_deviation(const struct period *b);
/* How much of the time passed in distances between half and twice the one before: a few that are very long, as where
 * others took the processor, spoil a deviation, and this little. */
double period_steadiness(const struct period *b);
