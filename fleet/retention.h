/* retention.h - how long single jobs stay in the database: older ones go with their records, and all sums stay. */
#pragma once

#include "fleet/db.h"

#define RETENTION_DAYS_LEAST 31u /* so that a week can be judged, and what changed before it */

/* Let go of each job that began more than `days` days before `now`, a day a transaction. *ret_jobs: how many went. 0 or
 * -errno with text; then what went before is gone. */
int fleet_keep(struct fleet *f, int64_t now, unsigned days, uint64_t *ret_jobs, struct error *e);
/* Jobs that began before it, in seconds since 1970, are gone; 0: none are. */
int fleet_kept_from(struct fleet *f, int64_t *ret_start, struct error *e);
