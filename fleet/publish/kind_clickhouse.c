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

static void put_numbers(cJSON *row, const struct fleet_job *j)
{
	const struct {
		const char *name;
		double value;
	} columns[] = {
		{"nodes", j->nodes},
		{"ranks", j->ranks},
		{"start", j->start},
		{"elapsed_s", j->elapsed_s},
		{"core_hours", j->core_hours},
		{"useful", j->useful},
		{"wait", j->wait},
		{"parallel", j->parallel},
		{"load_balance", j->load_balance},
		{"loss_core_hours", j->loss},
		{"complete", j->complete},
		{"hung_core_hours", j->hung},
	};
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		json_put_null_or(row, columns[i].name, columns[i].value);
}

static void put_row(struct buf *b, const struct publish_record *r)
{
	static const struct {
		const char *name;
		enum fleet_kind kind;
	} names[] = {{"cluster", FLEET_CLUSTER}, {"user", FLEET_USER},
		     {"account", FLEET_ACCOUNT}, {"partition", FLEET_PARTITION},
		     {"program", FLEET_PROGRAM}, {"build_id", FLEET_BUILD},
		     {"mpi", FLEET_MPI},	 {"issue", FLEET_ISSUE}};
	struct fleet_job j;
	if (fleet_job_of(r->json, &j) != NULL) /* state_take() has looked */
		return;
	cJSON *row = cJSON_CreateObject();
	json_put_text(row, "id", j.key);
	json_put_text(row, "job", j.job);
	json_put_text(row, "outcome", j.outcome);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_put_text(row, names[i].name, j.names[names[i].kind]);
	put_numbers(row, &j);
	json_put_text(row, "record", r->text);
	char *line = json_print(row);
	cJSON_Delete(row);
	if (line == NULL)
		b->failed = true;
	else
		buf_printf(b, "%s\n", line);
	cJSON_free(line);
}

static void encode(const struct publish_batch *b, struct buf *ret_body)
{
	for (size_t i = 0; i < b->n; i++)
		put_row(ret_body, &b->records[i]);
}

const struct publish_kind publish_clickhouse = {
	.name = "clickhouse",
	.content_type = "application/x-ndjson",
	.missing = missing,
	.url = url,
	.encode = encode,
};
