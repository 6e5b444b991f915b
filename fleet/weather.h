/* weather.h - what all programs have in common on a day: weekends, the end of a month when all write their results, a
 * file system that was slow. It is no program's, and taken away before anything is said of one.
 *
 * It is what is left of programs' jobs on a day (series.h), the median of WEATHER_PROGRAMS or more, so that none of
 * them makes it; less the median of the WEATHER_DAYS before and behind, so that what lasts stays, as a new MPI library
 * for all; and what a day of the week has of its own. */
#pragma once

#include "fleet/series.h"

#define WEATHER_DAYS 14u
#define WEATHER_PROGRAMS 8u /* of which jobs began that day; of fewer nobody knows what they have in common */

struct weather {
	double *days; /* from first_day on */
	uint32_t first_day, n;
};

/* Of jobs in the order of their programs, of each by start; weather_done() frees. 0 or -ENOMEM. */
int weather_find(const struct scan_job *const *jobs, size_t n, struct weather *ret_w);
void weather_done(struct weather *w);
/* Of the logarithm of the efficiency; 0 of a day that is not known. */
double weather_of(const struct weather *w, uint32_t day);
