/* sweep.c - see sweep.h. */
#include "postproc/stream/sweep_parts.h"

#include <math.h>

#define SHRINK 0.99 /* of gaps, until a repaired rank is back in its own time */
#define MISSED_SHARE_MAX 0.001
#define NAMES_AHEAD 20u /* actions of which memory is asked for before they come: what they name, */
#define NAMED_AHEAD 10u /* and what that names */

/* ---- who waits ---- */

void sweep_wake(struct sweep *w, uint32_t *waiters)
{
	while (*waiters != 0) {
		uint32_t lane = *waiters - 1;
		struct actor *a = &w->actors[lane];
		*waiters = a->next_waiter;
		a->next_waiter = 0;
		a->queue = NULL;
		w->ready.at[w->ready.n++] = lane; /* room for all was made once */
		prefetch(&a->events.at[a->at], sizeof(*a->events.at));
		prefetch(a->path.stretch, 64);
	}
}

static void queue_up(struct actor *a, uint32_t *waiters)
{
	a->next_waiter = *waiters;
	a->queue = waiters;
	*waiters = a->lane->number + 1;
}

static void leave_queue(struct sweep *w, struct actor *a)
{
	uint32_t *at = a->queue;
	while (at != NULL && *at != a->lane->number + 1)
		at = &w->actors[*at - 1].next_waiter;
	if (at != NULL)
		*at = a->next_waiter;
	a->queue = NULL;
	a->next_waiter = 0;
}

/* ---- messages ---- */

static void edge_release(struct sweep *w, struct edge *e)
{
	if (--e->refs > 0)
		return;
	path_release(w->paths, &e->path);
	slab_give(&w->st->shards[e->shard].edges, e);
}

static void begin_edge(struct sweep *w, struct actor *a, struct edge *e, int64_t start_ns)
{
	e->ideal = a->now;
	e->step = a->step;
	e->known = true;
	e->start_ns = start_ns;
	path_hold(w->paths, &e->path, &a->path, start_ns);
	sweep_wake(w, &e->waiter);
	edge_release(w, e);
}

/* ---- a rank ---- */

/* Computing keeps its length; distances of a repaired rank shrink a little until it is back in its own time. MPI_Init
 * and MPI_Finalize are outside of the region. */
static double start_of(const struct sweep *w, const struct actor *a, const struct swept *ev)
{
	if (w->repair) {
		double gap = a->before == TIME_ABSENT ? 0 : (double)(ev->start_ns - a->before);
		return a->before == TIME_ABSENT ? (double)ev->start_ns
						: later((double)ev->start_ns, a->now + (gap > 0 ? SHRINK * gap : 0));
	}
	int64_t from = a->before != TIME_ABSENT ? a->before : a->lane->process->init_exit_ns;
	return from != TIME_ABSENT && ev->start_ns > from ? a->now + (double)(ev->start_ns - from) : a->now;
}

/* What actions after those of the event at hand will need, first what they name, then what that names. */
static void prefetch_actions(struct actor *a)
{
	size_t far = a->action + NAMES_AHEAD, near = a->action + NAMED_AHEAD;
	far = far < a->actions.n ? far : a->actions.n;
	near = near < a->actions.n ? near : a->actions.n;
	a->names = a->names > a->action ? a->names : a->action; /* what is behind is let go of */
	a->named = a->named > a->action ? a->named : a->action;
	for (; a->names < far; a->names++) {
		const struct action *x = &a->actions.at[a->names];
		if (x->kind == ACTION_BEGIN)
			prefetch(x->edge, sizeof(*x->edge));
		else if (x->kind == ACTION_NEED)
			__builtin_prefetch(x->need);
	}
	for (; a->named < near; a->named++) {
		const struct action *x = &a->actions.at[a->named];
		if (x->kind == ACTION_NEED && x->need->state == EDGE_KNOWN)
			prefetch(x->need->edge, sizeof(*x->need->edge));
	}
}

static int begin(struct sweep *w, struct actor *a, const struct swept *ev)
{
	prefetch_actions(a);
	a->now = a->start = start_of(w, a, ev);
	a->begun = true;
	a->began = INT64_MIN;
	a->all_inside_ns = INT64_MIN;
	a->step += !ev->polls; /* how often one asks in vain is chance */
	if (w->delays != NULL)
		delays_begin(w->delays, a->lane->rank, ev->site, ev->start_ns);
	path_until(w->paths, &a->path, ev->start_ns);
	const struct action *x = a->actions.at + a->action, *end = a->actions.at + a->actions.n;
	for (uint32_t at = (uint32_t)a->at; x < end && x->at == at; x++) {
		if (x->kind == ACTION_BEGIN)
			begin_edge(w, a, x->edge, ev->start_ns);
		if (x->kind != ACTION_ENTER)
			continue;
		struct assembly *m = sweep_assembly(w, x);
		if (m == NULL)
			return -ENOMEM;
		sweep_enter(w, a, x, m, ev->start_ns);
	}
	return 0;
}

