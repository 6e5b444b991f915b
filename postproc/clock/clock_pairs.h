/* clock_pairs.h - what messages say of each pair of nodes' clocks, and the ties that follow (clock.c). */
#pragma once

#include "postproc/clock/clock.h"
#include "postproc/clock/hull.h"

struct pair {
	uint32_t a, b; /* a < b; the hull is of clock b - clock a over clock a */
	struct hull *hull;
	struct hull_line line;
	bool usable;
};

struct range {
	int64_t from, to;
};

struct pairs {
	VEC(struct pair) list;
	struct index index;
	struct range *runs;		/* by node: its events, on its own clock */
	const struct clock_rule *rules; /* by node */
	uint32_t nnodes;
};

/* A node's clock on the first node's: time = offset + rate * own, in doubles relative to the step's
 * zero. */
struct tie {
	double offset, rate, error;
	bool known;
};

/* Something that began on node x at begin_ns was over on node y at end_ns, not before: 0 or -ENOMEM. */
int pairs_learn(struct pairs *p, uint32_t x, int64_t begin_ns, uint32_t y, int64_t end_ns);
/* Add what another learnt. */
int pairs_merge(struct pairs *into, const struct pairs *from);
/* The lines, and the ties that follow, of nnodes nodes; ties[0] is known, rates are 1. True if the clocks as they are
 * break no constraint. */
bool pairs_solve(struct pairs *p, struct tie *ties);
void pairs_done(struct pairs *p);
/* Does nobody leave this collective before all have entered? */
bool clock_all_wait(enum sig_coll kind);
void clock_move(const struct tie *t, int64_t *ns);
void clock_decide(const struct step *s, const struct tie *ties, bool agree, struct clock_result *r);
