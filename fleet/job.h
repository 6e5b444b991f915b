/* job.h - a record as the fleet counts it: names and numbers held to what they can be. The database (ingest.c), and
 * what `mpitrace publish` sends as columns and sums, take them from here, so that all say the same. */
#pragma once

#include "fleet/db.h"
#include "fleet/fields.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

#define FLEET_NAME_MAX 512u /* bytes of a name */

#define FLEET_ADDED_ROW(name, kind, of, column) FLEET_ADDED_##name,
enum fleet_added { RECORD_FIELDS_ADDED(FLEET_ADDED_ROW) FLEET_ADDED };
#undef FLEET_ADDED_ROW

struct fleet_job {
	const cJSON *record;
	const char *key, *job;		      /* the record's id; Slurm's number of the job */
	const char *names[FLEET_CLUSTER + 1]; /* by enum fleet_kind; NULL where a job has none of that kind */
	double start;			      /* seconds since 1970 */
	double elapsed_s, core_hours;	      /* bounded, 0 where not known */
	double useful, wait;		      /* shares of core_hours; their sum is at most 1. Hung hours are waiting.
						 useful: NAN where not known; then wait is what hung */
	double hung;			      /* core-hours in which nobody advanced any more */
	double idle;			      /* core-hours of processors on which no rank ran */
	const char *state;		      /* how it ended, as in the record; "UNKNOWN" in those that do not say */
	struct {
		const char *text;      /* "" for none, and for a number */
		double number;	       /* NAN for none, and for a text */
	} added[FLEET_ADDED];	       /* by RECORD_FIELDS_ADDED */
	double parallel, load_balance; /* efficiencies, NAN where not known */
	double loss;		       /* core-hours, of the first issue that is worth a look */
	double nodes, ranks;
	bool complete;
	const char *doubt; /* what cannot be of its times; then the rest is not there */
};

/* Who says what about which step: the id, and the user, since anybody may write a record with any id. */
#define FLEET_CLAIM_MAX (256u + FLEET_NAME_MAX + 2)
void fleet_claim(const struct fleet_job *j, char ret_text[FLEET_CLAIM_MAX]);
/* A column of a job, as job_list and all destinations have it. */
struct fleet_column {
	const char *name;
	const char *text; /* NULL: it is a number */
	double number;	  /* NAN: not known */
};
#define FLEET_COLUMNS (24 + FLEET_ADDED)
/* All columns, in the order of job_list from its third on, but that the record's id is the first. */
void fleet_columns(const struct fleet_job *j, struct fleet_column ret_columns[FLEET_COLUMNS]);
/* Is its issue one that an analysis of this version can have? Anybody may have written the record. */
bool fleet_issue_is_known(const struct fleet_job *j);
/* NULL, or what is wrong with it, as in "is no record". Texts are the record's. */
const char *fleet_job_of(const cJSON *record, struct fleet_job *j);
