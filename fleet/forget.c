/* forget.c - see forget.h. Triggers take removed jobs out of the sums; what is left of the user after that are rows
 * that are zero, names that nobody has any more, and sentences. */
#include "fleet/forget.h"
#include "fleet/estimate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ?1: the number of the name. ?2: the name. */
static const char *const steps[] = {
	"DELETE FROM jobs WHERE user=?1",
	"DELETE FROM days WHERE user=?1",
	"DELETE FROM user_programs WHERE user=?1",
	"DELETE FROM weeks WHERE name=?1",
	"DELETE FROM changes WHERE program=?1",
	"DELETE FROM node_jobs WHERE job NOT IN (SELECT id FROM jobs)",
	"DELETE FROM set_aside WHERE substr(key, -length(?2)-1)=' '||?2",
	"DELETE FROM mondays WHERE instr(key, ?2)>0 OR instr(sentence, ?2)>0",
	"DELETE FROM names WHERE id=?1",
	/* what was the user's alone: paths of programs lie in somebody's home */
	"DELETE FROM names WHERE kind IN (4, 5) AND id NOT IN (SELECT program FROM jobs UNION SELECT build FROM jobs)",
	"DELETE FROM program_versions WHERE program NOT IN (SELECT id FROM names)",
	"DELETE FROM program_ranks WHERE program NOT IN (SELECT id FROM names)",
	"DELETE FROM days WHERE program NOT IN (SELECT id FROM names)",
	"DELETE FROM user_programs WHERE program NOT IN (SELECT id FROM names)",
	"DELETE FROM weeks WHERE name NOT IN (SELECT id FROM names)",
	"DELETE FROM changes WHERE program NOT IN (SELECT id FROM names)",
	"DELETE FROM estimated",
};

static int run(struct fleet *f, const char *sql, sqlite3_int64 id, const char *user, struct error *e)
{
	sqlite3_stmt *s = fleet_prepare(f, sql, e);
	if (s == NULL)
		return -EIO;
	if (strstr(sql, "?1") != NULL)
		sqlite3_bind_int64(s, 1, id);
	if (strstr(sql, "?2") != NULL)
		sqlite3_bind_text(s, 2, user, -1, SQLITE_STATIC);
	int rc = sqlite3_step(s) == SQLITE_DONE ? 0 : fleet_fail(f, e);
	sqlite3_finalize(s);
	return rc;
}

static int find(struct fleet *f, const char *user, sqlite3_int64 *ret_id, struct error *e)
{
	sqlite3_stmt *s = fleet_prepare(f, "SELECT id FROM names WHERE kind=1 AND name=?1 AND name<>''", e);
	if (s == NULL)
		return -EIO;
	sqlite3_bind_text(s, 1, user, -1, SQLITE_STATIC);
	int got = sqlite3_step(s);
	*ret_id = got == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
	sqlite3_finalize(s);
	return *ret_id != 0 ? 0 : fail(e, -ESRCH, "%s: no job of a user \"%.64s\"", f->path, user);
}

static int remove_all(struct fleet *f, const char *user, uint64_t *ret_jobs, struct error *e)
{
	sqlite3_int64 id;
	int rc = find(f, user, &id, e);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && rc == 0; i++) {
		rc = run(f, steps[i], id, user, e);
		if (i == 0)
			*ret_jobs = (uint64_t)sqlite3_changes64(f->db);
	}
	return rc;
}

int fleet_forget(struct fleet *f, const char *user, uint64_t *ret_jobs, struct error *e)
{
	int rc = fleet_run(f, "PRAGMA secure_delete=ON; BEGIN IMMEDIATE", e);
	if (rc < 0)
		return rc;
	rc = remove_all(f, user, ret_jobs, e);
	if (rc < 0) {
		sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
		return rc;
	}
	rc = fleet_run(f, "COMMIT", e);
	if (rc == 0)
		rc = fleet_estimate(f, e);
	return rc == 0 ? fleet_run(f, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)", e) : rc;
}
