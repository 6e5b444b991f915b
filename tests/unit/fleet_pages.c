/* fleet_pages.c - what the pages of a fleet say of jobs of which all is known, to whom, and what questions answer. */
#include "fleet_number.h"

#include "fleet/estimate.h"
#include "fleet/ingest.h"
#include "fleet/query.h"
#include "fleet/report.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct fleet f;

struct job {
	const char *id, *user, *account, *program, *day, *state;
	int nodes, ranks;
	double hours, useful, mpi, wait, parallel;
	const char *issue;
	double loss;
};

static const struct job jobs[] = {
	{"1", "alice", "phys", "/opt/halo", "2025-03-01", "complete", 2, 8, 8, 0.5, 0.5, 0.25, 0.5, "load_imbalance",
	 2},
	{"2", "alice", "phys", "/opt/halo", "2025-03-02", "complete", 2, 8, 8, 1, 0, 0, 1, NULL, 0},
	{"3", "bob", "bio", "/opt/fft<b>", "2025-03-02", "partial", 1, 4, 4, 0.25, 0.75, 0.5, 0.3, "late_sender", 1},
};
#define JOBS (sizeof(jobs) / sizeof(jobs[0]))

static char *record_of(const struct job *j)
{
	char *text = NULL, issue[256] = "";
	if (j->issue != NULL)
		snprintf(issue, sizeof(issue),
			 "{\"issue\":\"%s\",\"severity\":\"high\",\"loss_core_hours\":%g,\"what\":\"it\"}", j->issue,
			 j->loss);
	cr_assert_gt(
		asprintf(
			&text,
			"{\"schema\":\"mpitrace/job/1\",\"id\":\"c:%s.0:0\",\"cluster\":\"c\",\"job_id\":\"%s\","
			"\"step_id\":\"0\",\"restart\":\"0\",\"user\":\"%s\",\"account\":\"%s\",\"partition\":\"p\","
			"\"program\":\"%s\",\"build_id\":null,\"report\":\"/r/%s\",\"nodes\":%d,\"ranks\":%d,"
			"\"start\":\"%sT10:20:30Z\",\"elapsed_s\":3600,\"core_hours\":%g,\"state\":\"%s\","
			"\"coverage\":{\"complete\":true,\"ranks_seen\":%d,\"nodes_missing\":0,\"events\":9,"
			"\"events_lost\":0},\"efficiency\":{\"load_balance\":0.9,\"communication\":0.9,\"parallel\":%g,"
			"\"serialization\":1,\"transfer\":1},\"share\":{\"useful\":%g,\"mpi\":%g,\"wait\":%g},"
			"\"wait_s\":{},\"issues\":[%s],\"operations\":[],\"callsites\":[],"
			"\"bytes\":{\"point_to_point\":0,\"collective\":0},\"overhead\":{\"ns_per_call\":50,"
			"\"share\":0.001},\"versions\":{\"mpitrace\":\"0.1.0\",\"mpi\":\"Open MPI 4.1.4\"}}",
			j->id, j->id, j->user, j->account, j->program, j->id, j->nodes, j->ranks, j->day, j->hours,
			j->state, j->ranks, j->parallel, j->useful, j->mpi, j->wait, issue),
		0);
	return text;
}

static void add(struct ingest *g, const struct job *j, const char *owner)
{
	struct error e = {""};
	char *text = record_of(j);
	cr_assert_eq(ingest_record(g, text, strlen(text), "here", owner, &e), 0, "%s", e.text);
	free(text);
}

static void count_said(void *context, const char *text)
{
	(void)text;
	++*(unsigned *)context;
}

static void begin(void)
{
	struct error e = {""};
	unsigned said = 0;
	cr_assert_eq(fleet_open_memory(&f, &e), 0, "%s", e.text);
	struct ingest *g = ingest_begin(&f, count_said, &said, &e);
	cr_assert_not_null(g);
	for (size_t i = 0; i < JOBS; i++)
		add(g, &jobs[i], NULL);
	cr_assert_eq(ingest_commit(g, &e), 0);
	cr_assert_eq(ingest_counts(g).added, JOBS);
	ingest_end(g);
	cr_assert_eq(said, 0);
	cr_assert_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
}

