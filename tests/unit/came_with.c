/* came_with.c - a program that changed on a day, and all that its jobs have since then: what is said to have come with
 * it, on its page and on Monday. */
#include "fleet/estimate.h"
#include "fleet/ingest.h"
#include "fleet/monday.h"
#include "fleet/report.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FIRST_DAY 20150 /* 2025-03-03, a Monday */
#define DAYS 28
#define CHANGED 14
#define JOBS 3 /* a day */

/* What jobs have before, and since then. */
struct life {
	const char *build[2], *mpi[2], *modules[2];
};

static struct fleet f;

static void add(struct ingest *g, int number, int day, const struct life *l)
{
	char text[2000], start[32];
	struct error e = {""};
	int side = day >= CHANGED;
	time_t at = (time_t)(FIRST_DAY + day) * 86400 + 36000 + number;
	struct tm tm;
	strftime(start, sizeof(start), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
	int n = snprintf(
		text, sizeof(text),
		"{\"schema\":\"mpitrace/job/2\",\"id\":\"c:%d.0:0\",\"cluster\":\"c\",\"job_id\":\"%d\",\"step_id\":"
		"\"0\",\"restart\":\"0\",\"user\":\"ann\",\"account\":\"a\",\"partition\":\"p\",\"program\":\"/opt/x\","
		"\"build_id\":\"%s\",\"report\":null,\"nodes\":2,\"ranks\":8,\"start\":\"%s\",\"elapsed_s\":3600,"
		"\"core_hours\":8,\"state\":\"COMPLETED\",\"coverage\":{\"complete\":true,\"ranks_seen\":8,"
		"\"nodes_missing\":0,\"events\":9,\"events_lost\":0},\"efficiency\":{\"load_balance\":0.9,"
		"\"communication\":0.9,\"parallel\":%g,\"serialization\":1,\"transfer\":1},\"share\":{\"useful\":0.7,"
		"\"mpi\":0.3,\"wait\":0.2},\"wait_s\":{},\"issues\":[],\"operations\":[],\"callsites\":[],"
		"\"bytes\":{\"point_to_point\":0,\"collective\":0},\"overhead\":{\"ns_per_call\":50,\"share\":0.001},"
		"\"mpi\":{\"implementation\":\"x\",\"version\":\"%s\"},\"modules\":%s,"
		"\"versions\":{\"mpitrace\":\"0.1.0\",\"mpi\":\"%s\"}}",
		number, number, l->build[side], start, (side ? 0.6 : 0.8) * (1 + 0.01 * (number % 3)), l->mpi[side],
		l->modules[side], l->mpi[side]);
	cr_assert_eq(ingest_record(g, text, (size_t)n, "here", NULL, &e), 0, "%s", e.text);
}

static void say_nothing(void *context, const char *text)
{
	(void)context;
	cr_expect(false, "%s", text);
}

static void begin(const struct life *l)
{
	struct error e = {""};
	int number = 1;
	cr_assert_eq(fleet_open_memory(&f, &e), 0, "%s", e.text);
	struct ingest *g = ingest_begin(&f, say_nothing, NULL, &e);
	cr_assert_not_null(g);
	for (int day = 0; day < DAYS; day++)
		for (int i = 0; i < JOBS; i++)
			add(g, number++, day, l);
	cr_assert_eq(ingest_commit(g, &e), 0);
	ingest_end(g);
	cr_assert_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
}

static char *ask(const char *sql)
{
	struct error e = {""};
	sqlite3_stmt *row = fleet_prepare(&f, sql, &e);
	cr_assert_not_null(row, "%s", e.text);
	char *text = sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0) != NULL
			     ? strdup((const char *)sqlite3_column_text(row, 0))
			     : NULL;
	sqlite3_finalize(row);
	return text;
}

