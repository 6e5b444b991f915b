/* plan.c - lanes, clocks and windows, before the first event is decoded: heads of blocks say how many events there are
 * from when on. */
#include "postproc/read/ends.h"
#include "postproc/read/load.h"
#include "postproc/stream/stream.h"

#include <math.h>

#define GROUP_RANKS 16u
#define GROUP_EVENTS 16384u	     /* that the ranks of a group should have in a window */
#define WINDOW_EVENTS_MIN 65536u     /* of all ranks: what a chunk says once must not weigh with few of them */
#define WINDOW_EVENTS_MAX (1u << 20) /* of all ranks: it is as many that memory must hold */
#define SLICE_EVENTS_OF_RANK 8u	     /* and each rank: coming to it costs as much as some events */
#define SLICES_MAX (1u << 24)	     /* only what claims more than it can have has so many */
#define SLICE_EVENTS 16384u /* that all ranks should have in a slice, of several hundred bytes each while they pass */

/* ---- clocks ---- */

static void shift_time(int64_t *ns, int64_t by)
{
	if (*ns != TIME_ABSENT)
		*ns -= by;
}

static void shift_process(struct process *p, int64_t by)
{
	shift_time(&p->start_ns, by);
	shift_time(&p->end_ns, by);
	shift_time(&p->init_exit_ns, by);
	shift_time(&p->finalize_enter_ns, by);
	for (size_t i = 0; i < p->open.n; i++)
		shift_time(&p->open.at[i].enter_ns, by);
	for (size_t i = 0; i < p->threads.n; i++)
		shift_time(&p->threads.at[i].lost_from_ns, by);
}

static int make_rules(struct stream *st)
{
	struct step *s = st->step;
	int64_t zero = clock_earliest(s);
	s->realtime_start_s = (double)zero / 1e9;
	st->rules = calloc(s->nodes.n + 1, sizeof(*st->rules));
	if (st->rules == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->nodes.n; i++) {
		struct node *n = &s->nodes.at[i];
		int64_t own = (int64_t)((uint64_t)zero - (uint64_t)clock_median_offset(n));
		if (clock_rule_make(n, own, &st->rules[i]) < 0)
			return -ENOMEM;
		for (size_t p = 0; p < s->processes.n; p++)
			if (s->processes.at[p]->node == i)
				clock_convert(s->processes.at[p], &st->rules[i]);
	}
	return 0;
}

/* ---- lanes ---- */

static int count_lanes(struct stream *st)
{
	const struct step *s = st->step;
	for (uint32_t r = 0; r < s->nranks; r++) {
		st->ranks[r].first_lane = st->nlanes;
		for (size_t t = 0; s->ranks[r] != NULL && t < s->ranks[r]->threads.n; t++)
			st->nlanes += s->ranks[r]->threads.at[t].nblocks > 0;
		st->ranks[r].nlanes = st->nlanes - st->ranks[r].first_lane;
	}
	st->lanes = calloc(st->nlanes + 1, sizeof(*st->lanes));
	return st->lanes == NULL ? -ENOMEM : 0;
}

static int make_lanes(struct stream *st)
{
	const struct step *s = st->step;
	int code = count_lanes(st);
	uint32_t at = 0;
	for (uint32_t r = 0; r < s->nranks && code == 0; r++)
		for (uint32_t t = 0; s->ranks[r] != NULL && t < s->ranks[r]->threads.n && code == 0; t++) {
			struct process *p = s->ranks[r];
			if (p->threads.at[t].nblocks == 0)
				continue;
			struct lane *l = &st->lanes[at];
			*l = (struct lane){.process = p,
					   .rank = r,
					   .thread = t,
					   .number = at++,
					   .rule = &st->rules[p->node],
					   .file = &s->nodes.at[p->node].file};
			code = lane_begin(l);
			if (code == 0 && t == 0 && p->calls_in == NULL &&
			    (p->calls_in = calloc(TIME_WINDOWS, sizeof(*p->calls_in))) == NULL)
				code = -ENOMEM;
		}
	return code;
}

/* ---- windows ---- */

/* From at on, so many more events a nanosecond. */
struct rate {
	int64_t at_ns;
	double more;
};

struct rates {
	VEC(struct rate) list;
	int64_t from_ns, to_ns;
	uint64_t events;
};

static int add_rates(struct rates *r, int64_t from, int64_t to, uint32_t count)
{
	double rate = (double)count / (double)(to > from ? to - from : 1);
	if (vec_push(&r->list, (struct rate){from, rate}) < 0)
		return -ENOMEM;
	return vec_push(&r->list, (struct rate){to > from ? to : from + 1, -rate});
}

