/* walk.c - all ranks' calls again, each when what it needs is there.
 * In: events, needs, computing before each.  Out: when the last rank is done, both ways at once: who waits for whom is
 * the same, only the times differ.
 *
 * A rank goes on until its call needs something that has not come yet, and queues up there; whoever brings it sends it
 * on. If nobody can go on although some are not done (clocks contradict each other, or the trace is cut), the call that
 * ended first as recorded is not held up any more, and counted. */
#include "postproc/replay/parts.h"

#include <math.h>
#include <stdlib.h>

#define CALLS_AHEAD 6u	  /* memory of what a rank comes to is asked for before */
#define COLUMNS_AHEAD 24u /* calls: the next cache line of a column */

struct walker {
	uint32_t at, end;    /* event */
	uint32_t need;	     /* the next of it */
	uint32_t next;	     /* of those that wait for the same: its number and 1 */
	bool begun, waiting; /* at a start of an event, or a meeting */
	double now[WAYS], begin[WAYS], ready[WAYS];
};

struct walk {
	const struct interval *v;
	const struct walk_how *how;
	struct walker *walkers;
	double (*started)[WAYS]; /* by event that others need; NaN: not yet */
	uint32_t *waiters;	 /* by event modulo its size, a power of two less 1 */
	uint32_t mask;
	struct gathered {
		double last[WAYS], root[WAYS];
		uint32_t entered, waiters;
		bool root_came;
	} * gathered;
	VEC(uint32_t) ready;
	uint64_t given_up;
};

static inline double later(double a, double b)
{
	return a > b ? a : b;
}

static inline double least(double a, double b)
{
	return a < b ? a : b;
}

static void send_on(struct walk *w, uint32_t *waiters)
{
	while (*waiters != 0) {
		struct walker *x = &w->walkers[*waiters - 1];
		w->ready.at[w->ready.n++] = *waiters - 1;
		*waiters = x->next;
		x->next = 0;
		x->waiting = false;
	}
}

static void queue_up(struct walk *w, struct walker *x, uint32_t *waiters)
{
	x->next = *waiters;
	x->waiting = true;
	*waiters = (uint32_t)(x - w->walkers) + 1;
}

static void enter(struct walk *w, uint32_t meeting, bool root, const double now[WAYS])
{
	const struct meeting *m = &w->v->meetings.at[meeting];
	struct gathered *g = &w->gathered[meeting];
	g->entered++;
	for (unsigned i = 0; i < WAYS; i++) {
		g->last[i] = later(g->last[i], now[i]);
		g->root[i] = root ? now[i] : g->root[i];
	}
	g->root_came |= root;
	if (g->root_came || g->entered == m->members)
		send_on(w, &g->waiters);
}

static void enter_all(struct walk *w, const struct event *ev, uint32_t at, const double now[WAYS])
{
	if ((ev->flags & EVENT_ENTERS) != 0)
		enter(w, ev->meeting, (ev->flags & EVENT_ROOT) != 0, now);
	for (uint32_t k = w->v->needs_of[at]; (ev->flags & EVENT_MEETS) != 0 && k < w->v->needs_of[at + 1]; k++)
		if (w->v->needs.at[k].enters)
			enter(w, w->v->needs.at[k].of, false, now);
}

/* What a call that its rank comes to soon needs; what stands in columns far ahead, since each rank has its own place
 * in them. */
static void ask_ahead(const struct walk *w, uint32_t at)
{
	const struct interval *v = w->v;
	uint32_t far = at + CALLS_AHEAD, near = at + CALLS_AHEAD / 2, column = at + COLUMNS_AHEAD;
	if (column >= v->n)
		return;
	__builtin_prefetch(&w->how->gaps[column]);
	__builtin_prefetch(&v->spent_ns[column]);
	__builtin_prefetch(&v->needs_of[column]);
	__builtin_prefetch(&v->events[far]);
	__builtin_prefetch(&w->started[far], 1);
	__builtin_prefetch(&v->needs.at[v->needs_of[far]]);
	for (uint32_t k = v->needs_of[near]; k < v->needs_of[near + 1]; k++) {
		const struct need *n = &v->needs.at[k];
		__builtin_prefetch(n->kind == NEED_MEETING ? (const void *)&w->gathered[n->of] : &w->started[n->of]);
	}
}