static void end(void)
{
	fleet_close(&f);
}

TestSuite(fleet_pages, .init = begin, .fini = end);

static int page_rc(const char *name, const char *user, char **ret_text)
{
	struct fleet_report r = {.days = 1, .jobs = 2, .user = user};
	struct error e = {""};
	size_t n;
	FILE *out = open_memstream(ret_text, &n);
	int rc = fleet_page(&f, &r, name, out, &e);
	fclose(out);
	return rc;
}

/* Blanks that do not break as blanks. */
static char *page(const char *name, const char *user)
{
	char *text, *to;
	cr_assert_eq(page_rc(name, user, &text), 0, "%s", name);
	to = text;
	for (const char *at = text; *at != '\0'; to++) {
		size_t n = strncmp(at, "\xc2\xa0", 2) == 0 ? 2 : strncmp(at, "\xe2\x80\xaf", 3) == 0 ? 3 : 0;
		*to = n > 0 ? ' ' : *at;
		at += n > 0 ? n : 1;
	}
	*to = '\0';
	return text;
}

/* All of them, in this order. */
static void holds(const char *text, ...)
{
	va_list args;
	const char *at = text, *wanted;
	va_start(args, text);
	while ((wanted = va_arg(args, const char *)) != NULL) {
		const char *found = strstr(at, wanted);
		cr_assert_not_null(found, "\"%s\" is not behind what came before it:\n%s", wanted, text);
		at = found + strlen(wanted);
	}
	va_end(args);
}

static void lacks(const char *text, const char *unwanted)
{
	cr_expect_null(strstr(text, unwanted), "\"%s\" is there", unwanted);
}

/* ---- pages ---- */

Test(fleet_pages, the_overview_adds_up_all_jobs)
{
	char *text = page("", NULL);
	holds(text, "<b>2025-03-01</b> to <b>2025-03-02</b>",
	      "MPI took 35 % of 20 core-hours; 20 % were spent waiting for others.",
	      "Main cause: ", "It cost 2.0 core-hours in 1 job, 10 % of all there were.", "steps of jobs", "<dd>3</dd>",
	      "core-hours", "<dd>20</dd>", "<dd>65 %</dd>", "<dd>3.0</dd>", "Core-hours by day:", "Lost to what",
	      "data-v=\"2\"", "data-v=\"1\"", "Where to begin", "/opt/halo", NULL);
	lacks(text, "suspected of being slow");
	lacks(text, "became less efficient");
	lacks(text, "hung</dd>");
	free(text);
}

Test(fleet_pages, users_and_accounts_stand_by_what_they_lost)
{
	char *text = page("users.html", NULL);
	holds(text, "2 users lost 3.0 of 20 core-hours.", "Accounts", ">phys<", ">bio<", "Users", "user-", ">alice</a>",
	      ">bob</a>", NULL);
	free(text);
}

static long long id_of(const char *sql)
{
	return (long long)number_of(&f, sql, -1);
}

Test(fleet_pages, a_users_page_has_their_jobs_only)
{
	char name[64];
	snprintf(name, sizeof(name), "user-%lld.html", id_of("SELECT id FROM names WHERE kind=1 AND name='bob'"));
	char *text = page(name, NULL);
	holds(text, "user <b>bob</b>", "Up to 1.0 of 4.0 core-hours could be saved.",
	      "1 job; MPI took 75 % of the time, waiting 50 %.", "fft&lt;b&gt;", NULL);
	lacks(text, "halo");
	lacks(text, "<b>\">");
	free(text);
}

