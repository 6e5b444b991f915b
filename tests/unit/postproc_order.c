/* postproc_order.c - causes stand before what follows from them, if they explain its seconds; whatever else. */
#include "postproc/issues/order.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define ROW(name) #name,
	ISSUES(ROW)
#undef ROW
};

#define NNAMES (sizeof(names) / sizeof(names[0]))

static const struct {
	const char *cause, *effect;
} pairs[] = {
	{"oversubscription", "late_sender"},
	{"oversubscription", "rma_wait"},
	{"oversubscription", "load_imbalance"},
	{"oversubscription", "global_collective_heavy"},
	{"oversubscription", "unexplained"},
	{"oversubscription", "serialization"},
	{"busy_processors", "load_imbalance"},
	{"busy_processors", "unexplained"},
	{"busy_processors", "slow_clock"},
	{"slow_clock", "slow_node"},
	{"slow_clock", "load_imbalance"},
	{"slow_clock", "late_sender"},
	{"slow_node", "load_imbalance"},
	{"slow_node", "delay"},
	{"slow_node", "barrier_imbalance"},
	{"idle_ranks", "late_sender"},
	{"load_imbalance", "barrier_imbalance"},
	{"load_imbalance", "synchronization_heavy"},
	{"load_imbalance", "collective_root_bottleneck"},
	{"load_imbalance", "late_receiver"},
	{"load_imbalance", "delay"},
	{"load_imbalance", "idle_ranks"},
	{"load_imbalance", "stuck_at_end"},
	{"stuck_at_end", "barrier_imbalance"},
	{"delay", "late_sender"},
	{"delay", "barrier_imbalance"},
	{"serialization", "late_sender"},
	{"poor_placement", "link_hotspot"},
};

#define NPAIRS (sizeof(pairs) / sizeof(pairs[0]))

static const char *const never_about_time[] = {"deadlock",	"death",	"truncation",	     "mismatch",
					       "out_of_memory", "memory_limit", "unsafe_send_cycle", "unmatched",
					       "request_leak",	"unfinished"};

static bool is_about_time(const char *name)
{
	for (size_t i = 0; i < sizeof(never_about_time) / sizeof(never_about_time[0]); i++)
		if (strcmp(name, never_about_time[i]) == 0)
			return false;
	return true;
}

/* Two issues of a run of 100 s; which of them is told first? A loss of 0: not about time. */
static const char *first_of(const char *a, double a_s, const char *b, double b_s, double *ret_score)
{
	const struct analysis run = {.threads_ns = 100e9};
	struct issue *all = calloc(2, sizeof(*all)), *order[2];
	all[0].issue = a;
	all[1].issue = b;
	all[0].loss_s = a_s;
	all[1].loss_s = b_s;
	all[0].severity = a_s > 0 ? 0 : 0.4;
	all[1].severity = b_s > 0 ? 0 : 0.4;
	all[0].found = all[1].found = true;
	cr_assert_eq(issues_order(&run, all, 2, order), 2);
	const char *first = order[0]->issue;
	if (ret_score != NULL)
		*ret_score = issue_score(&run, order[0]);
	free(all);
	return first;
}

Test(order, of_a_cause_is_before_what_it_explains_and_as_severe)
{
	for (size_t i = 0; i < NPAIRS; i++) {
		double score;
		cr_expect_str_eq(first_of(pairs[i].cause, 11, pairs[i].effect, 20, &score), pairs[i].cause, "%s, %s",
				 pairs[i].cause, pairs[i].effect);
		cr_expect_float_eq(score, 0.8, 1e-9, "%s", pairs[i].cause);
		cr_expect_str_eq(first_of(pairs[i].effect, 20, pairs[i].cause, 11, NULL), pairs[i].cause);
	}
}

