/* day_effects.h - what all programs have in common on a day: weekends, the end of a month when all write their results,
 * a file system that was slow. It is no program's, and taken away before anything is said of one.
 *
 * It is what is left of programs' jobs on a day (series.h), the median of DAY_EFFECT_PROGRAMS or more, so that none of
 * them makes it; less the median of the DAY_EFFECT_DAYS before and behind, so that what lasts stays, as a new MPI
 * library for all; and what a day of the week has of its own. */
#pragma once

#include "fleet/series.h"

#define DAY_EFFECT_DAYS 14u
#define DAY_EFFECT_PROGRAMS 8u /* of which jobs began that day; of fewer nobody knows what they have in common */

struct day_effects {
	double *days; /* from first_day on */
	uint32_t first_day, n;
};

/* Of jobs in the order of their programs, of each by start; day_effects_done() frees. 0 or -ENOMEM. */
int day_effects_find(const struct scan_job *const *jobs, size_t n, struct day_effects *ret_w);
void day_effects_done(struct day_effects *w);
/* Of the logarithm of the efficiency; 0 of a day that is not known. */
double day_effect_of(const struct day_effects *w, uint32_t day);
