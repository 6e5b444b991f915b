/* change.c - how long is computed before each call, with something otherwise.
 * In: recorded times and who was seen to be waited for.  Out: an array by event, ns. */
#include "postproc/replay/parts.h"

#include <math.h>
#include <stdlib.h>

/* ---- balance ---- */

/* Computing between two calls in which all ranks meet, of all of them. */
struct phase {
	double sum_ns;
};

struct phases {
	VEC(struct phase) at;
};

static bool synchronizes_all(const struct interval *v, uint32_t event)
{
	const struct event *x = &v->events[event];
	return (x->flags & EVENT_BLOCKS) != 0 && v->meetings.at[x->meeting].everybody &&
	       v->meetings.at[x->meeting].gathering == GATHER_ALL;
}

/* Or completes what all have started. */
static bool ends_phase(const struct interval *v, uint32_t event)
{
	return synchronizes_all(v, event) || (v->completes_in_order && completion_of_all(v, event) != NULL);
}

/* Ranks come to meetings of all in the same order, so the n-th phase of one is that of another. */
static int sum_phases(const struct interval *v, const struct track *t, const float *gaps, struct phases *p)
{
	size_t phase = 0;
	for (uint32_t i = t->first; i < t->first + t->n; i++) {
		if (vec_reach(&p->at, phase) < 0)
			return -ENOMEM;
		p->at.at[phase].sum_ns += (double)gaps[i];
		phase += ends_phase(v, i);
	}
	return 0;
}

static void scale(float *gaps, uint32_t from, uint32_t to, double own_ns, double mean_ns)
{
	for (uint32_t i = from; i < to; i++)
		gaps[i] = (float)(own_ns > 0 ? gaps[i] * mean_ns / own_ns : mean_ns / (to - from));
}

static void balance_track(const struct interval *v, const struct track *t, float *gaps, const struct phases *p)
{
	uint32_t from = t->first;
	size_t phase = 0;
	double own = 0;
	for (uint32_t i = t->first; i < t->first + t->n; i++) {
		own += (double)gaps[i];
		if (!ends_phase(v, i) && i + 1 < t->first + t->n)
			continue;
		scale(gaps, from, i + 1, own, p->at.at[phase++].sum_ns / v->ntracks);
		from = i + 1;
		own = 0;
	}
}

static int balance(const struct interval *v, float *gaps)
{
	struct phases p = {0};
	int code = 0;
	for (uint32_t i = 0; i < v->ntracks && code == 0; i++)
		code = sum_phases(v, &v->tracks[i], gaps, &p);
	for (uint32_t i = 0; i < v->ntracks && code == 0; i++)
		balance_track(v, &v->tracks[i], gaps, &p);
	vec_done(&p.at);
	return code;
}

/* ---- waits that are not there ---- */

static bool is_blamed(const struct blame *b, const struct replay_change *c)
{
	return (c->without_states & 1u << b->state) != 0;
}

/* Its rank begins anew behind it: it had waited, or met all others. */
static bool levels(const struct interval *v, uint32_t event)
{
	return (v->events[event].flags & (EVENT_WAITED | EVENT_MEETS)) != 0 || synchronizes_all(v, event);
}

/* Computing before each event since its rank last waited itself, or all were together. */
static float *own_of_all(const struct interval *v, const float *gaps)
{
	float *own = malloc((v->n + 1u) * sizeof(*own));
	for (uint32_t k = 0; own != NULL && k < v->ntracks; k++) {
		const struct track *t = &v->tracks[k];
		for (uint32_t i = t->first; i < t->first + t->n; i++) {
			bool goes_on = i > t->first && !levels(v, i - 1);
			own[i] = gaps[i] + (goes_on ? own[i - 1] : 0);
		}
	}
	return own;
}

/* What is wanted goes out of the computing before an event, back to the last call that waited itself: what lies before
 * that is not what made it late. Of one call site: only before calls there. */
static void take_out(const struct interval *v, const struct track *t, uint32_t callsite, const float *wanted,
		     float *gaps)
{
	float left = 0;
	for (uint32_t i = t->first + t->n; i-- > t->first;) {
		left += wanted[i];
		bool here = callsite == REPLAY_ANY || v->events[i].callsite == callsite;
		float part = !here ? 0 : left < gaps[i] ? left : gaps[i];
		gaps[i] -= part;
		left -= part;
		if (i > t->first && levels(v, i - 1))
			left = 0;
	}
}

/* Whoever is late at a meeting of all should be there as early as their mean. */
static void want_mean_at(const struct interval *v, uint32_t event, uint32_t meeting, const bool *asked, float *wanted)
{
	const struct meeting *m = &v->meetings.at[meeting];
	if (asked[meeting])
		wanted[event] =
			fmaxf(wanted[event], (float)((double)v->events[event].start_ns - m->sum_ns / m->members));
}

