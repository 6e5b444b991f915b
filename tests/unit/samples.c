/* samples.c - which jobs judge nodes and programs when a day has more than are looked at, and when a day is looked at
 * again. */
#include "fleet_number.h"

#include "fleet/estimate.h"
#include "fleet/links.h"
#include "fleet/samples.h"
#include "fleet/scan.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#define DAY 20000u
#define OFTEN 1u /* programs: thousands of jobs, */
#define SOME 2u	 /* a hundred, */
#define RARE 3u	 /* three */

static struct fleet made(void)
{
	struct fleet f = {0};
	struct error e = {""};
	cr_assert_eq(fleet_open_memory(&f, &e), 0, "%s", e.text);
	return f;
}

static void run(struct fleet *f, const char *sql)
{
	struct error e = {""};
	cr_assert_eq(fleet_run(f, sql, &e), 0, "%s", e.text);
}

/* n jobs of a program, all over a day. */
static void add(struct fleet *f, uint32_t day, uint32_t program, uint32_t n)
{
	char sql[800];
	snprintf(sql, sizeof(sql),
		 "WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM i WHERE n+1<%u) INSERT INTO jobs(key, "
		 "cluster, job, user, account, partition, program, build, mpi, nodes, ranks, start, elapsed_s,"
		 " core_hours, useful, wait, parallel, issue, loss_core_hours, complete) SELECT %u||'.'||%u||'.'||n"
		 "||'.'||(SELECT count(*) FROM jobs), 0, 'j', 9, 0, 0, %u, 0, 0, 2, 8, %u*86400+n*86400/%u, 60, 2.5,"
		 " 0.5, 0.1, 0.75, 0, 0, 1 FROM i",
		 n, day, program, program, day, n);
	run(f, sql);
}

static struct scan loaded(struct fleet *f)
{
	struct scan s = {0};
	struct error e = {""};
	cr_assert_eq(samples_renew(f, &e), 0, "%s", e.text);
	cr_assert_eq(scan_load(f, &s, &e), 0, "%s", e.text);
	return s;
}

/* Jobs of a program that are there, and how many they stand for, themselves included. */
static size_t count(const struct scan *s, uint32_t program, double *ret_for)
{
	size_t n = 0;
	*ret_for = 0;
	for (size_t i = 0; i < s->jobs.n; i++)
		if (s->jobs.at[i].program == program) {
			n++;
			*ret_for += 1 + (double)s->jobs.at[i].others;
		}
	return n;
}

Test(samples, of_a_day_with_very_many_jobs_who_has_few_keeps_all)
{
	struct fleet f = made();
	double stand_for;
	add(&f, DAY, OFTEN, SAMPLE_JOBS + 2000);
	add(&f, DAY, SOME, 100);
	add(&f, DAY, RARE, 3);
	struct scan s = loaded(&f);
	cr_expect_eq(s.jobs.n, SAMPLE_JOBS, "%zu", s.jobs.n);
	cr_expect_eq(s.thinned, DAY);
	cr_expect_eq(count(&s, RARE, &stand_for), 3);
	cr_expect_eq(stand_for, 3);
	cr_expect_eq(count(&s, SOME, &stand_for), 100);
	cr_expect_eq(stand_for, 100);
	cr_expect_eq(count(&s, OFTEN, &stand_for), SAMPLE_JOBS - 103);
	cr_expect_float_eq(stand_for, SAMPLE_JOBS + 2000, 0.5, "%f", stand_for);
	size_t morning = 0;
	for (size_t i = 0; i < s.jobs.n; i++)
		morning += s.jobs.at[i].start % FLEET_SECONDS_PER_DAY < FLEET_SECONDS_PER_DAY / 2;
	cr_expect(morning > s.jobs.n * 2 / 5 && morning < s.jobs.n * 3 / 5, "all hours are there: %zu", morning);
	scan_done(&s);
	fleet_close(&f);
}

