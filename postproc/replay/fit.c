/* fit.c - what messages and calls take in this run.
 * In: events and needs of all intervals.  Out: struct model; of each message its transfer, of each call what it took
 * beyond what it needed. */
#include "postproc/replay/parts.h"

#include "base/pool.h"

#include <math.h>
#include <stdlib.h>

#define SEEN_MAX 4096u	       /* transfers of a distance and size that are looked at */
#define SEEN_MIN 8u	       /* before a median tells something */
#define LARGE_BYTES_BIN 15u    /* from 16 KiB on bandwidth tells, below it latency */
#define MOVED_IN_CALL 0.5      /* of what a message takes: whose receiver is in the call for less had it before */
#define CALLS_AHEAD 40u	       /* of which memory is asked for before they are come to */
#define FIT_PARTS 64u	       /* of an interval's tracks, for threads */
#define LATENCY_DEFAULT_NS 1e3 /* where no transfer was seen: a message in a node */

struct seen {
	VEC(float) ns[DISTANCES][SIZE_BINS];
	double bytes[DISTANCES][SIZE_BINS];
};

/* ---- transfers of which the start and the end were seen: their receiver waited, and nothing began behind them ---- */

/* What began last of what a call needs, if that is a message; else NULL. With those before it, it shares the network,
 * as it would another one. */
static const struct need *last_message(const struct interval *v, uint32_t event)
{
	const struct need *last = NULL;
	for (uint32_t i = v->needs_of[event]; i < v->needs_of[event + 1]; i++) {
		const struct need *x = &v->needs.at[i];
		if (x->kind == NEED_MEETING)
			return NULL;
		if (last == NULL || v->events[x->of].start_ns > v->events[last->of].start_ns)
			last = x;
	}
	return last != NULL && last->kind == NEED_MESSAGE ? last : NULL;
}

/* Is there a message of which enough was not seen yet? */
static bool is_wanted(const struct seen *s, const struct interval *v, uint32_t event)
{
	for (uint32_t i = v->needs_of[event]; i < v->needs_of[event + 1]; i++) {
		const struct need *x = &v->needs.at[i];
		if (x->kind == NEED_MESSAGE && s->ns[x->distance][size_bin(x->bytes)].n < SEEN_MAX)
			return true;
	}
	return false;
}

