/* changes.c - of a program whose jobs are not all alike: what counts as a change, and since when. */
#include "fleet/changes.h"
#include "fleet/nodes.h"

#include "tests/unit/chance.h"

#include <criterion/criterion.h>
#include <math.h>

#define DAYS 60u
#define JOBS 10u /* a day */

static void add(struct scan *s, uint32_t program, uint32_t day, uint32_t ranks, double parallel)
{
	struct scan_job job = {.id = s->jobs.n + 1,
			       .program = program,
			       .user = 2,
			       .ranks = ranks,
			       .day = day,
			       .core_hours = 10,
			       .parallel = (float)parallel};
	cr_assert_eq(vec_push(&s->jobs, job), 0);
}

/* Its efficiency from day to day, without chance: 1 % up and down. */
static double level(uint32_t day, uint32_t job)
{
	return 0.8 * (1 + 0.01 * ((day * 7 + job * 3) % 5 - 2.0) / 2);
}

static void steady(struct scan *s, uint32_t program, uint32_t from, uint32_t to, double times)
{
	for (uint32_t day = from; day < to; day++)
		for (uint32_t i = 0; i < JOBS; i++)
			add(s, program, day, 16, times * level(day, i));
}

static change_list found(struct scan *s)
{
	change_list list = {0};
	s->day_end = 1000;
	cr_assert_eq(changes_find(s, &list), 0);
	scan_done(s);
	return list;
}

/* Of ten jobs of each day so many are debugging runs that do nothing. */
static change_list with_debugging(uint32_t debugging)
{
	struct scan s = {0};
	for (uint32_t day = 0; day < DAYS; day++)
		for (uint32_t i = 0; i < JOBS; i++)
			add(&s, 1, day, 16, day >= 30 && i < debugging ? 1e-3 : level(day, i));
	return found(&s);
}

Test(changes, single_jobs_that_are_far_off_are_none)
{
	change_list list = with_debugging(1);
	cr_expect_eq(list.n, 0, "%zu", list.n);
	vec_done(&list);
	list = with_debugging(7);
	cr_assert_eq(list.n, 1, "most of them are: %zu", list.n);
	cr_expect_eq(list.at[0].day, 30);
	vec_done(&list);
}

Test(changes, one_of_less_than_two_in_a_hundred_is_none)
{
	for (int k = 0; k < 2; k++) {
		struct scan s = {0};
		steady(&s, 1, 0, 30, 1);
		steady(&s, 1, 30, DAYS, k == 0 ? 0.985 : 0.975);
		change_list list = found(&s);
		cr_expect_eq(list.n, (size_t)k, "%zu", list.n);
		vec_done(&list);
	}
}

Test(changes, has_seven_days_on_either_side)
{
	for (uint32_t days = CHANGE_DAYS - 1; days <= CHANGE_DAYS; days++) {
		struct scan s = {0};
		steady(&s, 1, 0, 30, 1);
		steady(&s, 1, 30, 30 + days, 0.8);
		change_list list = found(&s);
		cr_assert_eq(list.n, 1, "%u days: %zu", days, list.n);
		cr_expect_eq(list.at[0].day, 30 + days - CHANGE_DAYS, "%u days: %u", days, list.at[0].day);
		vec_done(&list);
		struct scan t = {0};
		steady(&t, 1, 0, days, 0.8);
		steady(&t, 1, days, 30, 1);
		list = found(&t);
		cr_assert_eq(list.n, 1, "%u days: %zu", days, list.n);
		cr_expect_eq(list.at[0].day, CHANGE_DAYS, "%u days: %u", days, list.at[0].day);
		vec_done(&list);
	}
}

Test(changes, come_by_program_and_day)
{
	struct scan s = {0};
	steady(&s, 9, 0, 30, 1);
	steady(&s, 9, 30, DAYS, 1.1);
	steady(&s, 4, 0, 20, 1);
	steady(&s, 4, 20, DAYS, 0.8);
	change_list list = found(&s);
	cr_assert_eq(list.n, 2, "%zu", list.n);
	static const uint32_t programs[] = {4, 9}, days[] = {20, 30};
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(list.at[i].name, programs[i]);
		cr_expect_eq(list.at[i].day, days[i], "%u", list.at[i].day);
	}
	cr_expect_float_eq(list.at[0].change, -0.2, 0.01);
	cr_expect_float_eq(list.at[1].before, 0.8, 0.01);
	cr_expect_float_eq(list.at[1].after, 0.88, 0.01);
	cr_expect_eq(list.at[1].jobs_before, 30 * JOBS);
	cr_expect_eq(list.at[1].jobs_after, 30 * JOBS);
	cr_expect(list.at[1].low < 0.1 && list.at[1].high > 0.1);
	/* 300 jobs of 10 core-hours would each have taken a tenth more. */
	cr_expect_float_eq(list.at[1].hours_since, -300, 5);
	vec_done(&list);
}

