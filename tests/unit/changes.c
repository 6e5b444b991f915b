/* changes.c - of a program whose jobs are not all alike: what counts as a change, and since when. */
#include "fleet/changes.h"

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

/* One of ten jobs of each day is a debugging run that does nothing. */
Test(changes, single_jobs_that_are_far_off_move_their_day_by_a_job_only)
{
	struct scan s = {0};
	for (uint32_t day = 0; day < DAYS; day++)
		for (uint32_t i = 0; i < JOBS; i++)
			add(&s, 1, day, 16, day >= 30 && i == 0 ? 1e-3 : level(day, i));
	change_list list = found(&s);
	cr_assert_eq(list.n, 1, "%zu", list.n);
	cr_expect_eq(list.at[0].day, 30);
	cr_expect_geq(list.at[0].change, -0.15, "one in ten, each as if it were off by e at most: %f",
		      list.at[0].change);
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
