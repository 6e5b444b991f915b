/* completions.c - who needs whom to complete collectives: nonblocking ones, which a library without a progress thread
 * moves on only while their members are in MPI, and those with a root, which members pass on.
 * In: which call completed what, and who the analysis saw waiting for another to come and complete it
 * (postproc/stream/collective.c).  Out: needs; a meeting more for each operation that nobody was through with before
 * all had come to complete it, so that it is of all, whoever comes last otherwise. */
#include "postproc/replay/parts.h"

#include <stdlib.h>

/* The event could not end before the causer of its wait had come to complete the same. */
bool blames_completion(const struct interval *v, const struct blame *b)
{
	if (b->state == WAIT_FOR_MEMBER)
		return true;
	unsigned event = v->events[b->event].flags, causer = v->events[b->causer].flags;
	return (event & EVENT_COMPLETES) != 0 && (causer & (EVENT_COMPLETES | EVENT_ENTERS)) == EVENT_COMPLETES;
}

static bool any_was_seen(const struct interval *v)
{
	for (size_t i = 0; i < v->blames.n && v->completions.n > 0; i++)
		if (blames_completion(v, &v->blames.at[i]) && v->blames.at[i].state != WAIT_FOR_MEMBER)
			return true;
	return false;
}

static void enter(struct meeting *m, const struct event *x)
{
	m->members++;
	m->sum_ns += (double)x->start_ns;
	m->last_ns = x->start_ns > m->last_ns ? x->start_ns : m->last_ns;
	m->out_ns = x->end_ns < m->out_ns ? x->end_ns : m->out_ns;
}

static struct meeting *sum_up(const struct interval *v)
{
	struct meeting *sums = calloc(v->meetings.n + 1, sizeof(*sums));
	for (size_t i = 0; sums != NULL && i < v->meetings.n; i++)
		sums[i] = (struct meeting){.last_ns = INT64_MIN,
					   .root_ns = INT64_MIN,
					   .out_ns = INT64_MAX,
					   .gathering = GATHER_ALL,
					   .everybody = v->meetings.at[i].everybody,
					   .root_event = NO_EVENT};
	for (size_t i = 0; sums != NULL && i < v->completions.n; i++)
		enter(&sums[v->completions.at[i].meeting], &v->events[v->completions.at[i].event]);
	return sums;
}

static bool is_of_all(const struct meeting *started, const struct meeting *completed)
{
	return started->gathering == GATHER_ALL && completed->members == started->members && completed->members > 1 &&
	       completed->out_ns >= completed->last_ns;
}

/* Who completes one of all needs all others there. */
static int need_all(struct interval *v, const struct meeting *sums)
{
	size_t started = v->meetings.n;
	uint32_t *number = calloc(started + 1, sizeof(*number)); /* of the completion of each, or 0 */
	int code = number == NULL ? -ENOMEM : 0;
	for (size_t i = 0; i < started && code == 0; i++)
		if (is_of_all(&v->meetings.at[i], &sums[i])) {
			number[i] = (uint32_t)v->meetings.n;
			code = vec_push(&v->meetings, sums[i]);
		}
	for (size_t i = 0; i < v->completions.n && code == 0; i++) {
		const struct completion *c = &v->completions.at[i];
		struct need x = {.event = c->event,
				 .of = number[c->meeting],
				 .kind = NEED_MEETING,
				 .gathering = GATHER_ALL,
				 .enters = true};
		if (x.of == 0)
			continue;
		v->events[c->event].flags |= EVENT_MEETS;
		code = interval_need(v, x);
	}
	free(number);
	return code;
}

int need_completions(struct interval *v)
{
	struct meeting *sums = sum_up(v);
	int code = sums == NULL ? -ENOMEM : any_was_seen(v) ? need_all(v, sums) : 0;
	for (size_t i = 0; i < v->blames.n && code == 0; i++) {
		const struct blame *b = &v->blames.at[i];
		bool may = v->completions.n > 0 || b->state == WAIT_FOR_MEMBER; /* asked without looking at calls */
		if (may && blames_completion(v, b) && (v->events[b->event].flags & EVENT_MEETS) == 0)
			code = interval_need(v, (struct need){b->event, b->causer, .kind = NEED_START});
	}
	free(sums);
	return code;
}

/* ---- where all are together ---- */

const struct need *completion_of_all(const struct interval *v, uint32_t event)
{
	bool completes = (v->events[event].flags & EVENT_COMPLETES) != 0;
	for (uint32_t k = v->needs_of[event]; completes && k < v->needs_of[event + 1]; k++) {
		const struct need *n = &v->needs.at[k];
		if (n->gathering == GATHER_ALL && v->meetings.at[n->of].everybody)
			return n;
	}
	return NULL;
}

/* The n-th completion of one rank is that of another: requests may be completed in any order. */
int find_order(struct interval *v)
{
	VEC(uint32_t) first = {0};
	int code = 0;
	v->completes_in_order = true;
	for (uint32_t k = 0; k < v->ntracks && v->completions.n > 0 && code == 0; k++) {
		const struct track *t = &v->tracks[k];
		size_t n = 0;
		for (uint32_t i = t->first; i < t->first + t->n && code == 0; i++) {
			const struct need *x = completion_of_all(v, i);
			if (x != NULL && k == 0)
				code = vec_push(&first, x->of);
			else if (x != NULL && (n >= first.n || first.at[n] != x->of))
				v->completes_in_order = false;
			n += x != NULL;
		}
		v->completes_in_order &= n == first.n;
	}
	vec_done(&first);
	return code;
}
