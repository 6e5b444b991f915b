/* sqlite.c - one data base: tables, indices, and views that answer common questions. docs/EXPORT.md has the schema. All
 * is one transaction without a journal: the file is a temporary one until it is whole. */
#include "reports/export/format.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define COLUMNS_MAX 15 /* of events and messages without their ids, and of waits */
#define ROWS_MAX 4096u
#define STEPS_BETWEEN 1000000 /* of SQLite's machine: some ten milliseconds */

/* Rows that wait for their insertion. SQLite takes a statement for many of them in half the time of one for each: it
 * reads them as a virtual table. */
struct rows {
	struct row {
		sqlite3_int64 at[COLUMNS_MAX];
		uint32_t nulls; /* bit i: column i is null */
	} * at;
	size_t n;
	sqlite3_stmt *insert;
};

struct sqlite {
	sqlite3 *db;
	struct rows events, messages, waits;
	sqlite3_int64 nevents;
};

/* Rows are only appended, and indices sorted in pieces of the size of the cache: a larger one takes memory, and no less
 * time. */
static const char schema[] =
	"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-4096;"
	"PRAGMA page_size=32768; PRAGMA user_version=1; BEGIN;"
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value);"
	"CREATE TABLE analysis(json TEXT NOT NULL);"
	"CREATE TABLE ops(id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
	"CREATE TABLE classes(id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
	"CREATE TABLE states(id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
	"CREATE TABLE ranks(rank INTEGER PRIMARY KEY, node TEXT, useful_s REAL, mpi_s REAL, wait_s REAL);"
	"CREATE TABLE callsites(id INTEGER PRIMARY KEY, op TEXT, file TEXT, line INTEGER, function TEXT, module TEXT,"
	" calls INTEGER, time_s REAL, bytes INTEGER, wait_s REAL);"
	"CREATE TABLE communicators(id INTEGER PRIMARY KEY, name TEXT, size INTEGER, parent INTEGER, created_by TEXT);"
	"CREATE TABLE communicator_members(communicator INTEGER NOT NULL, rank_in_communicator INTEGER NOT NULL,"
	" rank INTEGER, PRIMARY KEY(communicator, rank_in_communicator)) WITHOUT ROWID;"
	"CREATE TABLE windows(id INTEGER PRIMARY KEY, name TEXT, communicator INTEGER, created_by TEXT,"
	" exposed_bytes INTEGER, bytes_to_target INTEGER, bytes_from_target INTEGER);"
	"CREATE TABLE files(id INTEGER PRIMARY KEY, name TEXT, communicator INTEGER, bytes_read INTEGER,"
	" bytes_written INTEGER, time_s REAL);"
	"CREATE TABLE events(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, thread INTEGER NOT NULL,"
	" start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, op INTEGER NOT NULL, class INTEGER NOT NULL, peer "
	"INTEGER,"
	" tag INTEGER, bytes INTEGER NOT NULL, communicator INTEGER, collective INTEGER, callsite INTEGER,"
	" calls INTEGER NOT NULL, wait_ns INTEGER NOT NULL, object INTEGER);"
	"CREATE TABLE messages(id INTEGER PRIMARY KEY, src INTEGER NOT NULL, src_thread INTEGER NOT NULL,"
	" dst INTEGER NOT NULL, dst_thread INTEGER NOT NULL, tag INTEGER, communicator INTEGER, bytes INTEGER NOT NULL,"
	" send_start_ns INTEGER NOT NULL, send_end_ns INTEGER NOT NULL, recv_start_ns INTEGER NOT NULL,"
	" completion_start_ns INTEGER NOT NULL, recv_end_ns INTEGER NOT NULL, send_callsite INTEGER,"
	" recv_callsite INTEGER);"
	"CREATE TABLE waits(event INTEGER NOT NULL REFERENCES events(id), state INTEGER NOT NULL, wait_ns INTEGER NOT "
	"NULL,"
	" causer INTEGER);";