Test(samples, of_a_day_with_as_many_as_are_looked_at_all_are_there_as_they_are)
{
	struct fleet f = made();
	struct error e = {""};
	struct scan s, whole;
	add(&f, DAY, OFTEN, SAMPLE_JOBS);
	run(&f, "UPDATE jobs SET parallel=NULL WHERE id%3=0; INSERT INTO runs SELECT id, x'8101010002ffff' FROM jobs"
		" WHERE id%2=0");
	s = loaded(&f);
	cr_assert_eq(scan_load_from(&f, DAY, &whole, &e), 0, "%s", e.text);
	cr_expect_eq(s.thinned, 0);
	cr_assert_eq(s.jobs.n, SAMPLE_JOBS);
	cr_assert_eq(whole.jobs.n, SAMPLE_JOBS);
	cr_expect_eq(s.nodes.n, SAMPLE_JOBS, "two of every other one: %zu", s.nodes.n);
	for (size_t i = 0; i < s.jobs.n; i++) {
		const struct scan_job *x = &s.jobs.at[i], *y = &whole.jobs.at[i];
		cr_assert(x->id == y->id && x->start == y->start && x->day == y->day && x->user == y->user &&
			  x->program == y->program && x->ranks == y->ranks && x->nodes == y->nodes && x->others == 0);
		cr_assert(x->core_hours == y->core_hours && x->elapsed_s == y->elapsed_s && x->in_mpi == y->in_mpi);
		cr_assert(isnan(x->parallel) ? isnan(y->parallel) : x->parallel == y->parallel);
		for (uint32_t k = 0; k < x->nodes; k++)
			cr_assert_eq(s.nodes.at[x->first_node + k].deviation,
				     whole.nodes.at[y->first_node + k].deviation);
	}
	scan_done(&s);
	scan_done(&whole);
	fleet_close(&f);
}

/* 0x01, and 16 bits: one node of a job. */
Test(samples, nodes_of_a_day_are_bounded_too)
{
	struct fleet f = made();
	add(&f, DAY, OFTEN, SAMPLE_NODES / 16 + 10);
	run(&f, "INSERT INTO runs SELECT id, x'"
		"010000010000010000010000010000010000010000010000010000010000010000010000010000010000010000010000"
		"' FROM jobs");
	struct scan s = loaded(&f);
	cr_expect_eq(s.nodes.n, SAMPLE_NODES, "%zu", s.nodes.n);
	cr_expect_eq(s.jobs.n, SAMPLE_NODES / 16, "%zu", s.jobs.n);
	scan_done(&s);
	fleet_close(&f);
}

Test(samples, a_day_is_looked_at_again_when_a_job_of_it_comes_or_goes_and_no_other_one)
{
	struct fleet f = made();
	double stand_for;
	add(&f, DAY, SOME, 100);
	add(&f, DAY + 1, SOME, 100);
	struct scan s = loaded(&f);
	cr_expect_eq(s.jobs.n, 200);
	scan_done(&s);
	run(&f, "UPDATE samples SET packed=x'', taken=0 WHERE day=20000");
	add(&f, DAY + 1, RARE, 3);
	run(&f, "DELETE FROM jobs WHERE start>=20001*86400 AND program=2 AND id%2=0");
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM samples", -1), 1);
	s = loaded(&f);
	cr_expect_eq(count(&s, RARE, &stand_for), 3);
	cr_expect_eq(count(&s, SOME, &stand_for), 50, "those of the other day are as they were left");
	cr_expect_eq(number_of(&f, "SELECT sum(jobs) FROM version_days WHERE day=20001", -1), 53);
	cr_expect_eq(number_of(&f, "SELECT sum(jobs) FROM version_days WHERE day=20000", -1), 100);
	scan_done(&s);
	run(&f, "DELETE FROM jobs WHERE start>=20001*86400");
	s = loaded(&f);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM version_days WHERE day=20001", -1), 0);
	scan_done(&s);
	fleet_close(&f);
}

