/* node_changes.h - since when a node has been as it is: where what is left of the fit changes for good. */
#pragma once

#include "fleet/node_fit.h"

/* What one job says of a node. */
struct node_trace {
	float value, weight; /* weight: what the variance of value is the inverse of */
	uint32_t job, group;
};

struct node_traces {
	struct node_trace *all; /* by node, in the order of jobs */
	size_t *first;		/* of each node, and the end */
};

/* NODE_LEFT: what is left beside the node's effect, held to NODE_HUBER standard deviations. NODE_WHOLE: with its
 * effect, as if that had not been fitted. */
enum node_of { NODE_LEFT, NODE_WHOLE };

/* 0 or -ENOMEM; node_traces_done() in any case. */
int node_traces_collect(const struct node_fit *f, enum node_of what, struct node_traces *ret_t);
void node_traces_done(struct node_traces *t);

/* By what a change is told from chance. */
struct node_changing {
	double spread, tests; /* tests: how many splits there are of all nodes */
	double *z;	      /* of each split of the node that is looked at */
};

void node_changing_done(struct node_changing *g);
/* The last change of a node, of which x[0..n) is what some of its jobs say: f->since, and that part of *e. */
void node_last_change(struct node_fit *f, const struct node_changing *g, const struct node_trace *x, size_t n,
		      size_t node, struct node_effect *e);
/* Of all nodes, e[] of each. room: as many doubles as there are nodes. ret_g is for more of the same. 0 or -ENOMEM. */
int node_changes_find(struct node_fit *f, struct node_effect *e, double *room, struct node_changing *ret_g);
