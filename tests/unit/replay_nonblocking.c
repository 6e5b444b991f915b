/* replay_nonblocking.c - the replay of what is nonblocking, and of what is made so. */
#include "replayed.h"

/* All start it, and compute as in uneven(); nobody is through before the last comes to complete it. */
static struct program *uneven_meanwhile(int heavy, double *ret_end_us)
{
	struct program *p = program_create(4, 1);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned r = 0; r < 4; r++) {
			double t = 310.0 * i;
			struct call start = {.op = "MPI_Iallreduce",
					     .from_us = t,
					     .to_us = t + 1,
					     .peer = SIG_NO_ROOT,
					     .bytes = 8,
					     .from_each = 8,
					     .coll = COLL_ALLREDUCE,
					     .flags = SIG_STARTS_REQUEST,
					     .line = MEETS};
			program_coll(p, r, start);
			struct done done = {program_serial(p, r), NO_STATUS, 0, 0, false};
			unsigned most = heavy < 0 ? i % 4 : (unsigned)heavy;
			double from = t + 1 + (r == most ? 300 : 100);
			program_wait(p, r,
				     (struct call){.op = "MPI_Wait", .from_us = from, .to_us = t + 310, .line = WAITS},
				     &done, 1);
		}
	*ret_end_us = 310.0 * STEPS;
	return p;
}

Test(replay, who_completes_a_collective_waits_for_the_last_that_comes_to_do_so)
{
	for (int heavy = -1; heavy < 2; heavy++) {
		double end_us;
		struct program *p = uneven_meanwhile(heavy, &end_us);
		struct replay *r = replay_of(p, end_us, 1000000, NULL);
		struct replay_change c = as_it_was;
		struct replay_factor longer = {REPLAY_ANY, 3, 4};
		struct replay_result x = predict(r, c);
		cr_assert_lt(x.error, 0.01, "%g off", x.error);
		c.balance = true;
		near(predict(r, c).predicted_s, 160e-6 * STEPS, 0.02, "balanced");
		c = as_it_was;
		c.without_states = WAIT_AT_NXN;
		near(predict(r, c).predicted_s, 160e-6 * STEPS, 0.02, "without waiting at it");
		c = as_it_was;
		c.factors = &longer;
		c.nfactors = 1;
		x = predict(r, c);
		if (heavy == 1) /* who was never waited for is, when it is the last */
			near(x.predicted_s, 410e-6 * STEPS, 0.02, "another longer");
		cr_expect_float_eq(x.gain_low, x.gain_high, 0.02, "both ways");
		replay_destroy(r);
	}
}

/* Rank 0 sends when it has computed 100 us; rank 1 receives, and then computes 60 us. They meet, if asked. */
static struct program *receives_early(bool meet, double *ret_end_us)
{
	struct program *p = program_create(2, 1);
	double step = meet ? 170 : 162;
	for (unsigned i = 0; i < STEPS; i++) {
		double t = step * i;
		struct call c = {.op = "MPI_Send", .from_us = t + 100, .to_us = t + 101, .bytes = 8, .line = SENDS};
		c.peer = 1;
		program_send(p, 0, c);
		c = (struct call){.op = "MPI_Recv", .from_us = t, .to_us = t + 102, .bytes = 8, .line = WAITS};
		program_recv(p, 1, c);
		for (unsigned r = 0; r < 2 && meet; r++)
			program_coll(p, r,
				     (struct call){.op = "MPI_Barrier",
						   .from_us = t + (r == 0 ? 101 : 162),
						   .to_us = t + 170,
						   .coll = COLL_BARRIER,
						   .line = MEETS});
	}
	*ret_end_us = step * STEPS;
	return p;
}

static uint32_t site_of(const cJSON *root, const char *op)
{
	const cJSON *row = find_text(root, "callsites", "op", op);
	cr_assert_not_null(row);
	return (uint32_t)cJSON_GetObjectItem(row, "id")->valueint;
}

