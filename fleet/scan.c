/* scan.c - see scan.h. */
#include "fleet/scan.h"

#include "base/cursor.h"

#include <math.h>
#include <stdlib.h>

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

static int add_row(struct numbering *x, struct scan *s, sqlite3_stmt *row)
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
	const void *blob = sqlite3_column_blob(row, 7);
	if (blob != NULL) {
		int rc = add_nodes(x, s, &j, blob, (size_t)sqlite3_column_bytes(row, 7));
		if (rc < 0)
			return rc;
	}
	if (j.day >= s->day_end)
		s->day_end = j.day + 1;
	return vec_push(&s->jobs, j);
}

static int by_start(const void *a, const void *b)
{
	const struct scan_job *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

int scan_load(struct fleet *f, struct scan *ret_s, struct error *e)
{
	struct scan s = {0};
	struct numbering x = {0};
	sqlite3_stmt *row = fleet_prepare(
		f,
		"SELECT j.id, j.program, j.user, j.ranks, j.start, j.core_hours,"
		" CASE WHEN j.complete THEN j.parallel END, r.nodes, j.elapsed_s, CASE WHEN j.complete AND"
		" j.hung_core_hours=0 AND j.core_hours>j.idle_core_hours THEN"
		" 1-j.useful*j.core_hours/(j.core_hours-j.idle_core_hours) END FROM jobs j"
		" LEFT JOIN runs r ON r.job=j.id ORDER BY j.id",
		e);
	int rc = row != NULL ? 0 : -EIO, got = SQLITE_DONE;
	while (rc == 0 && (got = sqlite3_step(row)) == SQLITE_ROW) {
		rc = add_row(&x, &s, row);
		if (rc < 0)
			fail(e, rc, rc == -ENOMEM ? "out of memory" : "%s: nodes of a job are damaged", f->path);
	}
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(f, e);
	sqlite3_finalize(row);
	vec_done(&x.at);
	vec_sort(&s.jobs, by_start);
	if (rc < 0)
		scan_done(&s);
	else
		*ret_s = s;
	return rc;
}

void scan_done(struct scan *s)
{
	vec_done(&s->jobs);
	vec_done(&s->nodes);
	vec_done(&s->names);
}