static const char views[] =
	"CREATE INDEX events_by_rank ON events(rank, start_ns);"
	"CREATE INDEX events_by_callsite ON events(callsite);"
	"CREATE INDEX messages_by_pair ON messages(src, dst);"
	"CREATE INDEX waits_by_event ON waits(event);"
	"CREATE VIEW calls AS SELECT e.id, e.rank, e.thread, e.start_ns/1e9 AS start_s, (e.end_ns-e.start_ns)/1e9 AS"
	" duration_s, o.name AS op, c.name AS class, e.peer, e.tag, e.bytes, e.communicator, e.wait_ns/1e9 AS wait_s,"
	" s.file, s.line, s.function FROM events e JOIN ops o ON o.id=e.op JOIN classes c ON c.id=e.class"
	" LEFT JOIN callsites s ON s.id=e.callsite;"
	"CREATE VIEW wait_by_callsite AS SELECT s.id AS callsite, s.op, s.file, s.line, s.function, t.name AS state,"
	" count(*) AS count, sum(w.wait_ns)/1e9 AS wait_s FROM waits w JOIN events e ON e.id=w.event"
	" JOIN states t ON t.id=w.state LEFT JOIN callsites s ON s.id=e.callsite GROUP BY e.callsite, w.state"
	" ORDER BY wait_s DESC;"
	"CREATE VIEW top_pairs AS SELECT src, dst, count(*) AS messages, sum(bytes) AS bytes FROM messages"
	" GROUP BY src, dst ORDER BY bytes DESC;"
	"CREATE VIEW late_senders AS SELECT w.causer AS sender, e.rank AS receiver, count(*) AS count,"
	" sum(w.wait_ns)/1e9 AS wait_s FROM waits w JOIN events e ON e.id=w.event JOIN states t ON t.id=w.state"
	" WHERE t.name='late_sender' GROUP BY w.causer, e.rank ORDER BY wait_s DESC;"
	"CREATE VIEW operations AS SELECT o.name AS op, sum(e.calls) AS calls, sum(e.end_ns-e.start_ns)/1e9 AS time_s,"
	" sum(e.bytes) AS bytes, sum(e.wait_ns)/1e9 AS wait_s FROM events e JOIN ops o ON o.id=e.op GROUP BY e.op"
	" ORDER BY time_s DESC;"
	"CREATE VIEW collective_spread AS SELECT communicator, collective, min(op) AS op, count(*) AS ranks,"
	" (max(start_ns)-min(start_ns))/1e9 AS arrival_spread_s FROM events WHERE collective IS NOT NULL"
	" GROUP BY communicator, collective ORDER BY arrival_spread_s DESC;"
	"COMMIT;";

