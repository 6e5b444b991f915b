/* postproc_issues.c - programs with one fault each: the issue that names it, with its loss, ranks and time; and such
 * programs without the fault. */
#include "step_analysis.h"
#include "postproc/issues/issues.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define NEAR 1e-6

static void barrier(struct program *p, unsigned rank, double from, double to, unsigned line)
{
	program_coll(p, rank,
		     (struct call){.op = "MPI_Barrier",
				   .from_us = from,
				   .to_us = to,
				   .peer = SIG_NO_ROOT,
				   .coll = COLL_BARRIER,
				   .line = line});
}

static void message(struct program *p, unsigned from, unsigned to, double sent, double expected, uint64_t bytes,
		    double takes)
{
	program_send(p, from,
		     (struct call){.op = "MPI_Send",
				   .from_us = sent,
				   .to_us = sent + takes,
				   .peer = (int)to,
				   .bytes = bytes,
				   .line = 3});
	program_recv(p, to,
		     (struct call){.op = "MPI_Recv",
				   .from_us = expected,
				   .to_us = sent + takes,
				   .peer = (int)from,
				   .bytes = bytes,
				   .line = 4});
}

/* Each of n ranks computes for a while, then 100 µs; these one after the other, or all at once. */
static cJSON *chain_after(double before, unsigned n, bool in_turn)
{
	struct program *p = program_create(n, 1);
	double end = before + (in_turn ? 100.0 * n : 100);
	for (unsigned r = 0; r + 1 < n && in_turn; r++)
		message(p, r, r + 1, before + 100.0 * (r + 1) - 1, before, 8, 1);
	for (unsigned r = 0; r < n; r++)
		barrier(p, r, before + (in_turn ? 100.0 * (r + 1) : 100), end + 1, 7);
	return analyse_program(p, end + 1);
}

static cJSON *chain(unsigned n, bool in_turn)
{
	return chain_after(0, n, in_turn);
}

/* It costs a tenth of the run and more, but the factor is good: four fifths is what counts as such. */
/* One of five links carries half of all bytes, or a little more. */
Test(issues, half_of_all_bytes_is_as_much_as_the_rest)
{
	for (unsigned more = 0; more < 2; more++) {
		struct program *p = program_create(6, 1);
		for (unsigned r = 0; r < 5; r++) {
			uint64_t bytes = r == 0 ? 400000 + more : 100000;
			struct call c = {
				.op = "MPI_Send", .from_us = 0, .to_us = 900, .peer = (int)r + 1, .bytes = bytes};
			program_send(p, r, c);
			c = (struct call){
				.op = "MPI_Recv", .from_us = 901, .to_us = 1800, .peer = (int)r, .bytes = bytes};
			program_recv(p, r + 1, c);
		}
		cJSON *root = analyse_program(p, 2000);
		const char *what = text_at(issue(root, "link_hotspot"), "what");
		cr_expect_not_null(strstr(what, more ? "more than between all others together"
						     : "as much as between all others together"),
				   "%s", what);
		cJSON_Delete(root);
	}
}

Test(issues, without_a_known_call_site_there_is_no_mostly)
{
	char text[64];
	struct step s = {.nranks = 0};
	cr_expect_str_eq(share_of_site(&s, NONE, ", mostly", text, sizeof(text)), "");
	struct site site = {.op = 0};
	char *op = "MPI_Send";
	s.sites.at = &site;
	s.sites.n = 1;
	s.ops.at = &op;
	s.ops.n = 1;
	cr_expect_str_eq(share_of_site(&s, 0, ", mostly", text, sizeof(text)), ", mostly at MPI_Send");
}

Test(issues, of_ranks_that_mostly_work_at_once_is_no_serialization)
{
	for (int mostly = 0; mostly < 2; mostly++) {
		cJSON *root = chain_after(mostly ? 1800 : 800, 4, true);
		cr_expect_eq(at_path(root, "efficiency.serialization") >= 0.8, mostly == 1);
		cr_expect_eq(issue(root, "serialization") == NULL, mostly == 1);
		cJSON_Delete(root);
	}
}

