/* postgres.c - see postgres.h. Everything is sent and awaited with poll(), since libpq's own calls would wait for a
 * server that has stopped for ever. What a server says goes through http_clean() before anybody sees it. */
#include "fleet/publish/postgres.h"
#include "fleet/publish/program.h"

#include "base/clock.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define SERVER_LEAST 120000 /* triggers with tables of what changed, on partitioned tables; and aggregates replaced */
#define SCHEMA_VERSION 3    /* contrib/postgresql/fleet.sql */
#define ROWS_AT_ONCE "1000" /* of an answer */

extern const char publish_schema[]; /* contrib/postgresql/fleet.sql */

struct postgres {
	const struct destination *d;
	PGconn *conn; /* NULL: none */
	PGresult *result;
	int64_t until_ms; /* 0: for ever */
	bool ready, reads;
};

/* Over a network the server has to prove who it is, unless the configuration says otherwise. */
static const char *sslmode_of(const struct destination *d)
{
	return d->sslmode != NULL ? d->sslmode : *d->host == '/' ? "disable" : "verify-full";
}

struct postgres *postgres_create(const struct destination *d)
{
	struct postgres *p = calloc(1, sizeof(*p));
	if (p != NULL)
		p->d = d;
	return p;
}

static void hang_up(struct postgres *p)
{
	PQclear(p->result);
	PQfinish(p->conn);
	p->result = NULL;
	p->conn = NULL;
	p->ready = false;
}

void postgres_destroy(struct postgres *p)
{
	if (p != NULL)
		hang_up(p);
	free(p);
}

/* ---- waiting ---- */

