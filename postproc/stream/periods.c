/* periods.c - see periods.h. */
#include "postproc/stream/periods.h"

#include <math.h>

/* When there is no piece for one more, two become one each. */
static void add_to_piece(struct period *b, uint64_t k, double ns)
{
	if (k >> b->piece_log2 == PERIOD_PIECES) {
		for (unsigned i = 0; i < PERIOD_PIECES / 2; i++)
			b->piece_ns[i] = b->piece_ns[2 * i] + b->piece_ns[2 * i + 1];
		memset(b->piece_ns + PERIOD_PIECES / 2, 0, sizeof(b->piece_ns) / 2);
		b->piece_log2++;
	}
	b->piece_ns[k >> b->piece_log2] += ns;
}

static void add_distance(struct period *b, double ns)
{
	add_to_piece(b, b->calls - 1, ns);
	double k = (double)b->calls - 1, n = k + 1, dk = k - b->mean_k, dg = ns - b->mean_ns;
	b->mean_k += dk / n;
	b->mean_ns += dg / n;
	b->sum_kk += dk * (k - b->mean_k);
	b->sum_gg += dg * (ns - b->mean_ns);
	b->sum_kg += dk * (ns - b->mean_ns);
	b->shortest_ns = k == 0 ? ns : fmin(b->shortest_ns, ns);
	b->longest_ns = k == 0 ? ns : fmax(b->longest_ns, ns);
	b->sum_ns += ns;
	b->steady_ns += k > 0 && ns <= 2 * b->before_ns && 2 * ns >= b->before_ns ? ns : 0;
	b->before_ns = ns;
}

static bool is_of_all(const struct step *s, const struct sig *sig)
{
	return sig->defined && sig->call.shape == SIG_COLL && sig->comm != NONE &&
	       s->comms.at[sig->comm].size == s->nranks && !s->comms.at[sig->comm].inter;
}

static void add_call(struct periods_of *of, const struct step *s, const struct sig *sig, int64_t start_ns,
		     int64_t end_ns)
{
	if (of->last_site != NONE)
		of->at[of->last_site].next_ns = start_ns;
	of->last_site = sig->site;
	if (sig->site == NONE)
		return;
	struct period *b = &of->at[sig->site];
	if (b->calls > 0)
		add_distance(b, (double)(start_ns - b->last_ns));
	else
		b->first_ns = start_ns;
	b->calls++;
	b->last_ns = start_ns;
	b->last_end_ns = end_ns;
	b->next_ns = INT64_MIN;
	b->of_all |= is_of_all(s, sig);
}

static int see_window(void *context, struct stream *st)
{
	struct periods *x = context;
	for (unsigned i = 0; i < PERIOD_RANKS; i++) {
		const struct lane *l = x->of[i].rank != NONE ? stream_lane(st, x->of[i].rank, 0) : NULL;
		if (l == NULL)
			continue;
		const struct process *p = st->step->ranks[x->of[i].rank];
		for (uint32_t k = 0; k < l->n; k++)
			add_call(&x->of[i], st->step, &p->sigs.at[l->sig[k]], l->start_ns[k], l->end_ns[k]);
	}
	return x->inner->window(x->inner->context, st);
}

static int see_begin(void *context, struct stream *st)
{
	struct periods *x = context;
	for (unsigned i = 0; i < PERIOD_RANKS; i++) {
		x->of[i].last_site = NONE;
		if (x->of[i].rank != NONE)
			memset(x->of[i].at, 0, x->nsites * sizeof(*x->of[i].at));
	}
	return x->inner->begin(x->inner->context, st);
}

static int see_piece(void *context, struct stream *st, uint32_t i)
{
	struct periods *x = context;
	return x->inner->piece(x->inner->context, st, i);
}

int periods_watch(struct periods *x, const struct step *s, const struct stream_visitor *inner,
		  struct stream_visitor *ret_visitor)
{
	const uint32_t ranks[PERIOD_RANKS] = {0, s->nranks / 2};
	*x = (struct periods){.inner = inner, .nsites = s->sites.n};
	for (unsigned i = 0; i < PERIOD_RANKS; i++) {
		bool again = i > 0 && ranks[i] == ranks[i - 1];
		x->of[i].rank = s->ranks[ranks[i]] == NULL || again ? NONE : ranks[i];
		if (x->of[i].rank == NONE)
			continue;
		x->of[i].at = calloc(x->nsites + 1, sizeof(*x->of[i].at));
		if (x->of[i].at == NULL)
			return -ENOMEM;
	}
	*ret_visitor = (struct stream_visitor){.context = x,
					       .begin = see_begin,
					       .n = inner->n,
					       .piece = see_piece,
					       .window = see_window,
					       .inner = inner};
	return 0;
}

void periods_done(struct periods *x)
{
	for (unsigned i = 0; i < PERIOD_RANKS; i++)
		free(x->of[i].at);
}

uint64_t period_piece_of(const struct period *b, unsigned i)
{
	uint64_t distances = b->calls > 0 ? b->calls - 1 : 0, from = (uint64_t)i << b->piece_log2;
	uint64_t width = UINT64_C(1) << b->piece_log2, left = distances > from ? distances - from : 0;
	return left < width ? left : width;
}

double period_line_ns(const struct period *b, double k)
{
	return b->mean_ns + (b->sum_kk > 0 ? b->sum_kg / b->sum_kk * (k - b->mean_k) : 0);
}

double period_steadiness(const struct period *b)
{
	return b->sum_ns > 0 ? b->steady_ns / b->sum_ns : 0;
}

double period_deviation(const struct period *b)
{
	double left = b->sum_gg - (b->sum_kk > 0 ? b->sum_kg * b->sum_kg / b->sum_kk : 0);
	return b->mean_ns > 0 ? sqrt(fmax(0, left) / (double)(b->calls - 1)) / b->mean_ns : INFINITY;
}
