/* report.c - see report.h. Pages that name jobs come first, then pages of these jobs. */
#include "fleet/page.h"
#include "fleet/query.h"

#include "base/atomic_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SUMS_OF_TABLE \
	"total(t.jobs) AS jobs, total(t.core_hours) AS core_hours, total(t.useful) AS useful," \
	" total(t.mpi) AS mpi, total(t.wait) AS waiting, total(t.loss) AS lost"

/* Tables beside the pages. %u: jobs that are shown. */
static const struct data {
	const char *name, *sql;
} data[] = {
	{"programs", "SELECT n.name AS program, " SUMS_OF_TABLE
		     " FROM user_programs t JOIN names n ON n.id=t.program GROUP BY n.id ORDER BY lost DESC"},
	{"users", "SELECT n.name AS user, " SUMS_OF_TABLE
		  " FROM user_programs t JOIN names n ON n.id=t.user GROUP BY n.id ORDER BY lost DESC"},
	{"accounts", "SELECT n.name AS account, " SUMS_OF_TABLE
		     " FROM weeks t JOIN names n ON n.id=t.name WHERE n.kind=2 GROUP BY n.id ORDER BY lost DESC"},
	{"causes", "SELECT n.name AS cause, total(c.loss) AS lost, total(c.jobs) AS jobs FROM causes c JOIN names n ON "
		   "n.id=c.issue WHERE c.issue>0 GROUP BY n.id ORDER BY lost DESC"},
	{"changes", "SELECT * FROM change_list ORDER BY abs(hours_since) DESC"},
	{"nodes", "SELECT * FROM node_list ORDER BY suspected DESC, effect DESC"},
	{"jobs", "SELECT * FROM job_list ORDER BY loss_core_hours DESC LIMIT 1000"},
};

/* Of one user (?1). */
static const struct data user_data[] = {
	{"programs",
	 "SELECT n.name AS program, " SUMS_OF_TABLE
	 " FROM user_programs t JOIN names n ON n.id=t.program WHERE t.user=?1 GROUP BY n.id ORDER BY lost DESC"},
	{"jobs", "SELECT l.* FROM jobs j JOIN job_list l ON l.id=j.id WHERE j.user=?1 ORDER BY l.loss_core_hours DESC"},
};

typedef void (*page_fn)(struct fleet_page *g, sqlite3_int64 id);

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int path_of(const struct site *s, const char *name, char ret_path[PATH_MAX])
{
	return snprintf(ret_path, PATH_MAX, "%s/%s", s->r->directory, name) < PATH_MAX
		       ? 0
		       : fail(s->e, -ENAMETOOLONG, "%s: too long a name", s->r->directory);
}

static int write_page(struct site *s, const char *name, page_fn page, sqlite3_int64 id)
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
	struct fleet_page g = {.p = {.out = f.stream}, .site = s};
	page(&g, id);
	if (g.rc < 0) {
		atomic_file_abandon(&f);
		return g.rc;
	}
	rc = atomic_file_commit(&f, s->e);
	if (s->r->timing)
		fprintf(stderr, "%-24s %.3f s\n", name, now_s() - begin);
	return rc;
}

static int write_data(struct site *s, const struct data *d, enum query_form form)
{
	char path[PATH_MAX], name[64];
	struct atomic_file f = {0};
	snprintf(name, sizeof(name), "%s.%s", d->name, form == QUERY_CSV ? "csv" : "json");
	int rc = path_of(s, name, path);
	if (rc == 0)
		rc = atomic_file_open(&f, path, s->e);
	if (rc < 0)
		return rc;
	rc = fleet_query_of(s->f, d->sql, s->user, form, f.stream, s->e);
	if (rc == 0)
		return atomic_file_commit(&f, s->e);
	atomic_file_abandon(&f);
	return rc;
}

/* One page for each row of sql, which has a number and, if named, what the page is called after. */
static int write_each(struct site *s, const char *kind, const char *sql, sqlite3_int64 limit, page_fn page)
{
	char name[96];
	int rc = 0, got = SQLITE_DONE;
	sqlite3_stmt *row = fleet_prepare(s->f, sql, s->e);
	if (row == NULL)
		return -EIO;
	if (sqlite3_bind_parameter_count(row) > 0)
		sqlite3_bind_int64(row, 1, limit);
	while (rc == 0 && (got = sqlite3_step(row)) == SQLITE_ROW) {
		sqlite3_int64 id = sqlite3_column_int64(row, 0);
		snprintf(name, sizeof(name), "%s-%s.html", kind, (const char *)sqlite3_column_text(row, 1));
		rc = write_page(s, name, page, id);
	}
	if (rc == 0 && got != SQLITE_DONE)
		rc = fleet_fail(s->f, s->e);
	sqlite3_finalize(row);
	return rc;
}