/* Days without jobs are not of a part; the change is on the first day that has some. */
Test(changes, is_of_the_first_day_with_jobs_behind_it)
{
	struct scan s = {0};
	steady(&s, 1, 0, 30, 1);
	steady(&s, 1, 45, DAYS + 15, 0.8);
	change_list list = found(&s);
	cr_assert_eq(list.n, 1);
	cr_expect_eq(list.at[0].day, 45, "%u", list.at[0].day);
	vec_done(&list);
}

Test(changes, jobs_of_one_rank_and_without_efficiency_are_not_looked_at)
{
	struct scan s = {0};
	for (uint32_t day = 0; day < DAYS; day++) {
		add(&s, 1, day, 1, day < 30 ? 0.9 : 0.5);
		add(&s, 2, day, 16, day < 30 ? 0.9 : 0);
	}
	change_list list = found(&s);
	cr_expect_eq(list.n, 0);
	vec_done(&list);
}

/* Each stands for two others that are not here (fleet/samples.h). */
Test(changes, cost_and_count_are_of_those_for_which_jobs_stand_too)
{
	struct scan s = {0};
	steady(&s, 4, 0, 30, 1);
	steady(&s, 4, 30, DAYS, 0.9);
	for (size_t i = 0; i < s.jobs.n; i++)
		s.jobs.at[i].others = 2;
	change_list list = found(&s);
	cr_assert_eq(list.n, 1, "%zu", list.n);
	cr_expect_eq(list.at[0].jobs_after, 3 * 30 * JOBS);
	cr_expect_float_eq(list.at[0].hours_since, 3 * 30 * JOBS * 10 * 0.1, 20, "%f", list.at[0].hours_since);
	vec_done(&list);
}

/* Programs 1 to n, a job of each a day, all alike; what it takes times(day) of. */
static void fleet_of(struct scan *s, uint32_t n, double (*times)(uint32_t program, uint32_t day))
{
	for (uint32_t day = 0; day < DAYS; day++)
		for (uint32_t program = 1; program <= n; program++)
			for (uint32_t i = 0; i < 2; i++)
				add(s, program, day, 16, times(program, day) * level(day + 3 * program, i + program));
}

/* The last days of a month, on which all write their results. */
static double end_of_month(uint32_t program, uint32_t day)
{
	(void)program;
	return day >= DAYS - 8 ? 0.9 : 1;
}

static double lasting(uint32_t program, uint32_t day)
{
	(void)program;
	return day >= 30 ? 0.9 : 1;
}

static double one_of_them(uint32_t program, uint32_t day)
{
	return program == 5 && day >= DAYS - 8 ? 0.9 : 1;
}

