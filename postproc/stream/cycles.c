/* cycles.c - cycles of blocking standard sends. Without buffering a send S of rank a to b ends when b has posted its
 * receive R, and b comes to that only when it has done all before R; so S needs the last blocking send of b before R.
 * Where following this leads back to S, all ranks on the way would wait for each other: only eager buffering hides it.
 *
 * In: the transfers of one window, from all shards. Each send needs one other, so all cycles are found by following
 * each once. Sends of which the receive was posted when they ended need no buffer; a window without others is not
 * looked at. A cycle that spans two windows is not seen. */
#include "postproc/stream/cycles.h"

#include "base/search.h"

struct blocking_send {
	int64_t start_ns, post_ns; /* of the send, of its receive */
	const struct transfer *transfer;
	uint32_t rank, peer;
	uint32_t visit; /* by which walk it was seen; 0: by none */
};

struct cycles {
	uint32_t send, send_c; /* operations */
	VEC(struct blocking_send) sends;
	VEC(struct transfer) elsewhere; /* of other processes, in order of ranks */
	uint32_t *first;		/* by rank, nranks + 1 */
};

static uint32_t operation(const struct step *s, const char *name)
{
	for (uint32_t i = 0; i < s->ops.n; i++)
		if (strcmp(s->ops.at[i], name) == 0)
			return i;
	return NONE;
}

struct cycles *cycles_create(const struct stream *st, int *ret_code)
{
	const struct step *s = st->step;
	uint32_t send = operation(s, "MPI_Send"), send_c = operation(s, "MPI_Send_c");
	*ret_code = 0;
	if ((send == NONE && send_c == NONE) || !st->sweeps)
		return NULL;
	struct cycles *c = calloc(1, sizeof(*c));
	if (c != NULL)
		c->first = calloc(s->nranks + 2u, sizeof(*c->first));
	if (c == NULL || c->first == NULL) {
		*ret_code = -ENOMEM;
		cycles_destroy(c);
		return NULL;
	}
	c->send = send;
	c->send_c = send_c;
	return c;
}

void cycles_destroy(struct cycles *c)
{
	if (c == NULL)
		return;
	vec_done(&c->sends);
	vec_done(&c->elsewhere);
	free(c->first);
	free(c);
}

static bool is_blocking(const struct cycles *c, const struct step *s, const struct transfer *t)
{
	const struct sig *sig = &s->ranks[t->send.rank]->sigs.at[t->send_sig];
	return sig->op != NONE && (sig->op == c->send || sig->op == c->send_c) && sig->call.shape == SIG_SEND;
}

static int add(struct cycles *c, const struct transfer *t, bool *any_buffered)
{
	struct blocking_send x = {.start_ns = t->send.ns,
				  .post_ns = t->recv.ns,
				  .transfer = t,
				  .rank = t->send.rank,
				  .peer = t->recv.rank};
	*any_buffered |= t->recv.ns > t->send_end_ns;
	return vec_push(&c->sends, x);
}

static int collect(struct cycles *c, const struct stream *st, bool *ret_any_buffered)
{
	int code = 0;
	c->sends.n = 0;
	*ret_any_buffered = false;
	for (uint32_t i = st->first_shard; i < st->end_shard; i++)
		for (size_t k = 0; k < st->shards[i].transfers.n && code == 0; k++)
			if (is_blocking(c, st->step, &st->shards[i].transfers.at[k]))
				code = add(c, &st->shards[i].transfers.at[k], ret_any_buffered);
	for (size_t k = 0; k < c->elsewhere.n && code == 0; k++)
		code = add(c, &c->elsewhere.at[k], ret_any_buffered);
	return code;
}

bool cycles_any(const struct cycles *c, const struct stream *st)
{
	for (uint32_t i = st->first_shard; i < st->end_shard; i++)
		for (size_t k = 0; k < st->shards[i].transfers.n; k++) {
			const struct transfer *t = &st->shards[i].transfers.at[k];
			if (t->recv.ns > t->send_end_ns && is_blocking(c, st->step, t))
				return true;
		}
	return false;
}

void cycles_send(const struct cycles *c, const struct stream *st, struct buf *out)
{
	uint64_t n = 0;
	for (uint32_t i = st->first_shard; i < st->end_shard; i++)
		for (size_t k = 0; k < st->shards[i].transfers.n; k++)
			n += is_blocking(c, st->step, &st->shards[i].transfers.at[k]);
	put(out, &n, sizeof(n));
	for (uint32_t i = st->first_shard; i < st->end_shard; i++)
		for (size_t k = 0; k < st->shards[i].transfers.n; k++)
			if (is_blocking(c, st->step, &st->shards[i].transfers.at[k]))
				put(out, &st->shards[i].transfers.at[k], sizeof(struct transfer));
}

