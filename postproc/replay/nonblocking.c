/* nonblocking.c - calls at some places become the start of what they did, and a call that completes it later.
 * In: events and what they need.  Out: another interval, in which each of these is two events: the start where the call
 * was, which others need as before, and the completion, which has what the call needed and what it took itself.
 *
 * What the program does with the data is not recorded. So it is completed as late as it could be: before the next call
 * of its thread that may pass data on or wait (not at one of these places, not the start of a receive, nothing local),
 * or before the same call with the same partner comes again, which has the same buffer. */
#include "postproc/replay/parts.h"

#include <stdlib.h>

/* Where events of the recorded interval stand in the other one. */
struct places {
	uint32_t *until;	/* of each event: before which it is completed; NO_EVENT: it stays one */
	uint32_t *start, *done; /* and where it begins and ends then */
	uint32_t *came; /* and the first of those that are completed together there, by which others see it come */
	VEC(uint32_t) open;
	uint32_t n; /* that are two */
};

static bool is_asked(const struct replay_change *c, uint32_t callsite)
{
	for (uint32_t i = 0; i < c->nnonblocking; i++)
		if (c->nonblocking[i] == callsite)
			return true;
	return false;
}

static bool needs_others(const struct interval *v, uint32_t event)
{
	return v->needs_of[event] < v->needs_of[event + 1];
}

/* Whose message it has; of a collective the same always. */
static uint32_t partner_of(const struct interval *v, uint32_t event)
{
	const struct need *n = &v->needs.at[v->needs_of[event]];
	if (n->kind == NEED_MEETING || n->gathering != GATHER_NONE)
		return NO_EVENT;
	return track_of(v, n->of);
}

static bool comes_again(const struct interval *v, uint32_t one, uint32_t other)
{
	return v->events[one].callsite == v->events[other].callsite && partner_of(v, one) == partner_of(v, other);
}

static void complete(struct places *p, uint32_t before)
{
	for (size_t i = 0; i < p->open.n; i++)
		p->until[p->open.at[i]] = before;
	p->open.n = 0;
}

static int put_off(const struct interval *v, const struct replay_change *c, struct places *p, uint32_t event)
{
	const struct event *x = &v->events[event];
	bool asked = is_asked(c, x->callsite) && (x->flags & (EVENT_COMPLETES | EVENT_FINALIZE)) == 0;
	if (!asked && ((x->flags & EVENT_LOCAL) == 0 || needs_others(v, event)))
		complete(p, event);
	if (!asked || !needs_others(v, event))
		return 0;
	for (size_t i = 0; i < p->open.n; i++)
		if (comes_again(v, p->open.at[i], event)) {
			complete(p, event);
			break;
		}
	p->n++;
	return vec_push(&p->open, event);
}

static int put_off_all(const struct interval *v, const struct replay_change *c, struct places *p)
{
	int code = 0;
	memset(p->until, 0xff, (v->n + 1u) * sizeof(*p->until));
	for (uint32_t k = 0; k < v->ntracks && code == 0; k++) {
		const struct track *t = &v->tracks[k];
		for (uint32_t i = t->first; i < t->first + t->n && code == 0; i++)
			code = put_off(v, c, p, i);
		complete(p, t->first + t->n);
	}
	return code;
}

/* ---- the other interval ---- */

/* It takes no time where it was, and others find it there; its place in the row of calls stays. */
static struct event start_of(const struct event *x)
{
	struct event s = *x;
	s.flags &= (uint16_t) ~(EVENT_BLOCKS | EVENT_WAITED);
	s.distance = NO_DISTANCE;
	return s;
}

static struct event completion_of(const struct event *x, int64_t at_ns)
{
	struct event d = *x;
	d.start_ns = d.end_ns = at_ns;
	d.flags &= EVENT_BLOCKS | EVENT_WAITED;
	d.flags |= EVENT_COMPLETES;
	return d;
}

static void put(struct interval *to, const struct event *x, float spent_ns)
{
	to->events[to->n] = *x;
	to->spent_ns[to->n++] = spent_ns;
}

/* All that are completed before this one, in the order of their starts: they begin when its rank is there. */
static void put_completions(const struct interval *v, struct places *p, uint32_t *from, uint32_t event, int64_t at_ns,
			    struct interval *to)
{
	uint32_t first = to->n;
	for (; *from < event; ++*from) {
		if (p->until[*from] == NO_EVENT)
			continue;
		if (p->until[*from] > event)
			return;
		struct event d = completion_of(&v->events[*from], at_ns);
		p->done[*from] = to->n;
		p->came[*from] = first;
		put(to, &d, v->spent_ns[*from]);
	}
}

static void put_track(const struct interval *v, struct places *p, const struct track *t, struct interval *to)
{
	uint32_t end = t->first + t->n, from = t->first;
	for (uint32_t i = t->first; i < end; i++) {
		put_completions(v, p, &from, i, v->events[i].start_ns, to);
		bool two = p->until[i] != NO_EVENT;
		struct event s = two ? start_of(&v->events[i]) : v->events[i];
		p->start[i] = p->done[i] = p->came[i] = to->n;
		put(to, &s, two ? 0 : v->spent_ns[i]);
	}
	if (t->n > 0)
		put_completions(v, p, &from, end, v->events[end - 1].end_ns, to);
}

static bool is_put_off(const struct places *p, uint32_t event)
{
	return p->until[event] != NO_EVENT;
}

