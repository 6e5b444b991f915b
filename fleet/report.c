/* report.c - see report.h. Pages that name jobs come first, then pages of these jobs. */
#include "base/clock.h"
#include "base/sort.h"
#include "fleet/page.h"

#include "base/atomic_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int path_of(const struct site *s, const char *name, char ret_path[PATH_MAX])
{
	return snprintf(ret_path, PATH_MAX, "%s/%s", s->r->directory, name) < PATH_MAX
		       ? 0
		       : fail(s->e, -ENAMETOOLONG, "%s: too long a name", s->r->directory);
}

static int write_file(struct site *s, const char *name)
{
	char path[PATH_MAX];
	struct atomic_file f = {0};
	double begin = now_s();
	int rc = path_of(s, name, path);
	if (rc == 0)
		rc = atomic_file_open(&f, path, s->e);
	if (rc < 0)
		return rc;
	f.unsynced = true;
	rc = site_put(s, name, f.stream);
	if (rc < 0) {
		atomic_file_abandon(&f);
		return rc;
	}
	rc = atomic_file_commit(&f, s->e);
	if (s->r->timing)
		fprintf(stderr, "%-24s %.3f s\n", name, now_s() - begin);
	return rc;
}

/* One page for each row of sql, whose first column is what follows kind in its name. */
static int write_each(struct site *s, const char *kind, const char *sql)
{
	char name[96];
	int rc = 0, got = SQLITE_DONE;
	sqlite3_stmt *row = fleet_prepare(s->f, sql, s->e);
	if (row == NULL)
		return -EIO;
	if (sqlite3_bind_parameter_count(row) > 0)
		sqlite3_bind_int64(row, 1, s->r->days);
	while (rc == 0 && (got = sqlite3_step(row)) == SQLITE_ROW) {
		snprintf(name, sizeof(name), "%s-%s.html", kind, (const char *)sqlite3_column_text(row, 0));
		rc = write_file(s, name);
	}
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(s->f, s->e);
	sqlite3_finalize(row);
	return rc;
}

static void seal(struct site *s)
{
	size_t kept = 0;
	vec_sort(&s->linked, sort_by_i64);
	for (size_t i = 0; i < s->linked.n; i++)
		if (i == 0 || s->linked.at[i] != s->linked.at[i - 1])
			s->linked.at[kept++] = s->linked.at[i];
	s->linked.n = kept;
	s->sealed = true;
}

static int write_jobs(struct site *s)
{
	char name[64];
	int rc = 0;
	for (size_t i = 0; i < s->linked.n && rc == 0; i++) {
		snprintf(name, sizeof(name), "job-%lld.html", (long long)s->linked.at[i]);
		rc = write_file(s, name);
	}
	return rc;
}

/* A user may see their page, and each job that it names. */
static int write_all(struct site *s)
{
	int rc = site_each_plain(s, write_file);
	if (s->r->public_least > 0)
		return rc;
	if (rc == 0 && s->user == 0)
		rc = write_each(s, "program", "SELECT DISTINCT program FROM user_programs WHERE program>0");
	if (rc == 0 && s->user == 0)
		rc = write_each(s, "user", "SELECT DISTINCT user FROM user_programs WHERE user>0");
	if (rc == 0 && s->user == 0)
		rc = write_each(s, "account",
				"SELECT DISTINCT w.name FROM weeks w JOIN names n ON n.id=w.name WHERE n.kind=2");
	seal(s);
	if (rc == 0 && s->user == 0)
		rc = write_each(
			s, "jobs",
			"SELECT date(s.day*86400, 'unixepoch') FROM day_sums s WHERE s.day>=(SELECT day FROM let_go)"
			" ORDER BY s.day DESC LIMIT ?1");
	return rc == 0 ? write_jobs(s) : rc;
}

/* One state of the database in all pages, also while records come in. */
int fleet_report(struct fleet *f, const struct fleet_report *r, struct error *e)
{
	struct site s = {.f = f, .r = r, .e = e};
	if (mkdir(r->directory, 0777) != 0 && errno != EEXIST)
		return fail(e, -errno, "%s: %s", r->directory, strerror(errno));
	int rc = fleet_run(f, "BEGIN", e);
	if (rc < 0)
		return rc;
	rc = site_begin(&s);
	if (rc == 0)
		rc = write_all(&s);
	sqlite3_exec(f->db, "COMMIT", NULL, NULL, NULL);
	site_done(&s);
	return rc;
}
