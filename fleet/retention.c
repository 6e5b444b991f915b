/* retention.c - see retention.h. The sums of days, causes and outcomes are there already, kept by triggers, which leave
 * them alone for jobs of a day that was pruned. What these do not say is added up here: whose causes and outcomes they
 * were, so that a user can be forgotten, and versions and sizes, which a program's page shows. */
#include "fleet/retention.h"

#include <errno.h>
#include <stddef.h>

/* What goes: all jobs of day ?1 and of those before. By any other index, as one that has the order of a group, all that
 * stay would be read as well. */
#define GOING " FROM jobs INDEXED BY jobs_by_start WHERE start<(?1+1)*86400"

static const char *const steps[] = {
	("UPDATE let_go SET day=?1+1, jobs=jobs+(SELECT count(*)" GOING
	 "), core_hours=core_hours+(SELECT total(core_hours)" GOING ")"),
	("INSERT INTO past_causes SELECT user, start/86400, issue, count(*), total(loss_core_hours)" GOING
	 " GROUP BY 1, 2, 3 ON CONFLICT DO UPDATE SET jobs=jobs+excluded.jobs, loss=loss+excluded.loss"),
	("INSERT INTO past_outcomes SELECT user, start/86400, state, count(*), total(core_hours), "
	 "total(hung_core_hours)" GOING " GROUP BY 1, 2, 3 ON CONFLICT DO UPDATE SET jobs=jobs+excluded.jobs,"
	 " core_hours=core_hours+excluded.core_hours, hung=hung+excluded.hung"),
	("INSERT INTO past_versions SELECT user, program, build, mpi, " FLEET_SIZE_OF_RANKS
	 ", count(*), total(core_hours), total(CASE WHEN parallel IS NOT NULL THEN core_hours END),"
	 " total(core_hours*parallel), min(start), max(start)" GOING
	 " GROUP BY 1, 2, 3, 4, 5 ON CONFLICT DO UPDATE SET jobs=jobs+excluded.jobs,"
	 " core_hours=core_hours+excluded.core_hours, judged=judged+excluded.judged,"
	 " parallel=parallel+excluded.parallel, first=min(first, excluded.first), last=max(last, excluded.last)"),
	("DELETE" GOING),
};

/* One transaction: its log has the jobs of a day, and pages see a day or do not. */
static int prune(struct fleet *f, int64_t day, uint64_t *ret_jobs, struct error *e)
{
	int rc = fleet_run(f, "BEGIN IMMEDIATE", e);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && rc == 0; i++)
		rc = fleet_run_on(f, steps[i], day, e);
	*ret_jobs = (uint64_t)sqlite3_changes64(f->db); /* of the last step */
	if (rc == 0)
		rc = fleet_run(f, "COMMIT", e);
	if (rc < 0)
		sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

int fleet_kept_from(struct fleet *f, int64_t *ret_start, struct error *e)
{
	double day;
	int rc = fleet_number(f, "SELECT day FROM let_go", 0, &day, e);
	if (rc == 0)
		*ret_start = (int64_t)day * FLEET_SECONDS_PER_DAY;
	return rc;
}

/* Of the first job; fallback without any. */
static int oldest_day(struct fleet *f, int64_t fallback, int64_t *ret_day, struct error *e)
{
	sqlite3_stmt *row = fleet_prepare(f, "SELECT ifnull(min(start)/86400, ?1) FROM jobs", e);
	if (row == NULL)
		return -EIO;
	sqlite3_bind_int64(row, 1, fallback);
	int rc = sqlite3_step(row) == SQLITE_ROW ? 0 : fleet_fail(f, e);
	*ret_day = rc == 0 ? sqlite3_column_int64(row, 0) : fallback;
	sqlite3_finalize(row);
	return rc;
}

int fleet_keep(struct fleet *f, int64_t now, unsigned days, uint64_t *ret_jobs, struct error *e)
{
	int64_t first = now / FLEET_SECONDS_PER_DAY - days, day;
	uint64_t n;
	int rc = 0;
	*ret_jobs = 0;
	while (rc == 0 && (rc = oldest_day(f, first, &day, e)) == 0 && day < first) {
		rc = prune(f, day, &n, e);
		*ret_jobs += rc == 0 ? n : 0;
	}
	/* No job is older, and none that comes late may be. */
	return rc == 0 ? fleet_run_on(f, "UPDATE let_go SET day=?1 WHERE day<?1", first, e) : rc;
}
