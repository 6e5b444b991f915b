/* hull.h - the clock of one node as a line over another's, from what messages prove. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HULL_BINS 32

/* Constraints on d(t) = other clock - this clock, t on this clock: below[] and above[] keep the
 * tightest of each part of the run. */
struct hull_point {
	double t, d;
	bool set;
};

struct hull {
	struct hull_point above[HULL_BINS]; /* d(t) <= point.d */
	struct hull_point below[HULL_BINS]; /* d(t) >= point.d */
};

struct hull_line {
	double center, offset, slope; /* d(t) = offset + slope * (t - center) */
	double error;		      /* largest distance of any possible line from it, over the run */
};

/* part: which bin the time falls in, 0 .. HULL_BINS - 1. */
void hull_above(struct hull *h, unsigned part, double t, double d);
void hull_below(struct hull *h, unsigned part, double t, double d);
/* The middle of all lines that keep every constraint; its error is that over from .. to. False when one side has no
 * constraint at all. If no line keeps all, the one that breaks them least. slack: how far the clocks themselves are
 * from any line. */
bool hull_middle(const struct hull *h, double from, double to, double slack, struct hull_line *ret_line);
/* Do both clocks agree as they are, d(t) = 0, with every constraint? */
bool hull_allows_zero(const struct hull *h);
/* The line d(t) = 0 and how far it can be from the truth; as hull_middle() otherwise. */
bool hull_zero(const struct hull *h, double from, double to, double slack, struct hull_line *ret_line);
