/* changes.h - when a program became slower or faster, whoever ran it with however many ranks; and when a user's jobs
 * did, of whichever programs that did not change themselves.
 *
 * The logarithm of a job's parallel efficiency is a day's level plus that of its cell (user or program, power of two of
 * the ranks) plus that of its three hours of the day, fitted by turns; so that a day with other users or larger jobs is
 * not a change of the program, nor one on which jobs began by night. What days of the week differ by from their week is
 * taken away where there are SEASON_DAYS or more. Of the series of days, the split with the largest two-sample t is
 * taken, then the best one of each part (binary segmentation; Scott
 * and Knott, Biometrics 30, 1974). The variance of a day is what is left of it beside both means, and larger by its
 * correlation with the day before. p counts all splits of all programs
 * and users that were looked at (Bonferroni). */
#pragma once

#include "fleet/scan.h"

#define CHANGE_LEAST 0.02 /* of the efficiency */
#define CHANGE_P 0.01
#define CHANGE_DAYS 7 /* with jobs, on either side */
#define SEASON_DAYS 28

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