Test(issues, of_ranks_that_work_in_turn_is_serialization)
{
	cJSON *root = chain(4, true), *row = issue(root, "serialization");
	cr_expect_float_eq(at_path(root, "efficiency.serialization"), 0.25, 0.01);
	cr_assert_not_null(row);
	cr_expect_float_eq(field(row, "loss_s"), 4 * 297e-6, 4e-6);
	cr_expect_float_eq(field(row, "loss_of_s"), 4 * 401e-6, NEAR);
	cr_expect_float_eq(at_path(row, "metric.value"), at_path(root, "efficiency.serialization"), NEAR);
	cr_expect_eq(at_path(row, "metric.threshold"), 0.80);
	cr_expect(cJSON_GetArraySize(cJSON_GetObjectItem(row, "pairs")) > 0);
	cr_expect(cJSON_GetArraySize(cJSON_GetObjectItem(row, "callsites")) > 0);
	cJSON_Delete(root);
}

Test(issues, of_ranks_that_work_at_once_is_no_serialization)
{
	cJSON *root = chain(4, false);
	cr_expect_gt(at_path(root, "efficiency.serialization"), 0.95);
	cr_expect_null(issue(root, "serialization"));
	cJSON_Delete(root);
}

/* These of n ranks come to the barrier at this time, all others after 1000 µs. */
static cJSON *some_idle(unsigned n, unsigned first, unsigned end, double from)
{
	struct program *p = program_create(n, 1);
	for (unsigned r = 0; r < n; r++)
		barrier(p, r, r >= first && r < end ? from : 1000, 1001, 7);
	return analyse_program(p, 1001);
}

static cJSON *one_idles(unsigned n, double from)
{
	return some_idle(n, 3, 4, from);
}

Test(issues, of_a_rank_without_work_is_that_it_idles)
{
	cJSON *root = one_idles(6, 10), *row = issue(root, "idle_ranks");
	cr_assert_not_null(row);
	cr_expect_null(issue(root, "load_imbalance"), "the others share their work evenly");
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "ranks")), 1);
	cr_expect_eq(element(row, "ranks", 0), 3);
	cr_expect_float_eq(field(row, "loss_s"), 990e-6, 2e-6);
	cr_expect_float_eq(at_path(row, "metric.value"), 0.99, 0.01);
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "callsites")), 1);
	cJSON_Delete(root);
}

static void expect_idle(unsigned idle, int named, bool more)
{
	cJSON *root = some_idle(100, 10, 10 + idle, 10), *row = issue(root, "idle_ranks");
	cr_assert_not_null(row);
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "ranks")), named);
	cr_expect_eq(cJSON_IsTrue(cJSON_GetObjectItem(row, "more_ranks")), more);
	cJSON_Delete(root);
}

Test(issues, that_name_not_all_of_their_ranks_say_so)
{
	expect_idle(16, 16, false);
	expect_idle(17, 16, true);
}

Test(issues, of_a_rank_with_some_work_is_not_that_it_idles)
{
	cJSON *root = one_idles(6, 300);
	cr_expect_null(issue(root, "idle_ranks"));
	cJSON_Delete(root);
}

/* Who waits for its turn most of the time has work: all of them do the same. */
Test(issues, of_ranks_that_take_turns_is_not_that_they_idle)
{
	cJSON *root = chain(10, true);
	cr_expect_null(issue(root, "idle_ranks"));
	cr_expect_not_null(issue(root, "serialization"));
	cJSON_Delete(root);
}

/* Five even steps; at the end, or in the middle, rank 2 has 500 µs more. */
static cJSON *one_is_late(bool at_the_end)
{
	struct program *p = program_create(4, 1);
	double t = 0;
	for (unsigned i = 0; i < 6; i++) {
		bool late = i == (at_the_end ? 5 : 2);
		for (unsigned r = 0; r < 4; r++)
			barrier(p, r, t + 100 + (late && r == 2 ? 500 : 0), t + 101 + (late ? 500 : 0), 7 + i);
		t += 101 + (late ? 500 : 0);
	}
	return analyse_program(p, t + 1);
}

