/* clocks.c - what messages and collectives say of the nodes' clocks while the stream runs; if they contradict the
 * nodes' real-time clocks, the stream begins again with clocks moved (clock.c says how). */
#include "postproc/stream/stream.h"

int clocks_learn(struct shard *sh, uint32_t from_rank, int64_t start_ns, uint32_t to_rank, int64_t end_ns)
{
	const struct step *s = sh->stream->step;
	uint32_t x = s->ranks[from_rank]->node, y = s->ranks[to_rank]->node;
	return x == y ? 0 : pairs_learn(&sh->pairs, x, start_ns, y, end_ns);
}

/* Each node's last enter and first exit of one collective. */
struct edge_times {
	int64_t enter, leave;
};

static void node_edges(const struct step *s, const struct collective *whole, struct edge_times *edges)
{
	for (size_t i = 0; i < s->nodes.n; i++)
		edges[i] = (struct edge_times){INT64_MIN, INT64_MAX};
	for (const struct collective *m = whole->sibling; m != NULL; m = m->sibling)
		for (const struct part *p = m->parts; p != NULL; p = p->next) {
			struct edge_times *edge = &edges[s->ranks[p->rank]->node];
			edge->enter = p->start.start_ns > edge->enter ? p->start.start_ns : edge->enter;
			if (p->completed && p->done.end_ns < edge->leave)
				edge->leave = p->done.end_ns;
		}
}

/* Nobody leaves before all have entered. Written as a star around one node, enough for a tree. */
int clocks_learn_collective(struct shard *sh, const struct collective *whole)
{
	const struct step *s = sh->stream->step;
	if (s->nodes.n < 2 || whole->differs || whole->entered < s->comms.at[whole->comm].here ||
	    !clock_all_wait((enum sig_coll)whole->coll))
		return 0;
	struct edge_times *edges = malloc(s->nodes.n * sizeof(*edges));
	if (edges == NULL)
		return -ENOMEM;
	node_edges(s, whole, edges);
	uint32_t hub = s->ranks[whole->first.rank]->node;
	int code = 0;
	for (uint32_t i = 0; i < s->nodes.n && code == 0; i++) {
		if (i == hub || edges[i].enter == INT64_MIN)
			continue;
		if (edges[i].leave != INT64_MAX)
			code = pairs_learn(&sh->pairs, hub, edges[hub].enter, i, edges[i].leave);
		if (edges[hub].leave != INT64_MAX && code == 0)
			code = pairs_learn(&sh->pairs, i, edges[i].enter, hub, edges[hub].leave);
	}
	free(edges);
	return code;
}

int clocks_decide(struct stream *st, struct tie **ret_ties)
{
	struct step *s = st->step;
	struct pairs all = {.runs = st->runs, .rules = st->rules, .nnodes = (uint32_t)s->nodes.n};
	struct tie *ties = calloc(s->nodes.n + 1, sizeof(*ties));
	int code = ties == NULL ? -ENOMEM : 0;
	for (uint32_t i = 0; i < st->nshards && code == 0; i++)
		code = pairs_merge(&all, &st->shards[i].pairs);
	if (code == 0) {
		for (size_t i = 0; i < s->nodes.n; i++)
			ties[i].rate = 1;
		ties[0].known = true;
		bool agree = pairs_solve(&all, ties);
		clock_decide(s, ties, agree, &st->clock);
		code = !agree;
	}
	all.runs = NULL;
	pairs_done(&all);
	if (code == 1)
		*ret_ties = ties;
	else
		free(ties);
	return code;
}
