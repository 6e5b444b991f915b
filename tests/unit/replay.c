/* replay.c - what a run would have taken with something otherwise, of programs of which that is known. */
#include "replayed.h"

/* Rank `heavy` of 4 computes 300 us before each barrier, the others 100; in each step another one if heavy is -1. */
static struct program *uneven(int heavy, double *ret_end_us)
{
	struct program *p = program_create(4, 1);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned r = 0; r < 4; r++) {
			unsigned most = heavy < 0 ? i % 4 : (unsigned)heavy;
			double t = 310.0 * i + (r == most ? 300 : 100);
			program_coll(p, r,
				     (struct call){.op = "MPI_Barrier",
						   .from_us = t,
						   .to_us = 310.0 * i + 310,
						   .coll = COLL_BARRIER,
						   .line = MEETS});
		}
	*ret_end_us = 310.0 * STEPS;
	return p;
}

Test(replay, unchanged_it_is_the_recorded_run)
{
	double end_us;
	struct program *p = uneven(1, &end_us);
	struct replay *r = replay_of(p, end_us, 1000000, NULL);
	struct replay_result x = predict(r, as_it_was);
	near(x.recorded_s, end_us / 1e6, 0.01, "recorded");
	cr_assert_lt(fabs(x.gain), 1e-6);
	cr_assert_lt(x.error, 0.02);
	cr_assert_eq(x.given_up, 0);
	cr_assert_float_eq(x.covered, 1, 1e-12);
	replay_destroy(r);
}

/* The mean is 150 us a step, whoever has more of it. */
Test(replay, balanced_all_compute_as_long_as_the_mean)
{
	for (int heavy = -1; heavy < 2; heavy++) {
		double end_us;
		struct program *p = uneven(heavy, &end_us);
		struct replay *r = replay_of(p, end_us, 1000000, NULL);
		struct replay_change c = as_it_was;
		c.balance = true;
		near(predict(r, c).predicted_s, 160e-6 * STEPS, 0.02, "balanced");
		c = as_it_was;
		c.without_states = WAIT_AT_BARRIER;
		near(predict(r, c).predicted_s, 160e-6 * STEPS, 0.02, "without waiting at the barrier");
		replay_destroy(r);
	}
}

/* Phase by phase, what comes to each rank in turn is shared as well; that is not what is uneven in all. */
Test(replay, uneven_work_gains_no_more_than_was_lost_by_it)
{
	double end_us;
	struct program *p = uneven(-1, &end_us);
	struct replay *r = replay_of(p, end_us, 1000000, NULL);
	struct replay_issue issue = {.name = "load_imbalance", .loss = 0.1};
	struct replay_result x;
	cr_assert_eq(replay_predict_without(r, &issue, &x), 0);
	cr_expect_float_eq(x.gain, 0.1, 1e-9);
	cr_expect_float_eq(x.predicted_s, 0.9 * x.recorded_s, 1e-9);
	issue.loss = 0.9;
	cr_assert_eq(replay_predict_without(r, &issue, &x), 0);
	near(x.predicted_s, 160e-6 * STEPS, 0.02, "all of it");
	replay_destroy(r);
}

/* At a barrier that is not there nobody waits for a rank whose turn it is; one that always computes more is waited for
 * at the end. */
Test(replay, without_a_barrier_only_what_ranks_compute_in_all_counts)
{
	for (int heavy = -1; heavy < 2; heavy += 2) {
		double end_us;
		cJSON *root = NULL;
		struct program *p = uneven(heavy, &end_us);
		struct replay *r = replay_of(p, end_us, 1000000, &root);
		cJSON *issue = find_text(root, "issues", "issue", "barrier_imbalance");
		cr_assert_not_null(issue);
		uint32_t site = (uint32_t)cJSON_GetArrayItem(node_at(issue, "callsites"), 0)->valueint;
		struct replay_issue barrier = {.name = "barrier_imbalance", .callsites = &site, .ncallsites = 1};
		struct replay_result x;
		cr_assert_eq(replay_predict_without(r, &barrier, &x), 0);
		near(x.predicted_s, (heavy < 0 ? 160e-6 : 310e-6) * STEPS, 0.05, heavy < 0 ? "in turn" : "always");
		double parts[REPLAY_PARTS];
		cr_expect_eq(replay_parts_without(r, &barrier, parts), -ENOENT, "it is there or not");
		cr_expect_null(cJSON_GetObjectItem(cJSON_GetObjectItem(issue, "gain"), "parts"));
		barrier.ncallsites = 0;
		cr_expect_eq(replay_predict_without(r, &barrier, &x), -ENOENT);
		cJSON_Delete(root);
		replay_destroy(r);
	}
}

