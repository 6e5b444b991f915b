/* clock_node.c - ticks of one node to nanoseconds.
 * In: the node's samples (tick, monotonic, realtime).  Out: a rule, and the times of its processes.
 * The rate follows CLOCK_MONOTONIC piecewise; samples closer than THIN_NS would make the rate noisy
 * and are left out. The date is the median of realtime - monotonic, so a stepped real-time clock
 * does no harm. */
#include "base/sort.h"
#include "postproc/clock/clock.h"

#include <math.h>

#define THIN_NS 100000000 /* a sample's own error, some 100 ns, is then below 1 ppm */

static int by_tick(const void *a, const void *b)
{
	const struct mpic_clock *x = a, *y = b;
	return (x->tick > y->tick) - (x->tick < y->tick);
}

int64_t clock_median_offset(const struct node *n)
{
	int64_t *offsets = malloc((n->clock.n + 1) * sizeof(int64_t)), middle = 0;
	if (offsets == NULL)
		return 0;
	for (size_t i = 0; i < n->clock.n; i++)
		__builtin_sub_overflow(n->clock.at[i].realtime_ns, n->clock.at[i].monotonic_ns, &offsets[i]);
	if (n->clock.n > 0) {
		qsort(offsets, n->clock.n, sizeof(int64_t), sort_by_i64);
		middle = offsets[n->clock.n / 2];
	}
	free(offsets);
	return middle;
}

/* Without a rate that is told, and with one reading of the clock alone, it is anybody's guess: coverage says so. */
static double nominal_rate(const struct node *n)
{
	return n->monotonic || !(n->hz > 0) ? 1.0 : 1e9 / n->hz;
}

/* Samples that go backwards are left out. */
static int add_knots(const struct node *n, int64_t zero, struct clock_rule *r)
{
	const struct mpic_clock *last = NULL, *final = &n->clock.at[n->clock.n - 1];
	for (size_t i = 0; i < n->clock.n; i++) {
		const struct mpic_clock *c = &n->clock.at[i];
		if (last != NULL && (c->tick <= last->tick || c->monotonic_ns <= last->monotonic_ns))
			continue;
		if (last != NULL && (uint64_t)c->monotonic_ns - (uint64_t)last->monotonic_ns < THIN_NS && c != final)
			continue;
		struct clock_knot k = {c->tick, (double)(int64_t)((uint64_t)c->monotonic_ns - (uint64_t)zero), 0};
		if (vec_push(&r->knots, k) < 0)
			return -ENOMEM;
		last = c;
	}
	return 0;
}

static void set_rates(const struct node *n, struct clock_rule *r)
{
	size_t last = r->knots.n - 1;
	for (size_t i = 0; i < last; i++)
		r->knots.at[i].rate = (r->knots.at[i + 1].ns - r->knots.at[i].ns) /
				      (double)(r->knots.at[i + 1].tick - r->knots.at[i].tick);
	double span = r->knots.at[last].ns - r->knots.at[0].ns;
	bool told = n->monotonic || n->hz > 0;
	if (last > 0 && (!told || span >= THIN_NS / 10)) {
		r->knots.at[last].rate = span / (double)(r->knots.at[last].tick - r->knots.at[0].tick);
		return;
	}
	r->knots.at[last].rate = r->knots.at[0].rate = nominal_rate(n);
}

/* Half of what the knots are apart from the line through the first and the last. The counter runs at one rate, so
 * this is how far this node's time is from a line over any other's. */
static double slack_of(const struct clock_rule *r)
{
	const struct clock_knot *k = r->knots.at, *end = &k[r->knots.n - 1];
	double lowest = 0, highest = 0, ticks = (double)(end->tick - k->tick);
	for (; k < end; k++) {
		double line = end->ns - (end->ns - r->knots.at[0].ns) * ((double)(end->tick - k->tick) / ticks);
		lowest = fmin(lowest, k->ns - line);
		highest = fmax(highest, k->ns - line);
	}
	return (highest - lowest) / 2;
}

/* zero: the step's zero on this node's monotonic clock. */
int clock_rule_make(struct node *n, int64_t zero, struct clock_rule *ret_rule)
{
	if (n->clock.n == 0) {
		struct clock_knot k = {0, 0, nominal_rate(n)};
		return vec_push(&ret_rule->knots, k);
	}
	int code = add_knots(n, zero, ret_rule);
	if (code == 0) {
		set_rates(n, ret_rule);
		ret_rule->slack_ns = slack_of(ret_rule);
	}
	return code;
}

static int64_t to_ns(const struct clock_rule *r, uint64_t tick, size_t *at)
{
	while (*at > 0 && r->knots.at[*at].tick > tick)
		--*at;
	while (*at + 1 < r->knots.n && r->knots.at[*at + 1].tick <= tick)
		++*at;
	const struct clock_knot *k = &r->knots.at[*at];
	double ns = k->ns + (double)(int64_t)(tick - k->tick) * k->rate;
	return fabs(ns) < TIME_MAX_NS ? (int64_t)llround(ns) : 0;
}

static void convert(const struct clock_rule *r, int64_t *time, size_t *at)
{
	*time = *time == 0 ? TIME_ABSENT : to_ns(r, (uint64_t)*time, at);
}

void clock_convert(struct process *p, const struct clock_rule *r)
{
	size_t at = 0;
	convert(r, &p->start_ns, &at);
	convert(r, &p->end_ns, &at);
	convert(r, &p->init_exit_ns, &at);
	convert(r, &p->finalize_enter_ns, &at);
	for (size_t i = 0; i < p->open.n; i++)
		convert(r, &p->open.at[i].enter_ns, &at);
	for (size_t i = 0; i < p->threads.n; i++)
		convert(r, &p->threads.at[i].lost_from_ns, &at);
	p->ns_per_tick = r->knots.at[r->knots.n - 1].rate;
}

/* The step's zero: the earliest sample of any node, as a date. */
int64_t clock_earliest(struct step *s)
{
	int64_t zero = INT64_MAX;
	for (size_t i = 0; i < s->nodes.n; i++) {
		struct node *n = &s->nodes.at[i];
		if (n->clock.n == 0)
			continue;
		vec_sort(&n->clock, by_tick);
		int64_t date = (int64_t)((uint64_t)n->clock.at[0].monotonic_ns + (uint64_t)clock_median_offset(n));
		if (date < zero)
			zero = date;
	}
	return zero == INT64_MAX ? 0 : zero;
}