#define PLAIN_PAGE(name) \
	static void plain_##name(struct fleet_page *g, sqlite3_int64 id) \
	{ \
		(void)id; \
		page_##name(g); \
	}
PLAIN_PAGE(overview)
PLAIN_PAGE(programs)
PLAIN_PAGE(users)
PLAIN_PAGE(nodes)
PLAIN_PAGE(jobs)

static int by_id(const void *a, const void *b)
{
	const sqlite3_int64 *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static void seal(struct site *s)
{
	size_t kept = 0;
	vec_sort(&s->linked, by_id);
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
		rc = write_page(s, name, page_job, s->linked.at[i]);
	}
	return rc;
}

static int write_tables(struct site *s, const struct data *d, size_t n)
{
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i++) {
		rc = write_data(s, &d[i], QUERY_CSV);
		if (rc == 0)
			rc = write_data(s, &d[i], QUERY_JSON);
	}
	return rc;
}

static int write_all(struct site *s)
{
	static const struct {
		const char *name;
		page_fn page;
	} plain[] = {{"index.html", plain_overview},
		     {"programs.html", plain_programs},
		     {"users.html", plain_users},
		     {"nodes.html", plain_nodes},
		     {"jobs.html", plain_jobs}};
	int rc = 0;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]) && rc == 0; i++)
		rc = write_page(s, plain[i].name, plain[i].page, 0);
	if (rc == 0)
		rc = write_each(s, "program", "SELECT DISTINCT program, program FROM user_programs WHERE program>0", 0,
				page_program);
	if (rc == 0)
		rc = write_each(s, "user", "SELECT DISTINCT user, user FROM user_programs WHERE user>0", 0, page_user);
	seal(s);
	if (rc == 0)
		rc = write_each(s, "jobs",
				"SELECT day, date(day*86400, 'unixepoch') FROM day_sums ORDER BY day DESC LIMIT ?1",
				s->r->days, page_day);
	if (rc == 0)
		rc = write_jobs(s);
	return rc == 0 ? write_tables(s, data, sizeof(data) / sizeof(data[0])) : rc;
}

/* What a user may see: their page, and each job that it names. */
static int write_user(struct site *s)
{
	int rc = write_page(s, "index.html", page_user, s->user);
	seal(s);
	if (rc == 0)
		rc = write_jobs(s);
	return rc == 0 ? write_tables(s, user_data, sizeof(user_data) / sizeof(user_data[0])) : rc;
}

static int find_user(struct site *s)
{
	sqlite3_stmt *row = fleet_prepare(s->f, "SELECT id FROM names WHERE kind=1 AND name=?1", s->e);
	if (row == NULL)
		return -EIO;
	sqlite3_bind_text(row, 1, s->r->user, -1, SQLITE_STATIC);
	s->user = sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
	sqlite3_finalize(row);
	return s->user != 0 ? 0 : fail(s->e, -ENOENT, "%s: no job of a user \"%.64s\"", s->f->path, s->r->user);
}

/* A user's pages do not say since when others have run. */
static void find_days(struct site *s)
{
	struct fleet_page g = {.site = s};
	sqlite3_stmt *row = ask(&g,
				s->user != 0 ? "SELECT min(week)*7, max(week)*7+6 FROM weeks WHERE name=?1"
					     : "SELECT min(day), max(day) FROM day_sums",
				s->user);
	if (next(&g, row)) {
		s->first_day = sqlite3_column_double(row, 0);
		s->last_day = sqlite3_column_double(row, 1);
	}
	sqlite3_finalize(row);
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
	rc = r->user != NULL ? find_user(&s) : 0;
	find_days(&s);
	if (rc == 0)
		rc = s.user != 0 ? write_user(&s) : write_all(&s);
	sqlite3_exec(f->db, "COMMIT", NULL, NULL, NULL);
	vec_done(&s.linked);
	return rc;
}