Test(issues, of_all_waiting_for_the_last_is_that_they_are_stuck_at_the_end)
{
	cJSON *root = one_is_late(true), *row = issue(root, "stuck_at_end");
	cr_assert_not_null(row);
	cr_expect_float_eq(field(row, "loss_s"), 3 * 500e-6, NEAR);
	cr_expect_float_eq(field(row, "loss_of_s"), 4 * 1107e-6, NEAR);
	cr_expect_float_eq(at_path(row, "metric.value"), 1500.0 / (4 * 1107), 1e-3);
	cr_expect_eq(element(row, "ranks", 0), 2);
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "pairs")), 3);
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "callsites")), 1);
	cr_expect_float_eq(element(row, "window_s", 0), 605e-6, NEAR);
	cJSON_Delete(root);
}

Test(issues, of_waiting_in_the_middle_is_not_that_they_are_stuck_at_the_end)
{
	cJSON *root = one_is_late(false);
	cr_expect_null(issue(root, "stuck_at_end"));
	cr_expect_not_null(issue(root, "barrier_imbalance"));
	cJSON_Delete(root);
}

/* Four ranks on each of two nodes, in blocks; pairs at this distance exchange, 90 of 100 µs. */
static cJSON *pairs_at(unsigned distance, uint64_t bytes)
{
	struct program *p = program_create(8, 2);
	for (unsigned i = 0; i < 20; i++)
		for (unsigned r = 0; r < 8; r++) {
			unsigned other = r ^ distance;
			bool first = (i % 2 == 0) == (r < other);
			if (first)
				message(p, r, other, 100 * i, 100 * i, bytes, 90);
		}
	return analyse_program(p, 2000);
}

Test(issues, of_pairs_on_different_nodes_is_their_placement)
{
	cJSON *root = pairs_at(4, 100000), *row = issue(root, "poor_placement");
	cr_assert_not_null(row);
	cr_expect_float_eq(at_path(row, "metric.value"), 1, NEAR);
	cr_expect_eq(at_path(row, "metric.threshold"), 0.2);
	cr_expect_float_eq(field(row, "loss_s"), 8 * 20 * 90e-6, 10e-6, "all of the time of all messages");
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "pairs")), 8);
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "callsites")), 1);
	cr_expect_not_null(strstr(cJSON_GetObjectItem(row, "next")->valuestring, "cyclic"));
	cr_expect_float_eq(element(row, "window_s", 1), 1900e-6, 100e-6);
	cJSON_Delete(root);
}

Test(issues, of_pairs_on_the_same_node_is_not_their_placement)
{
	cJSON *root = pairs_at(1, 100000);
	cr_expect_null(issue(root, "poor_placement"));
	cJSON_Delete(root);
}

/* 1-4 and 2-7 and such: neither blocks nor turns keep these together, but somebody who looks at them can. */
Test(issues, of_placement_are_found_by_links_too)
{
	const unsigned pairs[][2] = {{0, 5}, {1, 4}, {2, 7}, {3, 6}};
	struct program *p = program_create(8, 2);
	for (unsigned i = 0; i < 20; i++)
		for (unsigned k = 0; k < 4; k++)
			message(p, pairs[k][i % 2], pairs[k][1 - i % 2], 100 * i, 100 * i, 100000, 90);
	cJSON *root = analyse_program(p, 2000), *row = issue(root, "poor_placement");
	cr_assert_not_null(row);
	cr_expect_float_eq(at_path(row, "metric.value"), 1, NEAR);
	cr_expect_not_null(strstr(cJSON_GetObjectItem(row, "next")->valuestring, "reorder"));
	cJSON_Delete(root);
}

