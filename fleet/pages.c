/* pages.c - what each page and table of a fleet is called, and who may see it. The name is all that a request says: it
 * is looked up, and never becomes a path. */
#include "fleet/page.h"
#include "fleet/query.h"
#include "fleet/retention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SUMS_OF_TABLE \
	"total(t.jobs) AS jobs, total(t.core_hours) AS core_hours, total(t.useful) AS useful," \
	" total(t.mpi) AS mpi, total(t.wait) AS waiting, total(t.loss) AS lost, total(t.not_known) AS not_known"

/* ---- tables beside the pages ---- */

struct table {
	const char *name, *sql;
};

static const struct table tables[] = {
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
	{"set-aside", "SELECT key, start, why FROM set_aside ORDER BY key LIMIT 10000"},
	{NULL, NULL},
};

/* Of one user (?1). */
static const struct table user_tables[] = {
	{"programs",
	 "SELECT n.name AS program, " SUMS_OF_TABLE
	 " FROM user_programs t JOIN names n ON n.id=t.program WHERE t.user=?1 GROUP BY n.id ORDER BY lost DESC"},
	{"jobs", "SELECT l.* FROM jobs j JOIN job_list l ON l.id=j.id WHERE j.user=?1 ORDER BY l.loss_core_hours DESC"},
	{NULL, NULL},
};

static const struct table public_tables[] = {{"figures", public_figures}, {NULL, NULL}};

static const struct table *tables_of(const struct site *s)
{
	if (s->r->public_least > 0)
		return public_tables;
	return s->user != 0 ? user_tables : tables;
}

static int put_table(struct site *s, const char *name, size_t len, enum query_form form, FILE *out)
{
	for (const struct table *t = tables_of(s); t->name != NULL; t++)
		if (strlen(t->name) == len && strncmp(t->name, name, len) == 0)
			return fleet_query_of(s->f, t->sql, s->user, form, out, s->e);
	return -ENOENT;
}

/* ---- pages ---- */

/* Pages that stand for themselves. */
static const struct {
	const char *name;
	void (*put)(struct fleet_page *g);
} plain[] = {{"index.html", page_overview}, {"monday.html", page_monday}, {"programs.html", page_programs},
	     {"users.html", page_users},    {"nodes.html", page_nodes},	  {"jobs.html", page_jobs}};

/* Pages of which there is one for each of something. Its number follows the name, or its day; whose: of the one with
 * number ?1, the user and the account that may see it beside those who see all, or 0. */
static const struct {
	const char *begin, *whose;
	void (*put)(struct fleet_page *g, sqlite3_int64 id);
	bool day;
} each[] = {
	{"program-", "SELECT 0, 0 FROM user_programs WHERE program=?1 AND program>0 LIMIT 1", page_program, false},
	{"user-", "SELECT user, 0 FROM user_programs WHERE user=?1 AND user>0 LIMIT 1", page_user, false},
	{"account-", "SELECT 0, n.id FROM names n JOIN weeks w ON w.name=n.id WHERE n.id=?1 AND n.kind=2 LIMIT 1",
	 page_account, false},
	{"jobs-", "SELECT 0, 0 FROM day_sums s WHERE s.day=?1 AND s.day>=(SELECT day FROM let_go)", page_day, true},
	{"job-", "SELECT user, account FROM jobs WHERE id=?1", page_job, false},
};

/* What follows the name of a page, up to its end ".html": a number, or a day. */
static bool read_number(const char *text, sqlite3_int64 *ret_number)
{
	size_t digits = strspn(text, "0123456789");
	*ret_number = digits > 0 && digits < 18 ? strtoll(text, NULL, 10) : 0;
	return *ret_number > 0 && strcmp(text + digits, ".html") == 0;
}

static bool read_day(const char *text, sqlite3_int64 *ret_day)
{
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	*ret_day = end != NULL ? timegm(&tm) / FLEET_SECONDS_PER_DAY : 0;
	struct fmt day = fmt_day((double)*ret_day); /* of the 31st of February there is none */
	return end != NULL && strcmp(end, ".html") == 0 && strncmp(day.s, text, strlen(day.s)) == 0;
}

static bool may_see(const struct site *s, sqlite3_int64 user, sqlite3_int64 account)
{
	if (s->user == 0 || (user != 0 && user == s->user))
		return true;
	for (size_t i = 0; i < s->led.n; i++)
		if (account != 0 && s->led.at[i] == account)
			return true;
	return false;
}

/* Who may not see it is told nothing else than where there is none. */
static int exists(struct site *s, const char *sql, sqlite3_int64 id)
{
	sqlite3_stmt *row = fleet_prepare(s->f, sql, s->e);
	if (row == NULL)
		return -EIO;
	sqlite3_bind_int64(row, 1, id);
	int got = sqlite3_step(row), rc = got == SQLITE_ROW || got == SQLITE_DONE ? -ENOENT : fleet_fail(s->f, s->e);
	if (got == SQLITE_ROW && may_see(s, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)))
		rc = 0;
	sqlite3_finalize(row);
	return rc;
}

/* Is it the page of a job that was pruned? Only who sees all is told. */
static bool was_pruned(struct fleet_page *g, sqlite3_int64 id)
{
	return g->site->user == 0 &&
	       (double)id <= ask_number(g, "SELECT seq FROM sqlite_sequence, let_go WHERE name='jobs' AND day>0", 0);
}

