/* traffic_rma.c - what one-sided calls moved between world ranks. The origin records everything; a get moves data
 * to it, so rows are filled from two lists: what a rank put, and what others got from it. */
#include "postproc/read/comms.h"
#include "postproc/totals/traffic_row.h"

static bool moves(const struct sig *sig)
{
	return sig->defined && sig->call.shape == SIG_RMA && rma_moves_data(sig->call.rma) && sig->peer >= 0 &&
	       (sig->call.flags & SIG_FAILED) == 0 && sig->calls > 0;
}

/* What ranks put, in order of sources; and bytes on their way back, {target, origin}. */
struct moved {
	VEC(struct link) puts, back;
};

static int add_sig(struct moved *m, uint32_t src, const struct sig *sig)
{
	uint64_t calls = sig->calls;
	struct link put = {src, (uint32_t)sig->peer, calls, calls * sig->call.bytes};
	struct link back = {(uint32_t)sig->peer, src, calls, calls * sig->call.fetched_bytes};
	if (sig->call.rma != RMA_GET && vec_push(&m->puts, put) < 0)
		return -ENOMEM;
	return sig->call.rma == RMA_GET || sig->call.rma == RMA_FETCH ? vec_push(&m->back, back) : 0;
}

static int by_source(const void *a, const void *b)
{
	const struct link *x = a, *y = b;
	return (x->src > y->src) - (x->src < y->src);
}

static int collect(const struct step *s, struct moved *m)
{
	int code = 0;
	for (uint32_t src = 0; src < s->nranks && code == 0; src++) {
		const struct process *p = s->ranks[src];
		for (size_t i = 0; p != NULL && i < p->sigs.n && code == 0; i++)
			if (moves(&p->sigs.at[i]) && (uint32_t)p->sigs.at[i].peer < s->nranks)
				code = add_sig(m, src, &p->sigs.at[i]);
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
	struct moved m = {0};
	size_t put = 0, got = 0;
	int code = row_init(&r, s, ret_traffic);
	if (code == 0)
		code = collect(s, &m);
	vec_sort(&m.back, by_source);
	for (r.src = 0; r.src < s->nranks && code == 0; r.src++) {
		put = add_links(&r, m.puts.at, m.puts.n, put);
		got = add_links(&r, m.back.at, m.back.n, got);
		code = row_flush(&r);
	}
	vec_done(&m.puts);
	vec_done(&m.back);
	row_done(&r);
	return code;
}