/* Asked for as their own, nothing of others is to be seen, whatever name is tried. */
Test(fleet_pages, nobody_sees_more_than_their_own)
{
	char *text = page("index.html", "alice"), name[64];
	holds(text, "user <b>alice</b>", "Up to 2.0 of 16 core-hours could be saved.", "2 jobs;", NULL);
	lacks(text, "bob");
	lacks(text, "fft");
	lacks(text, "href=\"user-");
	lacks(text, "href=\"program-");
	free(text);
	text = page("jobs.csv", "alice");
	holds(text, "alice", NULL);
	lacks(text, "bob");
	free(text);
	for (const char *const *other = (const char *const[]){"users.html", "nodes.html", "users.csv", "programs.html",
							      "jobs-2025-03-02.html", NULL};
	     *other != NULL; other++) {
		cr_expect_eq(page_rc(*other, "alice", &text), -ENOENT, "%s", *other);
		free(text);
	}
	snprintf(name, sizeof(name), "job-%lld.html", id_of("SELECT id FROM jobs WHERE job='3'"));
	cr_expect_eq(page_rc(name, "alice", &text), -ENOENT, "another's job");
	free(text);
	cr_expect_eq(page_rc("index.html", "mallory", &text), -ESRCH);
	free(text);
	cr_expect_eq(page_rc("nothing.html", NULL, &text), -ENOENT);
	free(text);
}

Test(fleet_pages, jobs_stand_by_what_they_lost_as_many_as_are_wanted)
{
	char *text = page("jobs.html", NULL);
	holds(text, "2 of 3 jobs lost 100 % of all core-hours that were lost.", ">1</a>", "2025-03-01 10:20", "alice",
	      "halo", "data-v=\"2\"", "data-v=\"8\"", ">3</a>", "partial", "data-v=\"4\"", NULL);
	lacks(text, ">2</a></th>");
	holds(text, "All jobs of a day", "jobs-2025-03-02.html\">2025-03-02</a> <span class=\"soft\">2</span>", NULL);
	lacks(text, "jobs-2025-03-01.html");
	free(text);
}

Test(fleet_pages, a_day_has_all_jobs_that_began_on_it)
{
	char *text = page("jobs-2025-03-02.html", NULL);
	holds(text, "Jobs of 2025-03-02", ">2</a>", ">3</a>", NULL);
	lacks(text, "2025-03-01 10:20");
	free(text);
}

Test(fleet_pages, programs_stand_with_who_runs_them)
{
	char *text = page("programs.html", NULL), name[64];
	holds(text, "1 of 2 programs lost 67 % of all core-hours that were lost.", "halo", "fft&lt;b&gt;", NULL);
	free(text);
	snprintf(name, sizeof(name), "program-%lld.html",
		 id_of("SELECT id FROM names WHERE kind=4 AND name='/opt/halo'"));
	text = page(name, NULL);
	holds(text, "halo", "alice", NULL);
	lacks(text, "bob");
	free(text);
}

Test(fleet_pages, a_job_has_a_page_with_the_way_to_its_report)
{
	char name[64];
	snprintf(name, sizeof(name), "job-%lld.html", id_of("SELECT id FROM jobs WHERE job='1'"));
	char *text = page(name, NULL);
	holds(text, "alice", NULL);
	holds(text, "/r/1", NULL);
	free(text);
}

Test(fleet_pages, without_jobs_they_say_so)
{
	struct error e;
	fleet_close(&f);
	cr_assert_eq(fleet_open_memory(&f, &e), 0);
	for (const char *const *name = (const char *const[]){"", "users.html", "jobs.html", NULL}; *name != NULL;
	     name++) {
		char *text = page(*name, NULL);
		holds(text, "No jobs yet.", NULL);
		free(text);
	}
}

