/* traffic.c - rows into the sparse matrix, and the point-to-point matrix. */
#include "postproc/totals/traffic_row.h"

#include "base/search.h"

int row_init(struct row *r, const struct step *s, struct traffic *t)
{
	size_t n = s->nranks;
	*r = (struct row){.s = s, .t = t};
	r->count = calloc(n, sizeof(uint64_t));
	r->bytes = calloc(n, sizeof(uint64_t));
	r->touched = calloc(n / ROW_BLOCK + 1, sizeof(*r->touched));
	t->out_count = calloc(n, sizeof(uint64_t));
	t->in_count = calloc(n, sizeof(uint64_t));
	t->out_bytes = calloc(n, sizeof(uint64_t));
	t->in_bytes = calloc(n, sizeof(uint64_t));
	return r->count == NULL || r->bytes == NULL || r->touched == NULL || t->out_count == NULL ||
			       t->in_count == NULL || t->out_bytes == NULL || t->in_bytes == NULL
		       ? -ENOMEM
		       : 0;
}

void row_add(struct row *r, int32_t dst, uint64_t count, uint64_t bytes)
{
	if (dst < 0 || (uint32_t)dst >= r->s->nranks)
		return;
	r->count[dst] += count;
	r->bytes[dst] += bytes;
	r->touched[(uint32_t)dst / ROW_BLOCK] = r->any = true;
}

static int add_run(struct traffic *t, const struct link_run *x)
{
	struct link_run *last = t->runs.n > 0 ? &t->runs.at[t->runs.n - 1] : NULL;
	bool more = last != NULL && last->src == x->src && last->dst + last->n == x->dst && last->count == x->count &&
		    last->bytes == x->bytes;
	if (more)
		last->n += x->n;
	return more ? 0 : vec_push(&t->runs, *x);
}

static int add_link(struct row *r, const struct link *c)
{
	struct traffic *t = r->t;
	t->count += c->count;
	t->bytes += c->bytes;
	t->out_count[c->src] += c->count;
	t->out_bytes[c->src] += c->bytes;
	t->in_count[c->dst] += c->count;
	t->in_bytes[c->dst] += c->bytes;
	if (t->links.n < TRAFFIC_LINKS_MAX && t->runs.n < TRAFFIC_LINKS_MAX) {
		t->nlinks++;
		return r->in_runs ? add_run(t, &(struct link_run){c->src, c->dst, 1, c->count, c->bytes})
				  : vec_push(&t->links, *c);
	}
	t->links_left_out++;
	t->bytes_left_out += c->bytes;
	return 0;
}

static int flush_block(struct row *r, uint32_t first)
{
	uint32_t left = r->s->nranks - first, end = first + (left < ROW_BLOCK ? left : ROW_BLOCK);
	for (uint32_t dst = first; dst < end; dst++) {
		struct link c = {r->src, dst, r->count[dst], r->bytes[dst]};
		if (c.count == 0)
			continue;
		r->count[dst] = r->bytes[dst] = 0;
		if (add_link(r, &c) < 0)
			return -ENOMEM;
	}
	return 0;
}

int row_flush(struct row *r)
{
	int code = 0;
	for (uint32_t first = 0; r->any && first < r->s->nranks && code == 0; first += ROW_BLOCK) {
		if (!r->touched[first / ROW_BLOCK])
			continue;
		r->touched[first / ROW_BLOCK] = false;
		code = flush_block(r, first);
	}
	r->any = false;
	return code;
}

static int add_even_run(struct row *r, uint32_t dst, uint32_t n, uint64_t count, uint64_t bytes)
{
	struct traffic *t = r->t;
	if (n == 0)
		return 0;
	for (uint32_t i = dst; i < dst + n; i++)
		t->in_count[i] += count;
	for (uint32_t i = dst; i < dst + n; i++)
		t->in_bytes[i] += bytes;
	t->nlinks += n;
	return add_run(t, &(struct link_run){r->src, dst, n, count, bytes});
}

int row_flush_even(struct row *r, uint32_t first, uint32_t n, uint64_t count, uint64_t bytes)
{
	struct traffic *t = r->t;
	bool itself = r->src >= first && r->src - first < n;
	uint32_t before = itself ? r->src - first : n, others = itself ? n - 1 : n;
	t->count += others * count;
	t->bytes += others * bytes;
	t->out_count[r->src] += others * count;
	t->out_bytes[r->src] += others * bytes;
	int code = add_even_run(r, first, before, count, bytes);
	return code == 0 && itself ? add_even_run(r, r->src + 1, n - before - 1, count, bytes) : code;
}

void row_done(struct row *r)
{
	free(r->count);
	free(r->bytes);
	free(r->touched);
}

/* How many messages the calls of a signature sent: of a persistent one each start is a message. */
uint64_t traffic_messages_of(const struct sig *sig)
{
	bool sends = sig->defined && (sig->call.flags & SIG_FAILED) == 0 && sig->comm != NONE &&
		     (sig->call.shape == SIG_SEND || sig->call.shape == SIG_SENDRECV);
	return !sends ? 0 : (sig->call.flags & SIG_PERSISTENT) != 0 ? sig->starts : sig->calls;
}

int traffic_p2p(const struct step *s, struct traffic *ret_traffic)
{
	struct row r;
	int code = row_init(&r, s, ret_traffic);
	for (r.src = 0; r.src < s->nranks && code == 0; r.src++) {
		const struct process *p = s->ranks[r.src];
		for (size_t i = 0; p != NULL && i < p->sigs.n; i++) {
			const struct sig *sig = &p->sigs.at[i];
			uint64_t n = traffic_messages_of(sig);
			if (n > 0)
				row_add(&r, sig->peer, n, n * sig->bytes);
		}
		code = row_flush(&r);
	}
	row_done(&r);
	return code;
}

void traffic_done(struct traffic *t)
{
	vec_done(&t->links);
	vec_done(&t->runs);
	free(t->out_count);
	free(t->in_count);
	free(t->out_bytes);
	free(t->in_bytes);
	memset(t, 0, sizeof(*t));
}

bool links_have(const struct link *links, size_t n, uint32_t src, uint32_t dst)
{
	size_t at = search_first(0, n, i, links[i].src < src || (links[i].src == src && links[i].dst < dst));
	return at < n && links[at].src == src && links[at].dst == dst;
}
