/* kind_clickhouse.c - rows for ClickHouse over its HTTP interface (INSERT ... FORMAT JSONEachRow), into the table of
 * contrib/clickhouse/fleet.sql. That is a ReplacingMergeTree by id and user: a row that comes again takes the place
 * of itself, and a later record of a step that of the earlier one. */
#include "fleet/publish/kind.h"

#include "base/json.h"
#include "fleet/job.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

static const char *missing(const struct destination *d)
{
	return d->database == NULL ? "needs database = NAME" : NULL;
}

/* An identifier in backquotes, where a backslash escapes. */
static void put_quoted(struct buf *b, const char *name)
{
	buf_u8(b, '`');
	for (; *name != '\0'; name++) {
		if (*name == '`' || *name == '\\')
			buf_u8(b, '\\');
		buf_u8(b, (uint8_t)*name);
	}
	buf_u8(b, '`');
}

static void url(const struct destination *d, struct buf *ret_url)
{
	_cleanup_buf_ struct buf query = {0};
	buf_str(&query, "INSERT INTO ");
	put_quoted(&query, d->table != NULL ? d->table : "jobs");
	buf_str(&query, " FORMAT JSONEachRow");
	buf_u8(&query, 0);
	publish_base(d, ret_url);
	buf_str(ret_url, "/?input_format_skip_unknown_fields=1&database=");
	publish_percent(ret_url, d->database);
	buf_str(ret_url, "&query=");
	if (buf_failed(&query))
		ret_url->failed = true;
	else
		publish_percent(ret_url, (const char *)query.data);
}

static void put_number(cJSON *row, const struct fleet_column *c)
{
	json_put_null_or(row, c->name, c->number);
}

static void encode(const struct publish_batch *b, struct buf *ret_body)
{
	for (size_t i = 0; i < b->n; i++)
		publish_row(&b->records[i], "id", put_number, "", "\n", ret_body);
}

/* A text in quotes, where a backslash escapes. */
static void put_string(struct buf *b, const char *text)
{
	buf_u8(b, '\'');
	for (; *text != '\0'; text++) {
		if (*text == '\'' || *text == '\\')
			buf_u8(b, '\\');
		buf_u8(b, (uint8_t)*text);
	}
	buf_u8(b, '\'');
}

/* It removes rows by and by: who asks sees when none is left. */
static bool forget(const struct destination *d, const char *user, enum publish_step step, struct publish_request *ret_r)
{
	ret_r->content_type = "text/plain; charset=utf-8";
	publish_base(d, &ret_r->url);
	buf_str(&ret_r->url, "/?database=");
	publish_percent(&ret_r->url, d->database);
	buf_str(&ret_r->body, step == FORGET_COUNT ? "SELECT count() FROM " : "ALTER TABLE ");
	put_quoted(&ret_r->body, d->table != NULL ? d->table : "jobs");
	buf_str(&ret_r->body, step == FORGET_COUNT ? " WHERE user = " : " DELETE WHERE user = ");
	put_string(&ret_r->body, user);
	return true;
}

const struct publish_kind publish_clickhouse = {
	.name = "clickhouse",
	.content_type = "application/x-ndjson",
	.missing = missing,
	.url = url,
	.encode = encode,
	.forget = forget,
	.left = publish_number,
};