Test(fleet_pages, of_one_program_that_lost_little_that_is_said)
{
	struct error e;
	struct job one = jobs[0];
	one.loss = 0.5;
	fleet_close(&f);
	cr_assert_eq(fleet_open_memory(&f, &e), 0);
	struct ingest *g = ingest_begin(&f, NULL, NULL, &e);
	add(g, &one, NULL);
	cr_assert_eq(ingest_commit(g, &e), 0);
	ingest_end(g);
	cr_assert_eq(fleet_estimate(&f, &e), 0);
	char *text = page("programs.html", NULL);
	holds(text, "1 program lost 0.5 of 8.0 core-hours.", NULL);
	free(text);
	text = page("jobs.html", NULL);
	holds(text, "1 job lost 0.5 of 8.0 core-hours.", NULL);
	free(text);
}

Test(fleet_pages, all_of_them_are_written_with_the_jobs_that_they_name)
{
	char dir[] = "/tmp/mpitrace-pages-XXXXXX", path[128], command[64];
	struct error e = {""};
	struct stat st;
	cr_assert_not_null(mkdtemp(dir));
	struct fleet_report r = {.directory = dir, .days = 1, .jobs = 1};
	cr_assert_eq(fleet_report(&f, &r, &e), 0, "%s", e.text);
	static const char *const there[] = {"index.html", "users.html", "users.csv",
					    "jobs.html",  "jobs.json",	"jobs-2025-03-02.html"};
	for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, there[i]);
		cr_expect_eq(stat(path, &st), 0, "%s", there[i]);
	}
	snprintf(path, sizeof(path), "%s/jobs-2025-03-01.html", dir);
	cr_expect_lt(stat(path, &st), 0, "only so many days");
	for (int job = 1; job <= 3; job++) {
		snprintf(path, sizeof(path), "SELECT id FROM jobs WHERE job='%d'", job);
		long long id = id_of(path);
		snprintf(path, sizeof(path), "%s/job-%lld.html", dir, id);
		cr_expect_eq(stat(path, &st), 0, "job %d is on the page of its user", job);
	}
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

/* ---- questions ---- */

static char *answer(const char *sql, enum query_form form)
{
	char *text;
	size_t n;
	struct error e = {""};
	FILE *out = open_memstream(&text, &n);
	cr_assert_eq(fleet_query(&f, sql, form, out, &e), 0, "%s", e.text);
	fclose(out);
	return text;
}

