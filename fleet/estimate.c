/* estimate.c - see estimate.h. */
#include "fleet/estimate.h"
#include "fleet/came_with.h"
#include "fleet/changes.h"
#include "fleet/links.h"
#include "fleet/monday.h"
#include "fleet/nodes.h"
#include "fleet/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define VERSIONS_MOST 16 /* of a program, that are looked at */

static const char clear[] =
	"DELETE FROM node_effects; DELETE FROM node_jobs; DELETE FROM node_days; DELETE FROM changes; DELETE FROM "
	"change_with;"
	"DELETE FROM day_sums; DELETE FROM weeks; DELETE FROM user_programs; DELETE FROM "
	"program_ranks; DELETE FROM program_versions; DELETE FROM matters; DELETE FROM account_sums; DELETE FROM "
	"estimated;";

#define SUMS_OF \
	"total(jobs), total(core_hours), total(useful), total(mpi), total(wait), total(loss), total(not_known) FROM " \
	"days"

/* The numbers of names are all different, so that weeks of programs, users and accounts can stand in one table. Days
 * that have no jobs any more stay with zeros. */
static const char sums_by_time[] =
	"INSERT INTO day_sums SELECT day, " SUMS_OF " GROUP BY day HAVING total(jobs)>0;"
	"INSERT INTO weeks SELECT program, day/7, " SUMS_OF
	" WHERE program>0 GROUP BY program, day/7 HAVING total(jobs)>0;"
	"INSERT INTO weeks SELECT user, day/7, " SUMS_OF " WHERE user>0 GROUP BY user, day/7 HAVING total(jobs)>0;"
	"INSERT INTO weeks SELECT account, day/7, " SUMS_OF
	" WHERE account>0 GROUP BY account, day/7 HAVING total(jobs)>0;"
	"INSERT INTO user_programs SELECT user, program, " SUMS_OF " GROUP BY user, program HAVING total(jobs)>0;"
	"INSERT INTO account_sums SELECT account, user, program, " SUMS_OF
	" WHERE account>0 GROUP BY account, user, program HAVING total(jobs)>0;";

/* Of jobs that are there, and of those that were let go. */
static const char versions[] =
	"DROP TABLE IF EXISTS temp.versions; CREATE TEMP TABLE versions AS SELECT program, build, mpi, size,"
	" total(jobs) AS jobs, total(core_hours) AS core_hours, total(judged) AS judged, total(parallel) AS parallel,"
	" min(first) AS first, max(last) AS last FROM version_days GROUP BY program, build, mpi, size;"
	"INSERT INTO temp.versions SELECT program, build, mpi, size, jobs, core_hours, judged, parallel, first, last "
	"FROM"
	" past_versions;"
	"DROP TABLE IF EXISTS temp.seen; CREATE TEMP TABLE seen AS SELECT count(*) AS jobs, ifnull(max(id), 0) AS last "
	"FROM"
	" jobs;";

/* NULLIF: no job of that group has an efficiency. */
static const char sums[] =
	"INSERT INTO program_ranks SELECT program, size, sum(jobs), sum(core_hours), sum(parallel)/NULLIF(sum(judged), "
	"0)"
	" FROM temp.versions GROUP BY program, size;"
	"INSERT INTO program_versions SELECT program, build, mpi, min(first), max(last), sum(jobs), sum(core_hours),"
	" sum(parallel)/NULLIF(sum(judged), 0) FROM temp.versions GROUP BY program, build, mpi;"
	"INSERT INTO estimated(jobs, last) SELECT jobs, last FROM temp.seen;"
	"DROP TABLE temp.versions; DROP TABLE temp.seen;";

static int step(struct fleet *f, sqlite3_stmt *s, struct error *e)
{
	int rc = sqlite3_step(s);
	sqlite3_reset(s);
	return rc == SQLITE_DONE ? 0 : fleet_fail(f, e);
}

static int put_evidence(struct fleet *f, sqlite3_stmt *s, const struct scan *scan, size_t node,
			const struct node_effect *x, struct error *e)
{
	int rc = 0;
	for (int k = 0; k < NODE_EVIDENCE && x->evidence[k].job != UINT32_MAX && rc == 0; k++) {
		sqlite3_bind_int64(s, 1, scan->names.at[node]);
		sqlite3_bind_int(s, 2, k);
		sqlite3_bind_int64(s, 3, scan->jobs.at[x->evidence[k].job].id);
		sqlite3_bind_double(s, 4, x->evidence[k].deviation);
		rc = step(f, s, e);
	}
	return rc;
}

