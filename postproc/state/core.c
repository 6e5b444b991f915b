/* core.c - of those who can never go on, because of whom: the smallest cycles of processes each of which needs the
 * next; those who need one that has ended; and, where any of several would be enough, the groups of which all need
 * others of the group (knots). In: the graph.  Out: see graph.h. */
#include "postproc/state/graph.h"

#include <string.h>

#define STARTS_MAX \
	64u /* of each group: cycles are looked for from so many ranks. So in larger ones there may be shorter */
#define LOOK_MAX 32u /* steps to a rank that may be named */

struct search {
	struct graph *g;
	struct cores *cores;
	uint32_t *over;	   /* by node: a rank that has ended, and without which it never goes on; STATE_NONE: none */
	uint32_t *part;	   /* by node: its strongly connected component; STATE_NONE: not of those looked at */
	uint32_t *members; /* nodes, by component */
	uint32_t *first;   /* by component: in members; one more at the end */
	uint32_t nparts;
	bool *core;	       /* by rank: it is of one */
	uint32_t *came, *walk; /* of a walk: from where; of which walk */
	uint32_t walks;
	int code;
};

static uint32_t first_edge(const struct graph *g, uint32_t node)
{
	return g->out[node];
}

/* It needs each of those that it has an edge to. */
static bool needs_each(const struct graph *g, uint32_t node)
{
	return g->nodes.at[node].kind == NODE_ALL || g->out[node + 1] - g->out[node] == 1;
}

/* ---- who needs one that has ended ---- */

static uint32_t over_by(const struct search *s, uint32_t to)
{
	if (s->g->nodes.at[to].kind == NODE_OVER)
		return to;
	return to >= s->g->nranks ? s->over[to] : STATE_NONE;
}

static void resolve_ended(struct search *s, uint32_t node)
{
	const struct graph *g = s->g;
	uint32_t found = STATE_NONE, n = 0;
	for (uint32_t i = first_edge(g, node); graph_is_dead(g, node) && i < g->out[node + 1]; i++) {
		uint32_t over = over_by(s, g->edges.at[i].to);
		n += over != STATE_NONE;
		found = found == STATE_NONE ? over : found;
	}
	bool all = n == g->out[node + 1] - g->out[node];
	s->over[node] = g->nodes.at[node].kind == NODE_ALL || all ? found : STATE_NONE;
}

static void find_over(struct search *s)
{
	const struct graph *g = s->g;
	for (uint32_t i = g->first_group; i < g->nodes.n; i++)
		resolve_ended(s, i);
	for (uint32_t i = g->nranks; i < g->first_group; i++)
		resolve_ended(s, i);
	for (uint32_t i = 0; i < g->nranks; i++)
		resolve_ended(s, i);
}

/* ---- strongly connected components (Tarjan, Depth-first search and linear graph algorithms, 1972) ---- */

struct tarjan {
	uint32_t *number, *low, *stack, *path, *edge;
	uint32_t n, nstack, npath;
	const bool *in;
};

static void open_node(struct search *s, struct tarjan *t, uint32_t node)
{
	t->number[node] = t->low[node] = ++t->n;
	t->edge[node] = first_edge(s->g, node);
	t->stack[t->nstack++] = node;
	t->path[t->npath++] = node;
}

static void close_node(struct search *s, struct tarjan *t, uint32_t node)
{
	t->npath--;
	if (t->npath > 0 && t->low[node] < t->low[t->path[t->npath - 1]])
		t->low[t->path[t->npath - 1]] = t->low[node];
	if (t->low[node] != t->number[node])
		return;
	uint32_t at;
	do {
		at = t->stack[--t->nstack];
		s->part[at] = s->nparts;
	} while (at != node);
	s->nparts++;
}

static void walk_from(struct search *s, struct tarjan *t, uint32_t start)
{
	const struct graph *g = s->g;
	open_node(s, t, start);
	while (t->npath > 0) {
		uint32_t node = t->path[t->npath - 1];
		if (t->edge[node] == g->out[node + 1]) {
			close_node(s, t, node);
			continue;
		}
		uint32_t to = g->edges.at[t->edge[node]++].to;
		if (!t->in[to])
			continue;
		if (t->number[to] == 0)
			open_node(s, t, to);
		else if (s->part[to] == STATE_NONE && t->number[to] < t->low[node])
			t->low[node] = t->number[to];
	}
}

