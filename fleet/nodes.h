/* nodes.h - which nodes are slow: the effect of a node on the ranks that ran there, estimated over all jobs.
 *
 * A job tells how much longer the ranks of each of its nodes computed than the mean of its ranks. In logarithms:
 *
 *     deviation(job, node) = node + first(program) [rank 0's node] - mean over the job + noise(program, user)
 *
 * What a program or a user does to a job as a whole cancels in the mean over the job; what remains of them is how
 * uneven their programs are: noise of its own size for each pair of program and user, so that an even program says more
 * than an uneven one, held to that of the program and this to that of all where there are few jobs; and an offset of
 * rank 0's node, where masters sit, which schedulers tend to place on the same nodes. The offset is fitted first, so
 * that what could be either is a master.
 * Fitted by iterated weighted least squares with Huber's weights (Huber, Robust Statistics, 1981). Where a node's jobs
 * differ by more than that noise, its standard error is what they differ by (the sandwich: Huber, Proc. Fifth Berkeley
 * Symp., 1967), so that two that are far off are no slow node. Nodes that are as they should be are most: the spread of
 * their z tells how far the standard errors are off (Efron, JASA 99, 2004: the empirical null). Suspected is who is
 * slow by NODE_LEAST or more at a false discovery rate of NODE_RATE (Benjamini and Hochberg, 1995).
 *
 * A node may have changed: of what is left of its jobs, in the order in which they began and held to HUBER standard
 * deviations, the split with the largest two-sample z is taken, and again behind it (binary segmentation; Scott and
 * Knott, Biometrics 30, 1974). Its z is measured by that of all nodes in the middle of their jobs, of which most did
 * not change. A change counts when chance would bring one such among all splits of all nodes in NODE_CHANGE_P of
 * reports (Bonferroni), when it is NODE_LEAST or more, and jobs of several programs or users show it. All is fitted
 * once more with an effect before and one since; the latter is judged. Who is not suspected then may be slow for some
 * programs only: node_programs.h. */
#pragma once

#include "fleet/scan.h"

#define NODE_LEAST 0.01 /* effect */
#define NODE_RATE 0.001 /* of those suspected that are not slow, expected */
#define NODE_JOBS 5	/* fewer tell nothing */
#define NODE_CHANGE_P 0.01
#define NODE_EVIDENCE 8 /* jobs that are named */

struct node_effect {
	double effect; /* share by which its ranks compute longer: 0.1 = a tenth slower */
	double low, high;
	double z, q; /* q: the smallest rate of false discoveries at which it would be suspected */
	uint32_t jobs;
	bool suspected;
	uint32_t programs, others;    /* slow for so many programs only, and so many not; 0: for whichever */
	double since;		      /* seconds since 1970: it became so; 0: it has always been */
	double since_low, since_high; /* surely between, at 95 % */
	double before, change_p;      /* its effect until then; of the change, as NODE_CHANGE_P */
	double lost; /* core-hours: what its jobs would have saved if all other ranks had to wait for its own */
	struct {
		uint32_t job; /* index into scan.jobs */
		float deviation;
	} evidence[NODE_EVIDENCE]; /* those that show it best first; job == UINT32_MAX: no more */
};

/* What a job would have saved if all of its other ranks had to wait for this node, one of its own: core-hours, at
 * most. 0 from before it changed. */
double node_cost(const struct node_effect *n, const struct scan_job *job);
/* Tell each job what a suspected node took of its efficiency (slowed, see scan.h). */
void nodes_charge(struct scan *s, const struct node_effect *effects);
/* One for each of s->names; the caller frees it. 0 or -ENOMEM. */
int nodes_estimate(const struct scan *s, struct node_effect **ret_effects);