static int see_interval(struct seen *s, const struct interval *v)
{
	for (uint32_t i = 0; i < v->n; i++) {
		const struct need *x = is_wanted(s, v, i) ? last_message(v, i) : NULL;
		if (x == NULL)
			continue;
		const struct event *send = &v->events[x->of], *done = &v->events[i];
		unsigned bin = size_bin(x->bytes);
		if (done->start_ns > send->start_ns || done->end_ns < send->start_ns ||
		    s->ns[x->distance][bin].n >= SEEN_MAX)
			continue;
		if (vec_push(&s->ns[x->distance][bin], (float)(done->end_ns - send->start_ns)) < 0)
			return -ENOMEM;
		s->bytes[x->distance][bin] += x->bytes;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const float *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void fit_distance(struct seen *s, unsigned distance, struct model *m)
{
	double median[SIZE_BINS], latency = NAN, best = NAN;
	for (unsigned bin = 0; bin < SIZE_BINS; bin++) {
		size_t n = s->ns[distance][bin].n;
		vec_sort(&s->ns[distance][bin], by_value);
		median[bin] = n >= SEEN_MIN ? (double)s->ns[distance][bin].at[n / 2] : NAN;
		if (bin < LARGE_BYTES_BIN && !isnan(median[bin]))
			latency = isnan(latency) ? median[bin] : fmin(latency, median[bin]);
	}
	for (unsigned bin = LARGE_BYTES_BIN; bin < SIZE_BINS; bin++) {
		double bytes =
			s->ns[distance][bin].n > 0 ? s->bytes[distance][bin] / (double)s->ns[distance][bin].n : 0;
		double ns = median[bin] - (isnan(latency) ? 0 : latency);
		if (!isnan(median[bin]) && ns > 0)
			best = isnan(best) ? ns / bytes : fmin(best, ns / bytes);
	}
	m->latency_ns[distance] = isnan(latency) ? 0 : latency;
	m->ns_per_byte[distance] = isnan(best) ? 0 : best;
}

/* ---- what lies beyond ---- */

static double model_transfer_ns(const struct model *m, const struct need *x)
{
	double latency = m->latency_ns[x->distance] > 0 ? m->latency_ns[x->distance] : LATENCY_DEFAULT_NS;
	return latency + m->ns_per_byte[x->distance] * x->bytes;
}

/* When what a call needed was there, and when who it came from began; what came behind its end it did not need. */
static int64_t came_ns(const struct interval *v, struct model *m, struct need *x, int64_t *ret_from_ns)
{
	int64_t end = v->events[x->event].end_ns, from;
	if (x->kind == NEED_MEETING) {
		const struct meeting *at = &v->meetings.at[x->of];
		from = at->gathering == GATHER_FROM_ROOT ? at->root_ns : at->last_ns;
	} else {
		from = v->events[x->of].start_ns;
	}
	*ret_from_ns = from > end ? INT64_MIN : from;
	if (from > end) {
		x->kind = NEED_NOTHING;
		return INT64_MIN;
	}
	if (x->kind == NEED_MESSAGE) {
		bool large = size_bin(x->bytes) >= LARGE_BYTES_BIN;
		int64_t start = v->events[x->event].start_ns;
		m->messages[x->distance] = true;
		m->large |= large;
		x->in_call = large && from < start && (double)(end - start) >= MOVED_IN_CALL * model_transfer_ns(m, x);
		from = x->in_call ? start : from;
		x->transfer_ns = (float)fmin(model_transfer_ns(m, x), (double)(end - from));
		from += (int64_t)x->transfer_ns;
	}
	return from;
}

/* A call that has no part in others, as the probe or the test is that at last was not in vain. */
static bool is_alone(const struct interval *v, uint32_t i)
{
	const struct event *x = &v->events[i];
	return v->needs_of[i] == v->needs_of[i + 1] && x->distance == NO_DISTANCE &&
	       (x->flags & (EVENT_NEEDED | EVENT_ENTERS | EVENT_BLOCKS | EVENT_SYNCHRONOUS)) == 0;
}

/* Tests in vain wait for what the call behind them then has; that which was not in vain may stand between. */
static void tests_that_waited(struct interval *v, const struct track *t, uint32_t i, int64_t from_ns)
{
	uint32_t at = i;
	if (at > t->first + 1 && (v->events[at - 1].flags & EVENT_POLLS) == 0 && is_alone(v, at - 1))
		at--;
	if (at > t->first && (v->events[at - 1].flags & EVENT_POLLS) != 0 && from_ns > v->events[at - 1].start_ns &&
	    v->events[at - 1].start_ns <= v->events[i].start_ns)
		v->spent_ns[at - 1] = 0;
}

static void spend(struct interval *v, struct model *m, const struct track *t, uint32_t i)
{
	struct event *x = &v->events[i];
	int64_t ready = x->start_ns, began = INT64_MIN;
	bool needs = false;
	for (uint32_t k = v->needs_of[i]; k < v->needs_of[i + 1]; k++) {
		struct need *n = &v->needs.at[k];
		int64_t from, came = came_ns(v, m, n, &from);
		needs |= n->kind != NEED_NOTHING;
		began = n->kind != NEED_START && from > began ? from : began;
		ready = came > ready ? came : ready;
	}
	ready = ready < x->end_ns ? ready : x->end_ns;
	x->flags |= ready > x->start_ns ? EVENT_WAITED : 0;
	v->spent_ns[i] = (float)(x->end_ns - ready);
	tests_that_waited(v, t, i, began);
	if (!needs)
		return;
	struct spent *sum = &m->spent[row_of(x)][size_bin(x->bytes)][(x->flags & EVENT_WAITED) != 0];
	sum->ns += (double)v->spent_ns[i];
	sum->calls++;
	m->large |= size_bin(x->bytes) >= LARGE_BYTES_BIN;
}

static void find_means(struct model *m)
{
	struct spent *all = &m->spent[0][0][0];
	for (size_t i = 0; i < sizeof(m->spent) / sizeof(*all); i++)
		all[i].mean = all[i].calls > 0 ? all[i].ns / (double)all[i].calls : NAN;
}

/* Memory of what calls need, before they are come to. */
static uint32_t ask_needs(const struct interval *v, const struct track *t, uint32_t from, uint32_t event)
{
	uint32_t end = event + CALLS_AHEAD < t->first + t->n ? v->needs_of[event + CALLS_AHEAD] : from;
	for (; from < end; from++) {
		const struct need *x = &v->needs.at[from];
		if (x->kind == NEED_MEETING)
			__builtin_prefetch(&v->meetings.at[x->of]);
		else
			__builtin_prefetch(&v->events[x->of]);
	}
	return from;
}

static void seen_done(struct seen *s)
{
	for (unsigned d = 0; d < DISTANCES; d++)
		for (unsigned bin = 0; bin < SIZE_BINS; bin++)
			vec_done(&s->ns[d][bin]);
	free(s);
}

static double track_ns(const struct interval *v, const struct track *t)
{
	return t->n > 0 ? (double)(v->events[t->first + t->n - 1].end_ns - t->begin_ns) : 0;
}

/* Some of an interval's tracks, by one thread: sums are of as many parts whatever threads there are. */
struct fitting {
	struct replay *r;
	struct interval *v;
	struct part {
		struct model model; /* sums of it, and what was seen */
		double polls_ns;
	} * parts; /* FIT_PARTS */
};

static double spend_track(struct interval *v, struct model *m, const struct track *t)
{
	double polls_ns = 0;
	for (uint32_t i = t->first, asked = v->needs_of[i]; i < t->first + t->n; i++) {
		asked = ask_needs(v, t, asked, i);
		spend(v, m, t, i);
	}
	for (uint32_t i = t->first; i < t->first + t->n; i++)
		polls_ns += (v->events[i].flags & EVENT_POLLS) != 0 ? (double)v->spent_ns[i] : 0;
	return polls_ns;
}

static void spend_part(void *context, size_t i)
{
	const struct fitting *x = context;
	struct part *part = &x->parts[i];
	size_t end = x->v->ntracks * (i + 1) / FIT_PARTS;
	part->model = x->r->model;
	memset(part->model.spent, 0, sizeof(part->model.spent));
	part->polls_ns = 0;
	for (size_t k = x->v->ntracks * i / FIT_PARTS; k < end; k++)
		part->polls_ns += spend_track(x->v, &part->model, &x->v->tracks[k]);
}

static void add_part(struct replay *r, const struct part *part)
{
	struct spent *to = &r->model.spent[0][0][0];
	const struct spent *from = &part->model.spent[0][0][0];
	for (size_t i = 0; i < sizeof(r->model.spent) / sizeof(*to); i++) {
		to[i].ns += from[i].ns;
		to[i].calls += from[i].calls;
	}
	for (unsigned d = 0; d < DISTANCES; d++)
		r->model.messages[d] |= part->model.messages[d];
	r->model.large |= part->model.large;
	r->polls_ns += part->polls_ns;
}

static int spend_interval(struct replay *r, struct interval *v)
{
	struct fitting x = {r, v, malloc(FIT_PARTS * sizeof(*x.parts))};
	v->spent_ns = calloc(v->n + 1u, sizeof(*v->spent_ns));
	int code = x.parts == NULL || v->spent_ns == NULL ? -ENOMEM : 0;
	if (code == 0)
		pool_run(r->pool, FIT_PARTS, spend_part, &x);
	for (unsigned i = 0; i < FIT_PARTS && code == 0; i++)
		add_part(r, &x.parts[i]);
	for (uint32_t t = 0; t < v->ntracks; t++)
		r->tracks_ns += track_ns(v, &v->tracks[t]);
	free(x.parts);
	return code;
}

int model_fit(struct replay *r)
{
	struct seen *s = calloc(1, sizeof(*s));
	int code = s == NULL ? -ENOMEM : 0;
	for (uint32_t i = 0; i < r->nintervals && code == 0; i++)
		code = see_interval(s, &r->intervals[i]);
	for (unsigned d = 0; d < DISTANCES && code == 0; d++)
		fit_distance(s, d, &r->model);
	for (uint32_t i = 0; i < r->nintervals && code == 0; i++)
		code = spend_interval(r, &r->intervals[i]);
	find_means(&r->model);
	if (s != NULL)
		seen_done(s);
	return code;
}