/* Those of `in`: part, members, first. */
static void find_parts(struct search *s, const bool *in)
{
	struct graph *g = s->g;
	size_t n = g->nodes.n;
	uint32_t *room = calloc(5 * n + 1, sizeof(*room));
	struct tarjan t = {.number = room, .in = in};
	if (room == NULL) {
		s->code = -ENOMEM;
		return;
	}
	t.low = room + n;
	t.stack = room + 2 * n;
	t.path = room + 3 * n;
	t.edge = room + 4 * n;
	s->nparts = 0;
	memset(s->part, 0xff, n * sizeof(*s->part));
	for (uint32_t i = 0; i < n; i++)
		if (in[i] && t.number[i] == 0)
			walk_from(s, &t, i);
	free(room);
	memset(s->first, 0, (n + 2) * sizeof(*s->first));
	for (size_t i = 0; i < n; i++)
		if (s->part[i] != STATE_NONE)
			s->first[s->part[i] + 2]++;
	for (size_t i = 2; i < n + 2; i++)
		s->first[i] += s->first[i - 1];
	for (uint32_t i = 0; i < n; i++)
		if (s->part[i] != STATE_NONE)
			s->members[s->first[s->part[i] + 1]++] = i;
	g->work += n + g->edges.n;
}

/* Its nodes need each other: several, or one that needs itself. */
static bool is_circular(const struct search *s, uint32_t part)
{
	const struct graph *g = s->g;
	uint32_t node = s->members[s->first[part]];
	if (s->first[part + 1] - s->first[part] > 1)
		return true;
	for (uint32_t i = first_edge(g, node); i < g->out[node + 1]; i++)
		if (g->edges.at[i].to == node)
			return true;
	return false;
}

/* ---- members ---- */

/* A rank that can be named of those that a group needs. */
static uint32_t rank_below(const struct graph *g, uint32_t node)
{
	for (uint32_t looks = 0; looks < LOOK_MAX && node >= g->nranks; looks++) {
		uint32_t next = node;
		if (!needs_each(g, node))
			return STATE_NONE;
		for (uint32_t i = first_edge(g, node); i < g->out[node + 1] && next == node; i++)
			if (!g->nodes.at[g->edges.at[i].to].alive)
				next = g->edges.at[i].to;
		if (next == node)
			return STATE_NONE;
		node = next;
	}
	return node < g->nranks ? node : STATE_NONE;
}

uint32_t graph_needs(const struct graph *g, uint32_t thread)
{
	const struct state *t = &g->states->threads.at[thread];
	for (uint32_t i = t->first_want; i < t->first_want + t->nwants; i++)
		if (g->want_node.at[i] != STATE_NONE && !g->nodes.at[g->want_node.at[i]].alive)
			return t->kind == STATE_ONE && t->nwants > 1 ? STATE_NONE : rank_below(g, g->want_node.at[i]);
	return STATE_NONE;
}

/* `by`: the node that it needs, or a rank that has ended; STATE_NONE: the first that cannot go on. */
static struct core_member member_of(const struct search *s, uint32_t thread, uint32_t by)
{
	const struct graph *g = s->g;
	const struct state *t = &g->states->threads.at[thread];
	struct core_member m = {t->rank, thread, STATE_NONE, STATE_NONE};
	for (uint32_t i = t->first_want; i < t->first_want + t->nwants && m.want == STATE_NONE; i++) {
		uint32_t node = g->want_node.at[i];
		if (node != STATE_NONE &&
		    (by == STATE_NONE ? !g->nodes.at[node].alive : node == by || over_by(s, node) == by))
			m.want = i;
	}
	if (m.want != STATE_NONE)
		m.needs = rank_below(g, g->want_node.at[m.want]);
	if (t->kind == STATE_ONE && t->nwants > 1)
		m.want = m.needs = STATE_NONE;
	return m;
}

static void add_rank(struct search *s, struct core *c, uint32_t rank, uint32_t by, uint32_t needs)
{
	const struct graph *g = s->g;
	c->nranks++;
	s->core[rank] = true;
	for (uint32_t t = g->thread_of[rank]; t < g->thread_of[rank + 1] && s->code == 0; t++) {
		struct core_member m = member_of(s, t, by);
		if (needs != STATE_NONE && m.want != STATE_NONE)
			m.needs = needs;
		s->code = vec_push(&c->members, m);
	}
}

