/* kind_influxdb.c - InfluxDB's line protocol, 1.x (database) and 2.x (org, bucket). A point is told apart by
 * measurement, tags and time: the record's id is a tag and its time is the job's start, so a repeat overwrites what is
 * there. */
#include "fleet/publish/kind.h"

#include "base/json.h"
#include "base/utf8.h"
#include "fleet/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *missing(const struct destination *d)
{
	if ((d->database == NULL) == (d->bucket == NULL))
		return "needs database = NAME (InfluxDB 1.x), or org = NAME and bucket = NAME (2.x)";
	return d->bucket != NULL && (d->org == NULL || d->token == NULL) ? "needs org and token_file beside bucket"
									 : NULL;
}

static void url(const struct destination *d, struct buf *ret_url)
{
	publish_base(d, ret_url);
	buf_str(ret_url, d->database != NULL ? "/write?precision=s&db=" : "/api/v2/write?precision=s&bucket=");
	publish_percent(ret_url, d->database != NULL ? d->database : d->bucket);
	if (d->database == NULL) {
		buf_str(ret_url, "&org=");
		publish_percent(ret_url, d->org);
	}
}

static int headers(const struct destination *d, const struct publish_batch *b, const struct buf *body,
		   struct buf *ret_lines, struct error *e)
{
	(void)b, (void)body, (void)e;
	if (d->token != NULL)
		buf_printf(ret_lines, "Authorization: Token %s\n", d->token);
	return 0;
}

/* ---- a line ---- */

/* In tags and keys a backslash cannot be escaped, and would take the meaning of what follows: it becomes a slash. A
 * line break cannot be there either. `special` are those that a backslash makes plain. */
static void put_escaped(struct buf *b, const char *text, const char *special, bool quoted)
{
	char *clean = utf8_clean(text, strlen(text));
	if (clean == NULL) {
		b->failed = true;
		return;
	}
	for (const char *c = clean; *c != '\0'; c++) {
		if (strchr(special, *c) != NULL)
			buf_u8(b, '\\');
		buf_u8(b, *c == '\\' && !quoted ? '/' : (uint8_t)*c);
	}
	free(clean);
}

/* An empty tag is an error there. */
static void put_tag(struct buf *b, const char *name, const char *text)
{
	if (*text == '\0')
		return;
	buf_printf(b, ",%s=", name);
	put_escaped(b, text, ", =", false);
}

static void put_field(struct buf *b, bool *first, const char *name)
{
	buf_u8(b, *first ? ' ' : ',');
	*first = false;
	put_escaped(b, name, ", =", false);
	buf_u8(b, '=');
}

static void put_number(struct buf *b, bool *first, const char *name, double value)
{
	if (!isfinite(value))
		return;
	put_field(b, first, name);
	buf_printf(b, "%.15g", value);
}

static void put_text(struct buf *b, bool *first, const char *name, const char *text)
{
	if (*text == '\0')
		return;
	put_field(b, first, name);
	buf_u8(b, '"');
	put_escaped(b, text, "\"\\", true);
	buf_u8(b, '"');
}

static void put_numbers(struct buf *b, bool *first, const cJSON *o, const char *before, const char *behind)
{
	char name[128];
	for (const cJSON *x = cJSON_IsObject(o) ? o->child : NULL; x != NULL; x = x->next) {
		if (snprintf(name, sizeof(name), "%s%s%s", before, x->string, behind) < (int)sizeof(name))
			put_number(b, first, name, json_number_of(x));
	}
}

static void put_issue(struct buf *b, bool *first, const cJSON *record)
{
	for (const cJSON *x = json_first(record, "issues"); x != NULL; x = x->next)
		if (strcmp(json_text(x, "severity", "info"), "info") != 0) {
			put_text(b, first, "issue", json_text(x, "issue", ""));
			put_number(b, first, "loss_core_hours", json_number(x, "loss_core_hours"));
			return;
		}
}

