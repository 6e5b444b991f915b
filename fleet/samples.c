/* samples.c - see samples.h. In: jobs and their nodes.  Out: `samples`, a row a day, which scan.c reads;
 * `version_days`.
 *
 * A day's blob, one job after the other by start (numbers in base/cursor.h's way):
 *
 *     varint id | varint program | varint user | varint ranks | varint second of the day
 *     f32 core_hours | f32 parallel | f32 elapsed_s | f32 in_mpi | f32 others
 *     varint length | so many bytes: the job's nodes, as in `runs`
 */
#include "fleet/samples.h"
#include "fleet/scan.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "base/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A job of the day. */
struct candidate {
	struct scan_job job;
	uint64_t hash;
	uint32_t turn;		/* among those of its program and user; UINT32_MAX: left out */
	size_t first_byte, len; /* of its nodes, in day.nodes */
};

struct day {
	VEC(struct candidate) jobs;
	struct buf nodes;
};

static void day_done(struct day *d)
{
	vec_done(&d->jobs);
	buf_done(&d->nodes);
}

static int take_job(struct day *d, sqlite3_stmt *row)
{
	const void *nodes = sqlite3_column_blob(row, SCAN_COLUMN_NODES);
	struct candidate c = {.job = scan_job_of(row), .first_byte = d->nodes.len_bytes};
	c.hash = index_mix((uint64_t)c.job.id, 1);
	c.len = nodes != NULL ? (size_t)sqlite3_column_bytes(row, SCAN_COLUMN_NODES) : 0;
	for (size_t i = 0; i < c.len;) { /* a varint, and two bytes */
		while (i < c.len && ((const uint8_t *)nodes)[i] >= 0x80)
			i++;
		i += 3;
		c.job.nodes++;
	}
	buf_bytes(&d->nodes, nodes, c.len);
	return buf_failed(&d->nodes) ? -ENOMEM : vec_push(&d->jobs, c);
}

static int read_day(struct fleet *f, sqlite3_int64 day, struct day *d, struct error *e)
{
	sqlite3_stmt *row = fleet_prepare(f, SCAN_JOBS_OF " WHERE j.start>=?1*86400 AND j.start<(?1+1)*86400", e);
	int rc = row != NULL ? 0 : -EIO, got = SQLITE_DONE;
	sqlite3_bind_int64(row, 1, day);
	while (rc == 0 && (got = sqlite3_step(row)) == SQLITE_ROW)
		rc = take_job(d, row) < 0 ? fail(e, -ENOMEM, "out of memory") : 0;
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(f, e);
	sqlite3_finalize(row);
	return rc;
}

/* ---- which ---- */

static int compare_groups(const struct candidate *x, const struct candidate *y)
{
	if (x->job.program != y->job.program)
		return x->job.program < y->job.program ? -1 : 1;
	return (x->job.user > y->job.user) - (x->job.user < y->job.user);
}

static int by_group(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = compare_groups(x, y);
	return order != 0 ? order : (x->hash > y->hash) - (x->hash < y->hash);
}

static int by_turn(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return (x->hash > y->hash) - (x->hash < y->hash);
}

static int by_start(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->job.start != y->job.start)
		return x->job.start < y->job.start ? -1 : 1;
	return (x->job.id > y->job.id) - (x->job.id < y->job.id);
}

/* One of each program and user, then a second one of each, until it is enough. */
static void choose(struct day *d)
{
	size_t jobs = 0, nodes = 0;
	vec_sort(&d->jobs, by_group);
	for (size_t i = 0; i < d->jobs.n; i++) {
		struct candidate *c = &d->jobs.at[i];
		c->turn = i > 0 && compare_groups(c - 1, c) == 0 ? c[-1].turn + 1 : 0;
	}
	vec_sort(&d->jobs, by_turn);
	for (size_t i = 0; i < d->jobs.n; i++) {
		struct candidate *c = &d->jobs.at[i];
		if (jobs < SAMPLE_JOBS && nodes + c->job.nodes <= SAMPLE_NODES) {
			jobs++;
			nodes += c->job.nodes;
		} else
			c->turn = UINT32_MAX;
	}
}

/* Those that are in stand for those that are not, program by program and user by user. */
static void stand_for_others(struct day *d)
{
	vec_sort(&d->jobs, by_group);
	for (size_t i = 0, end; i < d->jobs.n; i = end) {
		size_t in = 0;
		for (end = i; end < d->jobs.n && compare_groups(&d->jobs.at[i], &d->jobs.at[end]) == 0; end++)
			in += d->jobs.at[end].turn != UINT32_MAX;
		for (size_t k = i; k < end && in > 0; k++)
			d->jobs.at[k].job.others = (float)(end - i - in) / (float)in;
	}
	vec_sort(&d->jobs, by_start);
}

