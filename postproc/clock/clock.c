/* clock.c - see clock_pairs.h. Every message says: it did not arrive before it was sent. For each pair of
 * nodes that talk both ways this encloses the difference of their clocks (hull.c). If the nodes'
 * real-time clocks break none of these bounds, they stay as they are, and the bounds only say how
 * far off they can be. Else the pairs with the smallest error make a tree over the nodes, and every
 * node is moved to the first one's clock along it. */
#include "postproc/clock/clock_pairs.h"

#include <math.h>

struct wanted_pair {
	const struct pairs *p;
	uint32_t a, b;
};

static bool same_pair(const void *context, uint32_t at)
{
	const struct wanted_pair *w = context;
	return w->p->list.at[at].a == w->a && w->p->list.at[at].b == w->b;
}

static struct hull *hull_of(struct pairs *p, uint32_t a, uint32_t b)
{
	struct wanted_pair w = {p, a, b};
	uint64_t hash = index_mix(a, b);
	uint32_t at = index_find(&p->index, hash, same_pair, &w);
	if (at != INDEX_NONE)
		return p->list.at[at].hull;
	struct pair fresh = {.a = a, .b = b, .hull = calloc(1, sizeof(struct hull))};
	if (fresh.hull == NULL || vec_push(&p->list, fresh) < 0) {
		free(fresh.hull);
		return NULL;
	}
	return index_add(&p->index, hash, (uint32_t)p->list.n - 1) < 0 ? NULL : fresh.hull; /* the list has it */
}

static unsigned part_of(const struct range *run, int64_t t)
{
	double x = (double)(t - run->from) / ((double)(run->to - run->from) + 1) * HULL_BINS;
	return x < 0 ? 0 : x >= HULL_BINS ? HULL_BINS - 1 : (unsigned)x;
}

int pairs_learn(struct pairs *p, uint32_t x, int64_t begin_ns, uint32_t y, int64_t end_ns)
{
	struct hull *h = x == y ? NULL : hull_of(p, x < y ? x : y, x < y ? y : x);
	if (x == y)
		return 0;
	if (h == NULL)
		return -ENOMEM;
	if (x < y)
		hull_above(h, part_of(&p->runs[x], begin_ns), (double)begin_ns, (double)(end_ns - begin_ns));
	else
		hull_below(h, part_of(&p->runs[y], end_ns), (double)end_ns, (double)(begin_ns - end_ns));
	return 0;
}

bool clock_all_wait(enum sig_coll kind)
{
	return kind == COLL_BARRIER || kind == COLL_ALLREDUCE || kind == COLL_ALLGATHER || kind == COLL_ALLTOALL ||
	       kind == COLL_REDUCE_SCATTER_BLOCK;
}

static struct tie tie_over(const struct pair *p, const struct tie *from, bool from_is_a)
{
	const struct hull_line *l = &p->line;
	double q = 1 + l->slope, shift = l->offset - l->slope * l->center; /* b = shift + q a */
	double offset = from_is_a ? -shift / q : shift, rate = from_is_a ? 1 / q : q;
	return (struct tie){from->offset + from->rate * offset, from->rate * rate, from->error + l->error, true};
}

/* Grow the tree by the known-unknown pair of smallest total error until none is left (Prim). */
static void tie_all(const struct pairs *p, struct tie *ties)
{
	for (;;) {
		struct tie best = {.error = INFINITY};
		uint32_t at = NONE;
		for (size_t i = 0; i < p->list.n; i++) {
			const struct pair *x = &p->list.at[i];
			if (!x->usable || ties[x->a].known == ties[x->b].known)
				continue;
			bool from_a = ties[x->a].known;
			struct tie t = tie_over(x, &ties[from_a ? x->a : x->b], from_a);
			if (t.error < best.error) {
				best = t;
				at = from_a ? x->b : x->a;
			}
		}
		if (at == NONE)
			return;
		ties[at] = best;
	}
}

static int64_t moved(const struct tie *t, int64_t ns)
{
	/* ns itself may exceed what a double holds exactly; the correction does not */
	double shift = t->offset + (t->rate - 1) * (double)ns;
	int64_t sum;
	return __builtin_add_overflow(ns, (int64_t)llround(fmin(fmax(shift, -TIME_MAX_NS), TIME_MAX_NS)), &sum) ? ns
														: sum;
}

