/* agent_cost.c - see agent_cost.h. */
#include "collect/agent_cost.h"

void agent_cost_read(struct agent_cost *b, uint64_t tick, int64_t used_ns)
{
	b->readings[b->nreadings++ % AGENT_COST_READINGS] = (struct agent_cost_reading){tick, used_ns};
}

/* The i-th newest. */
static const struct agent_cost_reading *reading(const struct agent_cost *b, uint64_t i)
{
	return &b->readings[(b->nreadings - 1 - i) % AGENT_COST_READINGS];
}

/* Of a moment before all readings that are kept the oldest says it. */
static int64_t used_at(const struct agent_cost *b, uint64_t tick)
{
	uint64_t kept = b->nreadings < AGENT_COST_READINGS ? b->nreadings : AGENT_COST_READINGS;
	uint64_t i = 0;
	while (i + 1 < kept && reading(b, i)->tick > tick)
		i++;
	const struct agent_cost_reading *before = reading(b, i), *after = i > 0 ? reading(b, i - 1) : before;
	if (tick <= before->tick || after->tick <= before->tick)
		return before->used_ns;
	double part = (double)(tick - before->tick) / (double)(after->tick - before->tick);
	return before->used_ns + (int64_t)(part * (double)(after->used_ns - before->used_ns));
}

/* When it left; 0: it is there, or on its way. */
static uint64_t left_tick(const struct process *p, uint64_t now)
{
	uint64_t tick = p->file->finalize_enter_tick;
	return tick != 0 ? tick : p->gone ? now : 0;
}

void agent_cost_update(struct agent_cost *b, const struct process *processes, uint32_t n)
{
	uint64_t first = UINT64_MAX, last = 0, now = reading(b, 0)->tick;
	bool all_left = n > 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t came = processes[i].file->init_exit_tick, left = left_tick(&processes[i], now);
		first = came != 0 && came < first ? came : first;
		last = left > last ? left : last;
		all_left = all_left && left != 0;
	}
	if (!b->begun && first != UINT64_MAX) {
		b->begun = true;
		b->from_ns = used_at(b, first);
	}
	if (all_left && !b->ended) /* who comes later, of another world, goes on where these ended */
		b->to_ns = used_at(b, last);
	b->ended = all_left;
}

int64_t agent_cost_ns(const struct agent_cost *b)
{
	if (!b->begun)
		return 0;
	int64_t to_ns = b->ended ? b->to_ns : reading(b, 0)->used_ns;
	return to_ns > b->from_ns ? to_ns - b->from_ns : 0;
}
