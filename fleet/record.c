/* record.c - see record.h. The record is made with long lists first, and with shorter ones until it fits. */
#include "fleet/record.h"
#include "base/path.h"
#include "fleet/fields.h"
#include "fleet/hours.h"
#include "fleet/record_library.h"
#include "fleet/record_nodes.h"

#include "base/index.h"
#include "base/json.h"
#include "format/efficiencies.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGNAL_STATUS 128 /* and the signal, as a shell tells it */

/* How much of each list; the first row that fits RECORD_BYTES_MADE is taken. */
static const struct limits {
	size_t nodes, issues, operations, sites, text_bytes, names;
} tries[] = {{512, 5, 10, 5, 300, 32}, {256, 5, 10, 5, 200, 16}, {128, 3, 10, 3, 120, 16},
	     {32, 3, 5, 2, 80, 8},     {0, 3, 3, 1, 40, 8},	 {0, 0, 0, 0, 20, 0}};

struct making {
	const cJSON *analysis, *job;
	const struct record_source *source;
	const struct limits *limits;
	cJSON *out;
};

/* text of at most the limit's bytes, cut between characters; null for an empty one. */
static void put_text(const struct making *m, cJSON *to, const char *name, const char *text)
{
	size_t len = text != NULL ? strnlen(text, m->limits->text_bytes + 1) : 0;
	char cut[512];
	if (len == 0) {
		json_put_text(to, name, NULL);
		return;
	}
	if (len > m->limits->text_bytes) {
		len = m->limits->text_bytes;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	snprintf(cut, sizeof(cut), "%.*s", (int)len, text);
	json_put_text(to, name, cut);
}

/* Directories lie in somebody's home: where the user's name is not told they are not either. */
static const char *without_directory(const struct making *m, const char *path)
{
	return path != NULL && m->source->without_paths ? path_name(path) : path;
}

static void copy_text(const struct making *m, const char *name)
{
	put_text(m, m->out, name, json_text(m->job, name, NULL));
}

/* Six digits are more than a clock knows; NAN becomes null. */
static void put_number(cJSON *to, const char *name, double value)
{
	char digits[32];
	snprintf(digits, sizeof(digits), "%.6g", value);
	json_put_null_or(to, name, isfinite(value) ? strtod(digits, NULL) : NAN);
}

static double least_0(double value)
{
	return value > 0 ? value : 0;
}

static void put_counts(cJSON *to, const char *name, double value)
{
	json_put_null_or(to, name, value >= 0 && value < 9e15 ? value : NAN);
}

/* ---- identity ---- */

void record_step_id(const cJSON *job, const char *restart, char ret_id[RECORD_ID_MAX])
{
	snprintf(ret_id, RECORD_ID_MAX, "%.80s:%.40s.%.40s:%.20s", json_text(job, "cluster", ""),
		 json_text(job, "job_id", ""), json_text(job, "step_id", ""), restart);
}

/* The same step has the same id, whoever makes the record and how often. Outside of Slurm nothing is unique but all of
 * it together. */
static void put_id(const struct making *m)
{
	char id[RECORD_ID_MAX];
	const char *job = json_text(m->job, "job_id", "");
	if (*job != '\0' && strcmp(job, "0") != 0) {
		record_step_id(m->job, json_text(m->job, "restart", "0"), id);
	} else {
		char key[1024];
		const cJSON *node = json_first(m->job, "nodes");
		snprintf(key, sizeof(key), "%.300s|%.60s|%.200s|%.9g|%.9g|%.9g", json_text(m->job, "program", ""),
			 json_text(m->job, "start", ""), cJSON_IsString(node) ? node->valuestring : "",
			 json_number(m->job, "ranks"), json_number(m->job, "elapsed_s"),
			 json_number(json_item(m->analysis, "coverage"), "events"));
		snprintf(id, sizeof(id), "run:%016llx", (unsigned long long)index_hash(INDEX_SEED, key, strlen(key)));
	}
	json_put_text(m->out, "id", id);
}

static void put_identity(const struct making *m)
{
	json_put_text(m->out, "schema", RECORD_SCHEMA);
	put_id(m);
	copy_text(m, "cluster");
	copy_text(m, "job_id");
	copy_text(m, "step_id");
	copy_text(m, "restart");
	put_text(m, m->out, "user", m->source->user);
	copy_text(m, "account");
	copy_text(m, "partition");
	put_text(m, m->out, "program", without_directory(m, json_text(m->job, "program", NULL)));
	copy_text(m, "build_id");
	put_text(m, m->out, "report", m->source->without_paths ? NULL : m->source->report);
}

/* As who knew it said; else as the ranks' ends tell. */
static const char *outcome(const struct making *m)
{
	const char *said = json_text(json_item(m->job, "outcome"), "state", "UNKNOWN");
	const char *first = json_text(json_first(m->analysis, "issues"), "issue", "");
	if (strcmp(said, "UNKNOWN") != 0)
		return said;
	if (strcmp(first, "death") == 0 || strcmp(first, "out_of_memory") == 0)
		return "FAILED";
	if (strcmp(first, "deadlock") == 0 || strcmp(first, "unfinished") == 0)
		return "STOPPED";
	return json_bool(json_item(m->analysis, "coverage"), "complete", false) ? "COMPLETED" : said;
}

static void put_size(const struct making *m)
{
	put_counts(m->out, "nodes", (double)json_count(m->job, "nodes"));
	put_counts(m->out, "ranks", json_number(m->job, "ranks"));
	copy_text(m, "start");
	put_number(m->out, "elapsed_s", json_number(m->job, "elapsed_s"));
	put_number(m->out, "hung_s", json_number_or(m->job, "hung_s", 0));
	json_put_text(m->out, "state", outcome(m));
}

/* ---- what Slurm may know better ---- */

/* The largest exit status of a rank, as sacct has the step's: code and signal apart. */
static void put_exit(const struct making *m)
{
	double most = NAN, asked = json_number(json_item(m->job, "outcome"), "signal");
	for (const cJSON *r = json_first(m->analysis, "per_rank"); r != NULL; r = r->next)
		most = fmax(most, json_number(r, "exit_status")); /* fmax passes over NAN */
	bool killed = most > SIGNAL_STATUS && most < SIGNAL_STATUS + 65;
	put_counts(m->out, "exit_code", killed ? 0 : most);
	put_counts(m->out, "signal", killed ? most - SIGNAL_STATUS : isnan(asked) && !isnan(most) ? 0 : asked);
}

static void put_end(const struct making *m)
{
	double start = record_time(json_text(m->job, "start", "")), elapsed_s = json_number(m->job, "elapsed_s");
	bool known = elapsed_s >= 0 && elapsed_s < 1e9;
	record_put_time(m->out, "end", known ? start + round(elapsed_s) : NAN);
}

static void put_resident(const struct making *m)
{
	double most = NAN;
	for (const cJSON *r = json_first(m->analysis, "per_rank"); r != NULL; r = r->next)
		most = fmax(most, json_number(r, "resident_max_bytes"));
	put_counts(m->out, "max_rss_bytes", most);
}

/* All fields are there, so that nobody has to guess which there could be. */
static void put_account(const struct making *m)
{
#define PUT_NULL(name, kind, of, column) \
	if (json_item(m->out, #name) == NULL) \
		json_put_text(m->out, #name, NULL);
	put_exit(m);
	put_end(m);
	put_resident(m);
	put_counts(m->out, "tasks", json_number(m->job, "ranks"));
	record_put_processors(m->out, m->analysis);
	RECORD_FIELDS_ADDED(PUT_NULL)
#undef PUT_NULL
}

static void put_io(const struct making *m)
{
	double read = 0, written = 0;
	const cJSON *io = json_item(m->analysis, "io");
	cJSON *to = json_object(m->out, "io");
	for (const cJSON *c = json_first(io, "classes"); c != NULL; c = c->next) {
		const char *class = json_text(c, "class", "");
		double bytes = least_0(json_number_or(c, "bytes", 0));
		read += strstr(class, "read") != NULL ? bytes : 0;
		written += strstr(class, "write") != NULL ? bytes : 0;
	}
	put_counts(to, "read_bytes", io != NULL ? read : NAN);
	put_counts(to, "written_bytes", io != NULL ? written : NAN);
	put_number(to, "time_s", json_number(io, "time_s"));
}

/* ---- what it did ---- */

static void put_coverage(const struct making *m)
{
	const cJSON *from = json_item(m->analysis, "coverage");
	cJSON *to = json_object(m->out, "coverage");
	cJSON_AddBoolToObject(to, "complete", json_bool(from, "complete", false));
	put_counts(to, "ranks_seen", json_number(from, "ranks_seen"));
	put_counts(to, "nodes_missing", (double)json_count(from, "nodes_missing"));
	put_counts(to, "events", json_number(from, "events"));
	put_counts(to, "events_lost", json_number(from, "events_lost"));
}

static void put_efficiency(const struct making *m)
{
	const cJSON *from = json_item(m->analysis, "efficiency");
	cJSON *to = json_object(m->out, "efficiency");
	for (size_t i = 0; i < efficiency_count; i++)
		put_number(to, efficiency_rows[i].name, json_number(from, efficiency_rows[i].name));
}

/* Of the ranks' time until nobody advanced any more: shares of many records can be weighed by their core-hours without
 * the hung ones. How long a rank waited is not known if none of its single calls was recorded, or looked at: of a job
 * with such ranks among others it is told as far as it is known, as of all whose records end early; with no others,
 * not. */
static void put_shares(const struct making *m)
{
	double useful = 0, mpi = 0, wait = 0;
	bool known = false, unknown = false;
	for (const cJSON *r = json_first(m->analysis, "per_rank"); r != NULL; r = r->next) {
		useful += least_0(json_number_or(r, "useful_s", 0));
		mpi += least_0(json_number_or(r, "mpi_s", 0));
		double waited = json_number(r, "wait_s");
		wait += isnan(waited) ? 0 : least_0(waited);
		if (json_number(r, "mpi_s") > 0)
			*(isnan(waited) ? &unknown : &known) = true;
	}
	cJSON *to = json_object(m->out, "share");
	double all = useful + mpi;
	put_number(to, "useful", all > 0 ? useful / all : NAN);
	put_number(to, "mpi", all > 0 ? mpi / all : NAN);
	put_number(to, "wait", all > 0 && (known || !unknown) ? fmin(wait, mpi) / all : NAN);
}

static void put_waits(const struct making *m)
{
	cJSON *to = json_object(m->out, "wait_s");
	unsigned n = 0;
	for (const cJSON *w = json_first(m->analysis, "wait_totals"); w != NULL && n < 32; w = w->next, n++) {
		const char *state = json_text(w, "state", "");
		if (*state != '\0' && strlen(state) < 40 && json_item(to, state) == NULL)
			put_number(to, state, json_number(w, "seconds"));
	}
}

static void put_issues(const struct making *m)
{
	cJSON *to = json_array(m->out, "issues");
	const cJSON *x = json_first(m->analysis, "issues");
	for (size_t n = 0; x != NULL && n < m->limits->issues; x = x->next, n++) {
		cJSON *row = json_row(to);
		put_text(m, row, "issue", json_text(x, "issue", NULL));
		put_text(m, row, "severity", json_text(x, "severity", NULL));
		put_number(row, "loss_s", json_number(x, "loss_s"));
		put_number(row, "gain", json_number(json_item(x, "gain"), "share"));
		put_number(row, "gain_s", json_number(json_item(x, "gain"), "s"));
		const char *what = json_text(x, "what", "");
		put_text(m, row, "what", m->source->without_paths && strchr(what, '/') != NULL ? NULL : what);
	}
}

static void put_operations(const struct making *m)
{
	size_t n;
	const cJSON **list = json_objects_by(m->analysis, "operations", "time_s", &n);
	cJSON *to = json_array(m->out, "operations");
	for (size_t i = 0; i < n && i < m->limits->operations; i++) {
		cJSON *row = json_row(to);
		put_text(m, row, "op", json_text(list[i], "op", NULL));
		put_counts(row, "calls", json_number(list[i], "calls"));
		put_number(row, "time_s", json_number(list[i], "time_s"));
		put_counts(row, "bytes", json_number(list[i], "bytes"));
	}
	free(list);
}

static void put_sites(const struct making *m)
{
	size_t n;
	const cJSON **list = json_objects_by(m->analysis, "callsites", "time_s", &n);
	cJSON *to = json_array(m->out, "callsites");
	for (size_t i = 0; i < n && i < m->limits->sites; i++) {
		const char *function = json_text(list[i], "function", NULL);
		cJSON *row = json_row(to);
		put_text(m, row, "op", json_text(list[i], "op", NULL));
		put_text(m, row, "function", json_text(list[i], "function_short", function));
		put_text(m, row, "file", without_directory(m, json_text(list[i], "file", NULL)));
		put_counts(row, "line", json_number(list[i], "line"));
		put_number(row, "time_s", json_number(list[i], "time_s"));
		put_number(row, "wait_s", json_number(list[i], "wait_s"));
	}
	free(list);
}

static void put_rest(const struct making *m)
{
	const cJSON *summary = json_item(m->analysis, "summary"), *overhead = json_item(m->analysis, "overhead");
	cJSON *bytes = json_object(m->out, "bytes"), *to = json_object(m->out, "overhead");
	put_counts(bytes, "point_to_point", json_number(summary, "bytes_sent"));
	put_counts(bytes, "collective", json_number(summary, "collective_bytes"));
	put_number(to, "ns_per_call", json_number(overhead, "ns_per_call"));
	put_number(to, "share", json_number(overhead, "share"));
	to = json_object(m->out, "versions");
	put_text(m, to, "mpi", json_text(m->job, "mpi", NULL));
	put_text(m, to, "slurm", json_text(m->job, "slurm", NULL));
	put_text(m, to, "mpitrace", m->source->version);
}

/* ---- all of it ---- */

static char *make(struct making *m)
{
	m->out = cJSON_CreateObject();
	put_identity(m);
	put_size(m);
	put_account(m);
	put_coverage(m);
	put_efficiency(m);
	put_shares(m);
	put_waits(m);
	put_issues(m);
	put_operations(m);
	put_sites(m);
	put_io(m);
	put_rest(m);
	record_put_library(m->out, m->analysis, m->limits->names);
	record_put_hours(m->out);
	record_put_nodes(m->out, m->analysis, m->limits->nodes);
	char *text = json_print(m->out);
	cJSON_Delete(m->out);
	return text;
}

int record_build(const char *analysis_json, const struct record_source *source, char **ret_text, struct error *e)
{
	cJSON *analysis = cJSON_Parse(analysis_json);
	struct making m = {.analysis = analysis, .job = json_item(analysis, "job"), .source = source};
	char *text = NULL;
	int rc = 0;
	if (!cJSON_IsObject(m.job))
		rc = fail(e, -EBADMSG, "its analysis is none; analyse again: mpitrace analyze");
	for (size_t i = 0; rc == 0 && i < sizeof(tries) / sizeof(tries[0]); i++) {
		m.limits = &tries[i];
		free(text);
		text = make(&m);
		if (text == NULL)
			rc = fail(e, -ENOMEM, "out of memory while making the record");
		else if (strlen(text) < RECORD_BYTES_MADE)
			break;
	}
	cJSON_Delete(analysis);
	if (rc == 0 && strlen(text) >= RECORD_BYTES_MADE)
		rc = fail(e, -E2BIG, "the record would be larger than %u bytes", RECORD_BYTES_MADE);
	if (rc < 0)
		free(text);
	else
		*ret_text = text;
	return rc;
}

bool record_is_owners(const char *user, const char *owner)
{
	return owner == NULL || *user == '\0' || strncmp(user, "h:", 2) == 0 || strcmp(user, owner) == 0;
}