void clock_move(const struct tie *t, int64_t *ns)
{
	if (*ns != TIME_ABSENT)
		*ns = moved(t, *ns);
}

void clock_decide(const struct step *s, const struct tie *ties, bool agree, struct clock_result *r)
{
	r->method = s->nodes.n < 2 ? "one node, one clock"
		    : agree	   ? "the nodes' real-time clocks, which no message contradicts"
				   : "message bounds (convex hull, middle line)";
	double most = 0, second = 0; /* errors against the first node: two others can be wrong in opposite directions */
	for (size_t i = 0; i < s->nodes.n; i++) {
		r->nodes_unlinked += !ties[i].known;
		second = fmax(second, fmin(most, ties[i].error));
		most = fmax(most, ties[i].error);
	}
	r->error_bound_ns = most + second;
	for (size_t i = 0; i < s->nodes.n; i++)
		r->error_bound_ns = node_rate_is_known(&s->nodes.at[i]) ? r->error_bound_ns : NAN;
	if (r->nodes_unlinked > 0) {
		r->error_bound_ns = NAN;
		r->method = "message bounds where nodes talk both ways, else the nodes' real-time "
			    "clocks";
	}
}

static bool clocks_agree(const struct pairs *p)
{
	for (size_t i = 0; i < p->list.n; i++)
		if (!hull_allows_zero(p->list.at[i].hull))
			return false;
	return true;
}

/* Lines of which the errors hold over the time of `span` on the first node's clock. */
static void solve_pairs(struct pairs *p, bool agree, const struct tie *ties, const struct range *span)
{
	for (size_t i = 0; i < p->list.n; i++) {
		struct pair *x = &p->list.at[i];
		const struct tie *a = &ties[x->a];
		double slack = p->rules[x->a].slack_ns + p->rules[x->b].slack_ns;
		double from = ((double)span->from - a->offset) / a->rate, to = ((double)span->to - a->offset) / a->rate;
		x->usable = (agree ? hull_zero : hull_middle)(x->hull, from, to, slack, &x->line);
	}
}

/* From the first event of all to the last, on the first node's clock as far as it is known. */
static struct range whole_span(const struct pairs *p, const struct tie *ties)
{
	struct range span = p->runs[0];
	for (uint32_t i = 1; i < p->nnodes; i++) {
		struct range run = p->runs[i];
		if (run.from > run.to)
			continue;
		clock_move(&ties[i], &run.from);
		clock_move(&ties[i], &run.to);
		span.from = run.from < span.from ? run.from : span.from;
		span.to = run.to > span.to ? run.to : span.to;
	}
	return span;
}

/* A node's time is one line after the other, and none of them ends where the run of its own nodes does. So lines are
 * sought twice: when all nodes are tied, it is known over what time errors count. Lines stay as they are, errors
 * grow. */
bool pairs_solve(struct pairs *p, struct tie *ties)
{
	bool agree = clocks_agree(p);
	for (int round = 0; round < 2; round++) {
		struct range span = whole_span(p, ties);
		solve_pairs(p, agree, ties, &span);
		for (uint32_t i = 1; i < p->nnodes; i++)
			ties[i] = (struct tie){.rate = 1};
		tie_all(p, ties);
	}
	return agree;
}

void pairs_done(struct pairs *p)
{
	for (size_t i = 0; i < p->list.n; i++)
		free(p->list.at[i].hull);
	vec_done(&p->list);
	index_done(&p->index);
}

int pairs_merge(struct pairs *into, const struct pairs *from)
{
	for (size_t i = 0; i < from->list.n; i++) {
		const struct pair *x = &from->list.at[i];
		struct hull *h = hull_of(into, x->a, x->b);
		if (h == NULL)
			return -ENOMEM;
		for (unsigned k = 0; k < HULL_BINS; k++) {
			if (x->hull->above[k].set)
				hull_above(h, k, x->hull->above[k].t, x->hull->above[k].d);
			if (x->hull->below[k].set)
				hull_below(h, k, x->hull->below[k].t, x->hull->below[k].d);
		}
	}
	return 0;
}
