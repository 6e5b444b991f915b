/* record.h - the job record: what one finished step says to a machine's fleet, as JSON "mpitrace/job/2"
 * (docs/job.schema.json), at most RECORD_BYTES_MAX long. In: the analysis object of the step, not trusted, and who it
 * is of.  Out: one line of text, of which nothing has to be taken away afterwards: names are left out here. */
#pragma once

#include "base/error.h"

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stddef.h>

#define RECORD_SCHEMA "mpitrace/job/2"
#define RECORD_SCHEMA_1 "mpitrace/job/1" /* fleet/record_read.h reads it */
#define RECORD_BYTES_MAX 8192u
#define RECORD_BYTES_MADE 7168u /* what Slurm's account knows comes to it later */
#define RECORD_ID_MAX 256u

/* What the analysis does not know, or may not say. Texts may be NULL: then the record has null. */
struct record_source {
	const char *user;    /* name, or what stands for it (record_user()) */
	const char *report;  /* path of the step's page */
	const char *version; /* of mpitrace */
	bool without_paths;  /* names of files without directories, which tell the user's name */
};

/* The record of an analysis, without a line break at its end; the caller frees it. Long lists are cut, what they lack
 * is a number in the record. 0; -EBADMSG when analysis_json is no analysis; -E2BIG; -ENOMEM. */
int record_build(const char *analysis_json, const struct record_source *source, char **ret_text, struct error *e);

/* "CLUSTER:JOB.STEP:RESTART", the id of a step of Slurm's: job has cluster, job_id and step_id. */
void record_step_id(const cJSON *job, const char *restart, char ret_id[RECORD_ID_MAX]);
/* Seconds since 1970 of "2026-03-02T10:00:00Z"; NAN for anything else, and for what no calendar has, as 2026-02-30. */
double record_time(const char *text);
/* The other way; null for what is no time. */
void record_put_time(cJSON *to, const char *name, double seconds);

/* Whose file it is must be who it says, or anybody could speak for others. A hidden name ("", "h:...") says nobody;
 * owner NULL: nobody asks. */
bool record_is_owners(const char *user, const char *owner);

/* Slurm's form of names, "n[01-03,7],login", in their order; the caller frees it, NULL without memory. */
char *record_nodelist(const char *const *names, size_t n);