/* The event is over. */
static bool in_vain(const struct sweep *w, const struct swept *ev)
{
	return w->ending || ev->end_ns < w->st->starts[w->st->slice];
}

/* One at a time: who went on because of it may bring what others wait for. */
static bool give_up(struct sweep *w, const struct swept *ev, enum giving_up how)
{
	if (w->giving_up < how || !in_vain(w, ev))
		return false;
	if (how == GIVE_UP_ONE)
		w->giving_up = GIVE_UP_UNMATCHED;
	return true;
}

/* False: it is not there yet. */
static bool is_satisfied(struct sweep *w, struct actor *a, const struct need *n, const struct swept *ev)
{
	bool matched = n->state == EDGE_KNOWN, begun = matched && n->edge->known;
	if (begun) {
		sweep_waited_for(w, a, n->edge->ideal, n->edge->step + !n->level, n->edge->start_ns, &n->edge->path);
	} else if (n->state != EDGE_NONE && !give_up(w, ev, matched ? GIVE_UP_ONE : GIVE_UP_UNMATCHED)) {
		if (matched)
			queue_up(a, &n->edge->waiter);
		return false;
	}
	w->needs++;
	w->missed += !n->optional && n->state != EDGE_NONE && !begun;
	return true;
}

/* What the event needs: 1 all is there, 0 it waits now, -ENOMEM. */
static int collective_needs(struct sweep *w, struct actor *a, const struct swept *ev)
{
	const struct action *x = a->actions.at + a->action, *end = a->actions.at + a->actions.n;
	for (uint32_t at = (uint32_t)a->at; x < end && x->at == at; x++, a->action++) {
		if (x->kind == ACTION_NEED) {
			if (!is_satisfied(w, a, x->need, ev))
				return 0;
		} else if (x->kind == ACTION_LEAVE) {
			struct assembly *m = sweep_assembly(w, x);
			if (m == NULL)
				return -ENOMEM;
			if (!sweep_leave(w, a, x, m, false) &&
			    !(give_up(w, ev, GIVE_UP_ONE) && sweep_leave(w, a, x, m, true))) {
				queue_up(a, &m->waiters);
				return 0;
			}
		}
	}
	return 1;
}

static void need_release(struct sweep *w, struct need *n)
{
	if (n->state == EDGE_KNOWN)
		edge_release(w, n->edge);
	slab_give(&w->st->shards[n->shard].needs, n);
}

/* Let go of what the event held; it is over. What is still open its message knows of: where clocks contradict, that may
 * come after the sweep has given it up. */
static void release(struct sweep *w, const struct actor *a, size_t first_action)
{
	for (size_t i = first_action; i < a->action; i++) {
		const struct action *x = &a->actions.at[i];
		if (x->kind == ACTION_NEED) {
			if (x->need->state == EDGE_OPEN)
				x->need->given_up = true;
			else
				need_release(w, x->need);
		} else if (x->kind == ACTION_LEAVE) {
			sweep_leave_behind(w, x); /* takes no memory, so there is none to lack */
		}
	}
}

static int keep_repair(struct sweep *w, struct actor *a, const struct swept *ev)
{
	struct lane *l = &w->st->lanes[a->lane->number];
	int64_t start = (int64_t)a->start, end = (int64_t)a->now;
	if (end == ev->end_ns + 1 && start == ev->start_ns)
		end = ev->end_ns; /* a call of no length is none that needs repair */
	if (start == ev->start_ns && end == ev->end_ns)
		return 0;
	return vec_push(&l->shifts, (struct shift){a->number, start - ev->start_ns, end - ev->end_ns});
}

/* Where the path comes to the rank from who was waited for; INT64_MIN: nowhere. Behind tests in vain that may be in the
 * computing before the next call; what comes during that one, it has waited for itself. */
static int64_t path_jump(const struct actor *a, const struct swept *ev)
{
	if (a->began < ev->end_ns)
		return a->began;
	return ev->polls && a->at + 1 < a->events.n && a->began < ev[1].start_ns ? a->began : INT64_MIN;
}

/* No call of an earlier step is to come, unless a rank of which there is nothing yet has one. */
static uint32_t least_step(const struct sweep *w)
{
	uint32_t least = UINT32_MAX;
	for (uint32_t i = 0; i < w->st->nlanes; i++) {
		const struct actor *a = &w->actors[i];
		if (a->at < a->events.n && a->step < least)
			least = a->step;
	}
	return least;
}

