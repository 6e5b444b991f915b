/* mpix_read_events.c - calls of one rank, of version 2: its lanes merged, its wait states added.
 * In: parts (mpix_read_part.c).  Out: events by start, through a callback. */
#include "format/mpix_reader.h"

#include "base/search.h"
#include "base/vec.h"

#include <stdlib.h>

/* What an event waited, by position. */
struct waited {
	struct mpix_position at;
	int64_t ns;
};

struct waiteds {
	struct waited *at;
	size_t n, cap;
};

struct query {
	struct mpix_file *f;
	uint32_t rank, first_lane, end_lane;
	int64_t from_ns, to_ns;
	int (*visit)(void *context, const struct mpix_event *event);
	void *context;
	struct waiteds waits, came; /* ascending position; came: bytes */
	VEC(uint32_t) next;	    /* by lane: the next event of its run */
};

/* ---- wait states ---- */

static int compare_positions(const struct mpix_position *x, const struct mpix_position *y)
{
	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int by_position(const void *a, const void *b)
{
	const struct waited *x = a, *y = b;
	return compare_positions(&x->at, &y->at);
}

static int keep_wait(void *context, const struct mpix_wait *x)
{
	struct query *q = context;
	if (x->state == MPIX_WRONG_ORDER || x->state == MPIX_LATE_COMPLETE) /* is in another that is listed as well */
		return 0;
	return vec_push(x->how == MPIX_CAME_BYTES ? &q->came : &q->waits, (struct waited){x->at, x->ns});
}

static int gather_waits(struct query *q, struct error *e)
{
	uint32_t n;
	int rc = 0;
	const struct mpix_entry *x = mpix_find_group(q->f, MPIX_WAITS, q->rank / q->f->shape.group_ranks, &n);
	for (uint32_t i = 0; i < n && rc == 0; i++)
		if (x[i].start_ns < q->to_ns && x[i].end_ns > q->from_ns)
			rc = mpix_visit_waits(q->f, &x[i], (struct mpix_asked){q->first_lane, q->end_lane, false},
					      keep_wait, q, e);
	vec_sort(&q->waits, by_position);
	vec_sort(&q->came, by_position);
	return rc;
}

/* The sum of what a list has of one event. */
static int64_t sum_at(const struct waiteds *list, const struct mpix_position *at)
{
	size_t first = search_first(0, list->n, i, compare_positions(&list->at[i].at, at) < 0);
	int64_t ns = 0;
	for (; first < list->n && compare_positions(&list->at[first].at, at) == 0; first++)
		if (__builtin_add_overflow(ns, list->at[first].ns, &ns))
			return INT64_MAX;
	return ns;
}

/* ---- events ---- */

struct mpix_event mpix_event_of(const struct mpix_part_data *part, const struct mpix_part_event *x,
				struct mpix_position at, uint32_t first_lane, uint32_t first_sig)
{
	const struct mpix_signature *sig = &part->sigs->sigs[x->sig];
	struct mpix_event ev = {
		.start_ns = x->start_ns,
		.end_ns = x->end_ns,
		.bytes = sig->bytes,
		.calls = 1,
		.peer = sig->peer,
		.tag = sig->tag,
		.op = sig->op,
		.callsite = sig->callsite,
		.comm = sig->comm,
		.object = sig->object,
		.came_bytes = sig->came_bytes,
		.thread = at.lane - first_lane,
		.class = sig->class,
		.at = at,
		.number = x->number,
		.signature = x->sig - first_sig,
		.flags = sig->flags,
		.stack = sig->stack,
		.message_bytes = sig->message_bytes,
	};
	for (uint64_t i = 0, n = x->extra > 0 ? part->extras[x->extra - 1] : 0; i < n; i++) {
		uint64_t word = part->extras[x->extra + i];
		if ((word & 3) == MPIX_EXTRA_CALLS)
			ev.calls = word >> 2;
		else if ((word & 3) == MPIX_EXTRA_BYTES)
			ev.bytes = word >> 2;
	}
	return ev;
}

static int emit(const struct query *q, const struct mpix_part_data *part, const struct mpix_part_event *x,
		struct mpix_position at)
{
	if (!mpix_overlaps(x->start_ns, x->end_ns, q->from_ns, q->to_ns))
		return 0;
	struct mpix_event ev =
		mpix_event_of(part, x, at, q->first_lane, part->sigs->first[q->rank % q->f->shape.group_ranks]);
	if (q->waits.n > 0)
		ev.wait_ns = sum_at(&q->waits, &at);
	if (q->came.n > 0)
		ev.bytes += (uint64_t)sum_at(&q->came, &at);
	return q->visit(q->context, &ev);
}

/* Those that were open when the first chunk of the query begins. */
static int emit_carried(const struct query *q, const struct mpix_part_data *part)
{
	int64_t after = INT64_MIN;
	uint32_t after_lane = 0;
	for (;;) {
		const struct mpix_part_carried *next = NULL;
		for (uint32_t i = 0; i < part->ncarried; i++) {
			const struct mpix_part_carried *x = &part->carried[i];
			bool later =
				x->event.start_ns > after || (x->event.start_ns == after && x->at.lane > after_lane);
			if (x->at.lane >= q->first_lane && x->at.lane < q->end_lane && later &&
			    (next == NULL || x->event.start_ns < next->event.start_ns))
				next = x;
		}
		if (next == NULL)
			return 0;
		int rc = emit(q, part, &next->event, next->at);
		if (rc != 0)
			return rc;
		after = next->event.start_ns;
		after_lane = next->at.lane;
	}
}

/* Runs of the rank's lanes stand in a row; the one whose next event starts first goes on. */
static int emit_runs(struct query *q, const struct mpix_part_data *part)
{
	uint32_t first = 0, n = 0;
	while (first < part->nruns && part->runs[first].lane < q->first_lane)
		first++;
	while (first + n < part->nruns && part->runs[first + n].lane < q->end_lane)
		n++;
	if (n > 0 && vec_reach(&q->next, n - 1) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		q->next.at[i] = 0;
	for (;;) {
		const struct mpix_part_event *next = NULL;
		uint32_t of = 0;
		for (uint32_t i = 0; i < n; i++) {
			const struct mpix_part_run *run = &part->runs[first + i];
			const struct mpix_part_event *x = &part->events[run->first + q->next.at[i]];
			if (q->next.at[i] < run->n && (next == NULL || x->start_ns < next->start_ns)) {
				next = x;
				of = i;
			}
		}
		if (next == NULL)
			return 0;
		struct mpix_position at = {part->entry->seq, part->runs[first + of].lane, q->next.at[of]++};
		int rc = emit(q, part, next, at);
		if (rc != 0)
			return rc;
	}
}

static int visit_windows(struct query *q, struct error *e)
{
	uint32_t n, group = q->rank / q->f->shape.group_ranks;
	bool first = true;
	const struct mpix_entry *x = mpix_find_group(q->f, MPIX_EVENTS, group, &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct mpix_part_data *part;
		if (x[i].start_ns >= q->to_ns || x[i].end_ns <= q->from_ns)
			continue;
		mpix_cache_trim(q->f);
		int rc = mpix_part_get(q->f, group, x[i].seq, &part, e);
		if (rc == 0 && part != NULL && first)
			rc = emit_carried(q, part);
		if (rc == 0 && part != NULL)
			rc = emit_runs(q, part);
		if (rc != 0)
			return rc;
		first = false;
	}
	return 0;
}

int mpix_each_event(struct mpix_file *f, uint32_t rank, int64_t from_ns, int64_t to_ns,
		    int (*visit)(void *context, const struct mpix_event *event), void *context, struct error *e)
{
	struct query q = {.f = f, .rank = rank, .from_ns = from_ns, .to_ns = to_ns, .visit = visit, .context = context};
	if (f->super.version == 1)
		return mpix_v1_each_event(f, rank, from_ns, to_ns, visit, context, e);
	if (rank >= f->info.ranks)
		return fail(e, -EINVAL, "%s: there is no rank %u", f->path, rank);
	q.first_lane = f->lanes.first[rank];
	q.end_lane = f->lanes.first[rank + 1];
	int rc = mpix_cache_begin(f, e);
	if (rc == 0)
		rc = gather_waits(&q, e);
	if (rc == 0)
		rc = visit_windows(&q, e);
	vec_done(&q.waits);
	vec_done(&q.came);
	vec_done(&q.next);
	return rc;
}

int mpix_tick_ns(struct mpix_file *f, uint32_t lane, double *ret_ns, struct error *e)
{
	const struct mpix_knots *clock;
	int rc = mpix_cache_begin(f, e);
	if (rc == 0 && (f->super.version == 1 || lane >= f->lanes.n))
		rc = fail(e, -EINVAL, "%s: no clock of lane %u", f->path, lane);
	if (rc == 0)
		rc = mpix_clock_get(f, lane, &clock, e);
	if (rc < 0)
		return rc;
	*ret_ns = mpix_knots_tick_ns(clock);
	return 0;
}
