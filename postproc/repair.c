/* repair.c - what still runs backwards after the clocks were aligned, by the forward half of the
 * controlled logical clock (Becker, Rabenseifner, Wolf, Linford: Scalable timestamp synchronization
 * for event traces of message-passing applications, Parallel Computing 35, 2009): an event that
 * ends too early is moved behind what it waited for, and those that follow are moved less and less,
 * as their distances shrink by one hundredth. */
#include "postproc/replay.h"

#define SHRINK 0.99

struct repaired {
	int64_t start_ns, end_ns;
};

struct repair {
	struct analysis *a;
	struct repaired **of; /* by rank, by event */
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Distances between events of a rank stay, or shrink a little until the rank is back in its own
 * time. */
static double repaired_start(const struct process *p, uint32_t at, double before)
{
	const struct event *ev = &p->events.at[at];
	if (at == 0)
		return (double)ev->start_ns;
	double gap = (double)(ev->start_ns - p->events.at[at - 1].end_ns);
	return larger((double)ev->start_ns, before + (gap > 0 ? SHRINK * gap : 0));
}

static double repaired_end(const struct process *p, uint32_t at, double needed)
{
	return larger((double)p->events.at[at].end_ns, needed + 1);
}

static void keep(void *context, uint32_t rank, uint32_t at, double start, double end)
{
	struct repair *r = context;
	const struct event *ev = op_event(r->a->step, rank, at);
	struct repaired *to = &r->of[rank][at];
	*to = (struct repaired){(int64_t)start, (int64_t)end};
	if (to->end_ns == ev->end_ns + 1 && to->start_ns == ev->start_ns)
		to->end_ns = ev->end_ns; /* a call of no length is none that needs repair */
}

static void apply_rank(struct repair *r, uint32_t rank)
{
	struct process *p = r->a->step->ranks[rank];
	for (size_t i = 0; i < p->events.n; i++) {
		struct event *ev = &p->events.at[i];
		const struct repaired *x = &r->of[rank][i];
		int64_t moved = x->start_ns - ev->start_ns;
		r->a->clock.events_moved += moved != 0 || x->end_ns != ev->end_ns;
		if (i + 1 == p->events.n && p->finalize_enter_ns != TIME_ABSENT)
			p->finalize_enter_ns += moved;
		if (i + 1 == p->events.n && p->end_ns != TIME_ABSENT)
			p->end_ns += x->end_ns - ev->end_ns;
		ev->start_ns = x->start_ns;
		ev->end_ns = x->end_ns;
		if (ev->end_ns > r->a->step->runtime_ns)
			r->a->step->runtime_ns = ev->end_ns;
	}
}

static int make_room(struct repair *r)
{
	const struct step *s = r->a->step;
	r->of = calloc(s->nranks, sizeof(*r->of));
	for (uint32_t i = 0; r->of != NULL && i < s->nranks; i++) {
		if (s->ranks[i] == NULL)
			continue;
		r->of[i] = malloc((s->ranks[i]->events.n + 1) * sizeof(**r->of));
		if (r->of[i] == NULL)
			return -ENOMEM;
	}
	return r->of == NULL ? -ENOMEM : 0;
}

int repair_times(struct analysis *a)
{
	struct repair r = {.a = a};
	struct replay_rule rule = {.start = repaired_start, .end = repaired_end, .visit = keep, .context = &r};
	double last;
	uint64_t before = a->clock.violations;
	if (before == 0 || is_threaded(a->step))
		return 0;
	int code = make_room(&r);
	if (code == 0)
		code = replay_run(a, &rule, &last);
	if (code == 0) {
		for (uint32_t i = 0; i < a->step->nranks; i++)
			if (a->step->ranks[i] != NULL)
				apply_rank(&r, i);
		clock_count_violations(a->step, &a->ops, &a->matching, &a->clock);
		a->clock.violations_repaired = before - a->clock.violations;
	}
	for (uint32_t i = 0; r.of != NULL && i < a->step->nranks; i++)
		free(r.of[i]);
	free(r.of);
	return code == -EDEADLK ? 0 : code;
}
