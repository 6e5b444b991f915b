/* sqlite.c - one data base: tables, indices, and views that answer common questions. docs/EXPORT.md has the schema. All
 * is one transaction without a journal: the file is a temporary one until it is whole. */
#include "reports/export/format.h"
#include "reports/export/tables.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS_MAX 4096u
#define STEPS_BETWEEN 1000000 /* of SQLite's machine: some ten milliseconds */

/* Rows that wait for their insertion. SQLite takes a statement for many of them in half the time of one for each: it
 * reads them as a virtual table. */
struct rows {
	const struct table *table;
	struct row *at;
	size_t n;
	sqlite3_stmt *insert;
};

struct sqlite {
	sqlite3 *db;
	struct rows rows[TABLES];
};

/* Rows are only appended, and indices sorted in pieces of the size of the cache: a larger one takes memory, and no less
 * time. */
static const char settings[] =
	"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-4096;"
	"PRAGMA page_size=32768; PRAGMA user_version=1; BEGIN;";

static const char indices[] = "CREATE INDEX events_by_rank ON events(rank, start_ns);"
			      "CREATE INDEX events_by_callsite ON events(callsite);"
			      "CREATE INDEX messages_by_pair ON messages(src, dst);"
			      "CREATE INDEX waits_by_event ON waits(event);";

static int check(struct exporting *x, int rc)
{
	struct sqlite *s = x->state;
	if (rc == SQLITE_OK || rc == SQLITE_DONE)
		return 0;
	if (rc == SQLITE_INTERRUPT)
		return fail(x->e, -EINTR, "stopped by a signal");
	return fail(x->e, -EIO, "%s: cannot write: %s; nothing was left behind", x->choice->path,
		    sqlite3_errmsg(s->db));
}

/* Indices take long: not 0 stops the statement. */
static int asked_to_stop(void *context)
{
	return export_stopped(context);
}

static int run(struct exporting *x, const char *sql)
{
	return check(x, sqlite3_exec(((struct sqlite *)x->state)->db, sql, NULL, NULL, NULL));
}

static int prepare(struct exporting *x, const char *sql, sqlite3_stmt **ret)
{
	return check(
		x, sqlite3_prepare_v3(((struct sqlite *)x->state)->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL));
}

static int put_row(struct exporting *x, sqlite3_stmt *row)
{
	int rc = sqlite3_step(row);
	sqlite3_reset(row);
	return check(x, rc);
}

/* ---- a virtual table of rows ---- */

struct rows_table {
	sqlite3_vtab base;
	const struct rows *rows;
};

struct rows_cursor {
	sqlite3_vtab_cursor base;
	const struct rows *rows;
	size_t at;
};

static int rows_connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **ret, char **error)
{
	(void)argc;
	(void)argv;
	(void)error;
	struct rows_table *t = sqlite3_malloc(sizeof(*t));
	if (t == NULL)
		return SQLITE_NOMEM;
	*t = (struct rows_table){.rows = context};
	*ret = &t->base;
	char *sql = sqlite3_mprintf("CREATE TABLE rows(%s)", t->rows->table->columns);
	int rc = sql != NULL ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc;
}

static int rows_disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}

static int rows_plan(sqlite3_vtab *t, sqlite3_index_info *info)
{
	(void)t;
	(void)info;
	return SQLITE_OK;
}

static int rows_open(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
	struct rows_cursor *c = sqlite3_malloc(sizeof(*c));
	if (c == NULL)
		return SQLITE_NOMEM;
	*c = (struct rows_cursor){.rows = ((struct rows_table *)t)->rows};
	*ret = &c->base;
	return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *c)
{
	sqlite3_free(c);
	return SQLITE_OK;
}

static int rows_first(sqlite3_vtab_cursor *c, int plan, const char *name, int argc, sqlite3_value **argv)
{
	(void)plan;
	(void)name;
	(void)argc;
	(void)argv;
	((struct rows_cursor *)c)->at = 0;
	return SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *c)
{
	((struct rows_cursor *)c)->at++;
	return SQLITE_OK;
}

static int rows_over(sqlite3_vtab_cursor *c)
{
	return ((struct rows_cursor *)c)->at >= ((struct rows_cursor *)c)->rows->n;
}

static int rows_column(sqlite3_vtab_cursor *c, sqlite3_context *to, int column)
{
	const struct rows_cursor *at = (const struct rows_cursor *)c;
	const struct row *row = &at->rows->at[at->at];
	if ((row->nulls >> column & 1) == 0) /* else it is null already */
		sqlite3_result_int64(to, row->at[column]);
	return SQLITE_OK;
}

static int rows_id(sqlite3_vtab_cursor *c, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct rows_cursor *)c)->at;
	return SQLITE_OK;
}

static const sqlite3_module rows_module = {.xConnect = rows_connect,
					   .xBestIndex = rows_plan,
					   .xDisconnect = rows_disconnect,
					   .xOpen = rows_open,
					   .xClose = rows_close,
					   .xFilter = rows_first,
					   .xNext = rows_next,
					   .xEof = rows_over,
					   .xColumn = rows_column,
					   .xRowid = rows_id};

static int rows_begin(struct exporting *x, enum table_id id)
{
	struct sqlite *s = x->state;
	struct rows *rows = &s->rows[id];
	char sql[1024];
	rows->table = &tables[id];
	rows->at = malloc(ROWS_MAX * sizeof(*rows->at));
	if (rows->at == NULL)
		return fail(x->e, -ENOMEM, "out of memory");
	snprintf(sql, sizeof(sql), "CREATE TABLE %s(%s)", rows->table->name, rows->table->columns);
	int rc = run(x, sql);
	snprintf(sql, sizeof(sql), "new_%s", rows->table->name);
	if (rc == 0)
		rc = check(x, sqlite3_create_module(s->db, sql, &rows_module, rows));
	snprintf(sql, sizeof(sql), "INSERT INTO %s SELECT * FROM new_%s", rows->table->name, rows->table->name);
	return rc == 0 ? prepare(x, sql, &rows->insert) : rc;
}

