/* epochs_need.c - how many messages of one epoch are in flight at once: the buffers it needs. */
#include "postproc/protocol/epochs_parts.h"

/* Begins of all messages, then their ends, each nearly in order of time, by which they are sorted. What ends comes
 * first at equal times: a buffer may be used again at once. */
static int sort_ends(struct epoch_gathered *g)
{
	size_t n = g->messages.n;
	if (vec_grow(&g->ends.at, &g->ends.cap, 4 * n, sizeof(*g->ends.at)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct epoch_message *m = &g->messages.at[i];
		uint64_t sign = 1ull << 63;
		g->ends.at[i] = (struct sort_key){(uint64_t)m->from_ns ^ sign, 1, (uint32_t)i};
		g->ends.at[n + i] = (struct sort_key){(uint64_t)m->to_ns ^ sign, 0, (uint32_t)i};
	}
	if (n > 1)
		sort_keys(g->ends.at, g->ends.at + 2 * n, 2 * n);
	return 0;
}

/* Of who receives the messages what is in flight now, and the most so far; NULL without memory. */
static struct epoch_flight *flight_of(struct epoch_gathered *g, uint32_t rank)
{
	if (vec_reach(&g->flight_of, rank) < 0)
		return NULL;
	uint32_t at = g->flight_of.at[rank];
	if (at == 0) {
		if (vec_push(&g->flights, (struct epoch_flight){.most.rank = rank}) < 0)
			return NULL;
		at = g->flight_of.at[rank] = (uint32_t)g->flights.n;
	}
	return &g->flights.at[at - 1];
}

static void count(struct epoch_flight *f, uint64_t bytes, bool begins)
{
	f->messages += begins ? 1u : -(uint64_t)1;
	f->bytes += begins ? bytes : -bytes;
	f->most.messages = f->messages > f->most.messages ? f->messages : f->most.messages;
	f->most.bytes = f->bytes > f->most.bytes ? f->bytes : f->most.bytes;
}

static int by_rank(const void *a, const void *b)
{
	const struct epoch_need *x = a, *y = b;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* What each needed, ascending, and nothing in flight any more. */
static int end_flights(struct epoch_gathered *g)
{
	int code = 0;
	for (size_t i = 0; i < g->flights.n; i++) {
		g->flight_of.at[g->flights.at[i].most.rank] = 0;
		if (code == 0)
			code = vec_push(&g->needs, g->flights.at[i].most);
	}
	vec_sort(&g->needs, by_rank);
	return code;
}

int epoch_need_find(struct epoch_gathered *g, struct epoch *epoch)
{
	struct epoch_flight all = {0};
	g->flights.n = g->needs.n = 0;
	int code = sort_ends(g);
	for (size_t i = 0; i < 2 * g->messages.n && code == 0; i++) {
		const struct sort_key *end = &g->ends.at[i];
		const struct epoch_message *m = &g->messages.at[end->at];
		struct epoch_flight *f = flight_of(g, m->dst);
		if (f == NULL)
			code = -ENOMEM;
		else
			count(f, m->bytes, end->minor != 0);
		count(&all, m->bytes, end->minor != 0);
	}
	if (end_flights(g) < 0 || code < 0)
		return -ENOMEM;
	epoch->total = all.most;
	epoch->receiver = g->needs.at;
	epoch->nreceivers = (uint32_t)g->needs.n;
	return 0;
}