Test(samples, days_are_the_last_four_hundred)
{
	struct fleet f = made();
	double stand_for;
	add(&f, DAY, SOME, 2);
	add(&f, DAY + 1, RARE, 3);
	add(&f, DAY + SAMPLE_DAYS, OFTEN, 4);
	struct scan s = loaded(&f);
	cr_expect_eq(s.jobs.n, 7);
	cr_expect_eq(count(&s, SOME, &stand_for), 0);
	scan_done(&s);
	fleet_close(&f);
}

/* Versions and sizes of a program are of all days. */
Test(samples, sums_of_programs_are_of_all_jobs_also_where_not_all_are_looked_at)
{
	struct fleet f = made();
	struct error e = {""};
	run(&f, "INSERT INTO names VALUES(1, 4, 'a'), (9, 1, 'u')");
	add(&f, DAY, OFTEN, SAMPLE_JOBS + 500);
	add(&f, DAY + 2 * SAMPLE_DAYS, OFTEN, 10);
	cr_assert_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
	cr_expect_eq(number_of(&f, "SELECT sum(jobs) FROM program_versions", -1), SAMPLE_JOBS + 510);
	cr_expect_eq(number_of(&f, "SELECT jobs FROM program_ranks WHERE program=1 AND ranks=8", -1),
		     SAMPLE_JOBS + 510);
	cr_expect_float_eq(number_of(&f, "SELECT parallel FROM program_ranks", -1), 0.75, 1e-9);
	fleet_close(&f);
}

/* One of two switches; node 21 is on the first one, 22 on the second one. */
static void add_on(struct fleet *f, uint32_t program, uint32_t node, uint32_t start, double in_mpi)
{
	char sql[800];
	snprintf(sql, sizeof(sql),
		 "INSERT INTO jobs(key, cluster, job, user, account, partition, program, build, mpi, nodes, ranks, "
		 "start,"
		 " elapsed_s, core_hours, useful, wait, parallel, issue, loss_core_hours, complete) "
		 "VALUES('on%u.%u.%u', 0,"
		 " 'j', 9, 0, 0, %u, 0, 0, 1, 8, %u, 3600, 8, %.3f, 0, 0.5, 0, 0, 1);"
		 "INSERT INTO runs VALUES(last_insert_rowid(), x'%02x0000')",
		 program, node, start, program, start, 1 - in_mpi, node);
	run(f, sql);
}

/* Thousands of jobs of the other program, of which those that are on a switch are few. */
Test(samples, who_waits_beside_whom_is_judged_by_all_jobs)
{
	struct fleet f = made();
	struct error e = {""};
	run(&f, "INSERT INTO names VALUES(1, 4, 'often'), (2, 4, 'some'), (9, 1, 'u'), (21, 7, 'a'), (22, 7, 'b');"
		"INSERT INTO switches VALUES(21, 'left'), (22, 'right')");
	for (uint32_t day = DAY; day < DAY + 8; day++) {
		add(&f, day, OFTEN, SAMPLE_JOBS + 1000);
		for (uint32_t k = 0; k < 2; k++) {
			uint32_t start = day * FLEET_SECONDS_PER_DAY + k * 43200;
			add_on(&f, OFTEN, 21, start, 0.2);
			add_on(&f, SOME, 21, start + 1, 0.6 + 0.001 * (day - DAY));
			add_on(&f, SOME, 22, start + 1, 0.4);
		}
	}
	cr_assert_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM link_list WHERE program='some' AND beside='often'", -1), 1);
	cr_expect_eq(number_of(&f, "SELECT blocks FROM link_list WHERE beside='often'", -1), 16);
	for (uint32_t k = 0; k < 2;
	     k++) { /* as if there were LINK_JOBS, and then one more, for which the first day goes */
		char sql[160];
		snprintf(sql, sizeof(sql),
			 "DELETE FROM estimated; UPDATE outcomes SET jobs=CASE day WHEN 20007 THEN %u ELSE 1 END",
			 LINK_JOBS - 7 + k);
		run(&f, sql);
		cr_assert_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
		cr_expect_eq(number_of(&f, "SELECT total(blocks) FROM link_list WHERE beside='often'", -1),
			     k == 0 ? 16 : 0);
	}
	fleet_close(&f);
}