static void begin(struct walk *w, struct walker *x)
{
	const struct event *ev = &w->v->events[x->at];
	ask_ahead(w, x->at);
	for (unsigned i = 0; i < WAYS; i++)
		x->begin[i] = x->ready[i] = x->now[i] += (double)w->how->gaps[x->at];
	x->begun = true;
	x->need = w->v->needs_of[x->at];
	if ((ev->flags & EVENT_NEEDED) != 0) {
		memcpy(w->started[x->at], x->now, sizeof(x->now));
		send_on(w, &w->waiters[x->at & w->mask]);
	}
	enter_all(w, ev, x->at, x->now);
}

/* What of a transfer is left with another network. */
static double transfer_ns(const struct walk *w, const struct need *n, enum way way)
{
	const struct replay_change *c = w->how->change;
	const struct model *m = w->how->model;
	if (c->free_transfers)
		return 0;
	double latency = m->latency_ns[n->distance], moving = m->ns_per_byte[n->distance] * n->bytes;
	double ns = way == BY_MODEL ? latency + moving : (double)n->transfer_ns;
	if (n->distance == 0 && !w->how->one_node)
		return ns;
	return later(0, ns - latency * (1 - c->latency) - moving * (1 - 1 / c->bandwidth));
}

static bool is_open(const struct replay_change *c, uint32_t callsite)
{
	for (uint32_t i = 0; i < c->nopen_sites; i++)
		if (c->open_sites[i] == callsite)
			return true;
	return false;
}

/* Is there what a need is about? Then it moves when the call is ready. */
static bool is_there(struct walk *w, struct walker *x, const struct need *n)
{
	const double *at;
	bool message = n->kind == NEED_MESSAGE;
	if (n->kind == NEED_NOTHING ||
	    (n->kind == NEED_MEETING && is_open(w->how->change, w->v->events[x->at].callsite)))
		return true;
	if (n->kind == NEED_MEETING) {
		struct gathered *g = &w->gathered[n->of];
		bool from_root = n->gathering == GATHER_FROM_ROOT;
		if (from_root ? !g->root_came : g->entered < w->v->meetings.at[n->of].members) {
			queue_up(w, x, &g->waiters);
			return false;
		}
		at = from_root ? g->root : g->last;
	} else {
		at = w->started[n->of];
		if (isnan(at[AS_RECORDED])) {
			queue_up(w, x, &w->waiters[n->of & w->mask]);
			return false;
		}
	}
	for (unsigned i = 0; i < WAYS; i++) {
		double from = n->in_call ? later(at[i], x->begin[i]) : at[i];
		x->ready[i] = later(from + (message ? transfer_ns(w, n, i) : 0), x->ready[i]);
	}
	return true;
}

/* What a collective or a send takes itself, with another network: as far as its bytes explain it. */
static void otherwise(const struct walk *w, const struct event *ev, double ns[WAYS])
{
	const struct replay_change *c = w->how->change;
	const struct model *m = w->how->model;
	bool collective = (ev->flags & EVENT_BLOCKS) != 0;
	unsigned distance = collective ? !w->how->one_node : ev->distance;
	if (distance == NO_DISTANCE || (distance == 0 && !w->how->one_node))
		return;
	double latency = collective ? c->latency : 1, all = m->ns_per_byte[distance] * ev->bytes;
	for (unsigned i = 0; i < WAYS; i++) {
		double moving = least(ns[i], all);
		ns[i] = (ns[i] - moving) * latency + moving / c->bandwidth;
	}
}

/* What the call takes beyond what it needs. Whoever waited as recorded and does not now is through as quickly as others
 * who did not. */
static void spend(const struct walk *w, const struct walker *x, const struct event *ev, double ns[WAYS])
{
	bool needs = w->v->needs_of[x->at + 1] > w->v->needs_of[x->at];
	bool waited = (ev->flags & EVENT_WAITED) != 0;
	ns[AS_RECORDED] = ns[BY_MODEL] = (double)w->v->spent_ns[x->at];
	for (enum way way = AS_RECORDED; way < WAYS && needs; way++) {
		bool waits = x->ready[way] > x->begin[way];
		if (way == AS_RECORDED && (waits || !waited))
			continue;
		double mean = model_spent_ns(w->how->model, ev, waits);
		ns[way] = isnan(mean) ? ns[way] : way == BY_MODEL ? mean : least(mean, ns[way]);
	}
}

