/* job.c - see job.h. */
#include "fleet/job.h"

#include "fleet/record.h"

#include "base/index.h"
#include "base/json.h"
#include "format/issues.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define START_LEAST 1704067200.0 /* 2024: before it there was no trace of ours */
#define CLOCKS_DIFFER_S 86400.0	 /* by no more, with time zones that are set wrongly */
#define HOURS_MOST 1e9

static double bounded(double value, double least, double most, double fallback)
{
	return value >= least && value <= most ? value : fallback;
}

static bool is_in_doubt(const char *text, double latest)
{
	return *text != '\0' && !(record_time(text) <= latest);
}

/* What cannot be of the times of a job that has ended, or NULL. */
static const char *doubt_of(const struct fleet_job *j)
{
	double latest = (double)time(NULL) + CLOCKS_DIFFER_S;
	if (isnan(j->start))
		return "does not say when it began";
	if (j->start < START_LEAST)
		return "began before there was an mpitrace";
	if (j->start > latest)
		return "begins in the future";
	if (j->start + j->elapsed_s > latest)
		return "ends in the future";
#define IN_DOUBT(name, kind, of, column) \
	if (FIELD_##kind == FIELD_TIME && is_in_doubt(json_text(j->record, #name, ""), latest)) \
		return "says a time that cannot be: " #name;
	RECORD_FIELDS_ADDED(IN_DOUBT)
#undef IN_DOUBT
	return NULL;
}

/* The first issue that is worth a look, as in the report. */
static void take_issue(struct fleet_job *j)
{
	for (const cJSON *x = json_first(j->record, "issues"); x != NULL; x = x->next)
		if (strcmp(json_text(x, "severity", "info"), "info") != 0) {
			j->names[FLEET_ISSUE] = json_text(x, "issue", "");
			j->loss = bounded(json_number(x, "loss_core_hours"), 0, j->core_hours, 0);
			return;
		}
}

bool fleet_issue_is_known(const struct fleet_job *j)
{
	return issue_row(j->names[FLEET_ISSUE]) != NULL;
}

/* One of Slurm's words, or nothing that could be one. */
static const char *state_of(const char *text)
{
	static const char *const all[] = {"COMPLETED", "FAILED",	"STOPPED",   "CANCELLED",
					  "TIMEOUT",   "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED",
					  "BOOT_FAIL", "DEADLINE",	"REVOKED",   "REQUEUED"};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i], text) == 0)
			return all[i];
	return "UNKNOWN";
}

static void take_added(struct fleet_job *j)
{
#define ROW(name, kind, of, column) {#name, FIELD_##kind},
	static const struct {
		const char *name;
		enum field_kind kind;
	} rows[] = {RECORD_FIELDS_ADDED(ROW)};
#undef ROW
	for (size_t i = 0; i < FLEET_ADDED; i++) {
		enum field_kind k = rows[i].kind;
		const char *text = json_text(j->record, rows[i].name, "");
		bool is_text = FIELD_IS_TEXT(k);
		j->added[i].text = is_text && strlen(text) <= FLEET_NAME_MAX ? text : "";
		j->added[i].number = k == FIELD_TIME ? record_time(text)
				     : is_text	     ? NAN
						     : bounded(json_number(j->record, rows[i].name), 0, 1e18, NAN);
	}
}

static void take_names(struct fleet_job *j)
{
	static const struct {
		enum fleet_kind kind;
		const char *key;
	} keys[] = {{FLEET_USER, "user"},	{FLEET_ACCOUNT, "account"}, {FLEET_PARTITION, "partition"},
		    {FLEET_PROGRAM, "program"}, {FLEET_BUILD, "build_id"},  {FLEET_CLUSTER, "cluster"}};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		j->names[keys[i].kind] = json_text(j->record, keys[i].key, "");
	j->names[FLEET_MPI] = json_text(json_item(j->record, "versions"), "mpi", "");
	j->names[FLEET_ISSUE] = "";
}

/* Readers differ in which of two they take, so that one record would be two users'. */
static bool has_twice(const cJSON *record)
{
	uint64_t seen[16] = {0};
	for (const cJSON *x = cJSON_IsObject(record) ? record->child : NULL; x != NULL; x = x->next) {
		uint64_t hash = index_hash(INDEX_SEED, x->string, strlen(x->string)), bit = UINT64_C(1) << hash % 64;
		uint64_t *word = &seen[hash / 64 % 16];
		if ((*word & bit) != 0 && json_item(record, x->string) != x)
			return true;
		*word |= bit;
	}
	return false;
}

/* Where waiting is not known, as with totals alone, all of the time in MPI counts as MPI, and none as waiting. */
static void take_shares(struct fleet_job *j, const cJSON *share)
{
	j->useful = bounded(json_number(share, "useful"), 0, 1, NAN);
	j->wait = isnan(j->useful) ? 0 : bounded(json_number(share, "wait"), 0, 1 - j->useful, 0);
}