/* It is over before the next call that may pass on what came, or the next of its kind from the same rank. */
Test(replay, a_nonblocking_receive_lasts_while_its_rank_computes)
{
	for (int meet = 0; meet < 2; meet++) {
		double end_us;
		cJSON *root = NULL;
		struct program *p = receives_early(meet != 0, &end_us);
		struct replay *r = replay_of(p, end_us, 1000000, &root);
		uint32_t site = site_of(root, "MPI_Recv");
		struct replay_change c = as_it_was;
		c.nonblocking = &site;
		c.nnonblocking = 1;
		struct replay_result x = predict(r, c);
		cr_expect_eq(x.put_off, STEPS);
		near(x.predicted_s, (meet != 0 ? 110e-6 : 161e-6) * STEPS, 0.02, meet != 0 ? "meets" : "goes on");
		site = site_of(root, "MPI_Send");
		cr_expect_eq(predict(r, c).put_off, 0, "it waits for nobody");
		cJSON_Delete(root);
		replay_destroy(r);
	}
}

/* In turn a rank computes 100 us more, before it and behind it: what the one has less the other may have more. */
Test(replay, a_nonblocking_collective_is_completed_when_all_have_come)
{
	cJSON *root = NULL;
	struct program *p = program_create(4, 1);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned r = 0; r < 4; r++) {
			double t = 250.0 * i;
			struct call c = {.op = "MPI_Allreduce", .to_us = t + 122, .peer = SIG_NO_ROOT, .bytes = 8};
			c.from_us = t + (r == i % 4 ? 120 : 20);
			c.coll = COLL_ALLREDUCE;
			c.from_each = 8;
			c.line = WAITS;
			program_coll(p, r, c);
			c = (struct call){.op = "MPI_Barrier", .to_us = t + 250, .coll = COLL_BARRIER, .line = MEETS};
			c.from_us = t + 122 + (r == (i + 1) % 4 ? 120 : 20);
			program_coll(p, r, c);
		}
	struct replay *r = replay_of(p, 250.0 * STEPS, 1000000, &root);
	uint32_t site = site_of(root, "MPI_Allreduce");
	struct replay_change c = as_it_was;
	c.nonblocking = &site;
	c.nnonblocking = 1;
	struct replay_result x = predict(r, c);
	cr_expect_eq(x.put_off, 4 * STEPS);
	near(x.predicted_s, 150e-6 * STEPS, 0.02, "nonblocking");
	cr_expect(x.gain_low <= x.gain && x.gain <= x.gain_high);
	cJSON_Delete(root);
	replay_destroy(r);
}

/* Each in turn computes 400 us between the starts of an exchange of large messages and its end, the other 100. */
static struct program *exchanges(void)
{
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned r = 0; r < 2; r++) {
			double t = 410.0 * i;
			struct call c = {.op = "MPI_Irecv", .from_us = t, .to_us = t + 1, .bytes = 8192, .line = MEETS};
			c.flags = SIG_STARTS_REQUEST;
			c.peer = 1 - (int)r;
			program_recv(p, r, c);
			struct done done[2] = {{program_serial(p, r), 1 - (int)r, 0, 8192, false}};
			c.op = "MPI_Isend";
			c.from_us = t + 1;
			c.to_us = t + 2;
			c.line = SENDS;
			program_send(p, r, c);
			done[1] = (struct done){program_serial(p, r), NO_STATUS, 0, 0, false};
			struct call both = {.op = "MPI_Waitall", .to_us = t + 410, .line = WAITS};
			both.from_us = t + 2 + (r == i % 2 ? 400 : 100);
			program_wait(p, r, both, done, 2);
		}
	return p;
}

Test(replay, large_messages_are_complete_when_both_sides_have_come_to_do_so)
{
	struct replay *r = replay_of(exchanges(), 410.0 * STEPS, 1000000, NULL);
	struct replay_factor shorter[] = {{REPLAY_ANY, 0, 0.25}, {REPLAY_ANY, 1, 0.25}};
	struct replay_change c = as_it_was;
	struct replay_result x = predict(r, c);
	cr_assert_lt(x.error, 0.01, "%g off", x.error);
	c.factors = shorter;
	c.nfactors = 2;
	near(predict(r, c).predicted_s, (100 + 10) * 1e-6 * STEPS, 0.03, "all computing a quarter");
	replay_destroy(r);
}

