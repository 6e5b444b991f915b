/* series.h - the jobs of one program, or of one user, in the order in which they began, and what those of a kind have
 * in common.
 *
 * The logarithm of a job's parallel efficiency is the sum of the levels of its factors and of what is left:
 *
 *     other    the user who ran the program (of a user's jobs: the program that was run)
 *     size     the power of two of its ranks
 *     both     this other with this size
 *     part     the three hours of the day in which it began
 *     weekday  where there are SEASON_DAYS or more
 *
 * Levels of a factor are taken as normally distributed around 0, with a variance that is estimated with them, so that
 * one that few jobs show is held to 0, the more so the less the levels of its factor differ (a mixed model: Henderson,
 * Biometrics 31, 1975; variances by the EM algorithm: Laird and Ware, Biometrics 38, 1982). Fitted by turns. Values
 * that are far off count less (Huber, Robust Statistics, 1981). */
#pragma once

#include "fleet/scan.h"

#define SEASON_DAYS 28
#define SERIES_DAY_JOBS 30.0 /* more jobs of a day do not make it surer: they have it in common */

enum series_of { OF_PROGRAM, OF_USER };

enum series_factor { BY_OTHER, BY_SIZE, BY_BOTH, BY_PART, BY_WEEKDAY, SERIES_FACTORS };

struct series_job {
	const struct scan_job *job;
	uint32_t level[SERIES_FACTORS];
	double weight; /* 1, or less where a day has more than SERIES_DAY_JOBS */
	double y;
};

/* What the jobs of a level have in common. */
struct series_level {
	double value, sum, weight;
};

struct series {
	struct series_job *jobs; /* by start */
	size_t n;
	uint32_t name;
	/* Of the fit that was made last: */
	struct series_level *levels[SERIES_FACTORS];
	uint32_t nlevels[SERIES_FACTORS];
	double shrinkage[SERIES_FACTORS]; /* so many jobs would say as much of a level as is known without any */
	double freedom;			  /* jobs, less what levels took of them */
	double variance;		  /* of what is left of a job */
	double clip;			  /* what is left beyond that counts as that */
	double *room;
};

/* Name of a job's program or user. */
uint32_t series_name(const struct scan_job *j, enum series_of what);

/* The series of n jobs of one name, by start; series_done() frees. 0 or -ENOMEM. */
int series_make(const struct scan_job *const *jobs, size_t n, enum series_of what, struct series *ret_s);
void series_done(struct series *s);

/* Of jobs [from, to): learn the levels of values[from, to), in whose place is then what is left of them. */
void series_fit(struct series *s, size_t from, size_t to, double *values);
/* Likewise by variances that series_fit() found of these jobs, whatever the values. */
void series_project_out(struct series *s, size_t from, size_t to, double *values);
/* What is left counts as this: within `clip`. */
double series_clipped(const struct series *s, double left);