/* When the last event ended, of a process that did not say: of the last block that can be read. */
static int64_t last_exit(struct lane *l)
{
	for (const struct mpic_block *b = l->last_block; b-- > l->block;) {
		struct mpic_event ev = {0};
		uint32_t count;
		int code = mpic_read(l->file, b, &l->payload, NULL);
		if (code == 0)
			code = mpic_events_begin(&l->events, cursor_over(l->payload.data, l->payload.len_bytes),
						 &count);
		while (code == 0 && mpic_events_next(&l->events, &ev) == 1)
			;
		if (ev.exit_tick != 0)
			return lane_ns(l, ev.exit_tick);
	}
	return TIME_ABSENT;
}

/* Of the events from one time to another, almost none are in MPI_Init and MPI_Finalize, which may take longer than all
 * the rest. */
static int add_block(const struct process *p, struct rates *r, int64_t from, int64_t to, uint32_t events)
{
	if (p->init_exit_ns != TIME_ABSENT && p->init_exit_ns > from && p->init_exit_ns < to)
		from = p->init_exit_ns;
	if (p->finalize_enter_ns != TIME_ABSENT && p->finalize_enter_ns > from && p->finalize_enter_ns < to)
		to = p->finalize_enter_ns;
	return add_rates(r, from, to, events);
}

static int scan_lane(struct lane *l, struct rates *r)
{
	struct process *p = l->process;
	int64_t from = TIME_ABSENT;
	uint32_t events = 0;
	for (const struct mpic_block *b = l->block; b < l->last_block; b++) {
		uint8_t head[MPIC_EVENTS_HEAD_BYTES];
		uint32_t count;
		uint64_t tick;
		if (mpic_read_head(l->file, b, head, sizeof(head)) < 0 ||
		    mpic_events_peek(head, b->raw_len_bytes, &count, &tick) < 0)
			continue;
		int64_t at = lane_ns(l, tick);
		r->from_ns = at < r->from_ns ? at : r->from_ns;
		r->events += count;
		if (from != TIME_ABSENT && add_block(p, r, from, at, events) < 0)
			return -ENOMEM;
		from = at;
		events = count;
		l->begin_tick = b == l->block ? tick : l->begin_tick;
	}
	if (from == TIME_ABSENT)
		return 0;
	int64_t last = ends_at_least(p) ? last_exit(l) : TIME_ABSENT;
	ends_lived(p, last);
	open_forget(p, l->thread, last);
	int64_t end = p->end_ns != TIME_ABSENT ? p->end_ns : last;
	end = end > from ? end : from;
	r->to_ns = end > r->to_ns ? end : r->to_ns;
	return add_block(p, r, from, end, events);
}

static int by_time(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->more > y->more) - (x->more < y->more);
}

static int add_window(struct stream *st, size_t *cap, int64_t start)
{
	if (st->nslices > 0 && st->starts[st->nslices - 1] >= start)
		return 0;
	if (vec_grow(&st->starts, cap, st->nslices + 2, sizeof(*st->starts)) < 0)
		return -ENOMEM;
	st->starts[st->nslices++] = start;
	return 0;
}

/* Cut where so many events must have passed. */
static int cut(struct stream *st, struct rates *r)
{
	uint32_t groups = (st->step->nranks + GROUP_RANKS - 1) / GROUP_RANKS;
	double window = fmin(fmax((double)groups * GROUP_EVENTS, WINDOW_EVENTS_MIN), WINDOW_EVENTS_MAX);
	double passed = 0, rate = 0;
	double slice = fmax(SLICE_EVENTS, (double)st->step->nranks * SLICE_EVENTS_OF_RANK);
	st->slices = window > slice ? (uint32_t)(window / slice + 0.5) : 1;
	double target = window / st->slices;
	size_t cap = 0;
	vec_sort(&r->list, by_time);
	int code = add_window(st, &cap, INT64_MIN);
	for (size_t i = 0; i + 1 < r->list.n && code == 0; i++) {
		double now = (double)r->list.at[i].at_ns, end = (double)r->list.at[i + 1].at_ns;
		rate += r->list.at[i].more;
		while (rate > 0 && passed + rate * (end - now) >= target && st->nslices < SLICES_MAX && code == 0) {
			double next = now + (target - passed) / rate;
			now = next > now ? next : end; /* late times are coarse */
			passed = 0;
			code = add_window(st, &cap, (int64_t)now);
		}
		passed += rate > 0 ? rate * (end - now) : 0;
	}
	if (code < 0)
		return code;
	st->starts[st->nslices] = INT64_MAX;
	st->nwindows = (st->nslices + st->slices - 1) / st->slices;
	return 0;
}

/* In which time each node was seen. */
static int make_runs(struct stream *st)
{
	const struct step *s = st->step;
	free(st->runs);
	st->runs = calloc(s->nodes.n + 1, sizeof(*st->runs));
	if (st->runs == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->nodes.n; i++)
		st->runs[i] = (struct range){INT64_MAX, INT64_MIN};
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		if (p == NULL)
			continue;
		struct range *run = &st->runs[p->node];
		run->from = p->start_ns != TIME_ABSENT && p->start_ns < run->from ? p->start_ns : run->from;
		run->to = p->end_ns != TIME_ABSENT && p->end_ns > run->to ? p->end_ns : run->to;
	}
	for (size_t i = 0; i < s->nodes.n; i++) {
		struct range *run = &st->runs[i];
		run->from = run->from == INT64_MAX ? 0 : run->from;
		run->to = run->to < run->from ? s->runtime_ns : run->to;
	}
	return 0;
}