static int put_one(struct site *s, const char *name, struct fleet_page *g)
{
	sqlite3_int64 id;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		size_t len = strlen(each[i].begin);
		if (strncmp(name, each[i].begin, len) != 0 || !(each[i].day ? read_day : read_number)(name + len, &id))
			continue;
		int rc = exists(s, each[i].whose, id);
		if (rc == 0)
			each[i].put(g, id);
		else if (rc == -ENOENT && each[i].put == page_job && was_pruned(g, id)) {
			page_job_gone(g);
			rc = 0;
		}
		return rc;
	}
	return -ENOENT;
}

static int put_page(struct site *s, const char *name, FILE *out)
{
	struct fleet_page g = {.p = {.out = out}, .site = s};
	if (s->r->public_least > 0) {
		if (strcmp(name, "index.html") != 0)
			return -ENOENT;
		page_public(&g);
		return g.rc;
	}
	if (s->user != 0 && strcmp(name, "index.html") == 0) {
		page_user(&g, s->user);
		return g.rc;
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]) && s->user == 0; i++)
		if (strcmp(name, plain[i].name) == 0) {
			plain[i].put(&g);
			return g.rc;
		}
	int rc = put_one(s, name, &g);
	return g.rc < 0 ? g.rc : rc;
}

static bool ends_with(const char *name, const char *end, size_t *ret_len)
{
	size_t n = strlen(name), m = strlen(end);
	*ret_len = n > m ? n - m : 0;
	return n > m && strcmp(name + n - m, end) == 0;
}

int site_put(struct site *s, const char *name, FILE *out)
{
	size_t len;
	if (ends_with(name, ".csv", &len))
		return put_table(s, name, len, QUERY_CSV, out);
	if (ends_with(name, ".json", &len))
		return put_table(s, name, len, QUERY_JSON, out);
	return put_page(s, name, out);
}

int site_each_plain(struct site *s, int (*take)(struct site *s, const char *name))
{
	char name[64];
	int rc = 0;
	bool all = s->user == 0 && s->r->public_least == 0;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]) && rc == 0 && all; i++)
		rc = take(s, plain[i].name);
	if (!all)
		rc = take(s, "index.html");
	for (const struct table *t = tables_of(s); t->name != NULL && rc == 0; t++) {
		snprintf(name, sizeof(name), "%s.csv", t->name);
		rc = take(s, name);
		snprintf(name, sizeof(name), "%s.json", t->name);
		rc = rc < 0 ? rc : take(s, name);
	}
	return rc;
}

/* ---- whose pages ---- */

/* A user's pages do not say since when others have run. */
static int find_days(struct site *s)
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
	return g.rc;
}

/* The number of a name, 0 for none. */
static int find_name(struct site *s, enum fleet_kind kind, const char *name, sqlite3_int64 *ret_id)
{
	sqlite3_stmt *row = fleet_prepare(s->f, "SELECT id FROM names WHERE kind=?1 AND name=?2 AND name<>''", s->e);
	if (row == NULL)
		return -EIO;
	sqlite3_bind_int(row, 1, kind);
	sqlite3_bind_text(row, 2, name, -1, SQLITE_STATIC);
	int got = sqlite3_step(row);
	*ret_id = got == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
	int rc = got == SQLITE_ROW || got == SQLITE_DONE ? 0 : fleet_fail(s->f, s->e);
	sqlite3_finalize(row);
	return rc;
}

static int find_led(struct site *s)
{
	int rc = 0;
	for (size_t i = 0; s->r->leads != NULL && i < s->r->leads->n && rc == 0; i++) {
		sqlite3_int64 id;
		rc = find_name(s, FLEET_ACCOUNT, s->r->leads->accounts[i], &id);
		if (rc == 0 && id != 0 && vec_push(&s->led, id) < 0)
			rc = fail(s->e, -ENOMEM, "out of memory");
	}
	return rc;
}

static int find_user(struct site *s)
{
	int rc = find_name(s, FLEET_USER, s->r->user, &s->user);
	if (rc == 0)
		rc = find_led(s);
	if (rc == 0 && s->user == 0 && s->led.n == 0)
		rc = fail(s->e, -ESRCH, "%s: no job of a user \"%.64s\"", s->f->path, s->r->user);
	if (rc == 0 && s->user == 0)
		s->user = NO_JOBS;
	return rc;
}

int site_begin(struct site *s)
{
	int rc = s->r->user != NULL ? find_user(s) : s->r->public_least > 0 ? public_begin(s) : 0;
	return rc == 0 ? find_days(s) : rc;
}

void site_done(struct site *s)
{
	vec_done(&s->linked);
	vec_done(&s->led);
}

int fleet_page(struct fleet *f, const struct fleet_report *r, const char *name, FILE *out, struct error *e)
{
	struct site s = {.f = f, .r = r, .e = e, .sealed = true, .live = true};
	int rc = fleet_run(f, "BEGIN", e);
	if (rc < 0)
		return rc;
	rc = site_begin(&s);
	if (rc == 0)
		rc = site_put(&s, *name != '\0' ? name : "index.html", out);
	site_done(&s);
	sqlite3_exec(f->db, "COMMIT", NULL, NULL, NULL);
	return rc;
}