static bool wait_for(struct postgres *p, short events)
{
	struct pollfd x = {PQsocket(p->conn), events, 0};
	int n;
	do {
		int64_t left = p->until_ms - now_ms();
		if (p->until_ms != 0 && left <= 0)
			return false;
		n = poll(&x, 1, p->until_ms != 0 ? (int)left : -1);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

/* libpq says one thing on several lines. */
static void say(const struct postgres *p, long status, const char *text, struct http_answer *a)
{
	char said[sizeof(a->text)];
	snprintf(said, sizeof(said), "%.*s", (int)strcspn(text, "\n"), text);
	http_clean(p->d, said, sizeof(said));
	a->status = status;
	snprintf(a->text, sizeof(a->text), "%s", said);
}

static bool fail_late(struct postgres *p, struct http_answer *a)
{
	char text[80];
	snprintf(text, sizeof(text), "no answer within %llu s", (unsigned long long)p->d->timeout_s);
	say(p, 0, text, a);
	hang_up(p);
	return false;
}

/* ---- a statement ---- */

static bool send_all(struct postgres *p)
{
	int left;
	while ((left = PQflush(p->conn)) == 1) {
		if (!wait_for(p, POLLIN | POLLOUT))
			return false;
		if (PQconsumeInput(p->conn) == 0)
			return false;
	}
	return left == 0;
}

/* The last result, or the first one that is a failure. */
static bool receive_all(struct postgres *p)
{
	PGresult *r;
	PQclear(p->result);
	p->result = NULL;
	for (;;) {
		while (PQisBusy(p->conn))
			if (!wait_for(p, POLLIN) || PQconsumeInput(p->conn) == 0)
				return false;
		if ((r = PQgetResult(p->conn)) == NULL)
			return p->result != NULL;
		if (p->result != NULL && PQresultStatus(p->result) == PGRES_FATAL_ERROR) {
			PQclear(r);
			continue;
		}
		PQclear(p->result);
		p->result = r;
	}
}

/* Classes of SQLSTATE that say what was sent cannot be: data exceptions, integrity constraints, and what is too large
 * for the program. */
static bool is_of_content(const char *state)
{
	return state != NULL &&
	       (strncmp(state, "22", 2) == 0 || strncmp(state, "23", 2) == 0 || strncmp(state, "54", 2) == 0);
}

static bool run(struct postgres *p, const char *sql, int n, const char *const *values, struct http_answer *a)
{
	int sent = n < 0 ? PQsendQuery(p->conn, sql) : PQsendQueryParams(p->conn, sql, n, NULL, values, NULL, NULL, 0);
	if (sent == 0 || !send_all(p) || !receive_all(p)) {
		bool late = p->until_ms != 0 && now_ms() >= p->until_ms;
		if (late)
			return fail_late(p, a);
		say(p, 0, PQerrorMessage(p->conn), a);
		hang_up(p);
		return false;
	}
	ExecStatusType status = PQresultStatus(p->result);
	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return true;
	const char *state = PQresultErrorField(p->result, PG_DIAG_SQLSTATE),
		   *text = PQresultErrorField(p->result, PG_DIAG_MESSAGE_PRIMARY);
	say(p, is_of_content(state) ? 422 : 503, text != NULL ? text : "the server refused a statement", a);
	return false;
}

static const char *first_cell(const struct postgres *p)
{
	return PQntuples(p->result) > 0 && PQnfields(p->result) > 0 ? PQgetvalue(p->result, 0, 0) : "";
}

/* ---- a connection ---- */

/* Notices are for who runs the server. */
static void ignore(void *context, const char *text)
{
	(void)context;
	(void)text;
}

static bool begin(struct postgres *p)
{
	const struct destination *d = p->d;
	char port[24];
	const char *const pairs[][2] = {{"host", d->host},	     {"port", port},
					{"dbname", d->database},     {"user", d->user},
					{"password", d->password},   {"sslmode", sslmode_of(d)},
					{"sslrootcert", d->ca},	     {"sslcert", d->certificate},
					{"sslkey", d->key},	     {"application_name", PUBLISH_PROGRAM},
					{"client_encoding", "UTF8"}, {"gssencmode", "disable"}};
	const char *names[sizeof(pairs) / sizeof(pairs[0]) + 1] = {NULL},
							     *values[sizeof(pairs) / sizeof(pairs[0]) + 1] = {NULL};
	snprintf(port, sizeof(port), "%llu", (unsigned long long)d->port);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		names[i] = pairs[i][0];
		values[i] = pairs[i][1];
	}
	p->conn = PQconnectStartParams(names, values, 0);
	return p->conn != NULL;
}

static bool connect_now(struct postgres *p, struct http_answer *a)
{
	PostgresPollingStatusType next = PGRES_POLLING_WRITING;
	if (!begin(p)) {
		say(p, 0, "out of memory", a);
		return false;
	}
	PQsetNoticeProcessor(p->conn, ignore, NULL);
	while (PQstatus(p->conn) != CONNECTION_BAD && next != PGRES_POLLING_OK && next != PGRES_POLLING_FAILED) {
		if (!wait_for(p, next == PGRES_POLLING_READING ? POLLIN : POLLOUT))
			return fail_late(p, a);
		next = PQconnectPoll(p->conn);
	}
	if (PQstatus(p->conn) == CONNECTION_OK && PQsetnonblocking(p->conn, 1) == 0)
		return true;
	say(p, 0, PQerrorMessage(p->conn), a);
	hang_up(p);
	return false;
}

/* ---- the schema ---- */

/* Its version; 0: there is none. */
static bool find_version(struct postgres *p, int *ret_version, struct http_answer *a)
{
	*ret_version = 0;
	if (!run(p, "SELECT to_regclass('mpitrace.about') IS NOT NULL", 0, NULL, a))
		return false;
	if (strcmp(first_cell(p), "t") != 0)
		return true;
	bool done = run(p, "SELECT version FROM mpitrace.about", 0, NULL, a);
	*ret_version = done ? atoi(first_cell(p)) : 0;
	return done;
}

static bool refuse(struct postgres *p, const char *what, struct http_answer *a)
{
	say(p, 503, what, a);
	return false;
}

static bool make_schema(struct postgres *p, struct http_answer *a)
{
	int version;
	if (!find_version(p, &version, a))
		return false;
	if (version > SCHEMA_VERSION)
		return refuse(p, "the schema mpitrace was made by a newer mpitrace: use that one, or a newer one", a);
	if (version == SCHEMA_VERSION)
		return true;
	if (p->reads)
		return refuse(p, "has no schema mpitrace of this version; `mpitrace publish` makes it", a);
	return run(p, publish_schema, -1, NULL, a);
}

static bool set_up(struct postgres *p, struct http_answer *a)
{
	char limit[32], text[120];
	const char *values[] = {limit, p->reads ? "on" : "off"};
	int version = PQserverVersion(p->conn);
	if (version < SERVER_LEAST) {
		snprintf(text, sizeof(text), "is PostgreSQL %d: 12 or newer is needed", version / 10000);
		return refuse(p, text, a);
	}
	snprintf(limit, sizeof(limit), "%llums", p->reads ? 0ULL : (unsigned long long)p->d->timeout_s * 1000);
	return run(p,
		   "SELECT set_config('statement_timeout', $1, false), set_config('timezone', 'UTC', false),"
		   " set_config('default_transaction_read_only', $2, false),"
		   " set_config('search_path', 'mpitrace, pg_catalog', false),"
		   " set_config('cursor_tuple_fraction', '1', false)", /* all rows of an answer are fetched */
		   2, values, a) &&
	       make_schema(p, a);
}

static bool connected(struct postgres *p, struct http_answer *a)
{
	if (p->ready)
		return true;
	if (p->conn == NULL && !connect_now(p, a))
		return false;
	p->ready = set_up(p, a);
	if (!p->ready)
		hang_up(p);
	return p->ready;
}

static void begin_to_wait(struct postgres *p)
{
	p->until_ms = now_ms() + (int64_t)p->d->timeout_s * 1000;
}

/* A table that is missing may have been dropped: the next time it is looked whether the schema is there. */
void postgres_ask(struct postgres *p, const char *sql, int n, const char *const *values, struct http_answer *ret_a)
{
	*ret_a = (struct http_answer){.body = ""};
	begin_to_wait(p);
	if (!connected(p, ret_a))
		return;
	if (run(p, sql, n, values, ret_a))
		*ret_a = (struct http_answer){.status = 200, .body = first_cell(p), .text = "status 200"};
	else if (ret_a->status != 422)
		hang_up(p);
}

/* ---- a question ---- */

static bool is_number(Oid type)
{
	static const Oid numbers[] = {20,  21,	23,
				      700, 701, 1700}; /* pg_type: int8, int2, int4, float4, float8, numeric */
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i] == type)
			return true;
	return false;
}

