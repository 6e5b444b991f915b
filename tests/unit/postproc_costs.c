/* postproc_costs.c - whom time is charged to where several could be meant: call sites of the critical path, causers of
 * causers; and issues just below and above their thresholds. */
#include "one_sided.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRACING 0.05e-6 /* a call, in every program of program.h: not useful time */

static void sends(struct program *p, unsigned rank, int to, double from_us, unsigned line)
{
	program_send(p, rank,
		     (struct call){.op = "MPI_Send",
				   .from_us = from_us,
				   .to_us = from_us + 1,
				   .peer = to,
				   .bytes = 8,
				   .line = line});
}

static void receives(struct program *p, unsigned rank, int from, double from_us, double to_us, unsigned line)
{
	program_recv(
		p, rank,
		(struct call){
			.op = "MPI_Recv", .from_us = from_us, .to_us = to_us, .peer = from, .bytes = 8, .line = line});
}

static void meets(struct program *p, unsigned rank, const char *op, enum sig_coll kind, double from_us, double to_us)
{
	program_coll(p, rank,
		     (struct call){.op = op,
				   .from_us = from_us,
				   .to_us = to_us,
				   .peer = kind == COLL_REDUCE ? 0 : SIG_NO_ROOT,
				   .bytes = 8,
				   .from_each = 8,
				   .coll = kind,
				   .line = 90});
}

static int number(const cJSON *row, const char *list, int i)
{
	const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItem(row, list), i);
	return item != NULL ? item->valueint : -1;
}

static bool has_number(const cJSON *row, const char *list, int wanted)
{
	const cJSON *item;
	cJSON_ArrayForEach(item, cJSON_GetObjectItem(row, list)) if (item->valueint == wanted) return true;
	return false;
}

/* ---- the critical path ---- */

/* Rank 1 sends after 700 us what rank 0 has waited for since 100; the run ends at 1000. */
Test(critical_path, has_its_time_at_call_sites_and_what_it_is_more_than_the_mean)
{
	struct program *p = program_create(2, 1);
	sends(p, 1, 0, 700, 3);
	receives(p, 0, 1, 100, 710, 4);
	cJSON *root = analyse_program(p, 1000);
	double first = 390e-6 - TRACING, second = 999e-6 - TRACING, mean = (first + second) / 2;
	const cJSON *site = find(root, "critical_path.callsites", "callsite", id_of(root, 4), NULL);
	cr_assert_not_null(site);
	cr_expect_float_eq(field(site, "seconds"), 10e-6, NEAR, "%g", field(site, "seconds"));
	cr_expect_float_eq(field(site, "imbalance_s"), 10e-6 - 610e-6 / 2, NEAR, "%g", field(site, "imbalance_s"));
	cr_expect_float_eq(at_path(root, "critical_path.imbalance_s"), 990e-6 - mean, 1e-7, "%g",
			   at_path(root, "critical_path.imbalance_s"));
	const cJSON *rank = find(root, "critical_path.per_rank", "rank", 1, NULL);
	cr_assert_not_null(rank);
	cr_expect_float_eq(field(rank, "imbalance_s"), 700e-6 - mean, 1e-7, "%g", field(rank, "imbalance_s"));
	cJSON_Delete(root);
}

/* ---- delays ---- */

static const cJSON *delayed_before(const cJSON *root, unsigned line)
{
	const cJSON *row;
	cJSON_ArrayForEach(row, node_at(root, "delays.callsites"))
	{
		if (field(row, "callsite") == id_of(root, line) &&
		    strcmp(cJSON_GetObjectItem(row, "kind")->valuestring, "computing_before") == 0)
			return row;
	}
	return NULL;
}

/* Rank 1 waited 100 us for the first message, and 40 for the second: what came before the first is paid for. */
Test(delays, what_was_before_the_two_met_does_not_count)
{
	struct program *p = program_create(2, 1);
	sends(p, 0, 1, 100, 10);
	receives(p, 1, 0, 0, 101, 20);
	sends(p, 0, 1, 151, 11);
	receives(p, 1, 0, 111, 152, 21);
	cJSON *root = analyse_program(p, 1000);
	const cJSON *before = delayed_before(root, 10), *since = delayed_before(root, 11);
	cr_assert(before != NULL && since != NULL);
	cr_expect_float_eq(field(before, "direct_s"), 100e-6, NEAR, "%g", field(before, "direct_s"));
	cr_expect_float_eq(field(since, "direct_s"), 40e-6, NEAR, "%g", field(since, "direct_s"));
	cJSON_Delete(root);
}

