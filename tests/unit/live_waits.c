/* live_waits.c - what is a deadlock and what only looks like one at the moment of a sample: rank 0 receives from rank
 * 1. */
#include "live/look.h"

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
