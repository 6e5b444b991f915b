/* query.c - see query.h. The data base is in memory and holds what rows name; its large tables are virtual. */
#include "reports/query/query.h"

#include "base/clock.h"
#include "reports/query/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_BYTES_MAX (512ll << 20) /* SQLite's, beside the cells that are kept */
#define VALUE_BYTES_MAX (64 << 20)   /* the analysis is one value */
#define STEPS_BETWEEN 100000	     /* of SQLite's machine, between looks at the clock */

struct query {
	struct mpix_file *f;
	struct definitions defs;
	struct opens opens;
	struct virtual_tables tables;
	sqlite3 *db;
	struct error failure; /* of the reader */
	int64_t until_ns;
	bool timed, late;
};

/* Only what reads. Functions are SQLite's own: none of them reaches outside, once extensions cannot be loaded. */
static int authorize(void *context, int action, const char *a, const char *b, const char *database, const char *view)
{
	(void)context;
	(void)a;
	(void)database;
	(void)view;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return sqlite3_stricmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

static int check_deadline(void *context)
{
	struct query *q = context;
	q->late = q->timed && now_ns() > q->until_ns;
	return q->late;
}

static int define(struct query *q)
{
	sqlite3_hard_heap_limit64(HEAP_BYTES_MAX);
	int rc = sqlite3_open_v2(":memory:", &q->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_MEMORY,
				 NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(q->db, "PRAGMA temp_store=FILE", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = tables_define(q->db, q->f, &q->opens.info, &q->defs);
	if (rc == SQLITE_OK)
		rc = virtual_tables_define(q->db, &q->tables);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(q->db, tables_views, NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_limit(q->db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
	sqlite3_limit(q->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_progress_handler(q->db, STEPS_BETWEEN, check_deadline, q);
	return sqlite3_set_authorizer(q->db, authorize, NULL);
}

static int open_tables(struct query *q, const char *path, struct error *e)
{
	int rc = mpix_open(path, &q->f, e);
	if (rc == 0 && mpix_groups(q->f) == 0)
		rc = fail(e, -EINVAL, "%s: of version 1: analyse the .mpic files again, then ask", path);
	if (rc == 0)
		rc = definitions_read(&q->defs, q->f, e);
	if (rc == 0)
		rc = opens_read(&q->opens, q->f, q->defs.analysis, e);
	if (rc < 0)
		return rc;
	q->tables = (struct virtual_tables){.f = q->f, .cells = cells_create(q->f, &q->opens, e), .e = &q->failure};
	if (q->tables.cells == NULL)
		return -ENOMEM;
	rc = define(q);
	return rc == SQLITE_OK ? 0 : fail(e, -ENOMEM, "%s: its tables cannot be made: %s", path, sqlite3_errstr(rc));
}

int query_open(const char *path, struct query **ret_query, struct error *e)
{
	struct query *q = calloc(1, sizeof(*q));
	int rc = q != NULL ? open_tables(q, path, e) : fail(e, -ENOMEM, "out of memory");
	if (rc == 0)
		*ret_query = q;
	else
		query_close(q);
	return rc;
}

void query_close(struct query *q)
{
	if (q == NULL)
		return;
	sqlite3_close(q->db);
	cells_free(q->tables.cells);
	opens_done(&q->opens);
	definitions_done(&q->defs);
	mpix_close(q->f);
	free(q);
}

/* One statement, and nothing behind it but blanks and semicolons. */
static int prepare(struct query *q, const char *sql, sqlite3_stmt **ret, struct error *e)
{
	const char *rest = sql;
	if (sqlite3_prepare_v2(q->db, sql, -1, ret, &rest) != SQLITE_OK)
		return fail(e, -EINVAL, "%s%s", sqlite3_errmsg(q->db),
			    sqlite3_errcode(q->db) == SQLITE_AUTH ? ": a query reads, and does nothing else" : "");
	if (*ret == NULL)
		return fail(e, -EINVAL, "no statement: give one, such as \"SELECT * FROM calls LIMIT 10\"");
	if (rest[strspn(rest, " \t\r\n;")] != '\0')
		return fail(e, -EINVAL, "more than one statement: give one");
	if (!sqlite3_stmt_readonly(*ret) || sqlite3_column_count(*ret) == 0)
		return fail(e, -EINVAL, "this statement does not read: a query reads, and does nothing else");
	return 0;
}

static int explain(struct query *q, int rc, struct error *e)
{
	if (rc == SQLITE_INTERRUPT)
		return fail(e, -ETIME, "not done in time: ask for less (a rank, a span of time), or give --timeout S");
	if (q->tables.code != 0)
		return fail(e, q->tables.code, "%s", q->failure.text);
	if (rc == SQLITE_NOMEM)
		return fail(e, -ENOMEM, "over the %lld MiB that a query may take: ask for less", HEAP_BYTES_MAX >> 20);
	return fail(e, -EINVAL, "%s", sqlite3_errmsg(q->db));
}

static int step_through(struct query *q, sqlite3_stmt *statement, query_row row, void *context, struct error *e)
{
	int rc, code = 0;
	while (code == 0 && (rc = sqlite3_step(statement)) == SQLITE_ROW)
		code = row(context, statement);
	return code != 0 || rc == SQLITE_DONE ? code : explain(q, rc, e);
}

int query_run(struct query *q, const char *sql, unsigned timeout_s, query_row columns, query_row row, void *context,
	      struct error *e)
{
	sqlite3_stmt *statement = NULL;
	q->timed = timeout_s > 0;
	q->late = false;
	q->tables.code = 0;
	q->until_ns = now_ns() + timeout_s * 1000000000ll;
	int rc = prepare(q, sql, &statement, e);
	if (rc == 0)
		rc = columns(context, statement);
	if (rc == 0)
		rc = step_through(q, statement, row, context, e);
	sqlite3_finalize(statement);
	return rc;
}
