/* profile.h - the ranks' useful time at a glance: its quartiles, who is out of line, and the same by node. For the page
 * and the terminal alike. In: per_rank of an analysis, not trusted. */
#pragma once

#include "base/json.h"

#define OUTLIERS_MAX 32
#define QUARTILE_RANKS 8 /* of fewer ranks all are told, not the middle half */
#define NODE_SLOW 1.2	 /* of the median node's useful time */

struct node_row {
	const char *name; /* of the analysis */
	size_t ranks;
	double useful_s, mpi_s, wait_s; /* means over its ranks */
	double longest_s;		/* useful time of its busiest rank */
	bool slow;			/* computes longer than others */
};

struct profile {
	size_t nranks;
	double least_s, lower_s, median_s, upper_s, most_s; /* useful time: quartiles */
	long least_rank, most_rank;
	long outlier[OUTLIERS_MAX]; /* ascending */
	size_t noutliers;	    /* also those for which there is no room */
	struct node_row *node;	    /* most useful time first */
	size_t nnodes, nslow;
};

/* 0 or -ENOMEM; ranks without a record are left out. */
int profile_create(const cJSON *analysis, struct profile *ret_profile);
void profile_done(struct profile *p);