/* The counter-check, for each pair of issues there is: seconds that a cause has not lost are not explained by it. */
Test(order, of_what_does_not_explain_the_seconds_is_behind)
{
	for (size_t i = 0; i < NNAMES; i++)
		for (size_t k = 0; k < NNAMES; k++)
			if (i != k && is_about_time(names[i]) && is_about_time(names[k]))
				cr_expect_str_eq(first_of(names[i], 9, names[k], 20, NULL), names[k], "%s, %s",
						 names[i], names[k]);
}

/* Two stray messages are no reason for seconds in Win_lock. */
Test(order, of_what_is_only_untidy_is_behind_all_that_costs_time)
{
	for (size_t i = 0; i < NNAMES; i++) {
		if (!is_about_time(names[i]))
			continue;
		cr_expect_str_eq(first_of("unmatched", 0, names[i], 5, NULL), names[i]);
		cr_expect_str_eq(first_of("memory_limit", 0, names[i], 5, NULL), names[i]);
		cr_expect_str_eq(first_of("request_leak", 0, names[i], 5, NULL), names[i]);
		cr_expect_str_eq(first_of("unsafe_send_cycle", 0, names[i], 5, NULL), names[i]);
	}
}

Test(order, of_what_stands_still_or_dies_is_before_all_others)
{
	for (size_t i = 0; i < NNAMES; i++) {
		if (strcmp(names[i], "deadlock") != 0)
			cr_expect_str_eq(first_of(names[i], 90, "deadlock", 0, NULL), "deadlock", "%s", names[i]);
		if (strcmp(names[i], "deadlock") != 0 && strcmp(names[i], "death") != 0)
			cr_expect_str_eq(first_of(names[i], 90, "death", 0, NULL), "death", "%s", names[i]);
	}
}

Test(order, has_each_issue_once)
{
	const struct analysis run = {.threads_ns = 100e9};
	struct issue *all = calloc(NNAMES, sizeof(*all)), *order[ISSUES_MAX];
	bool seen[NNAMES] = {false};
	for (size_t i = 0; i < NNAMES; i++) {
		all[i].issue = names[i];
		all[i].found = true;
		all[i].loss_s = 10;
	}
	cr_assert_eq(issues_order(&run, all, NNAMES, order), NNAMES);
	for (size_t i = 0; i < NNAMES; i++) {
		cr_expect(!seen[order[i] - all]);
		seen[order[i] - all] = true;
	}
	cr_expect_str_eq(order[6]->issue, "oversubscription", "of what costs time");
	free(all);
}

/* Of a run of 100 s, issues that a replay tells a gain of, or (below 0) none, but for what was lost. */
static const char *first_of_gains(size_t n, const char *const *issues, const double *gains, const double *lost_s)
{
	const struct analysis run = {.threads_ns = 100e9, .longest_region_ns = 25e9, .ranks_seen = 4};
	struct issue *all = calloc(n, sizeof(*all)), *order[8];
	for (size_t i = 0; i < n; i++)
		all[i] = (struct issue){.found = true,
					.issue = issues[i],
					.loss_s = lost_s[i],
					.replayed = gains[i] >= 0,
					.gain = gains[i]};
	cr_assert_eq(issues_order(&run, all, n, order), n);
	const char *first = order[0]->issue;
	free(all);
	return first;
}

Test(order, of_what_could_be_gained_at_most_is_behind_what_is_known_to_gain_half_of_it)
{
	static const char *const both[] = {"serialization", "late_sender"};
	static const char *const cost[] = {"unexplained", "delay"};
	cr_expect_str_eq(first_of_gains(2, both, (double[]){-1, 0.16}, (double[]){30, 5}), "late_sender");
	cr_expect_str_eq(first_of_gains(2, both, (double[]){-1, 0.14}, (double[]){30, 5}), "serialization");
	cr_expect_str_eq(first_of_gains(2, cost, (double[]){-1, 0.16}, (double[]){30, 5}), "delay");
	cr_expect_str_eq(first_of_gains(2, cost, (double[]){-1, 0.14}, (double[]){30, 5}), "unexplained");
}