/* Ranks 0 and 1 each do another's work before a barrier of all, and do not exchange; then rank 1 is late by 100 us. */
Test(delays, what_was_before_a_barrier_of_all_does_not_count)
{
	struct program *p = program_create(3, 1);
	for (unsigned r = 0; r < 3; r++)
		meets(p, r, "MPI_Barrier", COLL_BARRIER, r == 1 ? 400 : r == 0 ? 380 : 500, 501);
	sends(p, 1, 0, 701, 11);
	receives(p, 0, 1, 601, 702, 21);
	cJSON *root = analyse_program(p, 1000);
	const cJSON *since = delayed_before(root, 11), *first = find(root, "delays.per_rank", "rank", 1, NULL);
	cr_assert(since != NULL && first != NULL);
	cr_expect_float_eq(field(since, "direct_s"), 100e-6, NEAR, "%g", field(since, "direct_s"));
	cr_expect_float_eq(field(first, "direct_s"), 100e-6, NEAR, "%g", field(first, "direct_s"));
	cJSON_Delete(root);
}

/* 0 is late for 1, which so is late for 2, and that for 3: all of it is rank 0's. */
Test(delays, of_the_third_in_a_row_are_the_firsts)
{
	struct program *p = program_create(4, 1);
	sends(p, 0, 1, 100, 10);
	for (unsigned r = 1; r < 4; r++) {
		receives(p, r, (int)r - 1, 10, 102 + 2 * (r - 1), 20);
		if (r < 3)
			sends(p, r, (int)r + 1, 102 + 2 * (r - 1), 30);
	}
	cJSON *root = analyse_program(p, 1000);
	const cJSON *first = find(root, "delays.per_rank", "rank", 0, NULL),
		    *second = find(root, "delays.per_rank", "rank", 1, NULL);
	cr_assert_not_null(first);
	cr_expect_gt(field(first, "indirect_s"), 175e-6, "%g", field(first, "indirect_s"));
	cr_expect(second == NULL || field(second, "indirect_s") < 5e-6, "it only passes on");
	cJSON_Delete(root);
}

/* A twentieth of the time is where it begins. */
Test(issues, of_a_delay_name_rank_and_place_from_a_share_on)
{
	for (int much = 0; much < 2; much++) {
		struct program *p = program_create(2, 1);
		double late = much ? 250 : 80;
		sends(p, 0, 1, 10 + late, 10);
		receives(p, 1, 0, 10, 12 + late, 20);
		cJSON *root = analyse_program(p, 1000);
		const cJSON *row = issue(root, "delay");
		cr_expect_float_eq(at_path(root, "delays.waits_s"), late * 1e-6, NEAR);
		cr_expect_eq(row != NULL, much == 1);
		if (row != NULL) {
			cr_expect_float_eq(field(row, "loss_s"), late * 1e-6, NEAR);
			cr_expect_float_eq(at_path(row, "metric.value"), late / 2000, 1e-6);
			cr_expect_eq(at_path(row, "metric.threshold"), 0.05);
			cr_expect_eq(number(row, "ranks", 0), 0);
			cr_expect_eq(number(row, "callsites", 0), id_of(root, 10));
		}
		cJSON_Delete(root);
	}
}

/* ---- other issues ---- */

/* Little work in turn, and a message that takes long: transfers cost, not the order. */
Test(issues, of_slow_transfers_is_no_serialization)
{
	struct program *p = program_create(2, 1);
	sends(p, 0, 1, 100, 10);
	receives(p, 1, 0, 0, 9800, 20);
	meets(p, 0, "MPI_Barrier", COLL_BARRIER, 101, 9901);
	meets(p, 1, "MPI_Barrier", COLL_BARRIER, 9900, 9901);
	cJSON *root = analyse_program(p, 9901);
	cr_expect_lt(at_path(root, "efficiency.serialization"), 0.8);
	cr_expect_null(issue(root, "serialization"));
	cJSON_Delete(root);
}

