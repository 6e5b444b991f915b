/* tables.c - see tables.h. */
#include "reports/export/tables.h"

#include "reports/export/format.h"

#include <math.h>

/* clang-format off */
const struct table tables[TABLES] = {
	[TABLE_EVENTS] = {"events",
		"id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, thread INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
		" end_ns INTEGER NOT NULL, op INTEGER NOT NULL, class INTEGER NOT NULL, peer INTEGER, tag INTEGER,"
		" bytes INTEGER NOT NULL, communicator INTEGER, collective INTEGER, callsite INTEGER,"
		" calls INTEGER NOT NULL, wait_ns INTEGER NOT NULL, object INTEGER, open INTEGER NOT NULL", 17},
	[TABLE_MESSAGES] = {"messages",
		"id INTEGER PRIMARY KEY, src INTEGER NOT NULL, src_thread INTEGER NOT NULL, dst INTEGER NOT NULL,"
		" dst_thread INTEGER NOT NULL, tag INTEGER, communicator INTEGER, bytes INTEGER NOT NULL,"
		" send_start_ns INTEGER NOT NULL, send_end_ns INTEGER NOT NULL, recv_start_ns INTEGER NOT NULL,"
		" completion_start_ns INTEGER NOT NULL, recv_end_ns INTEGER NOT NULL, send_callsite INTEGER,"
		" recv_callsite INTEGER", 15},
	[TABLE_WAITS] = {"waits",
		"event INTEGER NOT NULL REFERENCES events(id), state INTEGER NOT NULL, wait_ns INTEGER NOT NULL,"
		" causer INTEGER", 4},
	[TABLE_SAMPLES] = {"samples",
		"sample INTEGER NOT NULL, samples INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,"
		" rank INTEGER NOT NULL, thread INTEGER NOT NULL, cpu_ns INTEGER, ready_ns INTEGER,"
		" resident_bytes INTEGER, silent INTEGER NOT NULL", 10},
	[TABLE_SAMPLE_CALLS] = {"sample_calls",
		"sample INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, rank INTEGER NOT NULL,"
		" thread INTEGER NOT NULL, op INTEGER NOT NULL, callsite INTEGER, calls INTEGER NOT NULL,"
		" time_ns INTEGER NOT NULL, bytes INTEGER NOT NULL, wait_ns INTEGER NOT NULL", 11},
};
/* clang-format on */

static const char definitions[] =
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
	" bytes_written INTEGER, time_s REAL);";

const char tables_views[] =
	"CREATE VIEW calls AS SELECT e.id, e.rank, e.thread, e.start_ns/1e9 AS start_s, (e.end_ns-e.start_ns)/1e9 AS"
	" duration_s, o.name AS op, c.name AS class, e.peer, e.tag, e.bytes, e.communicator, e.wait_ns/1e9 AS wait_s,"
	" s.file, s.line, s.function, e.open FROM events e JOIN ops o ON o.id=e.op JOIN classes c ON c.id=e.class"
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
	/* Between the tests of a run the program computes: each counts as calls of its call site take in the mean. */
	"CREATE VIEW operations AS SELECT o.name AS op, sum(e.calls) AS calls, sum(CASE WHEN e.calls>1 AND s.calls>0"
	" THEN min(e.end_ns-e.start_ns, e.calls*s.time_s*1e9/s.calls) ELSE e.end_ns-e.start_ns END)/1e9 AS time_s,"
	" sum(e.bytes) AS bytes, sum(e.wait_ns)/1e9 AS wait_s FROM events e JOIN ops o ON o.id=e.op"
	" LEFT JOIN callsites s ON s.id=e.callsite GROUP BY e.op ORDER BY time_s DESC;"
	"CREATE VIEW collective_spread AS SELECT communicator, collective, min(op) AS op, count(*) AS ranks,"
	" (max(start_ns)-min(start_ns))/1e9 AS arrival_spread_s FROM events WHERE collective IS NOT NULL"
	" GROUP BY communicator, collective ORDER BY arrival_spread_s DESC;";

/* ---- rows ---- */

static void set_or_null(struct row *row, int at, int64_t value, bool known)
{
	row->at[at] = value;
	row->nulls |= known ? 0 : 1u << at;
}

