/* came_with_jobs.c - which jobs are looked at for what came with a change, and how many of them must have it. */
#include "fleet_number.h"

#include "fleet/came_with.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY 20200
#define PROGRAM 1
#define USER 2
#define OLD 3 /* builds, or MPI libraries */
#define NEW 4

static struct fleet f;

static void run(const char *sql)
{
	struct error e = {""};
	cr_assert_eq(fleet_run(&f, sql, &e), 0, "%s: %s", sql, e.text);
}

static void begin(void)
{
	struct error e = {""};
	cr_assert_eq(fleet_open_memory(&f, &e), 0, "%s", e.text);
	run("INSERT INTO names VALUES(1,4,'/opt/p'),(2,1,'ann'),(3,5,'0123456789old'),(4,5,'0123456789new'),(5,6,'M "
	    "1'),(6,6,'M 2'),(7,4,'/opt/q'),(8,1,'bob')");
}

static void end(void)
{
	fleet_close(&f);
}

TestSuite(came_with_jobs, .init = begin, .fini = end);

/* n jobs of a day. */
static void put_of(int day, int n, int program, int user, int build, int mpi, const char *modules)
{
	for (int i = 0; i < n; i++) {
		char *sql = sqlite3_mprintf("INSERT INTO jobs(key, cluster, job, user, account, partition, program, "
					    "build, mpi, nodes, ranks, start,"
					    " elapsed_s, core_hours, useful, wait, issue, loss_core_hours, complete) "
					    "VALUES((SELECT count(*) FROM jobs)||'.%d',"
					    "0,'j',%d,0,0,%d,%d,%d,1,8,%d*86400+%d,60,1,0.5,0,0,0,1)",
					    day, user, program, build, mpi, DAY + day, i);
		run(sql);
		sqlite3_free(sql);
		if (modules == NULL)
			continue;
		sql = sqlite3_mprintf("INSERT INTO details(job, modules) VALUES(last_insert_rowid(), '%q')", modules);
		run(sql);
		sqlite3_free(sql);
	}
}

static void put(int day, int n, int build)
{
	put_of(day, n, PROGRAM, USER, build, 0, NULL);
}

/* What came with a change on DAY that was surely between days low and high of it. */
static void expect_came(uint32_t name, int low, int high, const char *text)
{
	struct change c = {
		.name = name, .day = DAY, .day_low = (uint32_t)(DAY + low), .day_high = (uint32_t)(DAY + high)};
	change_list list = {0};
	struct scan s;
	struct error e = {""};
	char found[400] = "";
	cr_assert_eq(vec_push(&list, c), 0);
	cr_assert_eq(scan_load_from(&f, 0, &s, &e), 0, "%s", e.text);
	run("DELETE FROM change_with");
	cr_assert_eq(came_with_keep(&f, &s, &list, &e), 0, "%s", e.text);
	sqlite3_stmt *row = fleet_prepare(
		&f, "SELECT group_concat(text, ', ') FROM (SELECT text FROM change_with ORDER BY rowid)", &e);
	if (sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0) != NULL)
		snprintf(found, sizeof(found), "%s", (const char *)sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
	cr_expect_str_eq(found, text, "\"%s\" instead of \"%s\"", found, text);
	scan_done(&s);
	vec_done(&list);
}

static void clear(void)
{
	run("DELETE FROM jobs");
}

#define BUILD_CAME "build 01234567 in place of 01234567"

Test(came_with_jobs, of_fewer_than_five_on_a_side_nothing_is_said)
{
	for (int n = 4; n <= 5; n++) {
		put(-1, n, OLD);
		put(0, 5, NEW);
		expect_came(PROGRAM, 0, 0, n < 5 ? "" : BUILD_CAME);
		clear();
		put(-1, 5, OLD);
		put(0, n, NEW);
		expect_came(PROGRAM, 0, 0, n < 5 ? "" : BUILD_CAME);
		clear();
	}
}

