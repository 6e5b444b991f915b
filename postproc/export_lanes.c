/* export_lanes.c - see export_lanes.h. In: events of ranks, of all threads by start.  Out: lanes and windows.
 * Times are nanoseconds after clock correction, which the file holds as ticks of one clock at 1 GHz. */
#include "postproc/export_lanes.h"

#define SAMPLE_EVENTS 1024u /* of a rank, between two places where a window may begin */

static int make_first(struct lanes *l)
{
	const struct step *s = l->a->step;
	l->threads = calloc(s->nranks + 1u, sizeof(*l->threads));
	l->first = calloc(s->nranks + 1u, sizeof(*l->first));
	l->place_of = calloc(s->nranks + 1u, sizeof(*l->place_of));
	if (l->threads == NULL || l->first == NULL || l->place_of == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		l->threads[r] = p != NULL && p->threads.n > 1 ? (uint32_t)p->threads.n : 1;
		l->first[r + 1] = l->first[r] + l->threads[r];
		for (size_t i = 0; p != NULL && i < p->events.n; i++)
			if (p->events.at[i].start_ns < l->zero_ns)
				l->zero_ns = p->events.at[i].start_ns;
	}
	l->n = l->first[s->nranks];
	l->at = calloc(l->n, sizeof(*l->at));
	return l->at != NULL ? 0 : -ENOMEM;
}

static uint32_t thread_of(const struct lanes *l, uint32_t rank, const struct event *ev)
{
	uint32_t thread = l->a->step->ranks[rank]->sigs.at[ev->sig].thread;
	return thread < l->threads[rank] ? thread : 0;
}

static int lane_reserve(struct lane *lane, uint32_t n)
{
	lane->enter = malloc((n + 1u) * sizeof(*lane->enter));
	lane->leave = malloc((n + 1u) * sizeof(*lane->leave));
	lane->sig = malloc((n + 1u) * sizeof(*lane->sig));
	lane->number = malloc((n + 1u) * sizeof(*lane->number));
	return lane->enter != NULL && lane->leave != NULL && lane->sig != NULL && lane->number != NULL ? 0 : -ENOMEM;
}

/* Calls of one thread follow each other; where a damaged record says otherwise the later one is moved. */
static void add_event(struct lanes *l, struct lane *lane, const struct event *ev)
{
	uint64_t zero = (uint64_t)l->zero_ns, enter = (uint64_t)ev->start_ns, leave = (uint64_t)ev->end_ns;
	uint64_t least = lane->n > 0 ? lane->leave[lane->n - 1] : zero, most = zero + MPIX_RUNTIME_MAX_NS - 1;
	enter = (int64_t)enter < (int64_t)least ? least : (int64_t)enter > (int64_t)most ? most : enter;
	leave = (int64_t)leave < (int64_t)enter ? enter : (int64_t)leave > (int64_t)most ? most : leave;
	lane->enter[lane->n] = enter;
	lane->leave[lane->n] = leave;
	lane->sig[lane->n] = ev->sig;
	lane->number[lane->n++] = NONE;
}

static int add_extras(struct lanes *l, struct lane *lane, uint32_t rank, uint32_t at, struct moved_walk *walk)
{
	const struct analysis *a = l->a;
	const struct event *ev = op_event(a->step, rank, at);
	const struct sig *sig = event_sig(a->step, rank, at);
	uint64_t usual = (sig->call.flags & SIG_PERSISTENT) != 0 ? 0 : sig->call_bytes;
	uint64_t bytes = bytes_of_event(walk, a->step, &a->ops, &a->moved, rank, at);
	int code = 0;
	if (ev->calls > 1)
		code = vec_push(&lane->extras, (struct mpix_extra){lane->n - 1, MPIX_EXTRA_CALLS, ev->calls});
	if (code == 0 && bytes != usual)
		code = vec_push(&lane->extras, (struct mpix_extra){lane->n - 1, MPIX_EXTRA_BYTES, bytes});
	return code;
}

static int fill_rank(struct lanes *l, uint32_t rank, struct moved_walk *walk)
{
	const struct process *p = l->a->step->ranks[rank];
	uint32_t *counts = calloc(l->threads[rank], sizeof(*counts));
	int code = 0;
	l->place_of[rank] = malloc((p->events.n + 1) * sizeof(**l->place_of));
	if (counts == NULL || l->place_of[rank] == NULL)
		code = -ENOMEM;
	for (size_t i = 0; i < p->events.n && code == 0; i++)
		counts[thread_of(l, rank, &p->events.at[i])]++;
	for (uint32_t t = 0; t < l->threads[rank] && code == 0; t++)
		code = lane_reserve(&l->at[l->first[rank] + t], counts[t]);
	for (uint32_t i = 0; i < p->events.n && code == 0; i++) {
		const struct event *ev = &p->events.at[i];
		struct lane *lane = &l->at[l->first[rank] + thread_of(l, rank, ev)];
		if (ev->calls > 0) {
			add_event(l, lane, ev);
			code = add_extras(l, lane, rank, i, walk);
		}
		l->place_of[rank][i] = lane->n > 0 ? lane->n - 1 : 0;
	}
	free(counts);
	return code;
}