static int check(struct exporting *x, int rc)
{
	struct sqlite *s = x->state;
	if (rc == SQLITE_OK || rc == SQLITE_DONE)
		return 0;
	if (rc == SQLITE_INTERRUPT)
		return fail(x->e, -EINTR, "stopped by a signal");
	return fail(x->e, rc == SQLITE_NOMEM ? -ENOMEM : -EIO, "%s: cannot write: %s; nothing was left behind",
		    x->choice->path, sqlite3_errmsg(s->db));
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

/* ---- what events name ---- */

static void bind_value(sqlite3_stmt *row, int at, const cJSON *value)
{
	if (cJSON_IsString(value))
		sqlite3_bind_text(row, at, value->valuestring, -1, SQLITE_STATIC);
	else if (!cJSON_IsNumber(value))
		sqlite3_bind_null(row, at);
	else if (value->valuedouble == (double)(sqlite3_int64)value->valuedouble)
		sqlite3_bind_int64(row, at, (sqlite3_int64)value->valuedouble);
	else
		sqlite3_bind_double(row, at, value->valuedouble);
}

/* A list of the analysis as rows; columns of the table stand in the same order. */
static const struct {
	const char *list, *sql, *keys[12];
} lists[] = {
	{"per_rank", "INSERT OR IGNORE INTO ranks VALUES(?,?,?,?,?)", {"rank", "node", "useful_s", "mpi_s", "wait_s"}},
	{"callsites",
	 "INSERT OR IGNORE INTO callsites VALUES(?,?,?,?,?,?,?,?,?,?)",
	 {"id", "op", "file", "line", "function", "module", "calls", "time_s", "bytes", "wait_s"}},
	{"communicators",
	 "INSERT OR IGNORE INTO communicators VALUES(?,?,?,?,?)",
	 {"id", "name", "size", "parent", "created_by"}},
	{"windows",
	 "INSERT OR IGNORE INTO windows VALUES(?,?,?,?,?,?,?)",
	 {"id", "name", "communicator", "created_by", "exposed_bytes", "bytes_to_target", "bytes_from_target"}},
	{"files",
	 "INSERT OR IGNORE INTO files VALUES(?,?,?,?,?,?)",
	 {"id", "name", "communicator", "bytes_read", "bytes_written", "time_s"}},
};

static int put_list(struct exporting *x, size_t at)
{
	sqlite3_stmt *row;
	int rc = prepare(x, lists[at].sql, &row);
	for (const cJSON *item = json_first(x->defs.analysis, lists[at].list); item != NULL && rc == 0;
	     item = item->next) {
		for (int k = 0; k < 12 && lists[at].keys[k] != NULL; k++)
			bind_value(row, k + 1, json_item(item, lists[at].keys[k]));
		rc = put_row(x, row);
	}
	sqlite3_finalize(row);
	return rc;
}

static int put_members(struct exporting *x)
{
	sqlite3_stmt *row;
	int rc = prepare(x, "INSERT INTO communicator_members VALUES(?,?,?)", &row);
	for (uint32_t i = 0; i < x->defs.comms.n && rc == 0; i++)
		for (uint32_t k = 0; k < x->defs.members[i].n && rc == 0; k++) {
			uint32_t rank = x->defs.members[i].ranks[k];
			sqlite3_bind_int64(row, 1, i);
			sqlite3_bind_int64(row, 2, k);
			if (rank == DEFINITION_NONE)
				sqlite3_bind_null(row, 3);
			else
				sqlite3_bind_int64(row, 3, rank);
			rc = put_row(x, row);
		}
	sqlite3_finalize(row);
	return rc;
}

static int put_name(struct exporting *x, sqlite3_stmt *row, uint32_t id, const char *name)
{
	sqlite3_bind_int64(row, 1, id);
	sqlite3_bind_text(row, 2, name, -1, SQLITE_STATIC);
	return put_row(x, row);
}

static int put_names(struct exporting *x)
{
	sqlite3_stmt *op = NULL, *class = NULL, *state = NULL;
	int rc = prepare(x, "INSERT INTO ops VALUES(?,?)", &op);
	if (rc == 0)
		rc = prepare(x, "INSERT INTO classes VALUES(?,?)", &class);
	if (rc == 0)
		rc = prepare(x, "INSERT INTO states VALUES(?,?)", &state);
	for (uint32_t i = 0; i < x->info->nops && rc == 0; i++)
		rc = put_name(x, op, i, x->info->ops[i]);
	for (uint32_t i = 0; i < MPIX_CLASSES && rc == 0; i++)
		rc = put_name(x, class, i, export_class_name((uint8_t)i));
	for (uint32_t i = 1; strcmp(export_state_name((uint8_t)i), "unknown") != 0 && rc == 0; i++)
		rc = put_name(x, state, i, export_state_name((uint8_t)i));
	sqlite3_finalize(op);
	sqlite3_finalize(class);
	sqlite3_finalize(state);
	return rc;
}

static int put_analysis(struct exporting *x)
{
	sqlite3_stmt *row;
	int rc = prepare(x, "INSERT INTO analysis VALUES(?)", &row);
	if (rc == 0)
		sqlite3_bind_text(row, 1, mpix_analysis(x->f), -1, SQLITE_STATIC);
	if (rc == 0)
		rc = put_row(x, row);
	sqlite3_finalize(row);
	return rc == 0 ? run(x, "INSERT INTO meta VALUES('schema','mpitrace/sqlite/1')") : rc;
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
	return sqlite3_declare_vtab(db, "CREATE TABLE rows(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)");
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

static int rows_begin(struct exporting *x, struct rows *rows, const char *name, const char *insert)
{
	struct sqlite *s = x->state;
	rows->at = malloc(ROWS_MAX * sizeof(*rows->at));
	if (rows->at == NULL)
		return fail(x->e, -ENOMEM, "out of memory");
	int rc = check(x, sqlite3_create_module(s->db, name, &rows_module, rows));
	return rc == 0 ? prepare(x, insert, &rows->insert) : rc;
}

static int rows_flush(struct exporting *x, struct rows *rows)
{
	int rc = rows->n > 0 ? put_row(x, rows->insert) : 0;
	rows->n = 0;
	return rc;
}

/* Room for one more; those that are null are set by set_null(). */
static struct row *row_begin(struct rows *rows)
{
	struct row *row = &rows->at[rows->n];
	row->nulls = 0;
	return row;
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
		rc = run(x, schema);
	}
	if (rc == 0)
		rc = put_names(x);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists) && rc == 0; i++)
		rc = put_list(x, i);
	if (rc == 0)
		rc = put_members(x);
	if (rc == 0)
		rc = put_analysis(x);
	if (rc == 0)
		rc = rows_begin(x, &s->events, "new_events",
				"INSERT INTO events(rank, thread, start_ns, end_ns, op, class, peer, tag, bytes, "
				"communicator, collective, callsite, calls, wait_ns, object) SELECT * FROM new_events");
	if (rc == 0)
		rc = rows_begin(x, &s->messages, "new_messages",
				"INSERT INTO messages(src, src_thread, dst, dst_thread, tag, communicator, bytes, "
				"send_start_ns, send_end_ns, recv_start_ns, completion_start_ns, recv_end_ns, "
				"send_callsite, recv_callsite) SELECT a, b, c, d, e, f, g, h, i, j, k, l, m, n "
				"FROM new_messages");
	if (rc == 0)
		rc = rows_begin(x, &s->waits, "new_waits", "INSERT INTO waits SELECT a, b, c, d FROM new_waits");
	return rc;
}