Test(issues, of_serialization_name_who_is_waited_for)
{
	struct program *p = program_create(4, 1);
	for (unsigned r = 0; r < 4; r++) {
		if (r > 0)
			receives(p, r, (int)r - 1, 0, 101 * r, 20);
		if (r < 3)
			sends(p, r, (int)r + 1, 101 * (r + 1) - 1, 10);
		meets(p, r, "MPI_Barrier", COLL_BARRIER, 101 * (r + 1), 405);
	}
	cJSON *root = analyse_program(p, 405);
	const cJSON *row = issue(root, "serialization");
	cr_assert_not_null(row);
	for (int r = 0; r < 4; r++)
		cr_expect(has_number(row, "ranks", r), "rank %d", r);
	cJSON_Delete(root);
}

Test(issues, of_idle_ranks_name_whom_they_wait_for)
{
	struct program *p = program_create(6, 1);
	for (unsigned r = 0; r < 6; r++)
		meets(p, r, "MPI_Barrier", COLL_BARRIER, r == 3 ? 10 : r == 5 ? 1000 : 990, 1001);
	cJSON *root = analyse_program(p, 1001);
	const cJSON *row = issue(root, "idle_ranks"), *pair = cJSON_GetArrayItem(cJSON_GetObjectItem(row, "pairs"), 0);
	cr_assert(row != NULL && pair != NULL);
	cr_expect_eq(cJSON_GetArrayItem(pair, 0)->valueint, 5);
	cr_expect_eq(cJSON_GetArrayItem(pair, 1)->valueint, 3);
	cJSON_Delete(root);
}

/* ---- waits ---- */

/* The root comes at 10, the others at 50 and 100, and it leaves at 500: it waited for the last from the first on. */
Test(waits, for_the_last_contributor_are_told_from_the_first_on)
{
	struct program *p = program_create(3, 1);
	const double from[] = {10, 50, 100}, to[] = {500, 60, 110};
	for (unsigned r = 0; r < 3; r++)
		meets(p, r, "MPI_Reduce", COLL_REDUCE, from[r], to[r]);
	cJSON *root = analyse_program(p, 1000);
	expect_wait(root, "early_reduce", 0, 40, 1);
	expect_wait(root, "late_reduce", 0, 50, 2);
	cJSON_Delete(root);
}

/* Nobody knows what they waited for; the waits behind them are their own. */
Test(waits, of_two_wildcards_that_one_call_ends_without_a_message_are_none)
{
	struct program *p = program_create(3, 1);
	struct done done[2];
	for (unsigned i = 0; i < 2; i++) {
		program_recv(p, 0,
			     (struct call){.op = "MPI_Irecv",
					   .from_us = 1 + i,
					   .to_us = 2 + i,
					   .peer = SIG_ANY,
					   .bytes = 8,
					   .flags = SIG_STARTS_REQUEST | SIG_ANY_SOURCE});
		done[i] = (struct done){program_serial(p, 0), NO_STATUS, 0, 0, true};
	}
	program_wait(p, 0, (struct call){.op = "MPI_Waitall", .from_us = 5, .to_us = 9}, done, 2);
	for (unsigned r = 1; r < 3; r++) {
		receives(p, 0, (int)r, 100 * r, 100 * r + 60 + r, 20);
		sends(p, r, 0, 100 * r + 50 + r, 10);
	}
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(field(find(root, "per_rank", "rank", 0, NULL), "wait_s"), 103e-6, NEAR, "%g",
			   field(find(root, "per_rank", "rank", 0, NULL), "wait_s"));
	const cJSON *late = row_of(root, "late_sender", 0);
	cr_assert_not_null(late);
	cr_expect_eq(field(late, "count"), 2);
	cJSON_Delete(root);
}

/* The same late Post, or the same late Complete: the advice is about the one that cost more. */
Test(rma, the_advice_is_about_the_longest_wait)
{
	for (int post = 0; post < 2; post++) {
		struct program *p = program_create(2, 1);
		program_window(p, 0);
		rma_start(p, 0, 100, post ? 501 : 111, 1);
		rma_complete(p, 0, post ? 510 : 590, post ? 511 : 591);
		rma_post(p, 1, post ? 500 : 110, 0);
		rma_wait(p, 1, post ? 502 : 120, 600);
		cJSON *root = analyse_program(p, 1000);
		const cJSON *row = issue(root, "rma_wait");
		cr_assert_not_null(row);
		const char *what = cJSON_GetObjectItem(row, "what")->valuestring;
		cr_expect_not_null(strstr(what, post ? "had not posted" : "had not completed"), "%s", what);
		cJSON_Delete(root);
	}
}