void row_of_event(struct row *ret_row, uint64_t id, uint32_t rank, const struct mpix_event *call)
{
	struct row *row = ret_row;
	row->nulls = 0;
	row->at[0] = (int64_t)id;
	row->at[1] = rank;
	row->at[2] = call->thread;
	row->at[3] = call->start_ns;
	row->at[4] = call->end_ns;
	row->at[5] = call->op;
	row->at[6] = call->class;
	set_or_null(row, 7, call->peer, call->peer != -1);
	set_or_null(row, 8, call->tag, call->peer != -1);
	row->at[9] = (int64_t)call->bytes;
	row->at[10] = call->comm;
	set_or_null(row, 11, (int64_t)call->number, call->number != MPIX_NO_NUMBER);
	set_or_null(row, 12, call->callsite, call->callsite != MPIX_NO_CALLSITE);
	row->at[13] = (int64_t)call->calls;
	row->at[14] = call->wait_ns;
	set_or_null(row, 15, call->object - 1ll, call->object > 0);
	row->at[16] = opens_has(call);
}

void row_of_message(struct row *ret_row, const struct mpix_file *f, uint64_t id, const struct mpix_link *link)
{
	const struct mpix_message *m = &link->message;
	struct row *row = ret_row;
	row->nulls = 0;
	row->at[0] = (int64_t)id;
	row->at[1] = m->src;
	row->at[2] = link->send.lane - mpix_first_lane(f, m->src);
	row->at[3] = m->dst;
	row->at[4] = link->recv.lane - mpix_first_lane(f, m->dst);
	row->at[5] = m->tag;
	row->at[6] = m->comm;
	row->at[7] = (int64_t)m->bytes;
	row->at[8] = m->send_start_ns;
	row->at[9] = m->send_end_ns;
	row->at[10] = m->recv_start_ns;
	row->at[11] = m->completion_start_ns;
	row->at[12] = m->recv_end_ns;
	set_or_null(row, 13, m->send_callsite, m->send_callsite != MPIX_NO_CALLSITE);
	set_or_null(row, 14, m->recv_callsite, m->recv_callsite != MPIX_NO_CALLSITE);
}

void row_of_wait(struct row *ret_row, const struct mpix_file *f, uint64_t event, uint8_t state, int64_t ns,
		 uint32_t causer)
{
	ret_row->nulls = 0;
	ret_row->at[0] = (int64_t)event;
	ret_row->at[1] = state;
	ret_row->at[2] = ns;
	set_or_null(ret_row, 3, mpix_rank_of_lane(f, causer), causer != DEFINITION_NONE);
}

static int64_t thread_of(const struct mpix_file *f, uint32_t lane)
{
	return lane - mpix_first_lane(f, mpix_rank_of_lane(f, lane));
}

void row_of_sample(struct row *ret_row, const struct mpix_file *f, const struct mpix_sample *s,
		   const struct mpix_sample_thread *t)
{
	struct row *row = ret_row;
	row->nulls = 0;
	row->at[0] = (int64_t)s->number;
	row->at[1] = s->samples;
	row->at[2] = s->start_ns;
	row->at[3] = s->end_ns;
	row->at[4] = mpix_rank_of_lane(f, t->lane);
	row->at[5] = thread_of(f, t->lane);
	set_or_null(row, 6, (int64_t)t->cpu_ns, (t->known & MPIX_SAMPLE_SYSTEM) != 0);
	set_or_null(row, 7, (int64_t)t->ready_ns, (t->known & MPIX_SAMPLE_SYSTEM) != 0);
	set_or_null(row, 8, (int64_t)t->resident_bytes, (t->known & MPIX_SAMPLE_RESIDENT) != 0);
	row->at[9] = (t->known & MPIX_SAMPLE_SILENT) != 0;
}

int row_of_sample_call(struct row *ret_row, struct mpix_file *f, const struct mpix_sample *s,
		       const struct mpix_sample_thread *t, const struct mpix_sample_cell *c, struct error *e)
{
	struct row *row = ret_row;
	double tick_ns;
	int rc = mpix_tick_ns(f, t->lane, &tick_ns, e);
	if (rc < 0)
		return rc;
	double time_ns = fmin(rint((double)c->ticks * tick_ns), 9e18);
	row->nulls = 0;
	row->at[0] = (int64_t)s->number;
	row->at[1] = s->start_ns;
	row->at[2] = s->end_ns;
	row->at[3] = mpix_rank_of_lane(f, t->lane);
	row->at[4] = thread_of(f, t->lane);
	row->at[5] = c->op;
	set_or_null(row, 6, c->callsite, c->callsite != MPIX_NO_CALLSITE);
	row->at[7] = (int64_t)c->calls;
	row->at[8] = (int64_t)time_ns;
	row->at[9] = (int64_t)c->bytes;
	row->at[10] = (int64_t)c->wait_ns;
	return 0;
}

