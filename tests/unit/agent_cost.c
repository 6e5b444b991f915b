/* agent_cost.c - what of the agent's time is beside its ranks. In: readings as if made, and two segment heads. */
#include "collect/agent_cost.h"

#include <criterion/criterion.h>

static struct segfile heads[2];
static struct process ranks[2];

static void setup(void)
{
	for (unsigned i = 0; i < 2; i++) {
		heads[i].init_exit_tick = heads[i].finalize_enter_tick = 0;
		ranks[i] = (struct process){.file = &heads[i]};
	}
}

TestSuite(agent_cost, .init = setup);

/* The agent used `used_ns` by then, and looks at the first n ranks. */
static void round_at(struct agent_cost *b, uint64_t tick, int64_t used_ns, uint32_t n)
{
	agent_cost_read(b, tick, used_ns);
	agent_cost_update(b, ranks, n);
}

Test(agent_cost, counts_from_the_first_init_to_the_last_finalize)
{
	struct agent_cost b = {0};
	round_at(&b, 1000, 100, 0);
	round_at(&b, 2000, 300, 2);
	cr_expect_eq(agent_cost_ns(&b), 0, "nobody came out of MPI_Init: %lld", (long long)agent_cost_ns(&b));
	heads[1].init_exit_tick = 2500;
	heads[0].init_exit_tick = 2900;
	round_at(&b, 3000, 700, 2); /* 500 when the first one came */
	round_at(&b, 4000, 800, 2);
	cr_expect_eq(agent_cost_ns(&b), 300);
	heads[0].finalize_enter_tick = 4100;
	round_at(&b, 5000, 1000, 2);
	cr_expect_eq(agent_cost_ns(&b), 500, "one is still there");
	heads[1].finalize_enter_tick = 5250;
	round_at(&b, 6000, 1400, 2); /* 1,100 when the last one left */
	round_at(&b, 7000, 9000, 2);
	cr_expect_eq(agent_cost_ns(&b), 600);
}

Test(agent_cost, who_is_gone_without_finalize_left_when_that_was_seen)
{
	struct agent_cost b = {0};
	heads[0].init_exit_tick = 10;
	round_at(&b, 20, 5, 1);
	round_at(&b, 30, 7, 1);
	ranks[0].gone = true;
	round_at(&b, 40, 9, 1);
	round_at(&b, 50, 100, 1);
	cr_expect_eq(agent_cost_ns(&b), 4);
}

Test(agent_cost, who_comes_later_goes_on)
{
	struct agent_cost b = {0};
	heads[0].init_exit_tick = 10;
	round_at(&b, 10, 0, 1);
	heads[0].finalize_enter_tick = 20;
	round_at(&b, 20, 50, 1);
	round_at(&b, 30, 60, 1);
	cr_expect_eq(agent_cost_ns(&b), 50);
	round_at(&b, 40, 70, 2); /* it was spawned */
	cr_expect_eq(agent_cost_ns(&b), 70);
	heads[1].init_exit_tick = 35;
	heads[1].finalize_enter_tick = 50;
	round_at(&b, 50, 90, 2);
	round_at(&b, 60, 99, 2);
	cr_expect_eq(agent_cost_ns(&b), 90);
}

/* Of what was long ago the oldest reading says it: never more than was used, and never less than nothing. */
Test(agent_cost, a_moment_before_all_readings_is_the_oldest)
{
	struct agent_cost b = {0};
	for (int i = 0; i < 20; i++)
		round_at(&b, 1000 + (uint64_t)i, 100 * i, 0);
	heads[0] = (struct segfile){.init_exit_tick = 1, .finalize_enter_tick = 2};
	round_at(&b, 2000, 5000, 1);
	cr_expect_eq(agent_cost_ns(&b), 0);
}
