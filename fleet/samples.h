/* samples.h - the jobs by which nodes and programs are judged, day by day, so that judging takes as long for ten
 * million jobs as for one: of a day, SAMPLE_JOBS at most, with SAMPLE_NODES nodes in all.
 *
 * Of a day with more, each program of each user has as many as each other one, if it has as many: a program with few
 * jobs keeps all, and one with many, of which thirty a day say all that there is to be said (fleet/changes.h), is
 * thinned. Which ones is by a hash of their numbers, so that all hours of the day are there, and the same ones are
 * taken whenever that is done; each stands for those of its program, user and day that are not there (scan_job.others).
 *
 * A day is kept until a job of it comes or goes, by triggers; so is what it adds to versions and sizes of programs. */
#pragma once

#include "fleet/db.h"

#define SAMPLE_DAYS 400u /* that are judged, up to the last one with jobs */
#define SAMPLE_JOBS 4000u
#define SAMPLE_NODES 20000u

/* Of all days of which jobs came or went, each in a transaction of its own. 0 or -errno with text. */
int samples_renew(struct fleet *f, struct error *e);