/* ---- rows: SQLite numbers events and messages from 1, as they come ---- */

static void set_or_null(struct row *row, int at, sqlite3_int64 value, bool known)
{
	row->at[at] = value;
	row->nulls |= known ? 0 : 1u << at;
}

static int put_wait(struct exporting *x, const struct export_note *n)
{
	struct sqlite *s = x->state;
	bool known = n->other_lane != EXPORT_NOBODY;
	struct row *row = row_begin(&s->waits);
	row->at[0] = s->nevents;
	row->at[1] = n->state;
	row->at[2] = (sqlite3_int64)n->message;
	set_or_null(row, 3, known ? mpix_rank_of_lane(x->f, n->other_lane) : 0, known);
	return row_end(x, &s->waits);
}

static int sqlite_event(struct exporting *x, const struct export_event *ev)
{
	struct sqlite *s = x->state;
	const struct mpix_event *call = ev->call;
	struct row *row = row_begin(&s->events);
	s->nevents++;
	row->at[0] = ev->rank;
	row->at[1] = call->thread;
	row->at[2] = call->start_ns;
	row->at[3] = call->end_ns;
	row->at[4] = call->op;
	row->at[5] = call->class;
	set_or_null(row, 6, call->peer, call->peer != -1);
	set_or_null(row, 7, call->tag, call->peer != -1);
	row->at[8] = (sqlite3_int64)call->bytes;
	row->at[9] = call->comm;
	set_or_null(row, 10, (sqlite3_int64)call->number, call->number != MPIX_NO_NUMBER);
	set_or_null(row, 11, call->callsite, call->callsite != MPIX_NO_CALLSITE);
	row->at[12] = (sqlite3_int64)call->calls;
	row->at[13] = call->wait_ns;
	set_or_null(row, 14, call->object - 1ll, call->object > 0);
	int rc = row_end(x, &s->events);
	for (uint32_t i = 0; i < ev->nnotes && rc == 0; i++)
		if (ev->notes[i].role == EXPORT_WAITS)
			rc = put_wait(x, &ev->notes[i]);
	return rc;
}

static int sqlite_message(struct exporting *x, const struct mpix_link *link, uint64_t number)
{
	struct rows *rows = &((struct sqlite *)x->state)->messages;
	const struct mpix_message *m = &link->message;
	struct row *row = row_begin(rows);
	(void)number; /* SQLite's is the same */
	row->at[0] = m->src;
	row->at[1] = link->send.lane - mpix_first_lane(x->f, m->src);
	row->at[2] = m->dst;
	row->at[3] = link->recv.lane - mpix_first_lane(x->f, m->dst);
	row->at[4] = m->tag;
	row->at[5] = m->comm;
	row->at[6] = (sqlite3_int64)m->bytes;
	row->at[7] = m->send_start_ns;
	row->at[8] = m->send_end_ns;
	row->at[9] = m->recv_start_ns;
	row->at[10] = m->completion_start_ns;
	row->at[11] = m->recv_end_ns;
	set_or_null(row, 12, m->send_callsite, m->send_callsite != MPIX_NO_CALLSITE);
	set_or_null(row, 13, m->recv_callsite, m->recv_callsite != MPIX_NO_CALLSITE);
	return row_end(x, rows);
}

static void close_all(struct sqlite *s)
{
	rows_done(&s->events);
	rows_done(&s->messages);
	rows_done(&s->waits);
}

static int sqlite_end(struct exporting *x)
{
	struct sqlite *s = x->state;
	int rc = rows_flush(x, &s->events);
	if (rc == 0)
		rc = rows_flush(x, &s->messages);
	if (rc == 0)
		rc = rows_flush(x, &s->waits);
	if (rc == 0)
		rc = run(x, views);
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
