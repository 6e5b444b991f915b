/* alternation.c - see alternation.h. */
#include "postproc/stream/alternation.h"

#include <math.h>

#define SEVERAL (NONE - 1)

/* The only rank that this one sends to, or NONE, or SEVERAL. */
static uint32_t partner_of(const struct step *s, uint32_t rank)
{
	const struct process *p = s->ranks[rank];
	uint32_t partner = NONE;
	for (size_t i = 0; p != NULL && i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		bool sends = sig->defined && (sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV);
		if (!sends || sig->peer < 0 || (uint32_t)sig->peer == rank)
			continue;
		if (partner != NONE && partner != (uint32_t)sig->peer)
			return SEVERAL;
		partner = (uint32_t)sig->peer;
	}
	return partner;
}

static void find_pairs(struct alternation *x, const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++) {
		uint32_t other = partner_of(s, r);
		if (other == NONE || other < r)
			continue;
		if (other >= s->nranks || partner_of(s, other) != r || x->npairs == ALTERNATION_PAIRS_MAX) {
			x->npairs = 0;
			return;
		}
		x->pairs[x->npairs++] = (struct turns){.ranks = {r, other}, .last_dst = NONE};
	}
}

static uint32_t pair_of(const struct alternation *x, uint32_t src, uint32_t dst)
{
	for (uint32_t i = 0; i < x->npairs; i++)
		if ((x->pairs[i].ranks[0] == src && x->pairs[i].ranks[1] == dst) ||
		    (x->pairs[i].ranks[0] == dst && x->pairs[i].ranks[1] == src))
			return i;
	return NONE;
}

/* Behind those of other processes. */
static int gather(struct alternation *x, const struct stream *st)
{
	for (uint32_t i = st->first_shard; i < st->end_shard; i++) {
		const struct shard *sh = &st->shards[i];
		for (size_t k = 0; k < sh->transfers.n; k++) {
			const struct transfer *t = &sh->transfers.at[k];
			uint32_t src = t->send.rank, dst = t->recv.rank, pair = pair_of(x, src, dst);
			int64_t received_ns = t->done.window != NONE ? t->done_end_ns : 0;
			struct turn_message m = {t->send.ns, received_ns, pair, src, dst};
			if (pair != NONE && vec_push(&x->now, m) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct turn_message *x = a, *y = b;
	if (x->sent_ns != y->sent_ns)
		return x->sent_ns < y->sent_ns ? -1 : 1;
	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	return (x->received_ns > y->received_ns) - (x->received_ns < y->received_ns);
}

/* Both times that are compared are of the rank that sends: no other clock matters. */
static void take_turn(struct turns *t, const struct turn_message *m)
{
	t->messages++;
	t->turns += t->last_dst == m->src && t->last_received_ns <= m->sent_ns;
	t->last_dst = m->dst;
	t->last_received_ns = m->received_ns;
}

static int see_window(void *context, struct stream *st)
{
	struct alternation *x = context;
	int code = gather(x, st);
	if (code < 0)
		return code;
	vec_sort(&x->now, by_start);
	for (size_t i = 0; i < x->now.n; i++)
		take_turn(&x->pairs[x->now.at[i].pair], &x->now.at[i]);
	x->now.n = 0;
	return x->inner->window(x->inner->context, st);
}

static int see_begin(void *context, struct stream *st)
{
	struct alternation *x = context;
	for (uint32_t i = 0; i < x->npairs; i++) {
		x->pairs[i].messages = x->pairs[i].turns = 0;
		x->pairs[i].last_dst = NONE;
	}
	return x->inner->begin(x->inner->context, st);
}

static int see_piece(void *context, struct stream *st, uint32_t i)
{
	struct alternation *x = context;
	return x->inner->piece(x->inner->context, st, i);
}

static int see_send(void *context, struct stream *st, struct buf *out)
{
	struct alternation *x = context;
	int code = gather(x, st);
	uint64_t n = x->now.n;
	put(out, &n, sizeof(n));
	put(out, x->now.at, n * sizeof(*x->now.at));
	x->now.n = 0;
	return code;
}

static int see_take(void *context, struct stream *st, uint32_t from, struct cursor *c)
{
	struct alternation *x = context;
	uint64_t n;
	(void)st, (void)from;
	int code = get(c, &n, sizeof(n));
	for (uint64_t i = 0; i < n && code == 0; i++) {
		struct turn_message *m = vec_more(&x->now);
		code = m == NULL ? -ENOMEM : get(c, m, sizeof(*m));
	}
	return code;
}

struct stream_visitor alternation_watch(struct alternation *x, const struct step *s, const struct stream_visitor *inner)
{
	*x = (struct alternation){.inner = inner};
	find_pairs(x, s);
	if (x->npairs == 0)
		return *inner;
	return (struct stream_visitor){.context = x,
				       .begin = see_begin,
				       .n = inner->n,
				       .piece = see_piece,
				       .window = see_window,
				       .send = see_send,
				       .take = see_take,
				       .inner = inner};
}

double alternation_share(const struct alternation *x)
{
	uint64_t messages = 0, turns = 0, firsts = 0;
	for (uint32_t i = 0; i < x->npairs; i++) {
		messages += x->pairs[i].messages;
		turns += x->pairs[i].turns;
		firsts += x->pairs[i].messages > 0;
	}
	return messages > firsts ? (double)turns / (double)(messages - firsts) : NAN;
}

void alternation_done(struct alternation *x)
{
	vec_done(&x->now);
}