/* What Slurm's account says; times as seconds since 1970. */
static void put_added(struct buf *b, bool *first, const cJSON *r)
{
	struct fleet_job j;
	if (fleet_job_of(r, &j) != NULL) /* state_take() has looked */
		return;
#define PUT(name, kind, of, column) \
	put_text(b, first, #name, j.added[FLEET_ADDED_##name].text); \
	put_number(b, first, #name, j.added[FLEET_ADDED_##name].number);
	RECORD_FIELDS_ADDED(PUT)
#undef PUT
}

static void put_fields(struct buf *b, const cJSON *r)
{
	static const char *const numbers[] = {"elapsed_s", "core_hours", "hung_core_hours", "nodes", "ranks"};
	bool first = true;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		put_number(b, &first, numbers[i], json_number(r, numbers[i]));
	put_numbers(b, &first, json_item(r, "share"), "share_", "");
	put_numbers(b, &first, json_item(r, "efficiency"), "efficiency_", "");
	put_numbers(b, &first, json_item(r, "wait_s"), "wait_", "_s");
	put_numbers(b, &first, json_item(r, "bytes"), "bytes_", "");
	put_number(b, &first, "overhead_share", json_number(json_item(r, "overhead"), "share"));
	put_issue(b, &first, r);
	put_numbers(b, &first, json_item(r, "hours"), "hours_", "");
	put_numbers(b, &first, json_item(json_item(r, "hours"), "wait"), "hours_wait_", "");
	put_text(b, &first, "state", json_text(r, "state", ""));
	put_added(b, &first, r);
	put_text(b, &first, "job", json_text(r, "job_id", ""));
	put_text(b, &first, "build_id", json_text(r, "build_id", ""));
	put_text(b, &first, "report", json_text(r, "report", ""));
	put_text(b, &first, "mpi", json_text(json_item(r, "versions"), "mpi", ""));
	put_field(b, &first, "complete"); /* a point needs a field: this one is always there */
	buf_str(b, json_bool(json_item(r, "coverage"), "complete", false) ? "true" : "false");
}

static void put_record(struct buf *b, const cJSON *r)
{
	static const char *const tags[] = {"account", "cluster", "id", "partition", "program", "user"};
	struct tm tm = {0};
	const char *start = json_text(r, "start", "");
	buf_str(b, "mpitrace_job");
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		put_tag(b, tags[i], json_text(r, tags[i], ""));
	put_fields(b, r);
	strptime(start, "%Y-%m-%dT%H:%M:%SZ", &tm); /* state.c takes none without */
	buf_printf(b, " %lld\n", (long long)timegm(&tm));
}

static void encode(const struct publish_batch *b, struct buf *ret_body)
{
	for (size_t i = 0; i < b->n; i++)
		put_record(ret_body, b->records[i].json);
}

/* ---- what is removed ---- */

/* A value as put_tag() leaves it, in quotes of that kind. */
static void put_value(struct buf *b, const char *text, char quote)
{
	const char special[] = {quote, '\0'};
	buf_u8(b, (uint8_t)quote);
	put_escaped(b, text, special, false);
	buf_u8(b, (uint8_t)quote);
}

static void forget_1(const struct destination *d, const char *user, enum publish_step step, struct publish_request *r)
{
	_cleanup_buf_ struct buf q = {0};
	buf_str(&q, step == FORGET_COUNT ? "SELECT count(complete) FROM mpitrace_job WHERE \"user\" = "
					 : "DELETE FROM mpitrace_job WHERE \"user\" = ");
	put_value(&q, user, '\'');
	buf_u8(&q, 0);
	r->content_type = "application/x-www-form-urlencoded";
	buf_str(&r->url, "/query?db=");
	publish_percent(&r->url, d->database);
	buf_str(&r->body, "q=");
	publish_percent(&r->body, buf_failed(&q) ? "" : (const char *)q.data);
	r->body.failed |= buf_failed(&q);
}

static void forget_2(const struct destination *d, const char *user, struct publish_request *r)
{
	_cleanup_buf_ struct buf q = {0};
	cJSON *top = cJSON_CreateObject();
	buf_str(&q, "_measurement=\"mpitrace_job\" AND user=");
	put_value(&q, user, '"');
	buf_u8(&q, 0);
	json_put_text(top, "start", "1970-01-01T00:00:00Z");
	json_put_text(top, "stop", "2200-01-01T00:00:00Z");
	json_put_text(top, "predicate", buf_failed(&q) ? "" : (const char *)q.data);
	char *text = json_print(top);
	r->content_type = "application/json";
	buf_str(&r->url, "/api/v2/delete?bucket=");
	publish_percent(&r->url, d->bucket);
	buf_str(&r->url, "&org=");
	publish_percent(&r->url, d->org);
	buf_str(&r->body, text != NULL ? text : "");
	r->body.failed |= text == NULL || buf_failed(&q);
	cJSON_free(text);
	cJSON_Delete(top);
}

/* 2.x is told to remove, and not asked. */
static bool forget(const struct destination *d, const char *user, enum publish_step step, struct publish_request *ret_r)
{
	publish_base(d, &ret_r->url);
	if (d->database != NULL)
		forget_1(d, user, step, ret_r);
	else if (step == FORGET_REMOVE)
		forget_2(d, user, ret_r);
	return d->database != NULL || step == FORGET_REMOVE;
}

/* {"results": [{"series": [{"values": [[TIME, N]]}]}]}; without a series for none. */
static int64_t left(const char *answer)
{
	cJSON *a = cJSON_Parse(answer);
	const cJSON *result = json_first(a, "results"), *series = json_first(result, "series"),
		    *row = json_first(series, "values");
	int64_t n = cJSON_IsObject(result) && json_item(result, "error") == NULL ? 0 : -1;
	if (n == 0 && series != NULL)
		n = cJSON_IsNumber(cJSON_GetArrayItem(row, 1)) ? (int64_t)cJSON_GetArrayItem(row, 1)->valuedouble : -1;
	cJSON_Delete(a);
	return n;
}

const struct publish_kind publish_influxdb = {
	.name = "influxdb",
	.content_type = "text/plain; charset=utf-8",
	.missing = missing,
	.url = url,
	.encode = encode,
	.headers = headers,
	.forget = forget,
	.left = left,
};
