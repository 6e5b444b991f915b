/* changes.h - when a program became slower or faster, whoever ran it with however many ranks; and when a user's jobs
 * did, of whichever programs that did not change themselves.
 *
 * What is left of a job's efficiency beside the levels of its user, ranks, time of the day and day of the week
 * (series.h), and beside what all programs have in common on its day (day_effects.h), is put together by days. Of the
 * days with CHANGE_DAYS before and behind, the one is taken with the largest two-sample score, then the best one of
 * each part (binary segmentation; Scott and Knott, Biometrics 30, 1974). By how much jobs differ since then is the
 * coefficient of being behind it, beside all levels, which are fitted to that as well (Frisch and Waugh, Econometrica
 * 1, 1933), so that users who came with the change are told from it. The variance of a day is what is left of it, and
 * larger by its correlation with the day before. p counts all splits of all programs and users that were looked at
 * (Bonferroni).
 *
 * On the day on which a build or an MPI library of the program came, fewer jobs are enough: half of what chance may
 * bring is left to these days, of which there are few. What jobs are worse by for a node that is suspected of being
 * slow is the node's (nodes_charge()). */
#pragma once

#include "fleet/scan.h"

#define CHANGE_LEAST 0.02 /* of the efficiency */
#define CHANGE_P 0.01
#define CHANGE_DAYS 7 /* with jobs, on either side */

struct change {
	uint32_t name, day;	    /* of the program or user; the first day after it */
	uint32_t day_low, day_high; /* surely between, at 95 % */
	double before, after;	    /* efficiency, mean over core-hours of jobs of these parts */
	double change, low, high;   /* of the efficiency for the same users and ranks: -0.1 = a tenth less */
	double p;
	uint32_t jobs_before, jobs_after;
	double hours_since; /* core-hours that all jobs since then cost more (or less, below 0) than they would have */
};

typedef VEC(struct change) change_list;

/* Append all, by name and day. 0 or -ENOMEM. */
int changes_find(const struct scan *s, change_list *ret_list);