/* Waiting at collectives comes from many places: the first of them stands before it. A barrier is one of its own. */
Test(order, of_waits_that_have_many_causes_is_behind_the_one_that_gains_a_third_of_them)
{
	static const char *const many[] = {"load_imbalance", "late_sender", "synchronization_heavy"};
	static const char *const barrier[] = {"delay", "barrier_imbalance"};
	cr_expect_str_eq(first_of_gains(3, many, (double[]){0.155, 0.2, 0.3}, (double[]){9, 9, 30}), "late_sender",
			 "and not the first that gains a third");
	cr_expect_str_eq(first_of_gains(3, many, (double[]){0.09, 0.08, 0.3}, (double[]){9, 9, 30}),
			 "synchronization_heavy");
	cr_expect_str_eq(first_of_gains(2, barrier, (double[]){0.15, 0.28}, (double[]){9, 9}), "barrier_imbalance");
	cr_expect_str_eq(first_of_gains(2, barrier, (double[]){0.25, 0.28}, (double[]){9, 9}), "delay");
}

/* Of 4 ranks a quarter of it stays. */
Test(order, of_work_that_would_be_shared_is_before_what_would_be_gone)
{
	static const char *const both[] = {"delay", "load_imbalance"};
	cr_expect_str_eq(first_of_gains(2, both, (double[]){0.3, 0.12}, (double[]){9, 9}), "load_imbalance");
	cr_expect_str_eq(first_of_gains(2, both, (double[]){0.3, 0.11}, (double[]){9, 9}), "delay");
}

/* Rank 0 computes more in all, and rank 3 delays others. */
Test(order, of_a_delay_of_other_ranks_is_not_behind_uneven_work)
{
	const struct analysis run = {.threads_ns = 100e9, .longest_region_ns = 25e9, .ranks_seen = 4};
	struct issue all[2] = {{.found = true, .issue = "load_imbalance", .replayed = true, .gain = 0.19, .nranks = 1},
			       {.found = true, .issue = "delay", .replayed = true, .gain = 0.3, .nranks = 1}};
	struct issue *order[2];
	all[1].ranks[0] = 3;
	cr_assert_eq(issues_order(&run, all, 2, order), 2);
	cr_expect_str_eq(order[0]->issue, "delay");
	all[1].ranks[0] = 0;
	cr_assert_eq(issues_order(&run, all, 2, order), 2);
	cr_expect_str_eq(order[0]->issue, "load_imbalance");
}

/* Late senders follow from a delay that follows from uneven work; an unexplained call follows from none of these. */
Test(order, of_what_follows_from_another_the_first_cause_is_named)
{
	const struct analysis run = {.threads_ns = 100e9, .longest_region_ns = 25e9, .ranks_seen = 4};
	struct issue all[4] = {{.found = true, .issue = "late_sender", .replayed = true, .gain = 0.2, .loss_s = 9},
			       {.found = true, .issue = "unexplained", .loss_s = 12},
			       {.found = true, .issue = "load_imbalance", .replayed = true, .gain = 0.3, .loss_s = 9},
			       {.found = true, .issue = "delay", .replayed = true, .gain = 0.31, .loss_s = 9}};
	struct issue *order[4];
	cr_assert_eq(issues_order(&run, all, 4, order), 4);
	cr_expect_str_eq(order[0]->issue, "load_imbalance");
	cr_expect_null(order[0]->explained_by);
	cr_assert_not_null(all[0].explained_by);
	cr_expect_str_eq(all[0].explained_by, "load_imbalance", "not delay, which follows from it itself");
	cr_assert_not_null(all[3].explained_by);
	cr_expect_str_eq(all[3].explained_by, "load_imbalance");
	cr_expect_null(all[1].explained_by);
}

Test(order, ends_where_causes_go_round)
{
	static const char *const round[] = {"serialization", "late_sender", "synchronization_heavy"};
	cr_expect_not_null(first_of_gains(3, round, (double[]){-1, 0.3, 0.5}, (double[]){90, 30, 50}));
}
