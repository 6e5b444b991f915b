/* usage.h - what kernel and processor counted while the step ran, from the SAMPLE blocks of all nodes: memory, clock
 * frequency, time without a processor of all threads. Where there are no samples, nothing is known. */
#pragma once

#include "postproc/read/step.h"

struct rank_usage {
	bool known;			      /* the kernel showed it */
	double off_processor_ns;	      /* ready to run and without a processor, all threads */
	double threads;			      /* of which that was read */
	double resident_max_bytes;	      /* 0: not known */
	double cycles, instructions, user_ns; /* in user mode, where there are counters */
};

struct node_usage {
	double limit_bytes; /* of the job's memory on this node; 0: none, or not known */
	double used_first_bytes, used_most_bytes;
	int64_t first_ns, most_ns; /* time of day of these samples */
};

struct usage_totals {
	struct rank_usage *ranks;    /* by world rank */
	struct node_usage *nodes;    /* as step.nodes */
	const char *counters_absent; /* why there are none, in the words of an agent; NULL: there are, or not known */
};

/* 0 or -ENOMEM. What cannot be read is left out. */
int usage_total(const struct step *s, struct usage_totals *ret_usage);
void usage_totals_done(struct usage_totals *u);
/* Cycles a second of user mode: NaN unless it ran for a second at least. */
double usage_frequency_hz(double cycles, double user_ns);