static int rows_flush(struct exporting *x, struct rows *rows)
{
	int rc = rows->n > 0 ? put_row(x, rows->insert) : 0;
	rows->n = 0;
	return rc;
}

static struct row *row_begin(struct rows *rows)
{
	return &rows->at[rows->n];
}

static int row_end(struct exporting *x, struct rows *rows)
{
	return ++rows->n == ROWS_MAX ? rows_flush(x, rows) : 0;
}

static void rows_done(struct rows *rows)
{
	sqlite3_finalize(rows->insert);
	free(rows->at);
	*rows = (struct rows){0};
}

/* ---- samples: those of chosen ranks that overlap the span ---- */

static int put_thread(struct exporting *x, const struct mpix_sample *s, const struct mpix_sample_thread *t)
{
	struct rows *rows = ((struct sqlite *)x->state)->rows;
	row_of_sample(row_begin(&rows[TABLE_SAMPLES]), x->f, s, t);
	int rc = row_end(x, &rows[TABLE_SAMPLES]);
	for (uint32_t i = 0; i < t->ncells && rc == 0; i++) {
		struct row *row = row_begin(&rows[TABLE_SAMPLE_CALLS]);
		rc = row_of_sample_call(row, x->f, s, t, &t->cells[i], x->e);
		if (rc == 0)
			rc = row_end(x, &rows[TABLE_SAMPLE_CALLS]);
	}
	return rc;
}

static int put_sample(void *context, const struct mpix_sample *s)
{
	struct exporting *x = context;
	int rc = 0;
	if (s->start_ns >= x->choice->to_ns || s->end_ns <= x->choice->from_ns)
		return 0;
	for (uint32_t i = 0; i < s->nthreads && rc == 0; i++)
		if (export_has_rank(x, mpix_rank_of_lane(x->f, s->threads[i].lane)))
			rc = put_thread(x, s, &s->threads[i]);
	return rc;
}

static int sqlite_begin(struct exporting *x)
{
	struct sqlite *s = x->state = calloc(1, sizeof(*s));
	if (s == NULL)
		return fail(x->e, -ENOMEM, "out of memory");
	if (x->temporary == NULL)
		return fail(x->e, -EINVAL, "%s: is standard output or a device: a data base needs a file",
			    x->choice->path);
	int rc = check(x, sqlite3_open_v2(x->temporary, &s->db,
					  SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL));
	if (rc == 0) {
		sqlite3_progress_handler(s->db, STEPS_BETWEEN, asked_to_stop, x);
		rc = run(x, settings);
	}
	if (rc == 0)
		rc = check(x, tables_define(s->db, x->f, x->info, &x->defs));
	for (int i = 0; i < TABLES && rc == 0; i++)
		rc = rows_begin(x, (enum table_id)i);
	return rc == 0 ? mpix_each_sample(x->f, put_sample, x, x->e) : rc;
}

/* ---- rows ---- */

static int sqlite_event(struct exporting *x, const struct export_event *ev)
{
	struct rows *rows = ((struct sqlite *)x->state)->rows;
	row_of_event(row_begin(&rows[TABLE_EVENTS]), ev->number, ev->rank, ev->call);
	int rc = row_end(x, &rows[TABLE_EVENTS]);
	for (uint32_t i = 0; i < ev->nnotes && rc == 0; i++) {
		const struct export_note *n = &ev->notes[i];
		if (n->role != EXPORT_WAITS)
			continue;
		row_of_wait(row_begin(&rows[TABLE_WAITS]), x->f, ev->number, n->state, (int64_t)n->message,
			    n->other_lane);
		rc = row_end(x, &rows[TABLE_WAITS]);
	}
	return rc;
}

static int sqlite_message(struct exporting *x, const struct mpix_link *link, uint64_t number)
{
	struct rows *rows = &((struct sqlite *)x->state)->rows[TABLE_MESSAGES];
	row_of_message(row_begin(rows), x->f, number, link);
	return row_end(x, rows);
}

static void close_all(struct sqlite *s)
{
	for (int i = 0; i < TABLES; i++)
		rows_done(&s->rows[i]);
}

static int sqlite_end(struct exporting *x)
{
	struct sqlite *s = x->state;
	int rc = 0;
	for (int i = 0; i < TABLES && rc == 0; i++)
		rc = rows_flush(x, &s->rows[i]);
	if (rc == 0)
		rc = run(x, indices);
	if (rc == 0)
		rc = run(x, tables_views);
	if (rc == 0)
		rc = run(x, "COMMIT");
	close_all(s);
	if (rc == 0)
		rc = check(x, sqlite3_close(s->db));
	if (rc == 0)
		s->db = NULL;
	return rc;
}

static void sqlite_done(struct exporting *x)
{
	struct sqlite *s = x->state;
	if (s == NULL)
		return;
	close_all(s);
	sqlite3_close(s->db);
	free(s);
}

const struct export_format export_sqlite = {.name = "sqlite",
					    .roles = EXPORT_ROLE(EXPORT_WAITS),
					    .begin = sqlite_begin,
					    .event = sqlite_event,
					    .message = sqlite_message,
					    .end = sqlite_end,
					    .done = sqlite_done};