/* ---- what events name ---- */

struct filling {
	sqlite3 *db;
	const struct mpix_file *f;
	const struct mpix_info *info;
	const struct definitions *d;
};

static int run(struct filling *x, const char *sql)
{
	return sqlite3_exec(x->db, sql, NULL, NULL, NULL);
}

static int prepare(struct filling *x, const char *sql, sqlite3_stmt **ret)
{
	return sqlite3_prepare_v2(x->db, sql, -1, ret, NULL);
}

static int put_row(sqlite3_stmt *row)
{
	sqlite3_step(row);
	return sqlite3_reset(row);
}

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

static int put_list(struct filling *x, size_t at)
{
	sqlite3_stmt *row;
	int rc = prepare(x, lists[at].sql, &row);
	for (const cJSON *item = json_first(x->d->analysis, lists[at].list); item != NULL && rc == 0;
	     item = item->next) {
		for (int k = 0; k < 12 && lists[at].keys[k] != NULL; k++)
			bind_value(row, k + 1, json_item(item, lists[at].keys[k]));
		rc = put_row(row);
	}
	sqlite3_finalize(row);
	return rc;
}

static int put_members(struct filling *x)
{
	sqlite3_stmt *row;
	int rc = prepare(x, "INSERT INTO communicator_members VALUES(?,?,?)", &row);
	for (uint32_t i = 0; i < x->d->comms.n && rc == 0; i++)
		for (uint32_t k = 0; k < x->d->members[i].n && rc == 0; k++) {
			uint32_t rank = x->d->members[i].ranks[k];
			sqlite3_bind_int64(row, 1, i);
			sqlite3_bind_int64(row, 2, k);
			if (rank == DEFINITION_NONE)
				sqlite3_bind_null(row, 3);
			else
				sqlite3_bind_int64(row, 3, rank);
			rc = put_row(row);
		}
	sqlite3_finalize(row);
	return rc;
}

static int put_name(sqlite3_stmt *row, uint32_t id, const char *name)
{
	sqlite3_bind_int64(row, 1, id);
	sqlite3_bind_text(row, 2, name, -1, SQLITE_STATIC);
	return put_row(row);
}

static int put_names(struct filling *x)
{
	sqlite3_stmt *op = NULL, *class = NULL, *state = NULL;
	int rc = prepare(x, "INSERT INTO ops VALUES(?,?)", &op);
	if (rc == 0)
		rc = prepare(x, "INSERT INTO classes VALUES(?,?)", &class);
	if (rc == 0)
		rc = prepare(x, "INSERT INTO states VALUES(?,?)", &state);
	for (uint32_t i = 0; i < x->info->nops && rc == 0; i++)
		rc = put_name(op, i, x->info->ops[i]);
	for (uint32_t i = 0; i < MPIX_CLASSES && rc == 0; i++)
		rc = put_name(class, i, export_class_name((uint8_t)i));
	for (uint32_t i = 1; strcmp(export_state_name((uint8_t)i), "unknown") != 0 && rc == 0; i++)
		rc = put_name(state, i, export_state_name((uint8_t)i));
	sqlite3_finalize(op);
	sqlite3_finalize(class);
	sqlite3_finalize(state);
	return rc;
}

static int put_analysis(struct filling *x)
{
	sqlite3_stmt *row;
	int rc = prepare(x, "INSERT INTO analysis VALUES(?)", &row);
	if (rc == 0)
		sqlite3_bind_text(row, 1, mpix_analysis(x->f), -1, SQLITE_STATIC);
	if (rc == 0)
		rc = put_row(row);
	sqlite3_finalize(row);
	return rc == 0 ? run(x, "INSERT INTO meta VALUES('schema','mpitrace/sqlite/1')") : rc;
}

int tables_define(sqlite3 *db, struct mpix_file *f, const struct mpix_info *info, const struct definitions *d)
{
	struct filling x = {db, f, info, d};
	int rc = run(&x, definitions);
	if (rc == 0)
		rc = put_names(&x);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists) && rc == 0; i++)
		rc = put_list(&x, i);
	if (rc == 0)
		rc = put_members(&x);
	return rc == 0 ? put_analysis(&x) : rc;
}