/* Starting up and shutting down are no part of the run. */
static void note_lateness(struct sweep *w, const struct actor *a, const struct swept *ev)
{
	const struct process *p = a->lane->process;
	bool before = p->init_exit_ns != TIME_ABSENT && ev->start_ns < p->init_exit_ns;
	bool after = p->finalize_enter_ns != TIME_ABSENT && ev->end_ns > p->finalize_enter_ns;
	if (before || after || ev->polls)
		return;
	if (lateness_add(w->lateness, a->step, ev->site, a->lane->rank, ev->end_ns) > 0)
		lateness_close(w->lateness, least_step(w));
}

static int finish(struct sweep *w, struct actor *a, const struct swept *ev)
{
	int code = 0;
	if (w->lateness != NULL)
		note_lateness(w, a, ev);
	if (w->repair) {
		a->now = later((double)ev->end_ns, a->now + 1);
		code = keep_repair(w, a, ev);
	} else {
		uint32_t causer = a->began > ev->start_ns && a->causer.stretch != NULL ? path_rank(&a->causer) : NONE;
		code = delays_end(w->delays, a->lane->rank, ev->end_ns, a->began, causer, a->all_inside_ns);
		if (code == 0)
			code = path_call(w->paths, &a->path, ev->start_ns, ev->end_ns, path_jump(a, ev), &a->causer);
	}
	a->before = ev->end_ns;
	a->number++;
	a->at++;
	a->begun = false;
	return code;
}

