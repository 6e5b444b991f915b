/* overhead.c - "overhead": what the tracing itself cost, and by how much the run became longer for it.
 *
 * What ranks took for it themselves is a share of their thread time: of ranks that take turns, each is behind by what
 * the other traced, and traces itself while it waits for it. The agent costs nothing as long as there is a processor
 * for it. Where ranks were ready to run and had none, it may have been in the place of one for as long, and all ranks
 * of the node are then behind by that; where more ranks than processors take turns, the loss is shared by all of
 * these. */
#include "postproc/analysis.h"

#include <math.h>

struct cost {
	double calls, fast_ns; /* of processes that measured what an ordinary call costs */
	double ns, slow_ns, thread_ns;
	double lived_ns,
		displaced_ns; /* of each rank once, hung or not; of it, what the agent of its node may have taken */
	uint64_t slow_calls;
	uint32_t worst;
	bool known;
};

static bool has_overhead(const struct analysis *a, uint32_t r)
{
	const struct process *p = a->step->ranks[r];
	return p != NULL && (!isnan(p->overhead_ns) || a->ranks[r].slow_calls > 0);
}

/* The agent goes on where nobody advances any more, and nobody waits for a tracer there. */
static double lived_ns(const struct rank_totals *t)
{
	return t->region_ns + t->hung_ns;
}

static void add_rank(struct cost *c, const struct analysis *a, uint32_t r)
{
	const struct process *p = a->step->ranks[r];
	const struct rank_totals *t = &a->ranks[r];
	if (!has_overhead(a, r))
		return;
	if (!isnan(p->overhead_ns)) {
		c->calls += (double)t->calls;
		c->fast_ns += t->fast_ns;
	}
	c->ns += t->threads_tracing_ns;
	c->slow_ns += t->slow_ns;
	c->slow_calls += t->slow_calls;
	c->thread_ns += lived_ns(t) * (double)t->threads;
	c->lived_ns += lived_ns(t);
	if (!c->known || tracing_share(t) > tracing_share(&a->ranks[c->worst]))
		c->worst = r;
	c->known = true;
}

static double agent_ns(const struct node *n)
{
	return fmax(0, json_number_or(n->meta, "agent_ns", 0));
}

/* Between the first MPI_Init and the last MPI_Finalize; older traces do not tell. */
static double beside_ns(const struct node *n)
{
	return fmax(0, json_number_or(n->meta, "agent_beside_ns", agent_ns(n)));
}

static void add_node(struct cost *c, const struct analysis *a, uint32_t node)
{
	const struct node *n = &a->step->nodes.at[node];
	double ready_ns = 0, ranks = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		const struct process *p = a->step->ranks[r];
		if (p == NULL || p->node != node)
			continue;
		ranks++;
		ready_ns += p->processor_wait_ns > 0 ? p->processor_wait_ns : 0;
	}
	double processors = json_number_or(cJSON_GetObjectItemCaseSensitive(n->meta, "topology"), "pus", 0);
	double taken_ns = fmin(beside_ns(n), ready_ns) / (ranks > processors ? fmax(1, processors) : 1);
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (has_overhead(a, r) && a->step->ranks[r]->node == node)
			c->displaced_ns += fmin(taken_ns, lived_ns(&a->ranks[r]));
}

static void put_shares(cJSON *o, const struct analysis *a, struct cost *c)
{
	double agents_ns = 0;
	for (uint32_t i = 0; i < a->step->nodes.n; i++) {
		add_node(c, a, i);
		agents_ns += agent_ns(&a->step->nodes.at[i]);
	}
	double agent_share = c->lived_ns > 0 ? c->displaced_ns / c->lived_ns : NAN;
	json_put_null_or(o, "share", c->thread_ns > 0 ? fmin(1, c->ns / c->thread_ns + agent_share) : NAN);
	json_put(o, "agent_s", agents_ns / 1e9);
	json_put_null_or(o, "agent_share", agent_share);
}

int analysis_overhead(struct analysis *a)
{
	struct cost c = {0};
	for (uint32_t r = 0; r < a->step->nranks; r++)
		add_rank(&c, a, r);
	cJSON *o = json_object(a->root, "overhead");
	json_put_null_or(o, "ns_per_call", c.calls > 0 ? c.fast_ns / c.calls : NAN);
	put_shares(o, a, &c);
	json_put(o, "tracing_s", c.ns / 1e9);
	json_put(o, "slow_calls", (double)c.slow_calls);
	json_put(o, "slow_s", c.slow_ns / 1e9);
	json_put_null_or(o, "worst_rank", c.known ? c.worst : NAN);
	json_put_null_or(o, "worst_share", c.known ? tracing_share(&a->ranks[c.worst]) : NAN);
	return 0;
}