/* Both meet, the one or the other last; then rank 0 computes 100 us, sends, and is done; rank 1 receives, and computes
 * as long. */
static struct program *sends_late(void)
{
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < STEPS; i++) {
		double t = 420.0 * i;
		struct call meet = {.op = "MPI_Barrier", .to_us = t + 210, .coll = COLL_BARRIER, .line = MEETS};
		for (unsigned r = 0; r < 2; r++) {
			meet.from_us = t + (r == i % 2 ? 200 : 20);
			program_coll(p, r, meet);
		}
		program_send(p, 0,
			     (struct call){.op = "MPI_Send",
					   .from_us = t + 310,
					   .to_us = t + 312,
					   .peer = 1,
					   .bytes = 8,
					   .line = SENDS});
		program_recv(p, 1,
			     (struct call){.op = "MPI_Recv",
					   .from_us = t + 211,
					   .to_us = t + 315,
					   .peer = 0,
					   .bytes = 8,
					   .line = WAITS});
		meet.to_us = t + 420;
		meet.line = MEETS + 1;
		for (unsigned r = 0; r < 2; r++) {
			meet.from_us = t + (r == 0 ? 313 : 415);
			program_coll(p, r, meet);
		}
	}
	return p;
}

/* What a rank computed before all met is not what it was late by afterwards. */
Test(replay, without_a_place_that_delays_others_only_that_is_shorter)
{
	cJSON *root = NULL;
	struct replay *r = replay_of(sends_late(), 420.0 * STEPS, 1000000, &root);
	const cJSON *delay = find_text(root, "issues", "issue", "delay"), *sites = node_at(root, "callsites"), *row;
	uint32_t send = UINT32_MAX;
	cJSON_ArrayForEach(row, sites) if (strcmp(cJSON_GetObjectItem(row, "op")->valuestring, "MPI_Send") == 0) send =
		(uint32_t)cJSON_GetObjectItem(row, "id")->valueint;
	struct replay_issue issue = {.name = "delay", .callsites = &send, .ncallsites = 1};
	struct replay_result x;
	cr_assert_eq(replay_predict_without(r, &issue, &x), 0);
	near(x.predicted_s, 320e-6 * STEPS, 0.02, "rank 0 sends at once");
	cr_assert_not_null(delay);
	near(field(cJSON_GetObjectItem(delay, "gain"), "share"), x.gain, 0.02, "of places that delay, that gains most");
	double parts[REPLAY_PARTS];
	cr_assert_eq(replay_parts_without(r, &issue, parts), 0);
	for (unsigned k = 0; k < REPLAY_PARTS; k++) { /* one is late by so much, whatever else there is */
		near(parts[k], x.gain * (k + 1) / 4, 0.02, "a part of it");
		near(cJSON_GetArrayItem(node_at(cJSON_GetObjectItem(delay, "gain"), "parts"), (int)k)->valuedouble,
		     parts[k], 0.02, "the same in the analysis");
	}
	cJSON_Delete(root);
	replay_destroy(r);
}

Test(replay, a_rank_that_computes_less_gains_until_another_is_the_slowest)
{
	double end_us;
	struct program *p = uneven(2, &end_us);
	struct replay *r = replay_of(p, end_us, 1000000, NULL);
	struct replay_factor half = {REPLAY_ANY, 2, 0.5}, nothing = {REPLAY_ANY, 2, 0}, other = {REPLAY_ANY, 0, 0.5};
	struct replay_change c = as_it_was;
	c.nfactors = 1;
	c.factors = &half;
	near(predict(r, c).predicted_s, 160e-6 * STEPS, 0.02, "half");
	c.factors = &nothing;
	near(predict(r, c).predicted_s, 110e-6 * STEPS, 0.02, "nothing");
	c.factors = &other;
	cr_assert_lt(predict(r, c).gain, 1e-6, "another rank was not what it hung on");
	replay_destroy(r);
}

/* Rank 0 computes 200 us and sends, rank 1 computes 50 and receives; then both as long
 * again. A message takes transfer_us. */