static const struct {
	struct life life;
	const char *text;
} cases[] = {
	{{{"aaaaaaaa11", "aaaaaaaa11"}, {"M 1", "M 1"}, {"[\"gcc/12\"]", "[\"gcc/12\"]"}}, NULL},
	{{{"aaaaaaaa11", "bbbbbbbb22"}, {"M 1", "M 1"}, {"[]", "[]"}}, "build bbbbbbbb in place of aaaaaaaa"},
	{{{"aaaaaaaa11", "aaaaaaaa11"}, {"M 1", "M 2"}, {"[]", "[]"}}, "M 2 in place of M 1"},
	{{{"aa", "aa"}, {"M 1", "M 1"}, {"[\"gcc/12\",\"fftw/3\"]", "[\"gcc/13\",\"fftw/3\"]"}},
	 "module gcc/13 in place of gcc/12"},
	{{{"aa", "aa"}, {"M 1", "M 1"}, {"[\"hugepages\"]", "[]"}}, "no more module hugepages"},
	{{{"aa", "aa"}, {"M 1", "M 1"}, {"[]", "[\"debug\"]"}}, "module debug"},
	/* Of whose modules nothing is known before, nobody knows what came. */
	{{{"aa", "aa"}, {"M 1", "M 1"}, {"null", "[\"debug\"]"}}, NULL},
};

Test(came_with, what_jobs_have_since_then_and_had_not_before)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(&cases[i].life);
		char *day = ask("SELECT day FROM change_list WHERE program='/opt/x'");
		char *text = ask("SELECT came_with FROM change_list WHERE program='/opt/x'");
		cr_assert_str_eq(day != NULL ? day : "none", "2025-03-17", "case %zu", i);
		if (cases[i].text == NULL)
			cr_expect_null(text, "case %zu: %s", i, text);
		else
			cr_expect_str_eq(text != NULL ? text : "nothing", cases[i].text, "case %zu", i);
		free(day);
		free(text);
		fleet_close(&f);
	}
}

/* A version that is tried now and then is not what came. */
Test(came_with, nearly_all_have_it)
{
	struct life l = {{"aa", "aa"}, {"M 1", "M 1"}, {"[]", "[]"}};
	begin(&l);
	cr_assert_eq(sqlite3_exec(f.db,
				  "INSERT INTO names(kind, name) SELECT kind, 'cc' FROM names WHERE name='aa';"
				  "UPDATE jobs SET build=(SELECT id FROM names WHERE name='cc') WHERE id%2=0 AND id>42;"
				  "DELETE FROM estimated; DELETE FROM samples",
				  NULL, NULL, NULL),
		     SQLITE_OK);
	struct error e = {""};
	cr_assert_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
	char *text = ask("SELECT came_with FROM change_list");
	cr_expect_null(text, "%s", text);
	free(text);
	fleet_close(&f);
}

Test(came_with, it_is_on_the_page_and_said_on_monday)
{
	begin(&cases[3].life);
	struct fleet_report r = {.days = 1, .jobs = 2};
	struct error e = {""};
	struct monday m;
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	cr_assert_eq(fleet_page(&f, &r, "programs.html", out, &e), 0, "%s", e.text);
	fclose(out);
	cr_expect_not_null(strstr(text, "<td>module gcc/13 in place of gcc/12</td>"));
	free(text);
	cr_assert_eq(monday_read(&f, (int64_t)(FIRST_DAY + DAYS) * 86400, &m, &e), 0, "%s", e.text);
	bool said = false, sent = false;
	for (size_t i = 0; i < m.sentences.n; i++) {
		const struct monday_sentence *x = &m.sentences.at[i];
		said |= strstr(x->text, "x by 25 % since 2025-03-17, with module gcc/13 in place of gcc/12") != NULL;
		for (size_t k = 0; k < x->letters.n; k++)
			sent |= strstr(x->letters.at[k].text, "What its jobs have since then and had not before: "
							      "module gcc/13 in place of gcc/12.") != NULL;
	}
	cr_expect(said);
	cr_expect(sent);
	monday_done(&m);
	fleet_close(&f);
}