/* All with all: as many bytes go between nodes whatever the mapping. */
Test(issues, of_placement_are_none_where_no_other_is_better)
{
	struct program *p = program_create(8, 2);
	double t = 0;
	for (unsigned distance = 1; distance < 8; distance++)
		for (unsigned way = 0; way < 2; way++, t += 100)
			for (unsigned r = 0; r < 8; r++)
				if ((r < (r ^ distance)) == (way == 0))
					message(p, r, r ^ distance, t, t, 100000, 90);
	cJSON *root = analyse_program(p, t);
	cr_expect_null(issue(root, "poor_placement"));
	cJSON_Delete(root);
}

/* ---- slow nodes ---- */

/* Two ranks on each node; those of node 1 compute for so long, all others for 200 µs. */
static cJSON *node_computes(unsigned nodes, double one_us, double other_us)
{
	struct program *p = program_create(2 * nodes, nodes);
	for (unsigned r = 0; r < 2 * nodes; r++)
		barrier(p, r, r == 2 ? one_us : r == 3 ? other_us : 200, 701, 7);
	return analyse_program(p, 701);
}

Test(issues, of_a_node_that_computes_longer_say_which)
{
	cJSON *root = node_computes(3, 500, 500), *row = issue(root, "slow_node");
	cr_assert_not_null(row);
	cr_expect_float_eq(at_path(row, "metric.value"), 2.5, 0.01);
	cr_expect_float_eq(field(row, "loss_s"), 4 * 300e-6, 2e-6);
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "ranks")), 2);
	cr_expect_eq(element(row, "ranks", 0), 2);
	cr_expect_eq(element(row, "ranks", 1), 3);
	cr_expect_not_null(strstr(text_at(row, "what"), "node n1 compute 2.50 times as long"), "%s",
			   text_at(row, "what"));
	cJSON_Delete(root);
}

/* 300 µs longer in the mean: three times what one of them differs from that, or a little more. */
Test(issues, of_a_node_are_none_where_its_ranks_differ_by_as_much)
{
	for (int more = 0; more < 2; more++) {
		cJSON *root = more ? node_computes(3, 395, 605) : node_computes(3, 405, 595);
		cr_expect_eq(issue(root, "slow_node") == NULL, more == 1);
		cJSON_Delete(root);
	}
}

Test(issues, of_one_node_of_two_nobody_knows_whether_it_is_slow_or_the_other_quick)
{
	cJSON *root = node_computes(2, 500, 500);
	cr_expect_null(issue(root, "slow_node"));
	cJSON_Delete(root);
}

/* ---- who had no processor ---- */

/* Rank 1 computes for 600 µs, the others for 200; rank 3 comes to the barrier last, since it was without a processor
 * for so long. */
static cJSON *one_has_none(double without_us, const char *node)
{
	const double comes[] = {200, 600, 200, 700};
	struct program *p = program_create(4, 1);
	for (unsigned r = 0; r < 4; r++)
		barrier(p, r, comes[r], 701, 7);
	program_processor_wait(p, 3, without_us);
	program_node_members(p, 0, node);
	return analyse_program(p, 701);
}

Test(issues, of_a_rank_that_had_no_processor_is_not_that_it_computes)
{
	cJSON *root = one_has_none(500, ""), *row = issue(root, "load_imbalance");
	cr_assert_not_null(row);
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "ranks")), 1);
	cr_expect_eq(element(row, "ranks", 0), 1);
	cr_expect_float_eq(field(row, "loss_s"), 4 * (600 - (1700 - 500) / 4.0) * 1e-6, 2e-6);
	cr_expect_float_eq(at_path(row, "metric.value"), 2, 0.02);
	cr_expect_null(strstr(text_at(row, "what"), "without a processor"));
	cJSON_Delete(root);
}