static void put_since(sqlite3_stmt *s, const struct node_effect *x)
{
	const double values[] = {x->since, x->since_low, x->since_high};
	for (int k = 0; k < 3; k++)
		if (x->since > 0)
			sqlite3_bind_int64(s, 10 + k, (sqlite3_int64)values[k]);
		else
			sqlite3_bind_null(s, 10 + k);
	sqlite3_bind_double(s, 13, x->before);
	sqlite3_bind_double(s, 14, x->since > 0 ? x->change_p : 1);
}

static int put_nodes(struct fleet *f, const struct scan *scan, const struct node_effect *x, struct error *e)
{
	sqlite3_stmt *s = fleet_prepare(f, "INSERT INTO node_effects VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", e);
	sqlite3_stmt *jobs = s != NULL ? fleet_prepare(f, "INSERT INTO node_jobs VALUES(?,?,?,?)", e) : NULL;
	int rc = jobs != NULL ? 0 : -EIO;
	for (size_t i = 0; i < scan->names.n && rc == 0; i++) {
		const double values[] = {x[i].effect, x[i].low, x[i].high, x[i].z, x[i].q};
		sqlite3_bind_int64(s, 1, scan->names.at[i]);
		for (int k = 0; k < 5; k++)
			sqlite3_bind_double(s, 2 + k, values[k]);
		sqlite3_bind_int64(s, 7, x[i].jobs);
		sqlite3_bind_int(s, 8, x[i].suspected);
		sqlite3_bind_double(s, 9, x[i].lost);
		put_since(s, &x[i]);
		sqlite3_bind_int64(s, 15, x[i].programs);
		sqlite3_bind_int64(s, 16, x[i].others);
		rc = step(f, s, e);
		if (rc == 0)
			rc = put_evidence(f, jobs, scan, i, &x[i], e);
	}
	sqlite3_finalize(s);
	sqlite3_finalize(jobs);
	return rc;
}

/* What a suspected node cost on one day. */
struct node_day {
	uint32_t day;
	double lost;
};

static int put_node_day(struct fleet *f, sqlite3_stmt *s, uint32_t node, const struct node_day *d, struct error *e)
{
	if (d->lost <= 0)
		return 0;
	sqlite3_bind_int64(s, 1, node);
	sqlite3_bind_int64(s, 2, d->day);
	sqlite3_bind_double(s, 3, d->lost);
	return step(f, s, e);
}

/* Jobs come in the order of their days: a node's day has ended when its next one begins. */
static int add_to_day(struct fleet *f, sqlite3_stmt *s, uint32_t node, struct node_day *d, uint32_t day, double lost,
		      struct error *e)
{
	int rc = d->day != day ? put_node_day(f, s, node, d, e) : 0;
	if (d->day != day)
		*d = (struct node_day){day, 0};
	d->lost += lost;
	return rc;
}

static int put_node_days(struct fleet *f, const struct scan *scan, const struct node_effect *x, struct error *e)
{
	struct node_day *days = calloc(scan->names.n + 1, sizeof(*days));
	sqlite3_stmt *s = days != NULL ? fleet_prepare(f, "INSERT INTO node_days VALUES(?,?,?)", e) : NULL;
	int rc = days == NULL ? fail(e, -ENOMEM, "out of memory") : s != NULL ? 0 : -EIO;
	for (size_t j = 0; j < scan->jobs.n && rc == 0; j++) {
		const struct scan_job *job = &scan->jobs.at[j];
		for (uint32_t i = 0; i < job->nodes && rc == 0; i++) {
			uint32_t at = scan->nodes.at[job->first_node + i].node;
			if (x[at].suspected)
				rc = add_to_day(f, s, scan->names.at[at], &days[at], job->day, node_cost(&x[at], job),
						e);
		}
	}
	for (size_t i = 0; i < scan->names.n && rc == 0; i++)
		rc = put_node_day(f, s, scan->names.at[i], &days[i], e);
	sqlite3_finalize(s);
	free(days);
	return rc;
}

static int put_changes(struct fleet *f, const change_list *list, struct error *e)
{
	sqlite3_stmt *s = fleet_prepare(f, "INSERT INTO changes VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)", e);
	int rc = s != NULL ? 0 : -EIO;
	for (size_t i = 0; i < list->n && rc == 0; i++) {
		const struct change *c = &list->at[i];
		const double values[] = {c->before, c->after, c->change, c->low, c->high, c->p};
		sqlite3_bind_int64(s, 1, c->name);
		sqlite3_bind_int64(s, 2, c->day);
		for (int k = 0; k < 6; k++)
			sqlite3_bind_double(s, 3 + k, values[k]);
		sqlite3_bind_int64(s, 9, c->jobs_before);
		sqlite3_bind_int64(s, 10, c->jobs_after);
		sqlite3_bind_double(s, 11, c->hours_since);
		sqlite3_bind_int64(s, 12, c->day_low);
		sqlite3_bind_int64(s, 13, c->day_high);
		rc = step(f, s, e);
	}
	sqlite3_finalize(s);
	return rc;
}

