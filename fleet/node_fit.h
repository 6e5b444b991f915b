/* node_fit.h - what nodes.c fits (fleet/nodes.h), for those who look at what is left of it: node_changes.c,
 * node_programs.c. */
#pragma once

#include "fleet/nodes.h"

#include "base/index.h"

#define NODE_HUBER 2.5 /* standard deviations beyond which a deviation counts less */
#define NODE_NORMAL_MEDIAN 1.4826

/* A program: offset of rank 0's node. */
struct node_offset {
	uint64_t key;
	double first, sum, n;
};

/* A program of a user. */
struct node_group {
	uint64_t key;
	uint32_t program;  /* index into fit.programs */
	double noise;	   /* standard deviation of one deviation */
	double sum_abs, n; /* of residuals */
};

struct node_fit {
	const struct scan *s;
	VEC(struct node_group) groups;
	struct index by_key;
	VEC(struct node_offset) programs;
	struct index by_program;
	uint32_t *group;	       /* of each job */
	float *value;		       /* logarithm of each deviation */
	double *effect, *sum, *weight; /* of each node before, then of each since */
	uint32_t *jobs;
	uint32_t *since; /* of each node: its first job after its last change; UINT32_MAX: none */
};

/* What is left of node i of a job when its group's offset is taken away. */
double node_without_first(const struct node_fit *f, const struct scan_job *job, const struct node_group *g, uint32_t i);
/* The job's own level, of which it says nothing: weighted as its residuals are. */
double node_level_of(const struct node_fit *f, const struct scan_job *job, const struct node_group *g);
/* Effect of node i of a job, then. */
double node_effect_in(const struct node_fit *f, const struct scan_job *job, uint32_t i);
size_t node_job_number(const struct node_fit *f, const struct scan_job *job);

/* ---- node_changes.c ---- */

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