/* Both compute 100 us, send each other 4 MB, the second one a little later, and wait for both messages at once. */
static struct program *large_exchanges(double transfer_us)
{
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned r = 0; r < 2; r++) {
			double t = (103 + transfer_us) * i + 100 + 2 * r;
			struct call c = {.op = "MPI_Irecv", .from_us = t, .to_us = t + .5, .line = MEETS};
			c.bytes = 4000000;
			c.flags = SIG_STARTS_REQUEST;
			c.peer = 1 - (int)r;
			program_recv(p, r, c);
			struct done done[2] = {{program_serial(p, r), 1 - (int)r, 0, 4000000, false}};
			c.op = "MPI_Isend";
			c.from_us = t + 1;
			c.to_us = t + 1.5;
			c.line = SENDS;
			program_send(p, r, c);
			done[1] = (struct done){program_serial(p, r), NO_STATUS, 0, 0, false};
			struct call both = {.op = "MPI_Waitall", .from_us = t + 1.5, .line = WAITS};
			both.to_us = (103 + transfer_us) * i + 103 + transfer_us;
			program_wait(p, r, both, done, 2);
		}
	return p;
}

Test(replay, what_two_messages_take_that_a_call_waits_for_is_seen)
{
	struct replay *r = replay_of(large_exchanges(400), 503.0 * STEPS, 1000000, NULL);
	struct replay_change c = as_it_was;
	double latency_ns, bandwidth;
	replay_model(r, 0, &latency_ns, &bandwidth);
	near(bandwidth, 4000000 / 400e-6, 0.02, "bandwidth");
	c.bandwidth = 2;
	struct replay_result x = predict(r, c);
	near(x.predicted_s, 303e-6 * STEPS, 0.02, "half of each transfer is gone");
	cr_expect(!x.unseen);
	replay_destroy(r);
}

/* What all exchange in a collective is seen by nobody: a part of it may be latency, and all of it bandwidth. */
Test(replay, of_a_network_that_was_not_seen_only_a_range_is_known)
{
	const uint64_t bytes[] = {4000000, 8};
	for (size_t i = 0; i < 2; i++) {
		struct program *p = program_create(2, 1);
		for (unsigned step = 0; step < STEPS; step++)
			for (unsigned rank = 0; rank < 2; rank++) {
				struct call c = {.op = "MPI_Alltoall", .from_us = 500.0 * step + 100, .line = MEETS};
				c.to_us = c.from_us + 400;
				c.peer = SIG_NO_ROOT;
				c.coll = COLL_ALLTOALL;
				c.bytes = c.from_each = bytes[i];
				program_coll(p, rank, c);
			}
		struct replay *r = replay_of(p, 500.0 * STEPS, 1000000, NULL);
		struct replay_change network = as_it_was, latency = as_it_was;
		network.bandwidth = 2;
		latency.latency = 0.5;
		struct replay_result x = predict(r, network), y = predict(r, latency);
		cr_expect_eq(x.unseen && y.unseen, bytes[i] > 8, "%zu", i);
		near(y.gain, 0.4, 0.02, "half of it, if all is latency");
		near(y.gain_high, 0.4, 0.02, "and no more");
		cr_expect_lt(x.gain, 0.01, "%g", x.gain);
		if (bytes[i] > 8) {
			near(x.gain_high, 0.4, 0.02, "half of it, if all is bandwidth");
			cr_expect_leq(y.gain_low, 0);
		}
		replay_destroy(r);
	}
}

/* A leaf that sends its part early is held back until the root calls MPI, for whatever. */
Test(replay, a_leaf_is_held_back_until_its_root_comes_to_mpi)
{
	struct program *p = program_create(2, 1);
	uint32_t alone = program_comm(p, "alone", (const int32_t[]){0}, 1);
	for (unsigned i = 0; i < STEPS; i++) {
		double t = 310.0 * i;
		struct call c = {.op = "MPI_Reduce", .coll = COLL_REDUCE, .bytes = 8, .line = MEETS};
		c.from_us = t + 10;
		c.to_us = t + 202;
		program_coll(p, 1, c);
		program_coll(p, 0,
			     (struct call){.op = "MPI_Barrier",
					   .comm = alone,
					   .from_us = t + 200,
					   .to_us = t + 201,
					   .coll = COLL_BARRIER,
					   .line = SENDS});
		c.from_us = t + 300;
		c.to_us = t + 301;
		program_coll(p, 0, c);
	}
	struct replay *r = replay_of(p, 310.0 * STEPS, 1000000, NULL);
	struct replay_factor shorter = {REPLAY_ANY, 0, 0.1};
	struct replay_change c = as_it_was;
	cr_assert_lt(predict(r, c).error, 0.01);
	c.factors = &shorter;
	c.nfactors = 1;
	cr_expect_lt(predict(r, c).predicted_s, 130e-6 * STEPS, "whose root computes less");
	replay_destroy(r);
}
