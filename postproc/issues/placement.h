/* placement.h - how far apart nodes are, and what messages between them cost. Private to placement*.c. */
#pragma once

#include "postproc/analysis.h"

/* Levels of switches between any two nodes: 1 below the same leaf switch, 2 below its sibling, ... */
struct distances {
	uint8_t *levels; /* nodes x nodes; NULL: the switches are not known, so all are at one distance */
	uint32_t n;
	unsigned most; /* at least 1 */
};

struct distances distances_between(const struct step *s);
void distances_done(struct distances *d);

static inline unsigned distances_levels(const struct distances *d, uint32_t a, uint32_t b)
{
	if (a == b)
		return 0;
	return d->levels != NULL ? d->levels[(size_t)a * d->n + b] : 1;
}

/* What messages between nodes took beyond what they would take within one, s, without waiting for partners. measured:
 * the latter is known from sends within nodes; else it counts as nothing, and the result is a bound. */
double placement_cost(const struct analysis *a, bool *ret_measured);
