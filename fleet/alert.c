/* alert.c - see alert.h. */
#include "fleet/alert.h"

#include "base/json.h"
#include "base/path.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME_MOST 512u	 /* bytes of a name that a reader takes */
#define FUTURE_S 86400.0 /* clocks and time zones differ by no more */

/* How much of it; the first row that fits is taken. */
static const struct amount {
	size_t members, why_bytes;
} tries[] = {{16, 1000}, {4, 400}, {1, 100}, {0, 0}};

/* Where somebody is: file and line, or a module, whose directory may tell the user's name. */
static void put_place(cJSON *row, const cJSON *from, bool without_paths)
{
	const char *place = json_text(from, "callsite", NULL);
	json_put_text(row, "callsite", place != NULL && without_paths ? path_name(place) : place);
}

static void put_members(cJSON *to, const cJSON *from, size_t most, bool without_paths)
{
	size_t n = 0;
	for (; from != NULL && n < most; from = from->next) {
		const char *state = json_text(from, "state", "mpi");
		if (strcmp(state, "mpi") != 0) /* of all ranks: who is in no call */
			continue;
		cJSON *row = json_row(to);
		json_put_null_or(row, "rank", json_number(from, "rank"));
		json_put_text(row, "op", json_text(from, "op", NULL));
		put_place(row, from, without_paths);
		json_put_null_or(row, "since_s", json_number(from, "since_s"));
		json_put_null_or(row, "needs", json_number(from, "needs"));
		json_put_text(row, "until", json_text(from, "until", NULL));
		n++;
	}
}

static void put_job(cJSON *o, const cJSON *job, const struct record_source *source)
{
	static const char *const texts[] = {"cluster", "job_id", "step_id", "account", "partition"};
	char id[RECORD_ID_MAX], restart[24];
	const char *program = json_text(job, "program", NULL);
	snprintf(restart, sizeof(restart), "%.0f", json_number_or(job, "restart", 0));
	record_step_id(job, restart, id);
	json_put_text(o, "schema", ALERT_SCHEMA);
	json_put_text(o, "id", id);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = json_text(job, texts[i], "");
		json_put_text(o, texts[i], *text != '\0' ? text : NULL);
	}
	json_put_text(o, "restart", restart);
	json_put_text(o, "user", source->user != NULL && *source->user != '\0' ? source->user : NULL);
	json_put_text(o, "program", program != NULL && source->without_paths ? path_name(program) : program);
	json_put_null_or(o, "nodes", json_number(job, "nodes"));
	json_put_null_or(o, "ranks", json_number(job, "ranks"));
}

static void put_why(cJSON *o, const char *why, size_t most, bool without_paths)
{
	char cut[1024];
	size_t len = why != NULL ? strnlen(why, most) : 0;
	while (len > 0 && why[len] != '\0' && ((unsigned char)why[len] & 0xc0) == 0x80)
		len--;
	snprintf(cut, sizeof(cut), "%.*s", (int)len, len > 0 ? why : "");
	json_put_text(o, "why", len == 0 || (without_paths && strchr(cut, '/') != NULL) ? NULL : cut);
}

/* Their ranks nobody knows. */
static void put_start(cJSON *o, const struct alert_start *start)
{
	char why[160];
	snprintf(why, sizeof(why),
		 "%u of %u process%s ha%s not come out of MPI_Init for %.0f s, and all have called it", start->inside,
		 start->called, start->called == 1 ? "" : "es", start->inside == 1 ? "s" : "ve", start->since_s);
	json_put_text(o, "what", "in MPI_Init");
	json_put(o, "core_ranks", start->inside);
	json_array(o, "core");
	json_put_text(o, "why", why);
}

static void put_hang(cJSON *o, const cJSON *live, const struct record_source *source, const struct amount *a)
{
	const cJSON *deadlock = json_first(live, "deadlock");
	const cJSON *members = deadlock != NULL ? json_first(deadlock, "core") : json_first(live, "ranks");
	json_put_text(o, "what", deadlock != NULL ? "deadlock" : "nobody advances");
	json_put_null_or(o, "core_ranks", deadlock != NULL ? json_number(deadlock, "core_ranks") : NAN);
	put_members(json_array(o, "core"), members, a->members, source->without_paths);
	put_why(o, json_text(deadlock, "why", NULL), a->why_bytes, source->without_paths);
}

static char *make(const cJSON *live, const struct record_source *source, double since, const struct alert_start *start,
		  const struct amount *a)
{
	cJSON *o = cJSON_CreateObject();
	put_job(o, json_item(live, "job"), source);
	record_put_time(o, "time", json_number(live, "time"));
	record_put_time(o, "since", since);
	if (start != NULL)
		put_start(o, start);
	else
		put_hang(o, live, source, a);
	json_put_text(o, "version", source->version);
	char *text = json_print(o);
	cJSON_Delete(o);
	return text;
}

int alert_build(const char *live_json, const struct record_source *source, double since,
		const struct alert_start *start, char **ret_text, struct error *e)
{
	cJSON *live = cJSON_Parse(live_json);
	char *text = NULL;
	int rc = strcmp(json_text(live, "schema", ""), "mpitrace/live/1") == 0 ? -E2BIG : -EBADMSG;
	for (size_t i = 0; rc == -E2BIG && i < sizeof(tries) / sizeof(tries[0]); i++) {
		free(text);
		text = make(live, source, since, start, &tries[i]);
		rc = text == NULL ? -ENOMEM : strlen(text) < ALERT_BYTES_MAX ? 0 : -E2BIG;
	}
	cJSON_Delete(live);
	if (rc == 0)
		*ret_text = text;
	else
		free(text);
	return rc == 0 ? 0 : fail(e, rc, "the alert cannot be made: %s", strerror(-rc));
}

/* ---- reading ---- */

const char *alert_of(const cJSON *json, struct alert *ret_a)
{
	struct alert a = {.id = json_text(json, "id", ""),
			  .cluster = json_text(json, "cluster", ""),
			  .partition = json_text(json, "partition", ""),
			  .user = json_text(json, "user", "")};
	if (strcmp(json_text(json, "schema", ""), ALERT_SCHEMA) != 0)
		return "is not an alert of schema " ALERT_SCHEMA;
	if (*a.id == '\0' || strlen(a.id) >= RECORD_ID_MAX)
		return "has no id, or a long one";
	if (strlen(a.cluster) > NAME_MOST || strlen(a.partition) > NAME_MOST || strlen(a.user) > NAME_MOST)
		return "has a name of more than 512 bytes";
	a.since = record_time(json_text(json, "since", ""));
	a.time = record_time(json_text(json, "time", ""));
	if (isnan(a.since) || isnan(a.time) || a.since > a.time)
		return "does not say when it was";
	if (a.time > (double)time(NULL) + FUTURE_S)
		return "is of a time to come";
	*ret_a = a;
	return NULL;
}