/* Four ranks on two processors are without one for two ranks' time at most: here 1402 µs. */
Test(issues, of_oversubscription_say_when_others_had_the_processors_too)
{
	static const struct {
		double without_us;
		bool others;
	} cases[] = {{500, false}, {2000, true}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cJSON *root = one_has_none(cases[i].without_us, "\"topology\":{\"pus\":2},");
		const cJSON *row = issue(root, "oversubscription");
		cr_assert_not_null(row);
		cr_expect_eq(strstr(text_at(row, "what"), "other programs used these cores too") != NULL,
			     cases[i].others, "%s", text_at(row, "what"));
		cr_expect_eq(strstr(text_at(row, "next"), "--exclusive") != NULL, cases[i].others);
		cJSON_Delete(root);
	}
}

/* It had none for a while, and computes longest nevertheless: that is said. */
Test(issues, of_uneven_work_say_how_long_there_was_no_processor)
{
	cJSON *root = one_has_none(50, ""), *row = issue(root, "load_imbalance");
	cr_assert_not_null(row);
	cr_expect_eq(element(row, "ranks", 0), 3);
	cr_expect_not_null(strstr(text_at(row, "what"), "up to 50.0 µs of it waiting for a core"), "%s",
			   text_at(row, "what"));
	cr_expect_lt(field(row, "loss_s"), 4 * (700 - 425) * 1e-6 - 150e-6);
	cJSON_Delete(root);
}

Test(issues, of_processors_that_others_had_are_those_of_nodes_with_enough)
{
	const struct {
		double without_us;
		const char *node;
		bool found;
	} cases[] = {
		{500, "\"topology\":{\"pus\":4},", true},
		{500, "\"topology\":{\"pus\":2},", false}, /* that is oversubscription */
		{500, "", false},			   /* not known */
		{100, "\"topology\":{\"pus\":4},", false}, /* 0.036 of the time */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cJSON *root = one_has_none(cases[i].without_us, cases[i].node), *row = issue(root, "busy_processors");
		cr_expect_eq(row != NULL, cases[i].found, "%zu", i);
		if (row != NULL) {
			cr_expect_eq(element(row, "ranks", 0), 3);
			cr_expect_float_eq(field(row, "loss_s"), 500e-6, 1e-6);
		}
		cJSON_Delete(root);
	}
}

/* What is for information only is no verdict: the page would call another one the cause. */
Test(issues, that_cost_little_are_no_verdict)
{
	struct program *p = program_create(4, 1);
	for (unsigned r = 0; r < 4; r++)
		barrier(p, r, r == 3 ? 1000 : 930, 1001, 7);
	cJSON *root = analyse_program(p, 1001);
	cr_assert_not_null(issue(root, "barrier_imbalance"));
	cr_expect_str_eq(text_at(issue(root, "barrier_imbalance"), "severity"), "low");
	cr_expect_str_eq(text_at(root, "verdict"), "nothing to fix");
	cJSON_Delete(root);
}

/* What the program gave to MPI for it may have taken the time as well; what has no part in these calls not. */
Test(issues, that_find_no_cause_name_the_functions_of_the_program)
{
	static const struct {
		const char *makes;
		enum sig_coll coll;
		const char *why;
	} cases[] = {
		{"MPI_Comm_rank", COLL_ALLREDUCE, "into moving data or the library's own work."},
		{"MPI_Op_create", COLL_ALLREDUCE, "the program's own reduction functions (MPI_Op_create)."},
		{"MPI_Op_create", COLL_BARRIER, "into moving data or the library's own work."},
		{"MPI_Grequest_start", COLL_ALLREDUCE, "into moving data or the library's own work."},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct program *p = program_create(4, 1);
		for (unsigned r = 0; r < 4; r++) {
			program_words(p, r, (struct call){.op = cases[i].makes, .from_us = 0, .to_us = 1}, SIG_TIME, 0,
				      NULL, 0);
			program_coll(p, r,
				     (struct call){.op = "MPI_Allreduce",
						   .from_us = 10,
						   .to_us = 10000,
						   .peer = SIG_NO_ROOT,
						   .bytes = 8,
						   .from_each = 8,
						   .coll = cases[i].coll,
						   .line = 7});
		}
		cJSON *root = analyse_program(p, 10001);
		const char *why = text_at(issue(root, "unexplained"), "why");
		cr_expect(why != NULL && strstr(why, cases[i].why) != NULL, "%s: %s", cases[i].makes, why);
		cJSON_Delete(root);
	}
}

