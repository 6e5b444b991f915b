/* clock.c - see clock.h. Every message says: it did not arrive before it was sent. For each pair of
 * nodes that talk both ways this encloses the difference of their clocks (hull.c). If the nodes'
 * real-time clocks break none of these bounds, they stay as they are, and the bounds only say how
 * far off they can be. Else the pairs with the smallest error make a tree over the nodes, and every
 * node is moved to the first one's clock along it. */
#include "postproc/clock.h"
#include "postproc/hull.h"

#include <math.h>

struct pair {
	uint32_t a, b; /* a < b; the hull is of clock b - clock a over clock a */
	struct hull *hull;
	struct hull_line line;
	bool usable;
};

struct range {
	int64_t from, to;
};

struct pairs {
	VEC(struct pair) list;
	struct index index;
	struct range *runs; /* by node: its events, on its own clock */
};

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

/* Something that began on node x at begin_ns was over on node y at end_ns, not before. */
static int learn(struct pairs *p, uint32_t x, int64_t begin_ns, uint32_t y, int64_t end_ns)
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

static int learn_messages(struct pairs *p, const struct step *s, const struct ops *o, const struct matching *m)
{
	for (size_t i = 0; i < m->messages.n; i++) {
		const struct p2p_op *send = &o->sends.at[m->messages.at[i].send];
		const struct p2p_op *recv = &o->recvs.at[m->messages.at[i].recv];
		uint32_t x = s->ranks[send->rank]->node, y = s->ranks[recv->rank]->node;
		if (x == y || recv->completion == NONE)
			continue;
		if (learn(p, x, op_event(s, send->rank, send->start)->start_ns, y,
			  op_event(s, recv->rank, recv->completion)->end_ns) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool all_wait_for_all(enum sig_coll kind)
{
	return kind == COLL_BARRIER || kind == COLL_ALLREDUCE || kind == COLL_ALLGATHER || kind == COLL_ALLTOALL ||
	       kind == COLL_REDUCE_SCATTER_BLOCK;
}

/* Each node's last enter and first exit of one collective. */
struct edge_times {
	int64_t enter, leave;
};

static void node_edges(const struct step *s, const struct ops *o, const struct matching *m, const struct collective *c,
		       struct edge_times *edges)
{
	for (size_t i = 0; i < s->nodes.n; i++)
		edges[i] = (struct edge_times){INT64_MIN, INT64_MAX};
	for (uint32_t i = c->first; i != NONE; i = m->coll_next[i]) {
		const struct coll_op *op = &o->colls.at[i];
		struct edge_times *edge = &edges[s->ranks[op->rank]->node];
		int64_t enter = op_event(s, op->rank, op->start)->start_ns;
		if (enter > edge->enter)
			edge->enter = enter;
		if (op->completion != NONE && op_event(s, op->rank, op->completion)->end_ns < edge->leave)
			edge->leave = op_event(s, op->rank, op->completion)->end_ns;
	}
}

/* Nobody leaves before all have entered. Written as a star around one node, enough for a tree. */
static int learn_collective(struct pairs *p, const struct step *s, const struct edge_times *edges, uint32_t hub)
{
	for (uint32_t i = 0; i < s->nodes.n; i++) {
		if (i == hub || edges[i].enter == INT64_MIN)
			continue;
		if (edges[i].leave != INT64_MAX && learn(p, hub, edges[hub].enter, i, edges[i].leave) < 0)
			return -ENOMEM;
		if (edges[hub].leave != INT64_MAX && learn(p, i, edges[i].enter, hub, edges[hub].leave) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int learn_collectives(struct pairs *p, const struct step *s, const struct ops *o, const struct matching *m)
{
	struct edge_times *edges = malloc(s->nodes.n * sizeof(*edges));
	int code = edges == NULL ? -ENOMEM : 0;
	for (size_t i = 0; i < m->colls.n && code == 0; i++) {
		const struct collective *c = &m->colls.at[i];
		const struct coll_op *first = &o->colls.at[c->first];
		const struct sig *sig = &s->ranks[first->rank]->sigs.at[first->sig];
		if (c->differs || c->parts < c->expected || !all_wait_for_all(sig->call.coll))
			continue;
		node_edges(s, o, m, c, edges);
		code = learn_collective(p, s, edges, s->ranks[first->rank]->node);
	}
	free(edges);
	return code;
}

/* A node's clock on the first node's: time = offset + rate * own, in doubles relative to the step's
 * zero. */
struct tie {
	double offset, rate, error;
	bool known;
};

static struct tie tie_over(const struct pair *p, const struct tie *from, bool from_is_a)
{
	const struct hull_line *l = &p->line;
	double q = 1 + l->slope, shift = l->offset - l->slope * l->center; /* b = shift + q a */
	double offset = from_is_a ? -shift / q : shift, rate = from_is_a ? 1 / q : q;
	return (struct tie){from->offset + from->rate * offset, from->rate * rate, from->error + l->error, true};
}

/* Grow the tree by the known-unknown pair of smallest total error until none is left (Prim). */
static void tie_nodes(const struct pairs *p, struct tie *ties)
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

static void move(const struct tie *t, int64_t *ns)
{
	if (*ns != TIME_ABSENT)
		*ns = moved(t, *ns);
}

static void move_process(struct process *p, const struct tie *t)
{
	for (size_t i = 0; i < p->events.n; i++) {
		struct event *ev = &p->events.at[i];
		ev->start_ns = moved(t, ev->start_ns);
		ev->end_ns = moved(t, ev->end_ns);
		if (ev->end_ns < ev->start_ns)
			ev->end_ns = ev->start_ns;
	}
	move(t, &p->start_ns);
	move(t, &p->end_ns);
	move(t, &p->init_exit_ns);
	move(t, &p->finalize_enter_ns);
	for (size_t i = 0; i < p->threads.n; i++)
		move(t, &p->threads.at[i].lost_from_ns);
}

static void widen(const struct process *p, int64_t *from, int64_t *to)
{
	int64_t first = p->start_ns, last = p->end_ns;
	if (p->events.n > 0 && (first == TIME_ABSENT || p->events.at[0].start_ns < first))
		first = p->events.at[0].start_ns;
	for (size_t i = 0; i < p->events.n; i++)
		if (last == TIME_ABSENT || p->events.at[i].end_ns > last)
			last = p->events.at[i].end_ns;
	if (first != TIME_ABSENT && first < *from)
		*from = first;
	if (last != TIME_ABSENT && last > *to)
		*to = last;
}

static void span_of(const struct step *s, uint32_t node, struct range *ret)
{
	struct range run = {INT64_MAX, INT64_MIN};
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && (node == NONE || s->ranks[r]->node == node))
			widen(s->ranks[r], &run.from, &run.to);
	ret->from = run.from == INT64_MAX ? 0 : run.from;
	ret->to = run.to < ret->from ? ret->from : run.to;
}

static void apply(struct step *s, const struct tie *ties)
{
	struct tie zero = {.rate = 1};
	struct range run;
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && s->ranks[r]->node != 0)
			move_process(s->ranks[r], &ties[s->ranks[r]->node]);
	span_of(s, NONE, &run);
	s->start_ns = run.from;
	s->runtime_ns = run.to - run.from;
	s->realtime_start_s += (double)s->start_ns / 1e9;
	zero.offset = -(double)s->start_ns;
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL)
			move_process(s->ranks[r], &zero);
}

void clock_count_violations(const struct step *s, const struct ops *o, const struct matching *m, struct clock_result *r)
{
	r->violations = 0;
	for (size_t i = 0; i < m->messages.n; i++) {
		const struct p2p_op *send = &o->sends.at[m->messages.at[i].send];
		const struct p2p_op *recv = &o->recvs.at[m->messages.at[i].recv];
		if (recv->completion == NONE)
			continue;
		int64_t back = op_event(s, send->rank, send->start)->start_ns -
			       op_event(s, recv->rank, recv->completion)->end_ns;
		r->violations += back > 0;
		if (back > 0 && (uint64_t)back > r->largest_ns)
			r->largest_ns = (uint64_t)back;
	}
}

static void judge(const struct step *s, const struct tie *ties, bool agree, struct clock_result *r)
{
	r->method = s->nodes.n < 2 ? "one node, one clock"
		    : agree	   ? "the nodes' real-time clocks, which no message contradicts"
				   : "message bounds (convex hull, middle line)";
	for (size_t i = 0; i < s->nodes.n; i++) {
		r->nodes_unlinked += !ties[i].known;
		r->error_bound_ns = fmax(r->error_bound_ns, ties[i].error);
	}
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

static bool solve(struct pairs *p)
{
	bool agree = clocks_agree(p);
	for (size_t i = 0; i < p->list.n; i++) {
		struct pair *x = &p->list.at[i];
		const struct range *run = &p->runs[x->a];
		x->usable = (agree ? hull_zero : hull_middle)(x->hull, (double)run->from, (double)run->to, &x->line);
	}
	return agree;
}

static void pairs_done(struct pairs *p)
{
	for (size_t i = 0; i < p->list.n; i++)
		free(p->list.at[i].hull);
	vec_done(&p->list);
	index_done(&p->index);
	free(p->runs);
}

int clock_align(struct step *s, const struct ops *o, const struct matching *m, struct clock_result *ret_result,
		struct error *e)
{
	struct pairs p = {.runs = calloc(s->nodes.n, sizeof(*p.runs))};
	struct tie *ties = calloc(s->nodes.n, sizeof(*ties));
	int code = ties == NULL || p.runs == NULL ? -ENOMEM : 0;
	for (uint32_t i = 0; i < s->nodes.n && code == 0; i++)
		span_of(s, i, &p.runs[i]);
	if (code == 0 && s->nodes.n > 1)
		code = learn_messages(&p, s, o, m);
	if (code == 0 && s->nodes.n > 1)
		code = learn_collectives(&p, s, o, m);
	if (code == 0) {
		bool agree = solve(&p);
		for (size_t i = 0; i < s->nodes.n; i++)
			ties[i].rate = 1;
		ties[0].known = true;
		tie_nodes(&p, ties);
		apply(s, ties);
		*ret_result = (struct clock_result){0};
		judge(s, ties, agree, ret_result);
		clock_count_violations(s, o, m, ret_result);
	}
	pairs_done(&p);
	free(ties);
	return code < 0 ? fail(e, code, "out of memory while aligning clocks") : 0;
}