/* When builds and libraries came: of each program those with most jobs. */
static const char versions_came[] =
	"WITH v AS (SELECT program, total(jobs) AS n, min(first) AS first FROM temp.versions GROUP BY program, build"
	" UNION ALL SELECT program, total(jobs), min(first) FROM temp.versions GROUP BY program, mpi),"
	"r AS (SELECT program, first, min(first) OVER (PARTITION BY program) AS begin,"
	" row_number() OVER (PARTITION BY program ORDER BY n DESC) AS place FROM v WHERE n>=?1)"
	" SELECT DISTINCT program, first/86400 FROM r WHERE place<=?2 AND first>begin ORDER BY 1, 2";

static int load_versions(struct fleet *f, struct scan *s, struct error *e)
{
	sqlite3_stmt *row = fleet_prepare(f, versions_came, e);
	sqlite3_bind_int(row, 1, CHANGE_DAYS);
	sqlite3_bind_int(row, 2, VERSIONS_MOST);
	int rc = row != NULL ? 0 : -EIO, got = SQLITE_DONE;
	while (rc == 0 && (got = sqlite3_step(row)) == SQLITE_ROW) {
		struct scan_version v = {(uint32_t)sqlite3_column_int64(row, 0),
					 (uint32_t)sqlite3_column_int64(row, 1)};
		if (vec_push(&s->versions, v) < 0)
			rc = fail(e, -ENOMEM, "out of memory");
	}
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(f, e);
	sqlite3_finalize(row);
	return rc;
}

/* What is found out of all jobs. */
struct estimate {
	struct scan scan;
	struct node_effect *effects;
	change_list changes;
	link_list links;
};

static void estimate_done(struct estimate *x)
{
	vec_done(&x->changes);
	links_done(&x->links);
	free(x->effects);
	scan_done(&x->scan);
}

/* One state of all jobs. Nobody who writes waits for it, which may take minutes. */
static int estimate_snapshot(struct fleet *f, struct estimate *x, struct error *e)
{
	int rc = samples_renew(f, e);
	if (rc == 0)
		rc = fleet_run(f, "BEGIN", e);
	if (rc == 0)
		rc = scan_load(f, &x->scan, e);
	if (rc == 0)
		rc = fleet_run(f, versions, e);
	if (rc == 0)
		rc = load_versions(f, &x->scan, e);
	sqlite3_exec(f->db, "COMMIT", NULL, NULL, NULL);
	if (rc < 0)
		return rc;
	rc = nodes_estimate(&x->scan, &x->effects);
	if (rc == 0)
		nodes_charge(&x->scan, x->effects);
	if (rc == 0)
		rc = changes_find(&x->scan, &x->changes);
	if (rc < 0)
		return fail(e, rc, "out of memory: %zu jobs on %zu nodes", x->scan.jobs.n, x->scan.names.n);
	return links_estimate(f, &x->scan, &x->links, e);
}

static int put(struct fleet *f, const struct estimate *x, struct error *e)
{
	int64_t monday;
	int rc = fleet_run(f, clear, e);
	if (rc == 0)
		rc = put_nodes(f, &x->scan, x->effects, e);
	if (rc == 0)
		rc = put_node_days(f, &x->scan, x->effects, e);
	if (rc == 0)
		rc = put_changes(f, &x->changes, e);
	if (rc == 0)
		rc = came_with_keep(f, &x->scan, &x->changes, e);
	if (rc == 0)
		rc = links_keep(f, &x->links, e);
	if (rc == 0)
		rc = fleet_run(f, sums_by_time, e);
	if (rc == 0)
		rc = fleet_run(f, sums, e);
	if (rc == 0)
		rc = monday_last(f, (int64_t)time(NULL), &monday, e);
	return rc == 0 ? monday_keep(f, monday, e) : rc;
}

/* A replaced record has a new number. */
static int is_current(struct fleet *f, bool *ret_current, struct error *e)
{
	double current;
	int rc = fleet_number(f,
			      "SELECT (SELECT count(*) FROM jobs)=jobs AND (SELECT ifnull(max(id), 0) FROM jobs)=last"
			      " FROM estimated",
			      0, &current, e);
	*ret_current = rc == 0 && current == 1;
	return rc;
}

int fleet_estimate(struct fleet *f, struct error *e)
{
	struct estimate x = {0};
	bool current;
	int rc = is_current(f, &current, e);
	if (rc < 0 || current)
		return rc;
	rc = estimate_snapshot(f, &x, e);
	if (rc == 0)
		rc = fleet_run(f, "BEGIN IMMEDIATE", e);
	if (rc == 0)
		rc = put(f, &x, e);
	estimate_done(&x);
	if (rc == 0)
		return fleet_run(f, "COMMIT", e);
	sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}
