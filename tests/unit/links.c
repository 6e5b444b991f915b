/* links.c - of two jobs in each quarter of a day, one of them beside another one on its switch: how sure it must be to
 * be named, and who may be the other. */
#include "fleet/links.h"

#include <criterion/criterion.h>
#include <math.h>

#define VICTIM 1u
#define OTHER 2u
#define QUARTER_S 21600u
#define ELAPSED_S 3600

static const uint32_t switch_of[] = {1, 2}; /* of the only two nodes */

static void add(struct scan *s, uint32_t program, uint32_t user, uint32_t node, uint32_t start, double in_mpi)
{
	struct scan_job job = {.id = s->jobs.n + 1,
			       .program = program,
			       .user = user,
			       .ranks = 8,
			       .start = start,
			       .day = start / FLEET_SECONDS_PER_DAY,
			       .first_node = (uint32_t)s->nodes.n,
			       .nodes = 1,
			       .core_hours = 8,
			       .elapsed_s = ELAPSED_S,
			       .in_mpi = (float)in_mpi};
	cr_assert_eq(vec_push(&s->nodes, (struct scan_node){.node = node}), 0);
	cr_assert_eq(vec_push(&s->jobs, job), 0);
	s->day_end = job.day + 1;
}

/* In the i-th of LINK_BLOCKS quarters, the one beside `other` spends 10 + i hundredths more of its time in MPI, or less
 * if i is one of two that are negative. What `other` does nobody knows, so that there is one thing to compare. Returns
 * how many are said to wait beside somebody. */
static size_t beside(uint32_t other, uint32_t negative, uint32_t negative_too)
{
	struct scan s = {0};
	link_list list = {0};
	struct link_omitted omitted;
	size_t n = 0;
	for (uint32_t node = 0; node < 2; node++)
		cr_assert_eq(vec_push(&s.names, node + 1), 0);
	for (uint32_t i = 1; i <= LINK_BLOCKS; i++) {
		uint32_t start = 2 * i * QUARTER_S; /* of LINK_DAYS or more */
		double more = (i == negative || i == negative_too ? -1 : 1) * (0.1 + 0.01 * i);
		add(&s, other, 8, 0, start, NAN);
		add(&s, VICTIM, 9, 0, start, 0.4 + more);
		add(&s, VICTIM, 9, 1, start, 0.4);
	}
	cr_assert_eq(links_find(&s, switch_of, &list, &omitted), 0);
	cr_expect_eq(omitted.jobs + omitted.programs, 0);
	for (size_t i = 0; i < list.n; i++)
		n += list.at[i].at == LINK_NONE;
	links_done(&list);
	scan_done(&s);
	return n;
}

/* Of 15 signed ranks the negative ones add up to r: z = (60 - r) / sqrt(310), and one in a thousand is z = 3.09. */
Test(links, is_named_when_chance_would_bring_it_in_less_than_one_of_a_thousand)
{
	cr_expect_eq(beside(OTHER, 5, 0), 1, "z = 3.12: one in 1,100");
	cr_expect_eq(beside(OTHER, 5, 1), 0, "z = 3.07: one in 920");
}

Test(links, nobody_waits_beside_jobs_of_the_same_program)
{
	cr_expect_eq(beside(OTHER, 0, 0), 1);
	cr_expect_eq(beside(VICTIM, 0, 0), 0);
}

/* Records may say anything: all jobs at once on one switch, each of a program of its own. */
Test(links, jobs_without_number_on_a_switch_are_left_out_and_counted, .timeout = 600)
{
	struct scan s = {0};
	link_list list = {0};
	struct link_omitted omitted;
	const uint32_t crowd = 30000, after = 12 * QUARTER_S;
	for (uint32_t node = 0; node < 2; node++)
		cr_assert_eq(vec_push(&s.names, node + 1), 0);
	for (uint32_t i = 0; i < crowd; i++)
		add(&s, 100 + i, 9, 0, QUARTER_S, 0.4);
	add(&s, VICTIM, 9, 1, QUARTER_S, 0.4);
	for (uint32_t i = 0; i < 1000; i++) /* and not those of other times */
		add(&s, 100 + i, 9, 0, after, 0.4);
	cr_assert_eq(links_find(&s, switch_of, &list, &omitted), 0);
	cr_expect_eq(omitted.jobs, crowd, "%llu", (unsigned long long)omitted.jobs);
	links_done(&list);
	scan_done(&s);
}