static void finish(struct walk *w, struct walker *x)
{
	const struct replay_change *c = w->how->change;
	const struct event *ev = &w->v->events[x->at];
	uint32_t rank = w->v->tracks[x - w->walkers].rank;
	double times = rank < c->ntimes ? c->times[rank].calls : 1, ns[WAYS] = {0};
	times += c->undone * (1 - times);
	if (!c->free_transfers) {
		spend(w, x, ev, ns);
		otherwise(w, ev, ns);
	}
	for (unsigned i = 0; i < WAYS; i++)
		x->now[i] = x->ready[i] + ns[i] * times;
	x->begun = false;
	x->at++;
}

static void go_on(struct walk *w, struct walker *x)
{
	while (x->at < x->end) {
		if (!x->begun)
			begin(w, x);
		for (; x->need < w->v->needs_of[x->at + 1]; x->need++)
			if (!is_there(w, x, &w->v->needs.at[x->need]))
				return;
		finish(w, x);
	}
}

static void go_on_all(struct walk *w)
{
	while (w->ready.n > 0)
		go_on(w, &w->walkers[w->ready.at[--w->ready.n]]);
}

static void leave_queue(struct walk *w, struct walker *x)
{
	const struct need *n = &w->v->needs.at[x->need];
	uint32_t *at = n->kind == NEED_MEETING ? &w->gathered[n->of].waiters : &w->waiters[n->of & w->mask];
	while (*at != (uint32_t)(x - w->walkers) + 1)
		at = &w->walkers[*at - 1].next;
	*at = x->next;
	x->next = 0;
	x->waiting = false;
}

/* Nobody can go on: who ended first, as recorded, does. False: all are done. */
static bool give_up_one(struct walk *w)
{
	struct walker *first = NULL;
	for (uint32_t i = 0; i < w->v->ntracks; i++) {
		struct walker *x = &w->walkers[i];
		if (x->waiting && (first == NULL || w->v->events[x->at].end_ns < w->v->events[first->at].end_ns))
			first = x;
	}
	if (first == NULL)
		return false;
	leave_queue(w, first);
	first->need++;
	w->given_up++;
	w->ready.at[w->ready.n++] = (uint32_t)(first - w->walkers);
	return true;
}

static int walk_begin(struct walk *w)
{
	const struct interval *v = w->v;
	w->mask = 1;
	while (w->mask < v->ntracks)
		w->mask = 2 * w->mask + 1;
	w->walkers = calloc(v->ntracks + 1u, sizeof(*w->walkers));
	w->waiters = calloc(w->mask + 1u, sizeof(*w->waiters));
	w->started = w->how->started;
	w->gathered = calloc(v->meetings.n + 1, sizeof(*w->gathered));
	if (w->walkers == NULL || w->waiters == NULL || w->gathered == NULL || vec_reach(&w->ready, v->ntracks) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n; i++)
		w->started[i][AS_RECORDED] = NAN;
	int64_t first = INT64_MAX;
	for (uint32_t i = 0; i < v->ntracks; i++)
		first = v->tracks[i].n > 0 && v->tracks[i].begin_ns < first ? v->tracks[i].begin_ns : first;
	w->ready.n = 0;
	for (uint32_t i = v->ntracks; i-- > 0;) {
		const struct track *t = &v->tracks[i];
		w->walkers[i] = (struct walker){.at = t->first, .end = t->first + t->n};
		for (unsigned k = 0; k < WAYS; k++)
			w->walkers[i].now[k] = t->n > 0 ? (double)(t->begin_ns - first) : 0;
		w->ready.at[w->ready.n++] = i;
	}
	return 0;
}

int interval_walk(const struct interval *v, const struct walk_how *how, double ret_ns[WAYS], uint64_t *ret_given_up)
{
	struct walk w = {.v = v, .how = how};
	int code = walk_begin(&w);
	ret_ns[AS_RECORDED] = ret_ns[BY_MODEL] = 0;
	if (code == 0) {
		do
			go_on_all(&w);
		while (give_up_one(&w));
	}
	for (uint32_t i = 0; i < v->ntracks && code == 0; i++)
		for (unsigned k = 0; k < WAYS && v->tracks[i].n > 0; k++)
			ret_ns[k] = later(ret_ns[k], w.walkers[i].now[k]);
	*ret_given_up += w.given_up;
	free(w.walkers);
	free(w.waiters);
	free(w.gathered);
	vec_done(&w.ready);
	return code;
}