static struct program *late(double transfer_us, uint64_t bytes, unsigned nodes)
{
	struct program *p = program_create(2, nodes);
	double step = 200 + transfer_us;
	for (unsigned i = 0; i < STEPS; i++) {
		double t = step * i;
		program_send(p, 0,
			     (struct call){.op = "MPI_Send",
					   .from_us = t + 200,
					   .to_us = t + step,
					   .peer = 1,
					   .bytes = bytes,
					   .line = SENDS});
		program_recv(p, 1,
			     (struct call){.op = "MPI_Recv",
					   .from_us = t + 50,
					   .to_us = t + step,
					   .peer = 0,
					   .bytes = bytes,
					   .line = WAITS});
	}
	return p;
}

Test(replay, a_sender_on_time_computes_as_long_as_its_receiver)
{
	struct replay *r = replay_of(late(10, 8, 1), 210 * STEPS, 1000000, NULL);
	struct replay_change c = as_it_was;
	c.without_states = LATE_SENDER;
	near(predict(r, c).predicted_s, 60e-6 * STEPS, 0.05, "on time");
	c.without_states = WAIT_AT_BARRIER;
	cr_assert_lt(predict(r, c).gain, 1e-6, "there is no such wait");
	replay_destroy(r);
}

/* Rank 0 computes 200 us and sends; rank 1 asks in vain until then, then once not in vain, and receives. Or it asks for
 * what nobody sends, and nothing tells what it asked for. */
static struct program *asks(bool receives)
{
	static const uint64_t words[] = {0, 0};
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < STEPS; i++) {
		double t = 220 * i;
		struct call send = {
			.op = "MPI_Send", .from_us = t + 200, .to_us = t + 201, .peer = 1, .bytes = 8, .line = SENDS};
		struct call ask = {.op = "MPI_Iprobe", .from_us = t + 1, .to_us = t + 205, .line = WAITS};
		program_poll(p, 1, ask, SIG_COMPLETE, words, 1, 1000, 150);
		if (receives) {
			program_send(p, 0, send);
			ask.from_us = t + 206, ask.to_us = t + 207;
			program_words(p, 1, ask, SIG_COMPLETE, 0, words, 1);
			program_recv(p, 1,
				     (struct call){.op = "MPI_Recv",
						   .from_us = t + 208,
						   .to_us = t + 210,
						   .peer = 0,
						   .bytes = 8,
						   .line = WAITS});
		} else {
			program_words(
				p, 0,
				(struct call){.op = "MPI_Get_processor_name", .from_us = t + 200, .to_us = t + 201},
				SIG_TIME, 0, NULL, 0);
		}
	}
	return p;
}

Test(replay, tests_in_vain_last_until_what_they_ask_for_is_sent)
{
	struct replay *r = replay_of(asks(true), 220 * STEPS, 1000000, NULL);
	struct replay_change c = as_it_was;
	c.factors = (struct replay_factor[]){{REPLAY_ANY, 0, 0.5}};
	c.nfactors = 1;
	struct replay_result x = predict(r, c);
	near(x.gain, 100. / 220, 0.1, "half of what rank 0 computes");
	cr_expect_lt(x.polls, 0.01, "%g", x.polls);
	replay_destroy(r);
	r = replay_of(asks(false), 220 * STEPS, 1000000, NULL);
	x = predict(r, as_it_was);
	cr_expect_gt(x.polls, 0.4, "of the time of both: %g", x.polls);
	replay_destroy(r);
}

Test(replay, a_faster_network_shortens_what_goes_between_nodes)
{
	struct replay_change c = as_it_was;
	double latency_ns, bandwidth;
	c.bandwidth = 2;
	struct replay *r = replay_of(late(400, 4000000, 2), 600 * STEPS, 1000000, NULL);
	replay_model(r, 1, &latency_ns, &bandwidth);
	near(bandwidth, 4000000 / 400e-6, 0.05, "bandwidth");
	near(predict(r, c).predicted_s, 400e-6 * STEPS, 0.05, "half of each transfer is gone");
	replay_destroy(r);
}