const char *fleet_job_of(const cJSON *record, struct fleet_job *j)
{
	const cJSON *share = json_item(record, "share"), *efficiency = json_item(record, "efficiency");
	*j = (struct fleet_job){
		.record = record, .key = json_text(record, "id", ""), .job = json_text(record, "job_id", "")};
	if (strcmp(json_text(record, "schema", ""), RECORD_SCHEMA) != 0)
		return "is not a record of schema " RECORD_SCHEMA;
	if (has_twice(record))
		return "has a field twice";
	if (*j->key == '\0' || strlen(j->key) >= RECORD_ID_MAX || strlen(j->job) > FLEET_NAME_MAX)
		return "has no id, or a long one";
	take_names(j);
	for (int k = 0; k <= FLEET_CLUSTER; k++)
		if (j->names[k] != NULL && strlen(j->names[k]) > FLEET_NAME_MAX)
			return "has a name of more than 512 bytes";
	j->start = record_time(json_text(record, "start", ""));
	j->elapsed_s = bounded(json_number(record, "elapsed_s"), 0, HOURS_MOST, 0);
	j->doubt = doubt_of(j);
	if (j->doubt != NULL)
		return j->doubt;
	j->ranks = bounded(json_number(record, "ranks"), 0, 1e9, 0);
	j->nodes = bounded(json_number(record, "nodes"), 0, 1e9, 0);
	j->core_hours = bounded(json_number(record, "core_hours"), 0, HOURS_MOST, 0);
	take_shares(j, share);
	j->hung = bounded(json_number(record, "hung_core_hours"), 0, j->core_hours, 0);
	j->idle = bounded(json_number(json_item(record, "hours"), "idle"), 0, j->core_hours - j->hung, 0);
	double hung = j->core_hours > 0 ? j->hung / j->core_hours : 0;
	double went_on = j->core_hours > 0 ? 1 - (j->hung + j->idle) / j->core_hours : 1;
	j->useful *= went_on;
	j->wait = fmin(j->wait * went_on + hung, 1 - j->useful);
	j->state = state_of(json_text(record, "state", ""));
	take_added(j);
	j->parallel = bounded(json_number(efficiency, "parallel"), 0, 1, NAN);
	j->load_balance = bounded(json_number(efficiency, "load_balance"), 0, 1, NAN);
	j->complete = json_bool(json_item(record, "coverage"), "complete", false);
	take_issue(j);
	return NULL;
}

void fleet_columns(const struct fleet_job *j, struct fleet_column c[FLEET_COLUMNS])
{
#define TEXT(name, value) \
	{ \
		name, value, NAN \
	}
#define NUMBER(name, value) \
	{ \
		name, NULL, value \
	}
#define ADDED(name, kind, of, column) \
	{#name, FIELD_IS_TEXT(FIELD_##kind) ? j->added[FLEET_ADDED_##name].text : NULL, \
	 j->added[FLEET_ADDED_##name].number},
	const struct fleet_column all[] = {TEXT("id", j->key),
					   TEXT("cluster", j->names[FLEET_CLUSTER]),
					   TEXT("job", j->job),
					   TEXT("user", j->names[FLEET_USER]),
					   TEXT("account", j->names[FLEET_ACCOUNT]),
					   TEXT("partition", j->names[FLEET_PARTITION]),
					   TEXT("program", j->names[FLEET_PROGRAM]),
					   TEXT("build_id", j->names[FLEET_BUILD]),
					   TEXT("mpi", j->names[FLEET_MPI]),
					   NUMBER("nodes", j->nodes),
					   NUMBER("ranks", j->ranks),
					   NUMBER("start", j->start),
					   NUMBER("elapsed_s", j->elapsed_s),
					   NUMBER("core_hours", j->core_hours),
					   NUMBER("useful", j->useful),
					   NUMBER("wait", j->wait),
					   NUMBER("parallel", j->parallel),
					   NUMBER("load_balance", j->load_balance),
					   TEXT("issue", j->names[FLEET_ISSUE]),
					   NUMBER("loss_core_hours", j->loss),
					   NUMBER("complete", j->complete),
					   NUMBER("hung_core_hours", j->hung),
					   TEXT("state", j->state),
					   NUMBER("idle_core_hours", j->idle),
					   RECORD_FIELDS_ADDED(ADDED)};
	_Static_assert(sizeof(all) / sizeof(all[0]) == FLEET_COLUMNS, "one a column");
	memcpy(c, all, sizeof(all));
#undef TEXT
#undef NUMBER
#undef ADDED
}

void fleet_claim(const struct fleet_job *j, char ret_text[FLEET_CLAIM_MAX])
{
	const char *user = j->names[FLEET_USER];
	snprintf(ret_text, FLEET_CLAIM_MAX, "%s%s%s", j->key, *user != '\0' ? " " : "", user);
}