/* Of operations of all with all of which all members are put off: the number of their completion, or 0. */
static int number_completions(const struct interval *v, const struct places *p, struct interval *to, uint32_t *number)
{
	size_t started = to->meetings.n;
	int code = 0;
	for (uint32_t i = 0; i < v->n; i++)
		if (is_put_off(p, i) && (v->events[i].flags & EVENT_BLOCKS) != 0)
			number[v->events[i].meeting]++;
	for (size_t i = 0; i < started && code == 0; i++) {
		struct meeting m = to->meetings.at[i];
		bool all = m.gathering == GATHER_ALL && number[i] == m.members && m.members > 1;
		number[i] = all ? (uint32_t)to->meetings.n : 0;
		code = all ? vec_push(&to->meetings, m) : 0;
	}
	return code;
}

/* No member is through before all have come to complete it, as in a library without a progress thread. */
static int need_all(const struct interval *v, const struct places *p, struct interval *to)
{
	uint32_t *number = calloc(to->meetings.n + 1, sizeof(*number));
	int code = number == NULL ? -ENOMEM : number_completions(v, p, to, number);
	for (uint32_t i = 0; i < v->n && code == 0; i++) {
		const struct event *x = &v->events[i];
		if (!is_put_off(p, i) || (x->flags & EVENT_BLOCKS) == 0 || number[x->meeting] == 0)
			continue;
		struct need enters = {.event = p->came[i], .of = number[x->meeting], .gathering = GATHER_ALL};
		struct need waits = enters;
		enters.enters = true;
		waits.event = p->done[i];
		waits.kind = NEED_MEETING;
		to->events[enters.event].flags |= EVENT_MEETS;
		code = vec_push(&to->needs, enters) < 0 ? -ENOMEM : vec_push(&to->needs, waits);
	}
	free(number);
	return code;
}

/* Nor is a message there before both sides have come to complete it, as large ones in many libraries. */
static int need_both_sides(const struct interval *v, const struct places *p, struct interval *to)
{
	int code = 0;
	for (size_t i = 0; i < v->needs.n && code == 0; i++) {
		const struct need *n = &v->needs.at[i];
		if (n->kind != NEED_MESSAGE)
			continue;
		bool later = is_put_off(p, n->of), blocks = (v->events[n->of].flags & EVENT_STARTS) == 0;
		if (later)
			code = interval_need(to, (struct need){p->done[n->event], p->came[n->of], .kind = NEED_START});
		if (code == 0 && (later || (blocks && is_put_off(p, n->event))))
			code = interval_need(to, (struct need){p->done[n->of], p->came[n->event], .kind = NEED_START});
	}
	return code;
}

static int put_needs(const struct interval *v, const struct places *p, struct interval *to)
{
	int code = 0;
	for (size_t i = 0; i < v->needs.n && code == 0; i++) {
		struct need n = v->needs.at[i];
		n.event = p->done[n.event];
		n.of = n.kind == NEED_MESSAGE || n.kind == NEED_START ? p->start[n.of] : n.of;
		code = vec_push(&to->needs, n);
	}
	for (size_t i = 0; i < v->meetings.n && code == 0; i++)
		code = vec_push(&to->meetings, v->meetings.at[i]);
	for (size_t i = 0; i < v->blames.n && code == 0; i++) {
		struct blame b = v->blames.at[i];
		b.event = p->done[b.event];
		b.causer = p->start[b.causer];
		code = vec_push(&to->blames, b);
	}
	return code;
}

static int put_tracks(const struct interval *v, struct places *p, struct interval *to)
{
	size_t n = (size_t)v->n + p->n + 1;
	to->events = malloc(n * sizeof(*to->events));
	to->spent_ns = malloc(n * sizeof(*to->spent_ns));
	to->tracks = calloc(v->ntracks + 1u, sizeof(*to->tracks));
	if (to->events == NULL || to->spent_ns == NULL || to->tracks == NULL)
		return -ENOMEM;
	to->ntracks = v->ntracks;
	for (uint32_t k = 0; k < v->ntracks; k++) {
		const struct track *t = &v->tracks[k];
		to->tracks[k] = (struct track){.rank = t->rank, .first = to->n, .begin_ns = t->begin_ns};
		put_track(v, p, t, to);
		to->tracks[k].n = to->n - to->tracks[k].first;
	}
	return 0;
}

int interval_nonblocking(const struct interval *v, const struct replay_change *c, struct interval *ret_v,
			 uint64_t *ret_calls)
{
	struct places p = {.until = malloc((v->n + 1u) * sizeof(*p.until)),
			   .start = malloc((v->n + 1u) * sizeof(*p.start)),
			   .done = malloc((v->n + 1u) * sizeof(*p.done)),
			   .came = malloc((v->n + 1u) * sizeof(*p.came))};
	struct interval to = {.recorded_ns = v->recorded_ns, .completes_in_order = v->completes_in_order};
	bool there = p.until != NULL && p.start != NULL && p.done != NULL && p.came != NULL;
	int code = there ? put_off_all(v, c, &p) : -ENOMEM;
	if (code == 0)
		code = put_tracks(v, &p, &to);
	if (code == 0)
		code = put_needs(v, &p, &to);
	if (code == 0 && c->moving != ALL_MOVES)
		code = need_all(v, &p, &to);
	if (code == 0 && c->moving == NOTHING_MOVES)
		code = need_both_sides(v, &p, &to);
	if (code == 0)
		code = interval_sort_needs(&to);
	if (code == 0) {
		*ret_v = to;
		*ret_calls += p.n;
	} else {
		interval_done(&to);
	}
	free(p.until);
	free(p.start);
	free(p.done);
	free(p.came);
	vec_done(&p.open);
	return code;
}