static struct core *add_core(struct search *s)
{
	if (s->code == 0)
		s->code = vec_push(&s->cores->at, (struct core){.over = STATE_NONE});
	return s->code == 0 ? &s->cores->at.at[s->cores->at.n - 1] : NULL;
}

/* Those of whom one that has ended is needed, together. */
static void note_over(struct search *s)
{
	const struct graph *g = s->g;
	VEC(uint32_t) core_of = {0}; /* by the rank that has ended: its place and 1 */
	if (g->nranks > 0 && vec_reach(&core_of, g->nranks - 1) < 0)
		s->code = -ENOMEM;
	for (uint32_t r = 0; r < g->nranks && s->code == 0; r++) {
		uint32_t over = s->over[r];
		struct core *c;
		if (over == STATE_NONE)
			continue;
		if (core_of.at[over] == 0 && (c = add_core(s)) != NULL) {
			c->over = over;
			core_of.at[over] = (uint32_t)s->cores->at.n;
		}
		if (s->code == 0)
			add_rank(s, &s->cores->at.at[core_of.at[over] - 1], r, over, over);
	}
	vec_done(&core_of);
}

/* ---- cycles ---- */

struct way {
	VEC(uint32_t) now, next; /* nodes of so many ranks from the start, and of one more */
	VEC(uint32_t) best;	 /* nodes of the cycle, backwards; the start is the last */
	uint32_t nranks;	 /* of best; STATE_NONE: none yet */
};

static void store_cycle(struct search *s, struct way *w, uint32_t start, uint32_t last, uint32_t nranks)
{
	w->best.n = 0;
	w->nranks = nranks;
	for (uint32_t at = last; s->code == 0; at = s->came[at]) {
		s->code = vec_push(&w->best, at);
		if (at == start)
			return;
	}
}

/* The edges of one node, `nranks` ranks behind the start. True: the start was reached. */
static bool step(struct search *s, struct way *w, uint32_t start, uint32_t node, uint32_t nranks)
{
	const struct graph *g = s->g;
	for (uint32_t i = first_edge(g, node); i < g->out[node + 1] && s->code == 0; i++) {
		uint32_t to = g->edges.at[i].to;
		s->g->work++;
		if (to == start) {
			store_cycle(s, w, start, node, nranks);
			return true;
		}
		if (s->part[to] != s->part[start] || s->walk[to] == s->walks)
			continue;
		s->walk[to] = s->walks;
		s->came[to] = node;
		s->code = to < g->nranks ? vec_push(&w->next, to) : vec_push(&w->now, to);
	}
	return false;
}

/* The shortest cycle through start, if it is shorter than the one known. */
static void walk_cycle(struct search *s, struct way *w, uint32_t start)
{
	uint32_t nranks = 1;
	s->walks++;
	w->now.n = w->next.n = 0;
	s->code = vec_push(&w->now, start);
	while (w->now.n > 0 && nranks < w->nranks && s->code == 0) {
		for (size_t i = 0; i < w->now.n && s->code == 0; i++)
			if (step(s, w, start, w->now.at[i], nranks))
				return;
		typeof(w->now) empty = w->now;
		memcpy(&w->now, &w->next, sizeof(w->now));
		memcpy(&w->next, &empty, sizeof(w->next));
		w->next.n = 0;
		nranks++;
	}
}

/* best runs backwards; the lowest rank is to be the first. */
static void note_cycle(struct search *s, const struct way *w)
{
	const struct graph *g = s->g;
	struct core *c = add_core(s);
	size_t n = w->best.n, low = n;
	if (c == NULL)
		return;
	c->cycle = true;
	for (size_t i = 0; i < n; i++)
		if (w->best.at[i] < g->nranks && (low == n || w->best.at[i] < w->best.at[low]))
			low = i;
	for (size_t k = 0; k < n; k++) {
		size_t at = (low + n - k) % n, next = (at + n - 1) % n, named = next;
		if (w->best.at[at] >= g->nranks)
			continue;
		while (w->best.at[named] >= g->nranks)
			named = (named + n - 1) % n;
		add_rank(s, c, w->best.at[at], w->best.at[next], w->best.at[named]);
	}
}