/* Rank 1 waits in MPI_Win_unlock until rank 0 calls MPI; but did it, in the part of its record that is lost? */
Test(rma, of_a_target_that_lost_events_nothing_is_said)
{
	for (int lost = 0; lost < 2; lost++) {
		struct program *p = program_create(2, 1);
		program_window(p, 0);
		meets(p, 0, "MPI_Barrier", COLL_BARRIER, 10, 12);
		meets(p, 1, "MPI_Barrier", COLL_BARRIER, 10, 12);
		program_words(p, 0, (struct call){.op = "MPI_Comm_rank", .from_us = 20, .to_us = 21}, SIG_TIME, 0, NULL,
			      0);
		if (lost)
			program_end_block(p, 0, 0, BLOCK_MISSING);
		rma_lock(p, 1, 100, 101, 0, 1, 0);
		rma_put(p, 1, 102, 103, 0);
		rma_unlock(p, 1, 110, 310, 0);
		program_words(p, 0, (struct call){.op = "MPI_Comm_rank", .from_us = 295, .to_us = 296}, SIG_TIME, 0,
			      NULL, 0);
		meets(p, 0, "MPI_Barrier", COLL_BARRIER, 300, 710);
		meets(p, 1, "MPI_Barrier", COLL_BARRIER, 700, 710);
		cJSON *root = analyse_program(p, 1000);
		cr_expect_eq(row_of(root, "wait_for_progress", 1) != NULL, lost == 0, "lost: %d", lost);
		cJSON_Delete(root);
	}
}

/* ---- patterns ---- */

Test(patterns, of_one_sided_calls_are_seen_like_those_of_messages)
{
	struct program *p = program_create(7, 1);
	program_window(p, 0);
	for (unsigned r = 0; r < 7; r++)
		for (unsigned i = 0; i < 20; i++)
			rma_put(p, r, 10 * i, 10 * i + 5, (int)((r + 1) % 7));
	cJSON *root = analyse_program(p, 1000);
	cr_expect_not_null(find_text(root, "patterns", "pattern", "ring"));
	cJSON_Delete(root);
}

/* The messages pass from 200 to 400 us of 1000. */
Test(patterns, have_the_window_in_which_messages_were_sent)
{
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < 20; i++)
		for (unsigned r = 0; r < 2; r++) {
			double t = 200 + 10 * i + 5 * r;
			sends(p, r, 1 - (int)r, t, 10);
			receives(p, 1 - r, (int)r, t, t + 2, 20);
		}
	cJSON *root = analyse_program(p, 1000);
	const cJSON *window = cJSON_GetObjectItem(find_text(root, "patterns", "pattern", "ping_pong"), "window_s");
	cr_assert_not_null(window);
	cr_expect_float_eq(cJSON_GetArrayItem(window, 0)->valuedouble, 200e-6, 5e-6);
	cr_expect_float_eq(cJSON_GetArrayItem(window, 1)->valuedouble, 400e-6, 10e-6);
	cJSON_Delete(root);
}

/* ---- correctness ---- */

Test(postproc_correctness, one_byte_too_many_is_a_truncation)
{
	for (unsigned more = 0; more < 2; more++) {
		struct program *p = program_create(2, 1);
		program_send(
			p, 0,
			(struct call){.op = "MPI_Send", .from_us = 10, .to_us = 11, .peer = 1, .bytes = 40 + more});
		program_recv(p, 1,
			     (struct call){.op = "MPI_Recv",
					   .from_us = 10,
					   .to_us = 12,
					   .bytes = 40,
					   .room = 40,
					   .flags = more > 0 ? SIG_FAILED : 0});
		cJSON *root = analyse_program(p, 100);
		cr_expect_eq(issue(root, "truncation") != NULL, more == 1);
		cJSON_Delete(root);
	}
}
