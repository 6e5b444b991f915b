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

static uint64_t violations(const struct stream *st)
{
	uint64_t n = 0;
	for (uint32_t i = st->first_shard; i < st->end_shard; i++)
		n += st->shards[i].violations;
	return n;
}

/* What process 0 decided, to all. */
static int share_ties(struct stream *st, int code, struct tie *ties, bool *agree)
{
	struct team *t = st->team;
	size_t bytes = st->step->nodes.n * sizeof(*ties);
	for (uint32_t q = 1; q < t->peers->size && code == 0 && team_is_first(st); q++) {
		put(&t->out[q], agree, sizeof(*agree));
		put(&t->out[q], ties, bytes);
	}
	code = team_exchange(st, code, NULL);
	if (code < 0 || team_is_first(st))
		return code;
	struct cursor c = cursor_over(t->in[0].data, t->in[0].len_bytes);
	return get(&c, agree, sizeof(*agree)) < 0 || get(&c, ties, bytes) < 0 ? -EBADMSG : 0;
}

static int solve(struct stream *st, int code, struct pairs *all, struct tie *ties, bool *agree, bool *ret_violated)
{
	struct step *s = st->step;
	bool shares = team_shares(st);
	for (uint32_t i = st->first_shard; i < st->end_shard && code == 0; i++)
		code = pairs_merge(all, &st->shards[i].pairs);
	*ret_violated = violations(st) > 0;
	if (shares)
		code = results_gather_clocks(st, code, all, ret_violated);
	if (code == 0 && team_is_first(st)) {
		for (size_t i = 0; i < s->nodes.n; i++)
			ties[i].rate = 1;
		ties[0].known = true;
		*agree = pairs_solve(all, ties);
		clock_decide(s, ties, *agree, &st->clock);
	}
	return shares ? share_ties(st, code, ties, agree) : code;
}

int clocks_decide(struct stream *st, int code, struct tie **ret_ties, bool *ret_violated)
{
	struct step *s = st->step;
	struct pairs all = {.runs = st->runs, .rules = st->rules, .nnodes = (uint32_t)s->nodes.n};
	struct tie *ties = calloc(s->nodes.n + 1, sizeof(*ties));
	bool agree = true;
	code = solve(st, ties == NULL ? -ENOMEM : code, &all, ties, &agree, ret_violated);
	if (code == 0)
		code = !agree;
	all.runs = NULL;
	pairs_done(&all);
	if (code == 1)
		*ret_ties = ties;
	else
		free(ties);
	return code;
}

int clocks_count(struct stream *st, int code, bool *ret_violated)
{
	struct pairs none = {.nnodes = 0};
	return results_gather_clocks(st, code, &none, ret_violated);
}