static void put_rows(const struct postgres *p, struct answer *to, struct answer_cell *cells)
{
	for (int r = 0; r < PQntuples(p->result); r++) {
		for (int i = 0; i < to->columns; i++) {
			bool none = PQgetisnull(p->result, r, i);
			cells[i].text = none ? NULL : PQgetvalue(p->result, r, i);
			cells[i].is_number = !none && is_number(PQftype(p->result, i));
			cells[i].number = cells[i].is_number ? strtod(cells[i].text, NULL) : 0;
		}
		answer_row(to, cells);
	}
}

/* Names of columns live as long as the first result. */
static bool put_all(struct postgres *p, struct answer *to, struct http_answer *a)
{
	static const char fetch[] = "FETCH " ROWS_AT_ONCE " FROM mpitrace_answer";
	if (!run(p, fetch, 0, NULL, a))
		return false;
	PGresult *first = p->result;
	p->result = NULL;
	to->columns = PQnfields(first);
	struct answer_cell *cells = calloc((size_t)to->columns + 1, sizeof(*cells));
	bool good = cells != NULL;
	for (int i = 0; i < to->columns && good; i++)
		cells[i].name = PQfname(first, i);
	if (good)
		answer_begin(to, cells);
	struct postgres of_first = {.d = p->d, .result = first};
	for (const struct postgres *x = &of_first; good && PQntuples(x->result) > 0; x = p) {
		put_rows(x, to, cells);
		good = run(p, fetch, 0, NULL, a);
	}
	free(cells);
	PQclear(first);
	return good;
}

/* A cursor takes a SELECT or VALUES and nothing else, and the transaction changes nothing. */
int postgres_query(struct postgres *p, const char *sql, enum query_form form, FILE *out, struct error *e)
{
	_cleanup_buf_ struct buf declare = {0};
	struct http_answer a = {.body = ""};
	struct answer to = {.out = out, .form = form};
	p->reads = true;
	begin_to_wait(p);
	buf_printf(&declare, "DECLARE mpitrace_answer NO SCROLL CURSOR FOR %s", sql);
	buf_u8(&declare, 0);
	if (buf_failed(&declare))
		return fail(e, -ENOMEM, "out of memory");
	bool good = connected(p, &a);
	p->until_ms = 0;
	good = good && run(p, "BEGIN READ ONLY", 0, NULL, &a) && run(p, (const char *)declare.data, 0, NULL, &a) &&
	       put_all(p, &to, &a);
	if (!good)
		return fail(e, -EIO, "%s: %s", p->d->name, a.text);
	return answer_end(&to) == 0 ? 0 : fail(e, -EIO, "cannot write the answer: %s", strerror(errno));
}
