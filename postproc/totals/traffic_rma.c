/* traffic_rma.c - what one-sided calls moved between world ranks. The origin records everything; a get moves data
 * to it, so rows are filled by two passes: what a rank put, and what others got from it. */
#include "postproc/read/comms.h"
#include "postproc/totals/traffic_row.h"

static bool moves(const struct sig *sig)
{
	return sig->defined && sig->call.shape == SIG_RMA && rma_moves_data(sig->call.rma) && sig->peer >= 0 &&
	       (sig->call.flags & SIG_FAILED) == 0 && sig->calls > 0;
}

/* Bytes on their way back, as links {target, origin}. */
struct returns {
	VEC(struct link) list;
};

static int add_sig(struct row *r, struct returns *back, const struct sig *sig)
{
	uint64_t calls = sig->calls;
	if (sig->call.rma != RMA_GET)
		row_add(r, sig->peer, calls, calls * sig->call.bytes);
	if (sig->call.rma != RMA_GET && sig->call.rma != RMA_FETCH)
		return 0;
	struct link c = {(uint32_t)sig->peer, r->src, calls, calls * sig->call.fetched_bytes};
	return vec_push(&back->list, c);
}

static int by_source(const void *a, const void *b)
{
	const struct link *x = a, *y = b;
	return (x->src > y->src) - (x->src < y->src);
}

/* Puts of every rank, in order of sources too. */
struct puts {
	VEC(struct link) list;
};

static int keep_puts(struct row *r, struct puts *puts)
{
	for (uint32_t dst = 0; dst < r->s->nranks; dst++) {
		struct link c = {r->src, dst, r->count[dst], r->bytes[dst]};
		r->count[dst] = r->bytes[dst] = 0;
		if (c.count > 0 && vec_push(&puts->list, c) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int collect(struct row *r, struct puts *puts, struct returns *back)
{
	int code = 0;
	for (r->src = 0; r->src < r->s->nranks && code == 0; r->src++) {
		const struct process *p = r->s->ranks[r->src];
		for (size_t i = 0; p != NULL && i < p->sigs.n && code == 0; i++)
			if (moves(&p->sigs.at[i]) && (uint32_t)p->sigs.at[i].peer < r->s->nranks)
				code = add_sig(r, back, &p->sigs.at[i]);
		if (code == 0)
			code = keep_puts(r, puts);
	}
	return code;
}

static size_t add_links(struct row *r, const struct link *links, size_t n, size_t at)
{
	for (; at < n && links[at].src == r->src; at++)
		row_add(r, (int32_t)links[at].dst, links[at].count, links[at].bytes);
	return at;
}

int traffic_rma(const struct step *s, struct traffic *ret_traffic)
{
	struct row r;
	struct puts puts = {0};
	struct returns back = {0};
	size_t put = 0, got = 0;
	int code = row_init(&r, s, ret_traffic);
	if (code == 0)
		code = collect(&r, &puts, &back);
	vec_sort(&back.list, by_source);
	for (r.src = 0; r.src < s->nranks && code == 0; r.src++) {
		put = add_links(&r, puts.list.at, puts.list.n, put);
		got = add_links(&r, back.list.at, back.list.n, got);
		code = row_flush(&r);
	}
	vec_done(&puts.list);
	vec_done(&back.list);
	row_done(&r);
	return code;
}