Test(came_with_jobs, four_of_five_have_it_since_then_and_one_of_five_had_it)
{
	static const struct {
		int before, since; /* of ten, those with the new one */
		const char *text;
	} rows[] = {{2, 8, BUILD_CAME}, {3, 8, ""}, {2, 7, ""}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put(-1, rows[i].before, NEW);
		put(-1, 10 - rows[i].before, OLD);
		put(0, rows[i].since, NEW);
		put(0, 10 - rows[i].since, OLD);
		expect_came(PROGRAM, 0, 0, rows[i].text);
		clear();
	}
}

Test(came_with_jobs, forty_jobs_next_to_it_are_looked_at)
{
	put(-2, 100, NEW);
	put(-1, CAME_JOBS, OLD);
	put(0, CAME_JOBS, NEW);
	put(1, 100, OLD);
	expect_came(PROGRAM, 0, 0, BUILD_CAME);
	/* A fifth of 40, and one. */
	run("DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE start/86400 IN (20199,20200) LIMIT 9)");
	expect_came(PROGRAM, 0, 0, "");
}

Test(came_with_jobs, days_between_which_it_surely_was_are_of_neither_side)
{
	put(-3, 5, OLD);
	put(-2, 9, NEW);
	put(1, 9, OLD);
	put(2, 5, NEW);
	expect_came(PROGRAM, -2, 2, BUILD_CAME);
	expect_came(PROGRAM, -1, 2, "");
	expect_came(PROGRAM, -2, 1, "");
}

Test(came_with_jobs, they_are_looked_for_in_sixty_days)
{
	put(-2 - CAME_DAYS, 5, OLD);
	put(1 + CAME_DAYS, 5, NEW);
	expect_came(PROGRAM, -2, 2, BUILD_CAME);
	expect_came(PROGRAM, -1, 2, "");
	expect_came(PROGRAM, -2, 1, "");
}

Test(came_with_jobs, jobs_of_others_say_nothing)
{
	put(-1, 5, OLD);
	put(0, 5, NEW);
	put_of(-1, 20, 7, 8, NEW, 0, NULL);
	put_of(0, 20, 7, 8, OLD, 0, NULL);
	expect_came(PROGRAM, 0, 0, BUILD_CAME);
}

/* Users have many programs, and so builds. */
Test(came_with_jobs, of_a_user_libraries_and_modules_are_told)
{
	put_of(-1, 5, PROGRAM, USER, OLD, 5, "gcc/12,fftw/3");
	put_of(0, 5, 7, USER, NEW, 6, "gcc/13");
	put_of(0, 20, 7, 8, NEW, 5, "gcc/12");
	expect_came(USER, 0, 0, "M 2 in place of M 1, module gcc/13 in place of gcc/12, no more module fftw/3");
}

Test(came_with_jobs, a_module_is_in_place_of_another_version_of_it_only)
{
	put_of(-1, 5, PROGRAM, USER, 0, 0, "a/b/1,c,dd/1");
	put_of(0, 5, PROGRAM, USER, 0, 0, "a/b/2,a/c/2,d/1,c/1");
	expect_came(PROGRAM, 0, 0,
		    "module a/b/2 in place of a/b/1, module a/c/2, module d/1, module c/1 in place of c, no more "
		    "module dd/1");
	expect_came(USER, 0, 0,
		    "module a/b/2 in place of a/b/1, module a/c/2, module d/1, module c/1 in place of c, no more "
		    "module dd/1");
}

Test(came_with_jobs, what_is_kept_says_what_it_is)
{
	put_of(-1, 5, PROGRAM, USER, 0, 5, NULL);
	put_of(0, 5, PROGRAM, USER, 0, 6, NULL);
	expect_came(PROGRAM, 0, 0, "M 2 in place of M 1");
	cr_expect_eq(number_of(&f,
			       "SELECT count(*) FROM change_with WHERE program=1 AND day=20200 AND kind='MPI' AND "
			       "came='M 2' AND went='M 1'",
			       0),
		     1);
	clear();
	put_of(-1, 5, PROGRAM, USER, 0, 0, "x");
	put_of(0, 5, PROGRAM, USER, 0, 0, "");
	expect_came(PROGRAM, 0, 0, "no more module x");
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM change_with WHERE kind='module' AND came='' AND went='x'", 0),
		     1);
}