static void find_cycle(struct search *s, struct way *w, uint32_t part)
{
	uint32_t begin = s->first[part], n = s->first[part + 1] - begin, starts = 0;
	w->nranks = STATE_NONE;
	for (uint32_t i = 0; i < n && starts < STARTS_MAX && w->nranks > 1 && s->code == 0; i++) {
		uint32_t node = s->members[begin + i];
		if (node >= s->g->nranks || s->over[node] != STATE_NONE)
			continue;
		starts++;
		walk_cycle(s, w, node);
	}
	if (w->nranks != STATE_NONE && s->code == 0)
		note_cycle(s, w);
}

static void find_cycles(struct search *s)
{
	const struct graph *g = s->g;
	struct way w = {0};
	bool *in = calloc(g->nodes.n + 1, sizeof(*in));
	if (in == NULL) {
		s->code = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < g->nodes.n; i++)
		in[i] = graph_is_dead(g, i) && needs_each(g, i) && s->over[i] == STATE_NONE;
	find_parts(s, in);
	for (uint32_t p = 0; p < s->nparts && s->code == 0; p++)
		if (is_circular(s, p))
			find_cycle(s, &w, p);
	vec_done(&w.now);
	vec_done(&w.next);
	vec_done(&w.best);
	free(in);
}

/* ---- knots ---- */

/* Nobody of it needs anybody else who cannot go on, but for groups of which one has ended, and none of it is of a core
 * that is known. */
static bool is_knot(const struct search *s, uint32_t part)
{
	const struct graph *g = s->g;
	if (!is_circular(s, part))
		return false;
	for (uint32_t k = s->first[part]; k < s->first[part + 1]; k++) {
		uint32_t node = s->members[k];
		if (node < g->nranks && s->core[node])
			return false;
		for (uint32_t i = first_edge(g, node); i < g->out[node + 1]; i++) {
			uint32_t to = g->edges.at[i].to;
			bool ended = to >= g->nranks && s->over[to] != STATE_NONE;
			if (graph_is_dead(g, to) && s->part[to] != part && !ended)
				return false;
		}
	}
	return true;
}

static void find_knots(struct search *s)
{
	const struct graph *g = s->g;
	bool *in = calloc(g->nodes.n + 1, sizeof(*in));
	if (in == NULL) {
		s->code = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < g->nodes.n; i++)
		in[i] = graph_is_dead(g, i);
	find_parts(s, in);
	for (uint32_t p = 0; p < s->nparts && s->code == 0; p++) {
		struct core *c = is_knot(s, p) ? add_core(s) : NULL;
		for (uint32_t k = s->first[p]; c != NULL && k < s->first[p + 1]; k++)
			if (s->members[k] < g->nranks)
				add_rank(s, c, s->members[k], STATE_NONE, STATE_NONE);
	}
	free(in);
}

/* ---- who waits for them ---- */

static int by_size(const void *a, const void *b)
{
	const struct core *x = a, *y = b;
	if (x->nranks != y->nranks)
		return (x->nranks > y->nranks) - (x->nranks < y->nranks);
	return (x->members.at[0].rank > y->members.at[0].rank) - (x->members.at[0].rank < y->members.at[0].rank);
}

static int by_count(const void *a, const void *b)
{
	const struct core_waiters *x = a, *y = b;
	if (x->count != y->count)
		return (x->count < y->count) - (x->count > y->count);
	return (x->first > y->first) - (x->first < y->first);
}