/* By turns the receiver waits and the sender does, since a large message moves when both are there. */
Test(replay, a_large_message_of_which_the_receiver_is_late_moves_when_it_comes)
{
	struct program *p = program_create(2, 1);
	struct replay_change c = as_it_was;
	for (unsigned i = 0; i < STEPS; i++) {
		double t = 600.0 * i, late = t + 200, early = t + 50;
		struct call s = {.op = "MPI_Send", .to_us = t + 600, .peer = 1, .bytes = 4000000, .line = SENDS};
		struct call r = {.op = "MPI_Recv", .to_us = t + 600, .peer = 0, .bytes = 4000000, .line = WAITS};
		s.from_us = i % 2 == 0 ? late : early;
		r.from_us = i % 2 == 0 ? early : late;
		program_send(p, 0, s);
		program_recv(p, 1, r);
	}
	struct replay *r = replay_of(p, 600 * STEPS, 1000000, NULL);
	struct replay_result x = predict(r, c);
	cr_expect_lt(x.error, 0.01, "%g off", x.error);
	c.bandwidth = 2;
	near(predict(r, c).predicted_s, 400e-6 * STEPS, 0.02, "half of each transfer is gone");
	replay_destroy(r);
}

Test(replay, intervals_stand_for_a_long_run)
{
	double end_us;
	struct program *p = uneven(1, &end_us);
	struct replay *r = replay_of(p, end_us, 60, NULL);
	struct replay_change c = as_it_was;
	c.balance = true;
	struct replay_result x = predict(r, c);
	cr_assert_leq(x.covered, 1);
	near(x.recorded_s, end_us / 1e6, 0.01, "recorded");
	near(x.gain, 1 - 160.0 / 310, 0.1, "gain");
	replay_destroy(r);
}

/* Three wait in one more barrier for the fourth, which dies when so much time has passed four times. */
static struct program *dies_late(double *ret_end_us)
{
	struct program *p = uneven(1, ret_end_us);
	for (unsigned r = 0; r < 3; r++)
		program_died_in(p, r,
				(struct call){.op = "MPI_Barrier",
					      .from_us = *ret_end_us + 10,
					      .peer = SIG_NO_ROOT,
					      .coll = COLL_BARRIER,
					      .line = MEETS + 1},
				SIG_COLL, 0);
	program_killed(p, 3, 11);
	return p;
}

/* As many calls at once as there are, or intervals of them: what was behind the last does not get shorter. */
Test(replay, of_a_run_that_died_is_of_the_time_until_its_last_call)
{
	for (uint64_t most = 60; most <= 60000; most *= 1000) {
		double end_us;
		cJSON *root;
		struct program *p = dies_late(&end_us);
		struct replay *r = replay_of(p, 4 * end_us, most, &root);
		struct replay_change c = as_it_was;
		struct replay_issue uneven = {.name = "load_imbalance", .loss = 0.9};
		c.balance = true;
		near(predict(r, c).recorded_s, end_us / 1e6, 0.01, "nothing else is known of it");
		replay_lasted(r, llround(4e3 * end_us));
		struct replay_result x = predict(r, c);
		near(x.recorded_s, 4 * end_us / 1e6, 0.01, "the run");
		near(x.calls_s, end_us / 1e6, 0.01, "its calls");
		near(x.gain_s, 150e-6 * STEPS, 0.1, "gained is what is gained in these");
		near(x.gain, (1 - 160.0 / 310) / 4, 0.1, "as a share of the run");
		near(x.predicted_s, x.recorded_s - x.gain_s, 1e-6, "predicted");
		cr_expect_leq(x.covered, 0.2501, "%g", x.covered);
		cr_expect_eq(replay_predict_without(r, &uneven, &x), -ENOENT,
			     "what was computed is mostly behind them");
		near(at_path(root, "replay.recorded_s"), 4 * end_us / 1e6, 0.01, "the analysis knows it");
		near(at_path(root, "replay.covered"), 0.25, 0.01, "and how much of it calls are");
		cr_expect_null(cJSON_GetObjectItem(issue(root, "load_imbalance"), "gain"));
		cJSON_Delete(root);
		replay_destroy(r);
	}
}

