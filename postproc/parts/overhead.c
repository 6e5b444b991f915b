/* overhead.c - "overhead": what the tracing itself cost. Shares are of the ranks' thread time: the traced
 * region, once for each thread that called MPI. */
#include "postproc/analysis.h"

#include <math.h>

struct cost {
	double calls, fast_ns; /* of processes that measured what an ordinary call costs */
	double ns, slow_ns, thread_ns;
	uint64_t slow_calls;
	uint32_t worst;
	bool known;
};

static void add_rank(struct cost *c, const struct analysis *a, uint32_t r)
{
	const struct process *p = a->step->ranks[r];
	const struct rank_totals *t = &a->ranks[r];
	if (p == NULL || (isnan(p->overhead_ns) && t->slow_calls == 0))
		return;
	if (!isnan(p->overhead_ns)) {
		c->calls += (double)t->calls;
		c->fast_ns += (double)t->calls * p->overhead_ns;
	}
	c->ns += t->threads_tracing_ns;
	c->slow_ns += t->slow_ns;
	c->slow_calls += t->slow_calls;
	c->thread_ns += t->region_ns * (double)t->threads;
	if (!c->known || tracing_share(t) > tracing_share(&a->ranks[c->worst]))
		c->worst = r;
	c->known = true;
}

int part_overhead(struct analysis *a)
{
	struct cost c = {0};
	for (uint32_t r = 0; r < a->step->nranks; r++)
		add_rank(&c, a, r);
	cJSON *o = json_object(a->root, "overhead");
	json_put_null_or(o, "ns_per_call", c.calls > 0 ? c.fast_ns / c.calls : NAN);
	json_put_null_or(o, "share", c.thread_ns > 0 ? fmin(1, c.ns / c.thread_ns) : NAN);
	json_put(o, "tracing_s", c.ns / 1e9);
	json_put(o, "slow_calls", (double)c.slow_calls);
	json_put(o, "slow_s", c.slow_ns / 1e9);
	json_put_null_or(o, "worst_rank", c.known ? c.worst : NAN);
	json_put_null_or(o, "worst_share", c.known ? tracing_share(&a->ranks[c.worst]) : NAN);
	return 0;
}
