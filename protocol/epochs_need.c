/* epochs_need.c - how many messages of one epoch are in flight at once: the buffers it needs. */
#include "protocol/epochs_parts.h"

/* What ends comes first at equal times: a buffer may be used again at once. */
static int by_time(const struct epoch_delta *x, const struct epoch_delta *y)
{
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (int)x->begins - (int)y->begins;
}

static int by_time_alone(const void *a, const void *b)
{
	return by_time(a, b);
}

static int by_rank_and_time(const void *a, const void *b)
{
	const struct epoch_delta *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return by_time(x, y);
}

/* Peaks of deltas [from, to), in order of time. */
static struct epoch_need peak(const struct epoch_delta *deltas, size_t from, size_t to)
{
	struct epoch_need now = {0}, need = {0};
	for (size_t i = from; i < to; i++) {
		const struct epoch_delta *x = &deltas[i];
		now.messages += x->begins ? 1u : -(uint64_t)1;
		now.bytes += x->begins ? x->bytes : -x->bytes;
		need.messages = now.messages > need.messages ? now.messages : need.messages;
		need.bytes = now.bytes > need.bytes ? now.bytes : need.bytes;
	}
	return need;
}

static int by_receiver(struct epoch_gathered *g)
{
	for (size_t i = 0, end; i < g->deltas.n; i = end) {
		for (end = i + 1; end < g->deltas.n && g->deltas.at[end].rank == g->deltas.at[i].rank;)
			end++;
		struct epoch_need need = peak(g->deltas.at, i, end);
		need.rank = g->deltas.at[i].rank;
		if (vec_push(&g->needs, need) < 0)
			return -ENOMEM;
	}
	return 0;
}

int epoch_need_find(struct epoch_gathered *g, struct epoch *epoch)
{
	g->deltas.n = g->needs.n = 0;
	for (size_t i = 0; i < g->messages.n; i++) {
		const struct epoch_message *m = &g->messages.at[i];
		if (vec_push(&g->deltas, (struct epoch_delta){m->from_ns, m->bytes, m->dst, true}) < 0 ||
		    vec_push(&g->deltas, (struct epoch_delta){m->to_ns, m->bytes, m->dst, false}) < 0)
			return -ENOMEM;
	}
	if (g->messages.n > 1)
		vec_sort(&g->deltas, by_time_alone);
	epoch->total = peak(g->deltas.at, 0, g->deltas.n);
	if (g->messages.n > 1)
		vec_sort(&g->deltas, by_rank_and_time);
	if (by_receiver(g) < 0)
		return -ENOMEM;
	epoch->receiver = g->needs.at;
	epoch->nreceivers = (uint32_t)g->needs.n;
	return 0;
}
