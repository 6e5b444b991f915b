/* live_waits.c - what is a deadlock and what only looks like one at the moment of a sample: rank 0 receives from rank
 * 1. */
#include "postproc/live/look.h"

#include <criterion/criterion.h>
#include <math.h>

static int32_t world[] = {0, 1};
static struct comm comm = {.group = world, .size = 2, .parent = NONE};
static char *ops[] = {"MPI_Recv", "MPI_Finalize"};
static struct sig receive = {.op = 0, .peer = 1, .recv_peer = 1, .site = NONE, .call = {.shape = SIG_RECV}};
static struct sig finalize = {.op = 1, .comm = NONE, .site = NONE};
static struct live_process processes[2];
static struct live_rank ranks[2];
static struct look l;

static void begin(void)
{
	l = (struct look){.step = {.nranks = 2, .comms = {.at = &comm, .n = 1}, .ops = {.at = ops, .n = 2}},
			  .ranks = {.at = ranks, .n = 2}};
	for (int r = 0; r < 2; r++)
		ranks[r] = (struct live_rank){.state = LIVE_MPI,
					      .still = true,
					      .since_s = 1.5,
					      .off_processor = NAN,
					      .process = &processes[r]};
	ranks[0].sig = &receive;
	ranks[1].sig = &finalize;
}

static void end(void)
{
	for (size_t i = 0; i < l.deadlocks.n; i++) {
		vec_done(&l.deadlocks.at[i].ranks);
		free(l.deadlocks.at[i].why);
	}
	vec_done(&l.deadlocks);
}

Test(live_waits, who_receives_from_one_that_has_left_waits_for_ever, .init = begin, .fini = end)
{
	cr_assert_eq(look_waits(&l), 0);
	cr_assert(l.stuck && l.deadlocks.n == 1);
	cr_assert_str_eq(l.deadlocks.at[0].why,
			 "rank 0 in MPI_Recv from rank 1, tag 0 for 1.50 s; rank 1 in MPI_Finalize for 1.50 s");
	end();
	l.deadlocks = (typeof(l.deadlocks)){0};
	ranks[1].state = LIVE_ENDED;
	cr_assert_eq(look_waits(&l), 0);
	cr_assert(l.stuck && l.deadlocks.n == 1);
}

/* The message was sent in the last interval, and the receiver has not seen it yet. */
Test(live_waits, who_has_only_just_left_may_have_sent_it, .init = begin, .fini = end)
{
	ranks[1].still = false;
	cr_assert_eq(look_waits(&l), 0);
	cr_assert(!l.stuck && l.deadlocks.n == 0);
	ranks[1].state = LIVE_ENDED;
	cr_assert_eq(look_waits(&l), 0);
	cr_assert(!l.stuck && l.deadlocks.n == 0);
	ranks[0].since_s = 1e4; /* however long it has waited */
	cr_assert_eq(look_waits(&l), 0);
	cr_assert(!l.stuck && l.deadlocks.n == 0);
}

/* Its message may lie there since long: it takes it when it is continued. */
Test(live_waits, who_is_stopped_by_a_signal_can_go_on, .init = begin, .fini = end)
{
	ranks[0].stopped = true;
	cr_assert_eq(look_waits(&l), 0);
	cr_assert(!l.stuck && l.deadlocks.n == 0);
}

/* ---- samples of nodes that are not of one moment ---- */

#define SECOND 1000000000ll

static struct sig receive_back = {.op = 0, .peer = 0, .recv_peer = 0, .site = NONE, .call = {.shape = SIG_RECV}};
static struct live_node nodes[2];
static enum live_node_state node_states[2];

/* Each receives from the other; node 1 is `ahead` seconds further, and rank 1 is in its call for `since_s`. */
static void apart(int64_t ahead, double since_s)
{
	begin();
	for (int n = 0; n < 2; n++) {
		nodes[n] = (struct live_node){.samples = 9,
					      .realtime_ns = (100 + n * ahead) * SECOND,
					      .interval_ns = SECOND,
					      .gap_ns = SECOND};
		node_states[n] = NODE_SAMPLED;
		ranks[n].node = &nodes[n];
	}
	ranks[1].sig = &receive_back;
	ranks[1].since_s = since_s;
	l.nodes = (typeof(l.nodes)){.at = nodes, .n = 2};
	l.node_states = (typeof(l.node_states)){.at = node_states, .n = 2};
	l.realtime_ns = nodes[1].realtime_ns;
}

Test(live_waits, a_deadlock_is_one_also_while_one_node_is_a_sample_ahead, .fini = end)
{
	for (int64_t ahead = 0; ahead < 4; ahead++) {
		apart(ahead, 9);
		cr_assert_eq(look_waits(&l), 0);
		cr_expect(l.stuck && l.deadlocks.n == 1, "%d samples ahead", (int)ahead);
		if (ahead < 3)
			end(), l.deadlocks = (typeof(l.deadlocks)){0};
	}
}

/* At the last moment that both have sampled rank 1 was outside of MPI: it may have sent what rank 0 takes next. */
Test(live_waits, who_is_ahead_counts_as_of_the_last_common_moment, .fini = end)
{
	apart(1, 1.9);
	cr_assert_eq(look_waits(&l), 0);
	cr_expect(!l.stuck && l.deadlocks.n == 0);
	apart(1, 2.1);
	cr_assert_eq(look_waits(&l), 0);
	cr_expect(l.stuck && l.deadlocks.n == 1);
}

/* Its agent took no sample since: it has left all the same. */
Test(live_waits, who_waits_for_a_node_that_has_ended_waits_for_ever, .fini = end)
{
	apart(5, 9);
	nodes[0].realtime_ns = 200 * SECOND;
	l.realtime_ns = 200 * SECOND;
	node_states[1] = NODE_ENDED;
	ranks[1].state = LIVE_ENDED;
	cr_assert_eq(look_waits(&l), 0);
	cr_expect(l.stuck && l.deadlocks.n == 1);
}

Test(live_waits, who_ended_behind_the_last_common_moment_may_have_sent_it, .fini = end)
{
	for (uint64_t ran = 5; ran < 8; ran++) { /* of nine samples, of which the last is not there of the other node */
		apart(1, 9);
		processes[1].ran = ran;
		ranks[1].state = LIVE_ENDED;
		cr_assert_eq(look_waits(&l), 0);
		cr_expect_eq(l.stuck, ran == 5, "%d", (int)ran);
		if (ran < 7)
			end(), l.deadlocks = (typeof(l.deadlocks)){0};
	}
	processes[1].ran = 0;
	end(), l.deadlocks = (typeof(l.deadlocks)){0};
	apart(1, 9);
	ranks[1].state = LIVE_ENDED;
	ranks[1].process = NULL; /* its file says so, and no sample has it */
	cr_assert_eq(look_waits(&l), 0);
	cr_expect(l.stuck);
}
