/* clock.h - one time for all nodes (SEMANTICS.md 2). */
#pragma once

#include "postproc/read/step.h"

struct clock_result {
	const char *method;
	double error_bound_ns;			    /* NaN: not known */
	uint64_t violations;			    /* messages that still end before they start */
	uint64_t violations_repaired, events_moved; /* see stream/sweep.h */
	uint64_t largest_ns;			    /* the worst of them */
	uint32_t nodes_unlinked;		    /* nodes that no two-way traffic ties to the first */
};

/* From tick on: ns + (tick - knot's tick) * rate. */
struct clock_knot {
	uint64_t tick;
	double ns, rate; /* ns per tick */
};

struct clock_rule {
	VEC(struct clock_knot) knots; /* ascending tick, at least one */
	double slack_ns;	      /* how far they are from any line: the clock was steered, or samples are noisy */
};

/* clock_node.c: the rule of one node from its samples, in order; zero: the step's on this node's monotonic clock. */
int clock_rule_make(struct node *n, int64_t zero, struct clock_rule *ret_rule);
/* Ticks of a process to nanoseconds. */
void clock_convert(struct process *p, const struct clock_rule *r);
/* Sort the samples of all nodes; the earliest as a date, ns since 1970: the step's zero. */
int64_t clock_earliest(struct step *s);
/* What this node's monotonic clock lacks to the date. */
int64_t clock_median_offset(const struct node *n);