/* Rank 1 was ready and had no processor for 200 of its 310 us in each step: alike in all, or in its computing. */
Test(replay, without_waiting_for_processors_ranks_compute_in_their_own_time)
{
	double end_us;
	struct program *p = uneven(1, &end_us);
	struct replay *r = replay_of(p, end_us, 1000000, NULL);
	struct replay_rank ranks[4] = {{100, 310, 0, 0}, {300, 310, 200, 0}, {100, 310, NAN, 0}, {100, 310, 0, 0}};
	struct replay_issue issue = {.name = "busy_processors", .loss = 0.5, .ranks = ranks, .nranks = 4};
	struct replay_result x;
	cr_assert_eq(replay_predict_without(r, &issue, &x), 0);
	near(x.gain, (300 * 200. / 310) / 310, 0.03, "alike in all");
	near(x.gain_high, 200. / 310, 0.03, "in its computing");
	cr_expect_leq(x.gain_low, x.gain);
	ranks[1].processor_wait = 0;
	cr_assert_eq(replay_predict_without(r, &issue, &x), 0);
	cr_expect_lt(fabs(x.gain), 1e-6);
	issue.nranks = 0;
	cr_expect_eq(replay_predict_without(r, &issue, &x), -ENOENT);
	replay_destroy(r);
}

/* Ranks that share a core with one other each cannot gain more than half by cores of their own, whatever other programs
 * take; unless more than that is known to be lost. */
Test(replay, without_sharing_cores_no_more_is_gained_than_the_others_had)
{
	double end_us;
	struct program *p = uneven(1, &end_us);
	struct replay *r = replay_of(p, end_us, 1000000, NULL);
	struct replay_rank ranks[4] = {{100, 310, 200, 0}, {300, 310, 250, 0}, {100, 310, 200, 0}, {100, 310, 200, 0}};
	struct replay_issue issue = {.name = "oversubscription", .loss = 0.3, .value = 2, .ranks = ranks, .nranks = 4};
	struct replay_result x;
	cr_assert_eq(replay_predict_without(r, &issue, &x), 0);
	near(x.gain, 0.5, 1e-9, "its part of the core");
	cr_expect_leq(x.gain_high, 0.5 + 1e-9);
	issue.loss = 0.6;
	cr_assert_eq(replay_predict_without(r, &issue, &x), 0);
	near(x.gain, 0.6, 1e-9, "what is lost");
	replay_destroy(r);
}

Test(replay, without_a_slow_node_its_ranks_compute_as_others_do)
{
	double end_us;
	struct program *p = uneven(1, &end_us);
	struct replay *r = replay_of(p, end_us, 1000000, NULL);
	struct replay_rank ranks[4] = {{0}};
	struct replay_issue issue = {.name = "slow_node", .ranks = ranks, .nranks = 4};
	struct replay_result x;
	ranks[1].slower = 3;
	cr_assert_eq(replay_predict_without(r, &issue, &x), 0);
	near(x.predicted_s, 110e-6 * STEPS, 0.02, "as others");
	ranks[1].slower = 0;
	cr_assert_eq(replay_predict_without(r, &issue, &x), 0);
	cr_expect_lt(fabs(x.gain), 1e-6);
	replay_destroy(r);
}

Test(replay, an_issue_has_its_gain_and_the_verdict_says_it)
{
	double end_us;
	cJSON *root = NULL;
	struct program *p = uneven(1, &end_us);
	struct replay *r = replay_of(p, end_us, 1000000, &root);
	cJSON *issue = find_text(root, "issues", "issue", "load_imbalance");
	near(field(cJSON_GetObjectItem(issue, "gain"), "share"), 1 - 160.0 / 310, 0.05, "gain");
	cr_assert_not_null(strstr(cJSON_GetObjectItem(root, "verdict")->valuestring, "save 48 % of the run"), "%s",
			   cJSON_GetObjectItem(root, "verdict")->valuestring);
	cr_assert(at_path(root, "replay.error") < 0.02);
	cJSON_Delete(root);
	replay_destroy(r);
}

/* A message of which the sender is not in the record holds nobody up. */
Test(replay, what_never_came_keeps_nobody_from_the_end)
{
	struct program *p = program_create(2, 1);
	for (unsigned r = 0; r < 2; r++) {
		program_recv(p, r,
			     (struct call){.op = "MPI_Recv",
					   .from_us = 10,
					   .to_us = 20,
					   .peer = (int)(1 - r),
					   .bytes = 8,
					   .line = WAITS});
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier", .from_us = 90, .to_us = 100, .coll = COLL_BARRIER});
	}
	struct replay *r = replay_of(p, 100, 1000000, NULL);
	near(predict(r, as_it_was).predicted_s, 90e-6, 0.02, "from the first call to the last");
	replay_destroy(r);
}
