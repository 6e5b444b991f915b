/* summary.c - "summary": the step in ten numbers. Transfers are matched messages, counted
 * once. */
#include "postproc/analysis.h"

static double pairs_used(const struct analysis *a)
{
	double n = 0;
	for (size_t i = 0; i < a->p2p.links.n; i++)
		n += a->p2p.links.at[i].src != a->p2p.links.at[i].dst;
	return n + (double)a->p2p.links_left_out;
}

int analysis_summary(struct analysis *a)
{
	double n = a->step->nranks, events = 0, completions = 0, barriers = 0, collectives = 0, peers = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		const struct rank_totals *t = &a->ranks[r];
		events += (double)step_events(a->step->ranks[r]);
		completions += (double)t->completions;
		barriers += (double)t->barriers;
		collectives += (double)t->collectives;
		peers += (double)t->peers;
	}
	cJSON *s = json_object(a->root, "summary");
	json_put(s, "events", events);
	json_put(s, "transfers", (double)a->tally.transfers);
	json_put(s, "bytes", (double)a->tally.bytes);
	json_put(s, "messages_sent", (double)a->p2p.count);
	json_put(s, "bytes_sent", (double)a->p2p.bytes);
	json_put(s, "collective_bytes", (double)a->coll.bytes);
	json_put(s, "completions", completions);
	json_put(s, "barriers", barriers);
	json_put(s, "collectives", collectives);
	json_put_seconds(s, "runtime_s", a->step->runtime_ns);
	if (a->threaded)
		json_put(s, "threads_s", a->threads_ns / 1e9);
	json_put(s, "pair_density", n > 1 ? pairs_used(a) / (n * (n - 1)) : 0);
	json_put(s, "mean_peers", n > 0 ? peers / n : 0);
	return 0;
}
