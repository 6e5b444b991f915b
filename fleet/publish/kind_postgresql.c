/* kind_postgresql.c - all jobs of a fleet in PostgreSQL, by the functions of contrib/postgresql/fleet.sql. A batch is
 * one call, and so one transaction: a row that is there already is the same, and a later record of a step takes the
 * place of the earlier one, whichever month that is in. */
#include "fleet/publish/kind.h"
#include "fleet/publish/http.h"
#include "fleet/publish/postgres.h"

#include "base/json.h"
#include "fleet/job.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *missing(const struct destination *d)
{
	static const char *const modes[] = {"disable", "require", "verify-ca", "verify-full"};
	bool known = d->sslmode == NULL;
#ifndef HAVE_LIBPQ
	return "is PostgreSQL, for which this mpitrace was built without libpq";
#endif
	for (size_t i = 0; d->sslmode != NULL && i < sizeof(modes) / sizeof(modes[0]); i++)
		known |= strcmp(d->sslmode, modes[i]) == 0;
	if (d->host == NULL || *d->host == '\0')
		return "needs host = NAME, or the directory of the server's socket";
	if (d->database == NULL || d->user == NULL)
		return "needs database = NAME and user = NAME";
	if (!known)
		return "has an unknown sslmode; known: disable, require, verify-ca, verify-full";
	bool proves = *d->host != '/' && (d->sslmode == NULL || strncmp(d->sslmode, "verify", 6) == 0);
	return proves && d->ca == NULL
		       ? "needs ca = FILE, by which the server proves who it is; or sslmode = require, or disable"
		       : NULL;
}

/* ---- a batch ---- */

static void put_time(cJSON *row, const char *name, double seconds)
{
	char text[32];
	time_t t = (time_t)seconds;
	struct tm tm;
	bool known = !isnan(seconds) && gmtime_r(&t, &tm) != NULL &&
		     strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) > 0;
	json_put_text(row, name, known ? text : NULL);
}

/* As text, since a JSON number of many digits would have an exponent, which is no integer there. */
static void put_whole(cJSON *row, const char *name, double value)
{
	char text[32];
	snprintf(text, sizeof(text), "%.0f", value);
	json_put_text(row, name, isnan(value) ? NULL : text);
}

static void put_number(cJSON *row, const struct fleet_column *c)
{
#define KIND_ROW(name, kind, of, column) {#name, FIELD_##kind},
	static const struct {
		const char *name;
		enum field_kind kind;
	} rows[] = {RECORD_FIELDS(KIND_ROW)};
#undef KIND_ROW
	enum field_kind kind = FIELD_NUMBER;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, c->name) == 0)
			kind = rows[i].kind;
	(kind == FIELD_TIME ? put_time : kind == FIELD_NUMBER ? json_put_null_or : put_whole)(row, c->name, c->number);
}

static void encode(const struct publish_batch *b, struct buf *ret_body)
{
	bool any = false;
	buf_u8(ret_body, '[');
	for (size_t i = 0; i < b->n; i++)
		any |= publish_row(&b->records[i], "key" /* `id` is the row's */, put_number, any ? ",\n" : "", "",
				   ret_body);
	buf_u8(ret_body, ']');
}

/* ---- the server ---- */

static void *create(const struct destination *d)
{
	return postgres_create(d);
}

static void destroy(void *of)
{
	postgres_destroy(of);
}

static void put(void *of, const struct destination *d, const struct publish_batch *b, const struct buf *body,
		struct http_answer *ret_a)
{
	char months[24], *text = strndup((const char *)body->data, body->len_bytes);
	bool again = false;
	for (size_t i = 0; i < b->n; i++)
		again |= b->records[i].again;
	snprintf(months, sizeof(months), "%llu", (unsigned long long)d->retention);
	*ret_a = (struct http_answer){.body = "", .text = "out of memory"};
	if (text != NULL)
		postgres_ask(of, "SELECT mpitrace.put($1, $2, $3)", 3,
			     (const char *[]){text, again ? "true" : "false", months}, ret_a);
	free(text);
}

static void reach(void *of, struct http_answer *ret_a)
{
	postgres_ask(of, "SELECT 1", 0, NULL, ret_a);
}

static void forget(void *of, const char *user, enum publish_step step, struct http_answer *ret_a)
{
	postgres_ask(of, step == FORGET_COUNT ? "SELECT mpitrace.count_of($1)" : "SELECT mpitrace.forget($1)", 1, &user,
		     ret_a);
}

static const struct publish_store store = {create, destroy, put, reach, forget};

const struct publish_kind publish_postgresql = {
	.name = "postgresql", .missing = missing, .encode = encode, .left = publish_number, .store = &store};
