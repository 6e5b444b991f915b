/* hull.c - see hull.h. The room between the constraints at slope b, room(b) = min(above - b t) -
 * max(below - b t), is a concave function of b: its maximum is found by ternary search, where it
 * reaches zero by bisection. */
#include "postproc/clock/hull.h"

#include <math.h>

#define SLOPE_MAX \
	1e-4 /* two quartz clocks, each within 50 ppm; disciplined ones are far better             \
	      */

void hull_above(struct hull *h, unsigned part, double t, double d)
{
	struct hull_point *p = &h->above[part];
	if (!p->set || d < p->d)
		*p = (struct hull_point){t, d, true};
}

void hull_below(struct hull *h, unsigned part, double t, double d)
{
	struct hull_point *p = &h->below[part];
	if (!p->set || d > p->d)
		*p = (struct hull_point){t, d, true};
}

/* Lowest of above, seen along lines of slope b, at time zero = center. */
static double ceiling(const struct hull *h, double center, double b)
{
	double low = INFINITY;
	for (unsigned i = 0; i < HULL_BINS; i++)
		if (h->above[i].set)
			low = fmin(low, h->above[i].d - b * (h->above[i].t - center));
	return low;
}

static double ground(const struct hull *h, double center, double b)
{
	double high = -INFINITY;
	for (unsigned i = 0; i < HULL_BINS; i++)
		if (h->below[i].set)
			high = fmax(high, h->below[i].d - b * (h->below[i].t - center));
	return high;
}

static double room(const struct hull *h, double center, double b)
{
	return ceiling(h, center, b) - ground(h, center, b);
}

static double widest_slope(const struct hull *h, double center)
{
	double low = -SLOPE_MAX, high = SLOPE_MAX;
	for (int i = 0; i < 80; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3;
		if (room(h, center, a) < room(h, center, b))
			low = a;
		else
			high = b;
	}
	return (low + high) / 2;
}

/* The slope between inside (room >= -spare) and outside where the room ends. */
static double edge_slope(const struct hull *h, double center, double spare, double inside, double outside)
{
	if (room(h, center, outside) >= -spare)
		return outside;
	for (int i = 0; i < 60; i++) {
		double middle = (inside + outside) / 2;
		if (room(h, center, middle) >= -spare)
			inside = middle;
		else
			outside = middle;
	}
	return inside;
}

/* How far above this line, at time t, the highest possible one of slope b is; below it with side -1. Concave in b. */
static double away(const struct hull *h, const struct hull_line *l, double b, double t, int side)
{
	double at = l->offset + l->slope * (t - l->center), move = b * (t - l->center);
	return side > 0 ? ceiling(h, l->center, b) + move - at : at - ground(h, l->center, b) - move;
}

static double farthest(const struct hull *h, const struct hull_line *l, double low, double high, double t, int side)
{
	for (int i = 0; i < 80; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3;
		if (away(h, l, a, t, side) < away(h, l, b, t, side))
			low = a;
		else
			high = b;
	}
	return away(h, l, (low + high) / 2, t, side);
}

/* How far a possible line can be from this one at time t. */
static double reach(const struct hull *h, const struct hull_line *l, double lowest, double highest, double t)
{
	return fmax(farthest(h, l, lowest, highest, t, 1), farthest(h, l, lowest, highest, t, -1));
}

static bool has_both(const struct hull *h)
{
	bool above = false, below = false;
	for (unsigned i = 0; i < HULL_BINS; i++) {
		above |= h->above[i].set;
		below |= h->below[i].set;
	}
	return above && below;
}

/* The error of a line: how far the outermost possible one is from it at the ends of the run. Clocks that are no lines
 * keep the constraints up to their slack only, and are that far from their line besides. */
static double error_of(const struct hull *h, const struct hull_line *l, double inside, double from, double to,
		       double slack)
{
	double lowest = edge_slope(h, l->center, 2 * slack, inside, -SLOPE_MAX);
	double highest = edge_slope(h, l->center, 2 * slack, inside, SLOPE_MAX);
	return fmax(reach(h, l, lowest, highest, from), reach(h, l, lowest, highest, to)) + 2 * slack;
}

bool hull_middle(const struct hull *h, double from, double to, double slack, struct hull_line *ret_line)
{
	struct hull_line l = {.center = (from + to) / 2};
	if (!has_both(h))
		return false;
	l.slope = widest_slope(h, l.center);
	double high = ceiling(h, l.center, l.slope), low = ground(h, l.center, l.slope);
	l.offset = (high + low) / 2;
	l.error = high - low >= -2 * slack ? error_of(h, &l, l.slope, from, to, slack) : (low - high) / 2 + slack;
	*ret_line = l;
	return true;
}

bool hull_allows_zero(const struct hull *h)
{
	return ceiling(h, 0, 0) >= 0 && ground(h, 0, 0) <= 0;
}

bool hull_zero(const struct hull *h, double from, double to, double slack, struct hull_line *ret_line)
{
	struct hull_line l = {.center = (from + to) / 2};
	if (!has_both(h))
		return false;
	l.error = error_of(h, &l, 0, from, to, slack);
	*ret_line = l;
	return true;
}