static int run(struct sweep *w, struct actor *a)
{
	while (a->at < a->events.n) {
		const struct swept *ev = &a->events.at[a->at];
		if (!a->begun) {
			a->first_action = a->action;
			int code = begin(w, a, ev);
			if (code < 0)
				return code;
		}
		int there = collective_needs(w, a, ev);
		if (there <= 0)
			return there;
		int code = finish(w, a, ev);
		release(w, a, a->first_action);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Append the window; what is swept goes. */
static int take_window(struct actor *a, const struct lane *l)
{
	size_t left = a->events.n - a->at, actions = a->actions.n - a->first_action;
	if (left > 0)
		memmove(a->events.at, a->events.at + a->at, left * sizeof(*a->events.at));
	a->events.n = left;
	if (!a->begun)
		actions = a->actions.n - a->action;
	size_t from = a->actions.n - actions;
	for (size_t i = 0; i < actions; i++) {
		a->actions.at[i] = a->actions.at[from + i];
		a->actions.at[i].at -= (uint32_t)a->at;
	}
	a->actions.n = actions;
	a->action = a->action > from ? a->action - from : 0;
	a->first_action = 0;
	a->names = a->named = a->action;
	a->at = 0;
	if (vec_grow(&a->events.at, &a->events.cap, left + l->n - l->from, sizeof(*a->events.at)) < 0 ||
	    vec_grow(&a->actions.at, &a->actions.cap, actions + l->actions.n, sizeof(*a->actions.at)) < 0)
		return -ENOMEM;
	for (uint32_t i = l->from; i < l->n; i++) {
		const struct sig *sig = &l->process->sigs.at[l->sig[i]];
		bool polls = (sig->call.flags & SIG_POLLS) != 0;
		a->events.at[a->events.n++] = (struct swept){l->start_ns[i], l->end_ns[i], sig->site, polls};
	}
	for (size_t i = 0; i < l->actions.n; i++) {
		struct action *x = &a->actions.at[a->actions.n++];
		*x = l->actions.at[i];
		x->at = x->at >= l->from ? x->at - l->from + (uint32_t)left : 0;
	}
	return 0;
}

static int run_ready(struct sweep *w)
{
	int code = 0;
	while (w->ready.n > 0 && code == 0)
		code = run(w, &w->actors[w->ready.at[--w->ready.n]]);
	return code;
}

static bool waits_in_vain(const struct sweep *w, const struct actor *a)
{
	return a->queue != NULL && in_vain(w, &a->events.at[a->at]);
}

static bool some_wait_in_vain(const struct sweep *w)
{
	for (uint32_t i = 0; i < w->st->nlanes; i++)
		if (waits_in_vain(w, &w->actors[i]))
			return true;
	return false;
}

/* Those that wait for nothing in particular, and those of which the wait is given up. */
static int go_on(struct sweep *w, enum giving_up how)
{
	int code = 0;
	for (uint32_t i = w->st->nlanes; i-- > 0 && code == 0;) {
		struct actor *a = &w->actors[i];
		if (i > 0)
			prefetch(&w->actors[i - 1], sizeof(*a));
		if (a->queue != NULL && !(how == GIVE_UP_ONE && waits_in_vain(w, a)))
			continue;
		w->giving_up = how;
		leave_queue(w, a);
		code = run(w, a);
		if (code == 0)
			code = run_ready(w);
	}
	return code;
}

int sweep_window(struct sweep *w)
{
	int code = 0;
	for (uint32_t i = 0; i < w->st->nshards; i++) {
		struct shard *sh = &w->st->shards[i];
		for (size_t k = 0; k < sh->dropped.n; k++)
			edge_release(w, sh->dropped.at[k]);
		sh->dropped.n = 0;
		for (size_t k = 0; k < sh->settled.n; k++)
			need_release(w, sh->settled.at[k]);
		sh->settled.n = 0;
	}
	for (uint32_t i = 0; i < w->st->nlanes && code == 0; i++)
		code = take_window(&w->actors[i], &w->st->lanes[i]);
	for (enum giving_up how = WAIT_FOR_ALL; how <= GIVE_UP_UNMATCHED && code == 0; how++)
		code = go_on(w, how);
	while (code == 0 && some_wait_in_vain(w))
		code = go_on(w, GIVE_UP_ONE);
	return code;
}

/* ---- beginning and end ---- */

static int begin_lane(struct sweep *w, struct actor *a, const struct lane *l)
{
	const struct process *p = l->process;
	int64_t from = p->init_exit_ns != TIME_ABSENT ? p->init_exit_ns : p->start_ns != TIME_ABSENT ? p->start_ns : 0;
	int64_t to = p->finalize_enter_ns != TIME_ABSENT ? p->finalize_enter_ns : INT64_MAX;
	*a = (struct actor){.lane = l, .before = TIME_ABSENT, .began = INT64_MIN};
	return path_begin(w->paths, &a->path, l->rank, from, to);
}

struct sweep *sweep_create(struct stream *st, bool repair)
{
	struct sweep *w = calloc(1, sizeof(*w));
	if (w == NULL)
		return NULL;
	*w = (struct sweep){.st = st, .repair = repair, .assemblies = assemblies_begin()};
	w->actors = calloc(st->nlanes + 1, sizeof(*w->actors));
	w->paths = paths_create(st);
	w->delays = repair ? NULL : delays_create(st);
	w->lateness = repair ? NULL : lateness_create((uint32_t)st->step->sites.n);
	int code = w->actors == NULL || w->paths == NULL || ((w->delays == NULL || w->lateness == NULL) && !repair) ||
				   vec_reach(&w->ready, st->nlanes) < 0
			   ? -ENOMEM
			   : 0;
	w->ready.n = 0;
	for (uint32_t i = 0; i < st->nlanes && code == 0; i++)
		code = begin_lane(w, &w->actors[i], &st->lanes[i]);
	if (code == 0)
		return w;
	sweep_destroy(w);
	return NULL;
}

/* The rank that ends last. */
static struct actor *last_actor(struct sweep *w)
{
	struct actor *best = NULL;
	for (uint32_t i = 0; i < w->st->nlanes; i++) {
		struct actor *a = &w->actors[i];
		if (a->path.to_ns != INT64_MAX)
			path_until(w->paths, &a->path, a->path.to_ns);
		if (a->path.at_ns != TIME_ABSENT && (best == NULL || a->path.at_ns > best->path.at_ns))
			best = a;
	}
	return best;
}

int sweep_end(struct sweep *w, struct sweep_result *ret_result)
{
	w->ending = true;
	int code = sweep_window(w);
	struct sweep_result r = {.ideal_ns = 0, .missed = w->missed};
	for (uint32_t i = 0; i < w->st->nlanes; i++)
		r.ideal_ns = later(r.ideal_ns, w->actors[i].now);
	if ((double)w->missed > MISSED_SHARE_MAX * (double)w->needs)
		r.ideal_ns = NAN;
	struct actor *last = w->repair ? NULL : last_actor(w);
	if (code == 0 && last != NULL)
		code = path_result(w->paths, &last->path, &r);
	if (w->delays != NULL)
		delays_result(w->delays, &r.delays);
	if (w->lateness != NULL)
		r.late = lateness_result(w->lateness, &r.late_left_out);
	*ret_result = r;
	return code;
}

void sweep_result_done(struct sweep_result *r)
{
	vec_done(&r->path);
	vec_done(&r->unsited);
	delay_result_done(&r->delays);
	free(r->late);
	free(r->site_ns);
	free(r->useful_ns);
	free(r->mpi_ns);
	*r = (struct sweep_result){0};
}

void sweep_destroy(struct sweep *w)
{
	if (w == NULL)
		return;
	for (uint32_t i = 0; w->actors != NULL && i < w->st->nlanes; i++) {
		vec_done(&w->actors[i].events);
		vec_done(&w->actors[i].actions);
	}
	assemblies_done(&w->assemblies);
	paths_destroy(w->paths);
	delays_destroy(w->delays);
	lateness_destroy(w->lateness);
	vec_done(&w->ready);
	free(w->actors);
	free(w);
}