static void set_zero(struct stream *st, int64_t from_ns, int64_t to_ns)
{
	struct step *s = st->step;
	for (uint32_t r = 0; r < s->nranks; r++) {
		struct process *p = s->ranks[r];
		if (p == NULL)
			continue;
		for (size_t i = 0; i < p->open.n; i++)
			ends_lived(p, p->open.at[i].enter_ns);
		from_ns = p->start_ns != TIME_ABSENT && p->start_ns < from_ns ? p->start_ns : from_ns;
		to_ns = p->end_ns != TIME_ABSENT && p->end_ns > to_ns ? p->end_ns : to_ns;
	}
	s->start_ns = from_ns == INT64_MAX ? 0 : from_ns;
	s->runtime_ns = to_ns < s->start_ns ? 0 : to_ns - s->start_ns;
	s->realtime_start_s += (double)s->start_ns / 1e9;
	for (size_t i = 0; i < s->processes.n; i++)
		shift_process(s->processes.at[i], s->start_ns);
	for (size_t i = 0; i < s->nodes.n; i++)
		for (size_t k = 0; k < st->rules[i].knots.n; k++)
			st->rules[i].knots.at[k].ns -= (double)s->start_ns;
	for (uint32_t i = 0; i < st->nlanes; i++)
		st->lanes[i].knot_ticks = 0; /* they look again */
	for (uint32_t i = 1; i < st->nslices; i++)
		st->starts[i] -= s->start_ns;
}

static int make_windows(struct stream *st)
{
	struct rates r = {.from_ns = INT64_MAX, .to_ns = INT64_MIN};
	int code = make_lanes(st);
	for (uint32_t i = 0; i < st->nlanes && code == 0; i++)
		code = scan_lane(&st->lanes[i], &r);
	if (code == 0)
		code = cut(st, &r);
	st->events = r.events;
	if (code == 0)
		set_zero(st, r.from_ns, r.to_ns);
	vec_done(&r.list);
	return code == 0 ? make_runs(st) : code;
}

int plan_make(struct stream *st)
{
	int code = make_rules(st);
	return code == 0 ? make_windows(st) : code;
}

int plan_repaired(struct stream *st)
{
	int code = 0;
	for (uint32_t i = 0; i < st->nlanes && code == 0; i++) {
		struct lane *l = &st->lanes[i];
		struct lane fresh = {.process = l->process,
				     .rank = l->rank,
				     .thread = l->thread,
				     .number = l->number,
				     .rule = l->rule,
				     .file = l->file};
		memcpy(&fresh.shifts, &l->shifts, sizeof(fresh.shifts));
		memset(&l->shifts, 0, sizeof(l->shifts));
		const struct shift *last = fresh.shifts.n > 0 ? &fresh.shifts.at[fresh.shifts.n - 1] : NULL;
		if (last != NULL && last->number + 1 == l->ordinal) { /* the end of the process moves with it */
			shift_time(&l->process->finalize_enter_ns, -last->start_ns);
			shift_time(&l->process->end_ns, -last->end_ns);
		}
		lane_done(l);
		*l = fresh;
		code = lane_begin(l);
		if (l->process->end_ns != TIME_ABSENT && l->process->end_ns > st->step->runtime_ns)
			st->step->runtime_ns = l->process->end_ns;
	}
	return code;
}

int plan_again(struct stream *st, const struct tie *ties)
{
	struct step *s = st->step;
	for (size_t i = 0; i < s->nodes.n; i++)
		for (size_t k = 0; k < st->rules[i].knots.n; k++) {
			struct clock_knot *knot = &st->rules[i].knots.at[k];
			knot->ns = ties[i].offset + ties[i].rate * knot->ns;
			knot->rate *= ties[i].rate;
		}
	for (size_t i = 0; i < s->processes.n; i++) {
		struct process *p = s->processes.at[i];
		const struct tie *t = &ties[p->node];
		clock_move(t, &p->start_ns);
		clock_move(t, &p->end_ns);
		clock_move(t, &p->init_exit_ns);
		clock_move(t, &p->finalize_enter_ns);
		for (size_t k = 0; k < p->open.n; k++)
			clock_move(t, &p->open.at[k].enter_ns);
		for (size_t k = 0; k < p->threads.n; k++)
			clock_move(t, &p->threads.at[k].lost_from_ns);
	}
	free(st->starts);
	st->starts = NULL;
	st->nslices = st->nwindows = st->nlanes = 0;
	return make_windows(st);
}
