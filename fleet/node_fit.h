/* node_fit.h - the model of fleet/nodes.h, fitted in rounds; what is left of it is for node_changes.h, node_programs.h
 * and nodes.c. */
#pragma once

#include "fleet/nodes.h"

#include "base/index.h"

#define NODE_HUBER 2.5 /* standard deviations beyond which a deviation counts less */
#define NODE_NORMAL_MEDIAN 1.4826

/* A program: offset of rank 0's node; and of its jobs, whoever ran them, as of a group. */
struct node_offset {
	uint64_t key;
	double first, sum, n;
	double sum_abs, deviations;
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
	double *square;		       /* likewise, of what is left: as large as the weight where the noise is right */
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

/* Everything of s before the first round. 0 or -ENOMEM; node_fit_done() in any case. */
int node_fit_begin(struct node_fit *f, const struct scan *s);
/* So many rounds, the first of them with all nodes alike. room: as many doubles as there are nodes. */
void node_fit_iterate(struct node_fit *f, int rounds, int first_rounds, double *room);
void node_fit_done(struct node_fit *f);