Test(fleet_pages, a_question_is_answered_as_text_csv_or_json)
{
	static const char sql[] =
		"SELECT 1 AS n, 'a,\"b' AS \"t,x\", NULL AS z UNION ALL SELECT 2.5, 'c' || char(27), 'd'";
	static const struct {
		enum query_form form;
		const char *expected;
	} cases[] = {
		{QUERY_TEXT, "n\tt,x\tz\n1\ta,\"b\t\n2.5\tc?\td\n"},
		{QUERY_CSV, "n,\"t,x\",z\r\n1,\"a,\"\"b\",\r\n2.5,c?,d\r\n"},
		{QUERY_JSON,
		 "[\n{\"n\":1,\"t,x\":\"a,\\\"b\",\"z\":null},\n{\"n\":2.5,\"t,x\":\"c?\",\"z\":\"d\"}\n]\n"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = answer(sql, cases[i].form);
		cr_expect_str_eq(text, cases[i].expected, "%s", text);
		free(text);
	}
	char *none = answer("SELECT 1 AS n WHERE 0", QUERY_JSON);
	cr_expect_str_eq(none, "[]\n");
	free(none);
}

Test(fleet_pages, a_question_is_one_statement)
{
	char *text;
	size_t n;
	struct error e = {""};
	FILE *out = open_memstream(&text, &n);
	cr_expect_eq(fleet_query(&f, "SELECT 1; SELECT 2", QUERY_TEXT, out, &e), -EINVAL);
	cr_expect_eq(fleet_query(&f, "", QUERY_TEXT, out, &e), -EINVAL);
	cr_expect_eq(fleet_query(&f, "SELECT nothing", QUERY_TEXT, out, &e), -EINVAL);
	cr_expect_not_null(strstr(e.text, "job_list"), "%s", e.text);
	cr_expect_eq(fleet_query(&f, "SELECT 1 ; \n", QUERY_TEXT, out, &e), 0, "%s", e.text);
	fclose(out);
	free(text);
}

/* ---- records ---- */

Test(fleet_pages, a_later_record_of_a_step_takes_its_place)
{
	struct error e;
	unsigned said = 0;
	struct ingest *g = ingest_begin(&f, count_said, &said, &e);
	struct job later = jobs[0];
	add(g, &later, "alice");
	later.loss = 6;
	add(g, &later, "alice");
	add(g, &later, "bob");
	cr_assert_eq(ingest_commit(g, &e), 0);
	struct ingest_counts c = ingest_counts(g);
	ingest_end(g);
	cr_expect_eq(c.known, 1);
	cr_expect_eq(c.replaced, 1);
	cr_expect_eq(c.added, 0);
	cr_expect_eq(c.refused, 1, "bob's file says that it is alice's job");
	cr_expect_eq(said, 1);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM jobs", -1), JOBS);
	cr_expect_eq(number_of(&f, "SELECT total(loss_core_hours) FROM jobs", -1), 7);
	cr_expect_eq(fleet_check(&f, &e), 0, "sums are those of the jobs: %s", e.text);
}

Test(fleet_pages, what_was_not_committed_is_undone)
{
	struct error e;
	unsigned said = 0;
	struct ingest *g = ingest_begin(&f, count_said, &said, &e);
	struct job other = jobs[0];
	other.id = "9";
	add(g, &other, NULL);
	ingest_end(g);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM jobs", -1), JOBS);
}

Test(fleet_pages, nodes_and_changes_say_by_how_many_jobs_they_were_judged)
{
	static const char *const names[] = {"nodes.html", "programs.html"};
	struct error e = {""};
	for (int k = 0; k < 2; k++) {
		char *text = page(names[k], NULL), all[64];
		double n = number_of(&f, "SELECT count(*) FROM jobs", 0);
		snprintf(all, sizeof(all), "Judged by %.0f of %.0f jobs: those of the last 400 days.", n, n);
		cr_expect(strstr(text, all) != NULL, "%s: no \"%s\"", names[k], all);
		free(text);
	}
	cr_assert_eq(fleet_run(&f, "UPDATE samples SET jobs=jobs+5000", &e), 0);
	for (int k = 0; k < 2; k++) {
		char *text = page(names[k], NULL);
		cr_expect(strstr(text, ", and of a day with more than 4,000, or with more than 20,000 nodes") != NULL,
			  "%s", names[k]);
		free(text);
	}
}

/* Who sees all is told where it is, and nobody else that there was one. */
Test(fleet_pages, of_a_job_that_was_let_go_say_where_it_is)
{
	struct error e = {""};
	char *text, name[40];
	sqlite3_int64 id = (sqlite3_int64)number_of(&f, "SELECT min(id) FROM jobs", 0);
	snprintf(name, sizeof(name), "job-%lld.html", (long long)id + 1000);
	cr_expect_eq(page_rc(name, NULL, &text), -ENOENT);
	free(text);
	cr_assert_eq(
		fleet_run(&f, "UPDATE let_go SET day=20000; DELETE FROM jobs WHERE id=(SELECT min(id) FROM jobs)", &e),
		0, "%s", e.text);
	cr_expect_eq(page_rc(name, NULL, &text), -ENOENT, "there never was one");
	free(text);
	snprintf(name, sizeof(name), "job-%lld.html", (long long)id);
	cr_expect_eq(page_rc(name, jobs[0].user, &text), -ENOENT);
	free(text);
	text = page(name, NULL);
	cr_expect(strstr(text, "it was pruned") != NULL, "%s", text);
	cr_expect(strstr(text, "mpitrace fleet query \"select * from job_list where start &lt; '2024-10-04'\"") != NULL,
		  "%s", text);
	free(text);
}