static bool same_op(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static int count_waiter(const struct graph *g, struct core *c, uint32_t rank)
{
	const struct state *t = &g->states->threads.at[g->thread_of[rank]];
	struct core_waiters fresh = {.op = t->op, .site = t->site, .count = 1, .first = rank};
	for (size_t i = 0; i < c->waiters.n; i++) {
		struct core_waiters *w = &c->waiters.at[i];
		if ((w->site == t->site && same_op(w->op, t->op)) || i == CORE_WAITERS_MAX - 1) {
			w->op = i == CORE_WAITERS_MAX - 1 && !same_op(w->op, t->op) ? NULL : w->op;
			w->count++;
			return 0;
		}
	}
	return vec_push(&c->waiters, fresh);
}

/* Nobody may count on it, since it may have what was sent to it; an operation of all that `node` cannot come to it
 * waits for all the same. */
static bool is_short_of(const struct graph *g, uint32_t rank, uint32_t node)
{
	const struct states *s = g->states;
	if (rank >= g->nranks || g->nodes.at[rank].kind != NODE_FREE || g->thread_of[rank] == g->thread_of[rank + 1])
		return false;
	const struct state *t = &s->threads.at[g->thread_of[rank]];
	return t->nwants == 1 && s->wants.at[t->first_want].kind == WANT_MEETING &&
	       g->want_node.at[t->first_want] == node;
}

/* Each belongs to the first core that it can be reached from, the nearest first. */
static void find_waiting(struct search *s)
{
	struct graph *g = s->g;
	VEC(uint32_t) todo = {0};
	uint32_t *of = s->part; /* by node: the core; STATE_NONE: not reached */
	memset(of, 0xff, g->nodes.n * sizeof(*of));
	for (uint32_t k = 0; k < s->cores->at.n; k++)
		for (size_t i = 0; i < s->cores->at.at[k].members.n && s->code == 0; i++) {
			uint32_t rank = s->cores->at.at[k].members.at[i].rank;
			if (of[rank] != STATE_NONE)
				continue;
			of[rank] = k;
			s->code = vec_push(&todo, rank);
		}
	for (size_t at = 0; at < todo.n && s->code == 0; at++)
		for (uint32_t i = g->in [todo.at[at]]; i < g->in[todo.at[at] + 1] && s->code == 0; i++) {
			uint32_t from = g->back[i];
			if (of[from] != STATE_NONE || !(graph_is_dead(g, from) || is_short_of(g, from, todo.at[at])))
				continue;
			of[from] = of[todo.at[at]];
			if (graph_is_dead(g, from))
				s->code = vec_push(&todo, from);
		}
	for (uint32_t r = 0; r < g->nranks && s->code == 0; r++) {
		struct core *c = of[r] != STATE_NONE && !s->core[r] ? &s->cores->at.at[of[r]] : NULL;
		if (c != NULL && (s->code = vec_push(&c->waiting, r)) == 0)
			s->code = count_waiter(g, c, r);
	}
	g->work += todo.n;
	vec_done(&todo);
}

static bool any_dead(const struct graph *g)
{
	for (uint32_t r = 0; r < g->nranks; r++)
		if (graph_is_dead(g, r))
			return true;
	return false;
}

int cores_find(struct graph *g, struct cores *ret_cores)
{
	size_t n = g->nodes.n;
	*ret_cores = (struct cores){0};
	struct search s = {.g = g, .cores = ret_cores};
	if (!any_dead(g))
		return 0;
	uint32_t *room = calloc(6 * n + 8, sizeof(*room));
	s.core = calloc(g->nranks + 1u, sizeof(*s.core));
	if (room != NULL && s.core != NULL) {
		s.over = room;
		s.part = room + n;
		s.members = room + 2 * n;
		s.came = room + 3 * n;
		s.walk = room + 4 * n;
		s.first = room + 5 * n;
		find_over(&s);
		note_over(&s);
		if (s.code == 0)
			find_cycles(&s);
		if (s.code == 0)
			find_knots(&s);
		vec_sort(&ret_cores->at, by_size);
		if (s.code == 0)
			find_waiting(&s);
		for (size_t i = 0; i < ret_cores->at.n; i++)
			vec_sort(&ret_cores->at.at[i].waiters, by_count);
	} else {
		s.code = -ENOMEM;
	}
	free(room);
	free(s.core);
	return s.code;
}

static bool any_more(const struct states *s)
{
	for (size_t r = 0; r < s->more.n; r++)
		if (s->more.at[r] != 0)
			return true;
	return false;
}

int cores_part(const struct states *states, struct cores *cores, struct cores *ret_possible)
{
	struct graph g = {0};
	struct cores certain = {0};
	*ret_possible = (struct cores){0};
	if (cores->at.n == 0 || !any_more(states))
		return 0;
	int code = graph_make_certain(states, &g);
	if (code == 0)
		code = cores_find(&g, &certain);
	graph_done(&g);
	*ret_possible = *cores;
	*cores = certain;
	if (certain.at.n > 0) {
		cores_done(ret_possible);
		*ret_possible = (struct cores){0};
	}
	return code;
}

void cores_done(struct cores *c)
{
	for (size_t i = 0; i < c->at.n; i++) {
		vec_done(&c->at.at[i].members);
		vec_done(&c->at.at[i].waiting);
		vec_done(&c->at.at[i].waiters);
	}
	vec_done(&c->at);
}