/* A wait ends when the program says so, or when a reduction is over. */
Test(issues, that_find_no_cause_of_a_wait_name_what_it_may_have_waited_for)
{
	for (int generalized = 0; generalized < 2; generalized++) {
		struct program *p = program_create(1, 1);
		program_words(p, 0,
			      (struct call){.op = generalized ? "MPI_Grequest_start" : "MPI_Comm_rank",
					    .from_us = 0,
					    .to_us = 1},
			      SIG_TIME, 0, NULL, 0);
		program_wait(p, 0, (struct call){.op = "MPI_Wait", .from_us = 10, .to_us = 10000, .line = 7},
			     (struct done[]){{.serial = 99, .source = -9}}, 1);
		cJSON *root = analyse_program(p, 10001);
		const char *why = text_at(issue(root, "unexplained"), "why");
		cr_expect_eq(strstr(why, "own requests (MPI_Grequest_start)") != NULL, generalized, "%s", why);
		cJSON_Delete(root);
	}
}

/* Eight bytes take no 10 ms, whatever else did. */
Test(issues, that_blame_moving_data_explain_their_seconds)
{
	for (int much = 0; much < 2; much++) {
		struct program *p = program_create(4, 1);
		for (unsigned r = 0; r < 4; r++)
			program_coll(p, r,
				     (struct call){.op = "MPI_Allreduce",
						   .from_us = 0,
						   .to_us = 10000,
						   .peer = SIG_NO_ROOT,
						   .bytes = much ? 1 << 20 : 8,
						   .from_each = much ? 1 << 20 : 8,
						   .coll = COLL_ALLREDUCE,
						   .line = 7});
		cJSON *root = analyse_program(p, 10001);
		cr_expect_eq(issue(root, "global_collective_heavy") != NULL, much == 1);
		cr_expect_eq(issue(root, "unexplained") != NULL, much == 0);
		cJSON_Delete(root);
	}
}

/* In each of 50 steps so many messages of 8 bytes one after the other, 5 us each, and at another place a large one. */
static cJSON *small_ones(unsigned messages)
{
	struct program *p = program_create(2, 1);
	double t = 10;
	for (unsigned step = 0; step < 50; step++) {
		for (unsigned i = 0; i < messages; i++, t += 5)
			message(p, 0, 1, t, t, 8, 5);
		struct call large = {.from_us = t, .to_us = t + 100, .bytes = 1000000, .line = 8};
		large.op = "MPI_Send", large.peer = 1;
		program_send(p, 0, large);
		large.op = "MPI_Recv", large.peer = 0, large.line = 9;
		program_recv(p, 1, large);
		t += 200;
	}
	return analyse_program(p, t + 10);
}

/* The mean of all messages is 48 KB and more. */
Test(issues, of_many_small_messages_are_seen_beside_few_large_ones)
{
	cJSON *many = small_ones(20), *few = small_ones(1);
	const cJSON *issue = find_text(many, "issues", "issue", "small_message_overhead");
	cr_assert_not_null(issue);
	cr_expect_not_null(strstr(cJSON_GetObjectItem(issue, "what")->valuestring, "1,000 messages of 8 bytes"), "%s",
			   cJSON_GetObjectItem(issue, "what")->valuestring);
	cr_expect_float_eq(field(issue, "loss_s"), 2 * 1000 * 5e-6, 1e-4, "sends and receives, not the large ones");
	cr_expect_null(find_text(few, "issues", "issue", "small_message_overhead"));
	cJSON_Delete(many);
	cJSON_Delete(few);
}
