/* scan.c - see scan.h. */
#include "fleet/scan.h"
#include "fleet/samples.h"

#include "base/cursor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEVIATION_UNIT 1e4 /* as fleet/ingest.c stores it */

/* Index of a node by the number of its name, as small as there are nodes. */
struct numbering {
	VEC(uint32_t) at; /* index + 1; 0: none yet */
};

static int number_of(struct numbering *x, struct scan *s, uint64_t name, uint32_t *ret_at)
{
	if (name > 1u << 28 || vec_reach(&x->at, (size_t)name) < 0)
		return -ENOMEM;
	if (x->at.at[name] == 0) {
		if (vec_push(&s->names, (uint32_t)name) < 0)
			return -ENOMEM;
		x->at.at[name] = (uint32_t)s->names.n;
	}
	*ret_at = x->at.at[name] - 1;
	return 0;
}

static int add_nodes(struct numbering *x, struct scan *s, struct scan_job *j, const void *blob, size_t len)
{
	struct cursor c = cursor_over(blob, len);
	j->first_node = (uint32_t)s->nodes.n;
	while (cursor_left(&c) > 0) {
		uint64_t name;
		uint16_t raw;
		struct scan_node n = {0};
		if (rd_varint(&c, &name) < 0 || rd_u16(&c, &raw) < 0)
			return -EBADMSG;
		if (number_of(x, s, name, &n.node) < 0)
			return -ENOMEM;
		n.deviation = (float)((int16_t)raw / DEVIATION_UNIT);
		if (vec_push(&s->nodes, n) < 0)
			return -ENOMEM;
	}
	j->nodes = (uint32_t)(s->nodes.n - j->first_node);
	return 0;
}

struct scan_job scan_job_of(sqlite3_stmt *row)
{
	struct scan_job j = {.id = sqlite3_column_int64(row, 0),
			     .program = (uint32_t)sqlite3_column_int64(row, 1),
			     .user = (uint32_t)sqlite3_column_int64(row, 2),
			     .ranks = (uint32_t)sqlite3_column_int64(row, 3),
			     .start = (uint32_t)sqlite3_column_int64(row, 4),
			     .day = (uint32_t)(sqlite3_column_int64(row, 4) / FLEET_SECONDS_PER_DAY),
			     .core_hours = (float)sqlite3_column_double(row, 5),
			     .parallel = NAN,
			     .elapsed_s = (float)sqlite3_column_double(row, 8),
			     .in_mpi = NAN};
	if (sqlite3_column_type(row, 6) != SQLITE_NULL)
		j.parallel = (float)sqlite3_column_double(row, 6);
	if (sqlite3_column_type(row, 9) != SQLITE_NULL)
		j.in_mpi = (float)sqlite3_column_double(row, 9);
	return j;
}

/* What is being loaded. */
struct loading {
	struct numbering x;
	struct scan s;
};

static int add_job(struct loading *l, struct scan_job *j, const void *nodes, size_t len)
{
	int rc = nodes != NULL ? add_nodes(&l->x, &l->s, j, nodes, len) : 0;
	if (j->day >= l->s.day_end)
		l->s.day_end = j->day + 1;
	return rc < 0 ? rc : vec_push(&l->s.jobs, *j);
}

static int add_row(struct loading *l, sqlite3_stmt *row)
{
	struct scan_job j = scan_job_of(row);
	return add_job(l, &j, sqlite3_column_blob(row, SCAN_COLUMN_NODES),
		       (size_t)sqlite3_column_bytes(row, SCAN_COLUMN_NODES));
}

static float float_of(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* As fleet/samples.c writes it. */
static int read_job(struct cursor *c, uint32_t day, struct scan_job *ret_j, struct span *ret_nodes)
{
	uint64_t numbers[5], len;
	uint32_t reals[5];
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (rd_varint(c, &numbers[i]) < 0)
			return -EBADMSG;
	for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
		if (rd_u32(c, &reals[i]) < 0)
			return -EBADMSG;
	if (numbers[4] >= FLEET_SECONDS_PER_DAY || rd_varint(c, &len) < 0 || rd_bytes(c, (size_t)len, ret_nodes) < 0)
		return -EBADMSG;
	*ret_j = (struct scan_job){.id = (sqlite3_int64)numbers[0],
				   .program = (uint32_t)numbers[1],
				   .user = (uint32_t)numbers[2],
				   .ranks = (uint32_t)numbers[3],
				   .start = day * FLEET_SECONDS_PER_DAY + (uint32_t)numbers[4],
				   .day = day,
				   .core_hours = float_of(reals[0]),
				   .parallel = float_of(reals[1]),
				   .elapsed_s = float_of(reals[2]),
				   .in_mpi = float_of(reals[3]),
				   .others = float_of(reals[4])};
	return 0;
}

/* A row of samples. */
static int add_day(struct loading *l, sqlite3_stmt *row)
{
	uint32_t day = (uint32_t)sqlite3_column_int64(row, 0);
	const void *blob = sqlite3_column_blob(row, 2);
	struct cursor c = cursor_over(blob, (size_t)sqlite3_column_bytes(row, 2));
	struct scan_job j;
	struct span nodes;
	int rc = 0;
	if (sqlite3_column_int(row, 1))
		l->s.thinned = day;
	while (rc == 0 && cursor_left(&c) > 0) {
		rc = read_job(&c, day, &j, &nodes);
		rc = rc == 0 ? add_job(l, &j, nodes.len_bytes > 0 ? nodes.data : NULL, nodes.len_bytes) : rc;
	}
	return rc;
}

static int by_start(const void *a, const void *b)
{
	const struct scan_job *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int load(struct fleet *f, const char *sql, int64_t from, int (*add)(struct loading *l, sqlite3_stmt *row),
		struct scan *ret_s, struct error *e)
{
	struct loading l = {0};
	sqlite3_stmt *row = fleet_prepare(f, sql, e);
	int rc = row != NULL ? 0 : -EIO, got = SQLITE_DONE;
	sqlite3_bind_int64(row, 1, from);
	while (rc == 0 && (got = sqlite3_step(row)) == SQLITE_ROW) {
		rc = add(&l, row);
		if (rc < 0)
			fail(e, rc, rc == -ENOMEM ? "out of memory" : "%s: nodes of a job are damaged", f->path);
	}
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(f, e);
	sqlite3_finalize(row);
	vec_done(&l.x.at);
	vec_sort(&l.s.jobs, by_start);
	if (rc < 0)
		scan_done(&l.s);
	else
		*ret_s = l.s;
	return rc;
}

int scan_load(struct fleet *f, struct scan *ret_s, struct error *e)
{
	double last;
	int rc = fleet_number(f, "SELECT max(day) FROM samples WHERE jobs>0", 0, &last, e);
	return rc < 0 ? rc
		      : load(f, "SELECT day, taken<jobs, packed FROM samples WHERE day>?1 ORDER BY day",
			     (int64_t)last - SAMPLE_DAYS, add_day, ret_s, e);
}

int scan_load_from(struct fleet *f, uint32_t day, struct scan *ret_s, struct error *e)
{
	return load(f, SCAN_JOBS_OF " WHERE j.start>=?1", (int64_t)day * FLEET_SECONDS_PER_DAY, add_row, ret_s, e);
}

void scan_done(struct scan *s)
{
	vec_done(&s->jobs);
	vec_done(&s->nodes);
	vec_done(&s->names);
	vec_done(&s->versions);
}