/* So many quarters of days, and in those from `since` to `until` a job on switch 1 is `more` of its time in MPI than
 * one on switch 2; in all others a little more or less by turns. */
static link_list switches(uint32_t blocks, uint32_t since, uint32_t until, double more)
{
	struct scan s = {0};
	link_list list = {0};
	struct link_omitted omitted;
	for (uint32_t node = 0; node < 2; node++)
		cr_assert_eq(vec_push(&s.names, node + 1), 0);
	for (uint32_t i = 0; i < blocks; i++) {
		double chance = 0.002 * (i * 7 % 11 - 5.0);
		add(&s, VICTIM, 9, 0, i * QUARTER_S, 0.4 + chance + (i >= since && i < until ? more : 0));
		add(&s, VICTIM, 9, 1, i * QUARTER_S, 0.4);
	}
	cr_assert_eq(links_find(&s, switch_of, &list, &omitted), 0);
	scan_done(&s);
	return list;
}

Test(links, a_switch_that_became_slow_is_judged_since_then)
{
	link_list list = switches(100, 72, 100, 0.2);
	cr_assert_eq(list.n, 1);
	const struct link_effect *x = &list.at[0];
	cr_expect_eq(x->at, 1);
	cr_expect_eq(x->since, 72.0 * QUARTER_S, "%f", x->since / QUARTER_S);
	cr_expect(x->since_low <= x->since && x->since_low >= 66.0 * QUARTER_S, "%f", x->since_low / QUARTER_S);
	cr_expect(x->since_high >= x->since && x->since_high <= 78.0 * QUARTER_S, "%f", x->since_high / QUARTER_S);
	cr_expect_float_eq(x->effect, 0.2, 0.01);
	cr_expect_float_eq(x->before, 0, 0.01);
	cr_expect(x->change_p < LINK_CHANGE_P);
	cr_expect_eq(x->blocks, 28);
	cr_expect_eq(x->days, 7, "%u", x->days);
	cr_expect_eq(x->jobs, 28);
	cr_expect_eq(x->without, 28);
	cr_expect_eq(x->cost.at[0].day, 72 / 4, "what it cost is of the days since");
	cr_expect_eq(x->cost.n, 28);
	for (int k = 0; k < LINK_EVIDENCE; k++) /* jobs are numbered by two in each quarter, from 1 on */
		cr_expect(x->evidence[k].with > 144 && x->evidence[k].without == x->evidence[k].with + 1);
	links_done(&list);
}

Test(links, one_that_has_been_slow_all_the_time_has_no_such_day)
{
	link_list list = switches(100, 0, 100, 0.2);
	cr_assert_eq(list.n, 1);
	cr_expect_eq(list.at[0].since, 0);
	cr_expect_eq(list.at[0].blocks, 100);
	cr_expect_eq(list.at[0].cost.n, 100);
	links_done(&list);
}

Test(links, one_that_was_repaired_is_not_named)
{
	link_list list = switches(100, 0, 60, 0.2);
	cr_expect_eq(list.n, 0);
	links_done(&list);
}

/* Behind a change there must be as much as tells anything by itself; the whole is 0.2 in less than half of its
 * quarters. */
Test(links, a_change_leaves_enough_on_either_side)
{
	static const uint32_t since[] = {76, 80, 88, 92}; /* of days: 6, 5, 3, 2 */
	for (size_t i = 0; i < sizeof(since) / sizeof(since[0]); i++) {
		link_list list = switches(100, since[i], 100, 0.2);
		cr_expect_eq(list.n, (size_t)(i < 2), "%u: %zu", since[i], list.n);
		links_done(&list);
	}
}

Test(links, a_change_of_less_than_five_in_a_hundred_is_none)
{
	for (int k = 0; k < 2; k++) {
		link_list list = switches(100, 60, 100, k == 0 ? 0.045 : 0.055);
		cr_expect_eq(list.n, (size_t)k, "%zu", list.n);
		links_done(&list);
	}
}