static void set_numbers(struct lanes *l)
{
	const struct ops *o = &l->a->ops;
	uint32_t place;
	for (uint32_t i = 0; i < o->colls.n; i++) {
		const struct coll_op *op = &o->colls.at[i];
		const struct lane *lane = lanes_event(l, op->rank, op->start, &place);
		if (op->channel == 0 && place < lane->n)
			lane->number[place] = i;
	}
}

/* ---- windows ---- */

struct sample {
	int64_t ns;
	uint32_t group;
};

static int by_time(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* A window ends where one group has enough events in it. */
static int cut(struct lanes *l, const struct sample *samples, size_t n)
{
	uint32_t groups = l->a->step->nranks / MPIX_GROUP_RANKS + 1;
	uint32_t *counts = calloc(groups, sizeof(*counts));
	int64_t last = l->zero_ns, end = l->a->step->runtime_ns;
	int code = counts == NULL ? -ENOMEM : vec_push(&l->boundaries, last);
	for (size_t i = 0; i < n && code == 0; i++) {
		if (++counts[samples[i].group] * SAMPLE_EVENTS < MPIX_CHUNK_RECORDS || samples[i].ns <= last)
			continue;
		last = samples[i].ns;
		code = vec_push(&l->boundaries, last);
		memset(counts, 0, groups * sizeof(*counts));
	}
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].n > 0 && (int64_t)l->at[i].leave[l->at[i].n - 1] > end)
			end = (int64_t)l->at[i].leave[l->at[i].n - 1];
	free(counts);
	return code == 0 ? vec_push(&l->boundaries, end + 1) : code;
}

static int choose_windows(struct lanes *l)
{
	VEC(struct sample) samples = {0};
	int code = 0;
	for (uint32_t r = 0; r < l->a->step->nranks; r++)
		for (uint32_t k = l->first[r]; k < l->first[r + 1]; k++)
			for (uint32_t i = SAMPLE_EVENTS; i < l->at[k].n && code == 0; i += SAMPLE_EVENTS)
				code = vec_push(&samples,
						(struct sample){(int64_t)l->at[k].enter[i], r / MPIX_GROUP_RANKS});
	vec_sort(&samples, by_time);
	if (code == 0)
		code = cut(l, samples.at, samples.n);
	vec_done(&samples);
	return code;
}

static int find_begins(const struct lanes *l, struct lane *lane)
{
	uint32_t windows = lanes_windows(l), at = 0;
	lane->begin = malloc((windows + 1u) * sizeof(*lane->begin));
	if (lane->begin == NULL)
		return -ENOMEM;
	for (uint32_t w = 0; w < windows; w++) {
		while (w > 0 && at < lane->n && (int64_t)lane->enter[at] < l->boundaries.at[w])
			at++;
		lane->begin[w] = at;
	}
	lane->begin[windows] = lane->n;
	return 0;
}

/* ---- all ---- */

int lanes_make(struct lanes *ret_lanes, const struct analysis *a)
{
	struct lanes *l = ret_lanes;
	struct moved_walk walk = {0};
	*l = (struct lanes){.a = a};
	int code = make_first(l);
	for (uint32_t r = 0; r < a->step->nranks && code == 0; r++)
		if (a->step->ranks[r] != NULL)
			code = fill_rank(l, r, &walk);
	if (code == 0)
		code = choose_windows(l);
	for (uint32_t i = 0; i < l->n && code == 0; i++)
		code = find_begins(l, &l->at[i]);
	if (code == 0)
		set_numbers(l);
	return code;
}

void lanes_done(struct lanes *l)
{
	for (uint32_t r = 0; l->place_of != NULL && r < l->a->step->nranks; r++)
		free(l->place_of[r]);
	for (uint32_t i = 0; l->at != NULL && i < l->n; i++) {
		struct lane *lane = &l->at[i];
		free(lane->enter);
		free(lane->leave);
		free(lane->sig);
		free(lane->number);
		free(lane->begin);
		vec_done(&lane->extras);
	}
	free(l->at);
	free(l->place_of);
	free(l->first);
	free(l->threads);
	vec_done(&l->boundaries);
}

const struct lane *lanes_event(const struct lanes *l, uint32_t rank, uint32_t at, uint32_t *ret_place)
{
	uint32_t lane = l->first[rank] + thread_of(l, rank, op_event(l->a->step, rank, at));
	*ret_place = l->place_of[rank][at];
	return &l->at[lane];
}

struct mpix_position lanes_position(const struct lanes *l, uint32_t rank, uint32_t at)
{
	uint32_t place, first = 0, last = lanes_windows(l);
	const struct lane *lane = lanes_event(l, rank, at, &place);
	while (last - first > 1) { /* the last window that begins at or before it */
		uint32_t middle = first + (last - first) / 2;
		if (lane->begin[middle] <= place)
			first = middle;
		else
			last = middle;
	}
	return (struct mpix_position){first, (uint32_t)(lane - l->at), place - lane->begin[first]};
}