int cycles_take(struct cycles *c, struct cursor *in)
{
	uint64_t n;
	int code = get(in, &n, sizeof(n));
	for (uint64_t i = 0; i < n && code == 0; i++) {
		struct transfer *t = vec_more(&c->elsewhere);
		code = t == NULL ? -ENOMEM : get(in, t, sizeof(*t));
	}
	return code;
}

static int by_rank_and_start(const void *a, const void *b)
{
	const struct blocking_send *x = a, *y = b;
	if (x->rank != y->rank)
		return (x->rank > y->rank) - (x->rank < y->rank);
	if (x->start_ns != y->start_ns)
		return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
	return (x->post_ns > y->post_ns) - (x->post_ns < y->post_ns);
}

static void number_ranks(struct cycles *c, uint32_t nranks)
{
	memset(c->first, 0, (nranks + 1) * sizeof(*c->first));
	for (size_t i = 0; i < c->sends.n; i++)
		c->first[c->sends.at[i].rank + 1]++;
	for (uint32_t r = 0; r < nranks; r++)
		c->first[r + 1] += c->first[r];
}

/* The last send of the receiver before it posts the receive, or NONE. */
static uint32_t needs(const struct cycles *c, const struct blocking_send *x)
{
	uint32_t begin = c->first[x->peer], end = c->first[x->peer + 1];
	uint32_t next = (uint32_t)search_first(begin, end, i, c->sends.at[i].start_ns < x->post_ns);
	return next > begin ? next - 1 : NONE;
}

/* The cycle that goes through `at`, told from the rank that sends first. */
static int note(struct cycles *c, struct stream *st, uint32_t at)
{
	struct tally *t = &st->shards[0].tally;
	const struct blocking_send *x = &c->sends.at[at], *all = c->sends.at;
	uint32_t first = at, i = at;
	do {
		if (all[i].start_ns < all[first].start_ns ||
		    (all[i].start_ns == all[first].start_ns && all[i].rank < all[first].rank))
			first = i;
		i = needs(c, &all[i]);
	} while (i != at);
	x = &all[first];
	const struct blocking_send *y = &all[needs(c, x)];
	struct defect_case f = {.at_ns = x->start_ns,
				.rank = x->rank,
				.sig = x->transfer->send_sig,
				.peer = y->rank,
				.peer_sig = y->transfer->send_sig,
				.comm = x->transfer->comm,
				.tag = x->transfer->tag,
				.bytes = x->transfer->bytes};
	i = first;
	do {
		if (f.nmembers < DEFECT_MEMBERS_MAX)
			f.members[f.nmembers] = all[i].rank;
		f.nmembers++;
		i = needs(c, &all[i]);
	} while (i != first);
	uint32_t site = st->step->ranks[x->rank]->sigs.at[x->transfer->send_sig].site;
	uint32_t other = st->step->ranks[y->rank]->sigs.at[y->transfer->send_sig].site;
	if (defects_note(&t->defects, DEFECT_SEND_CYCLE, site, other, &f) < 0)
		return -ENOMEM;
	struct defect *row = defects_row(&t->defects, DEFECT_SEND_CYCLE, site, other);
	i = first;
	do {
		if (row != NULL)
			defect_add_rank(row, all[i].rank);
		i = needs(c, &all[i]);
	} while (i != first);
	return 0;
}

/* Follow each send once. Who comes to one of the same walk has gone around a cycle. */
static int follow_all(struct cycles *c, struct stream *st)
{
	int code = 0;
	for (uint32_t i = 0; i < c->sends.n && code == 0; i++) {
		uint32_t at = i, walk = i + 1;
		while (at != NONE && c->sends.at[at].visit == 0) {
			c->sends.at[at].visit = walk;
			at = needs(c, &c->sends.at[at]);
		}
		if (at != NONE && c->sends.at[at].visit == walk)
			code = note(c, st, at);
	}
	return code;
}

int cycles_window(struct cycles *c, struct stream *st)
{
	bool any_buffered;
	int code = collect(c, st, &any_buffered);
	if (code == 0 && any_buffered) {
		vec_sort(&c->sends, by_rank_and_start);
		number_ranks(c, st->step->nranks);
		code = follow_all(c, st);
	}
	c->elsewhere.n = 0;
	return code;
}