static void want_mean(const struct interval *v, const bool *asked, float *wanted)
{
	for (uint32_t i = 0; i < v->n; i++) {
		const struct event *x = &v->events[i];
		if ((x->flags & EVENT_ENTERS) != 0 && x->gathering == GATHER_ALL)
			want_mean_at(v, i, x->meeting, asked, wanted);
		for (uint32_t k = v->needs_of[i]; (x->flags & EVENT_MEETS) != 0 && k < v->needs_of[i + 1]; k++)
			if (v->needs.at[k].enters)
				want_mean_at(v, i, v->needs.at[k].of, asked, wanted);
	}
}

/* The completions that an event waits for. */
static void ask_completions(const struct interval *v, uint32_t event, bool *asked)
{
	for (uint32_t k = v->needs_of[event]; k < v->needs_of[event + 1]; k++)
		if (v->needs.at[k].enters)
			asked[v->needs.at[k].of] = true;
}

/* Who is waited for alone should be there as early as who waits, as far as it computed longer since it last waited. */
static void want_causers(const struct interval *v, const struct replay_change *c, const float *own, bool *asked,
			 float *wanted)
{
	for (size_t i = 0; i < v->blames.n; i++) {
		const struct blame *b = &v->blames.at[i];
		const struct event *causer = &v->events[b->causer];
		if (!is_blamed(b, c))
			continue;
		if ((causer->flags & EVENT_ENTERS) != 0 && causer->gathering == GATHER_ALL) {
			asked[causer->meeting] = true;
			continue;
		}
		if (blames_completion(v, b) && (v->events[b->event].flags & EVENT_MEETS) != 0) {
			ask_completions(v, b->event, asked);
			continue;
		}
		float more = own[b->causer] - own[b->event];
		float ns = more < (float)b->ns ? more : (float)b->ns;
		wanted[b->causer] = fmaxf(wanted[b->causer], ns);
	}
}

static int without(const struct interval *v, const struct replay_change *c, float *gaps)
{
	float *wanted = calloc(v->n + 1u, sizeof(*wanted)), *own = own_of_all(v, gaps);
	bool *asked = calloc(v->meetings.n + 1, sizeof(*asked));
	int code = wanted == NULL || asked == NULL || own == NULL ? -ENOMEM : 0;
	if (code == 0) {
		want_causers(v, c, own, asked, wanted);
		want_mean(v, asked, wanted);
	}
	for (uint32_t k = 0; k < v->ntracks && code == 0; k++)
		take_out(v, &v->tracks[k], c->causer_site, wanted, gaps);
	free(wanted);
	free(asked);
	free(own);
	return code;
}

/* ---- all of it ---- */

static void multiply(const struct interval *v, const struct replay_factor *x, float *gaps)
{
	for (uint32_t k = 0; k < v->ntracks; k++) {
		const struct track *t = &v->tracks[k];
		if (x->rank != REPLAY_ANY && x->rank != t->rank)
			continue;
		for (uint32_t i = t->first; i < t->first + t->n; i++)
			if (x->callsite == REPLAY_ANY || v->events[i].callsite == x->callsite)
				gaps[i] = (float)(gaps[i] * x->factor);
	}
}

static void multiply_all(const struct interval *v, const struct replay_change *c, float *gaps)
{
	for (uint32_t k = 0; k < v->ntracks; k++) {
		const struct track *t = &v->tracks[k];
		for (uint32_t i = t->first; i < t->first + t->n && t->rank < c->ntimes; i++)
			gaps[i] = (float)(gaps[i] * c->times[t->rank].computing);
	}
}

/* As much less of the way from what was. */
static void leave_undone(const struct interval *v, double undone, float *gaps)
{
	for (uint32_t k = 0; k < v->ntracks; k++)
		for (uint32_t i = 0; i < v->tracks[k].n; i++) {
			float *gap = &gaps[v->tracks[k].first + i];
			*gap = (float)(*gap + undone * ((double)gap_before(v, &v->tracks[k], i) - *gap));
		}
}

int change_gaps(const struct interval *v, const struct replay_change *change, float *ret_gaps)
{
	int code = 0;
	for (uint32_t k = 0; k < v->ntracks; k++)
		for (uint32_t i = 0; i < v->tracks[k].n; i++)
			ret_gaps[v->tracks[k].first + i] = (float)gap_before(v, &v->tracks[k], i);
	if (change->without_states != 0)
		code = without(v, change, ret_gaps);
	for (uint32_t i = 0; i < change->nfactors && code == 0; i++)
		multiply(v, &change->factors[i], ret_gaps);
	if (code == 0)
		multiply_all(v, change, ret_gaps);
	if (code == 0 && change->balance)
		code = balance(v, ret_gaps);
	if (code == 0 && change->undone > 0)
		leave_undone(v, change->undone, ret_gaps);
	return code;
}