/* ---- as bytes ---- */

static void put_float(struct buf *b, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	buf_u32(b, bits);
}

static void pack_job(const struct day *d, const struct candidate *c, struct buf *ret_b)
{
	const struct scan_job *j = &c->job;
	const uint64_t numbers[] = {(uint64_t)j->id, j->program, j->user, j->ranks, j->start % FLEET_SECONDS_PER_DAY};
	const float reals[] = {j->core_hours, j->parallel, j->elapsed_s, j->in_mpi, j->others};
	for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
		buf_varint(ret_b, numbers[k]);
	for (size_t k = 0; k < sizeof(reals) / sizeof(reals[0]); k++)
		put_float(ret_b, reals[k]);
	buf_varint(ret_b, c->len);
	if (c->len > 0)
		buf_bytes(ret_b, d->nodes.data + c->first_byte, c->len);
}

/* How many. */
static size_t pack(const struct day *d, struct buf *ret_b)
{
	size_t n = 0;
	for (size_t i = 0; i < d->jobs.n; i++) {
		if (d->jobs.at[i].turn == UINT32_MAX)
			continue;
		pack_job(d, &d->jobs.at[i], ret_b);
		n++;
	}
	return n;
}

/* ---- all days ---- */

static int put_sample(struct fleet *f, sqlite3_int64 day, const struct day *d, struct error *e)
{
	_cleanup_buf_ struct buf blob = {0};
	size_t taken = pack(d, &blob);
	if (buf_failed(&blob))
		return fail(e, -ENOMEM, "out of memory: %zu jobs of a day", d->jobs.n);
	sqlite3_stmt *s = fleet_prepare(f, "INSERT OR REPLACE INTO samples VALUES(?1, ?2, ?3, ?4)", e);
	if (s == NULL)
		return -EIO;
	sqlite3_bind_int64(s, 1, day);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)d->jobs.n);
	sqlite3_bind_int64(s, 3, (sqlite3_int64)taken);
	sqlite3_bind_blob64(s, 4, blob.data, blob.len_bytes, SQLITE_STATIC);
	int rc = sqlite3_step(s) == SQLITE_DONE ? 0 : fleet_fail(f, e);
	sqlite3_finalize(s);
	return rc;
}

static const char versions[] =
	"INSERT INTO version_days SELECT ?1, program, build, mpi, " FLEET_SIZE_OF_RANKS " AS size, count(*),"
	" total(core_hours), total(CASE WHEN parallel IS NOT NULL THEN core_hours END), total(core_hours*parallel),"
	" min(start), max(start) FROM jobs INDEXED BY jobs_by_start WHERE start>=?1*86400 AND start<(?1+1)*86400"
	" GROUP BY program, build, mpi, size";

static int renew_day(struct fleet *f, sqlite3_int64 day, struct error *e)
{
	struct day d = {0};
	int rc = fleet_run(f, "BEGIN IMMEDIATE", e);
	if (rc == 0)
		rc = read_day(f, day, &d, e);
	choose(&d);
	stand_for_others(&d);
	if (rc == 0)
		rc = put_sample(f, day, &d, e);
	if (rc == 0)
		rc = fleet_run_on(f, "DELETE FROM version_days WHERE day=?1", day, e);
	if (rc == 0)
		rc = fleet_run_on(f, versions, day, e);
	day_done(&d);
	if (rc == 0)
		return fleet_run(f, "COMMIT", e);
	sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* Of days whose jobs are gone nothing stays: what they had is in past_versions, or forgotten. */
static int remove_old(struct fleet *f, struct error *e)
{
	return fleet_run(f, "DELETE FROM version_days WHERE day NOT IN (SELECT day FROM samples)", e);
}

int samples_renew(struct fleet *f, struct error *e)
{
	VEC(sqlite3_int64) days = {0};
	sqlite3_stmt *row = fleet_prepare(
		f,
		"SELECT day FROM outcomes WHERE day>=(SELECT l.day FROM let_go l) AND day NOT IN (SELECT s.day FROM"
		" samples s) GROUP BY day HAVING total(jobs)>0 ORDER BY day",
		e);
	int rc = row != NULL ? 0 : -EIO, got = SQLITE_DONE;
	while (rc == 0 && (got = sqlite3_step(row)) == SQLITE_ROW)
		rc = vec_push(&days, sqlite3_column_int64(row, 0)) < 0 ? fail(e, -ENOMEM, "out of memory") : 0;
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(f, e);
	sqlite3_finalize(row);
	rc = rc == 0 ? remove_old(f, e) : rc;
	for (size_t i = 0; i < days.n && rc == 0; i++)
		rc = renew_day(f, days.at[i], e);
	vec_done(&days);
	return rc;
}