Test(changes, what_all_programs_have_in_common_for_some_days_is_none)
{
	static const struct {
		double (*times)(uint32_t program, uint32_t day);
		uint32_t programs;
		size_t changes;
	} cases[] = {
		{end_of_month, 12, 0}, /* since there are as many as are asked */
		{end_of_month, 4, 4},  /* of so few nobody knows what they have in common */
		{lasting, 12, 12},
		{one_of_them, 12, 1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scan s = {0};
		fleet_of(&s, cases[i].programs, cases[i].times);
		change_list list = found(&s);
		cr_expect_eq(list.n, cases[i].changes, "case %zu: %zu", i, list.n);
		vec_done(&list);
	}
}

/* Few jobs, far from alike: of many programs one would look so by chance; not on the day of its new build. */
Test(changes, a_version_that_came_then_makes_it_surer)
{
	for (int known = 0; known < 2; known++) {
		struct scan s = {0};
		for (uint32_t day = 0; day < 24; day++)
			add(&s, 1, day, 16, (day < 12 ? 0.8 : 0.66) * (1 + 0.1 * ((day * 7) % 5 - 2.0) / 2));
		for (uint32_t program = 2; program < 400; program++)
			steady(&s, program, 0, 15, 1);
		if (known)
			cr_assert_eq(vec_push(&s.versions, ((struct scan_version){1, 12})), 0);
		change_list list = found(&s);
		cr_assert_eq(list.n, (size_t)known, "%zu", list.n);
		cr_expect(!known || list.at[0].day == 12);
		vec_done(&list);
	}
}

/* A node that is slow since day 30 is one of two of every second job. */
Test(changes, what_jobs_are_worse_by_for_slow_nodes_is_none)
{
	struct node_effect effects[2] = {{.suspected = true, .effect = 0.1, .since = 30.0 * 86400},
					 {.suspected = false}};
	for (int told = 0; told < 2; told++) {
		struct scan s = {0};
		for (uint32_t day = 0; day < DAYS; day++)
			for (uint32_t i = 0; i < JOBS; i++) {
				bool slow = day >= 30 && i % 2 == 0;
				add(&s, 1, day, 16, level(day, i) / (slow ? 1.1 : 1));
				struct scan_job *job = &s.jobs.at[s.jobs.n - 1];
				job->start = day * 86400;
				job->first_node = (uint32_t)s.nodes.n;
				job->nodes = 2;
				cr_assert_eq(vec_push(&s.nodes, ((struct scan_node){0, slow ? 0.1F : 0})), 0);
				cr_assert_eq(vec_push(&s.nodes, ((struct scan_node){1, 0})), 0);
			}
		if (told)
			nodes_charge(&s, effects);
		cr_expect_float_eq(s.jobs.at[0].slowed, 0, 1e-6);
		cr_expect_float_eq(s.jobs.at[JOBS * 30].slowed, told ? log(1.1) : 0, 1e-6);
		change_list list = found(&s);
		cr_expect_eq(list.n, (size_t)!told, "%zu", list.n);
		vec_done(&list);
	}
}

/* ---- how many jobs it takes ---- */

#define PROGRAMS 200u
#define WEEKS_4 28u

static int by_start(const void *a, const void *b)
{
	const struct scan_job *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static double part_of(uint64_t *state, double of)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 33) / 2147483648.0 * of;
}

/* So many jobs of a program in the four weeks before and behind the day of its new build: of six users, four sizes. */
static void add_program(struct scan *s, uint32_t program, const uint32_t jobs[2], double to, double differ,
			uint64_t *state)
{
	uint32_t came = 100 + program % 10;
	cr_assert_eq(vec_push(&s->versions, ((struct scan_version){program, came})), 0);
	for (uint32_t i = 0; i < jobs[0] + jobs[1]; i++) {
		bool behind = i >= jobs[0];
		uint32_t ranks = 64u << (uint32_t)part_of(state, 4);
		double when = came - (behind ? 0 : WEEKS_4) + part_of(state, WEEKS_4);
		double level = 0.7 * pow((double)ranks, -0.02) * exp(differ * chance(state));
		add(s, program, (uint32_t)when, ranks, level * (behind ? to : 1));
		struct scan_job *job = &s->jobs.at[s->jobs.n - 1];
		job->start = (uint32_t)(when * 86400);
		job->user = 1000 + 10 * program + (uint32_t)part_of(state, 6);
	}
}

static double share_found(uint32_t before, uint32_t behind, double to, double differ)
{
	struct scan s = {0};
	uint64_t state = 31;
	for (uint32_t program = 1; program <= PROGRAMS; program++)
		add_program(&s, program, (const uint32_t[]){before, behind}, to, differ, &state);
	vec_sort(&s.jobs, by_start);
	change_list list = found(&s);
	double share = (double)list.n / PROGRAMS;
	vec_done(&list);
	return share;
}

/* docs/FLEET.md has more of them. */
Test(changes, of_a_tenth_are_found_with_twenty_jobs_behind_them)
{
	static const struct {
		uint32_t before, behind;
		double to, differ, least, most;
	} cases[] = {
		{100, 20, 0.9, 0.05, 0.97, 1}, {20, 20, 0.9, 0.03, 0.97, 1}, {20, 20, 0.9, 0.05, 0.65, 1},
		{60, 60, 0.93, 0.05, 0.95, 1}, {20, 20, 1, 0.05, 0, 0},	     {100, 100, 1, 0.08, 0, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double share = share_found(cases[i].before, cases[i].behind, cases[i].to, cases[i].differ);
		cr_expect(share >= cases[i].least && share <= cases[i].most, "case %zu: %.3f", i, share);
	}
}
