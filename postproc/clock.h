/* clock.h - one time for all nodes (SEMANTICS.md 2). */
#pragma once

#include "postproc/match.h"

struct clock_result {
	const char *method;
	double error_bound_ns;			    /* NaN: not known */
	uint64_t violations;			    /* messages that still end before they start */
	uint64_t violations_repaired, events_moved; /* see repair.c */
	uint64_t largest_ns;			    /* the worst of them */
	uint32_t nodes_unlinked;		    /* nodes that no two-way traffic ties to the first */
};

/* clock_node.c: turn all ticks of the step into nanoseconds of each node's own real-time clock,
 * relative to the earliest sample of the step. */
int clock_to_ns(struct step *s, struct error *e);

/* clock.c: bring all nodes to the clock of the first by what messages and collectives prove, then
 * make the earliest event time zero. */
int clock_align(struct step *s, const struct ops *o, const struct matching *m, struct clock_result *ret_result,
		struct error *e);
/* Set violations and largest_ns of result. */
void clock_count_violations(const struct step *s, const struct ops *o, const struct matching *m,
			    struct clock_result *result);
