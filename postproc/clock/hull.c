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

/* The slope between inside (room >= 0) and outside where the room ends. */
static double edge_slope(const struct hull *h, double center, double inside, double outside)
{
	if (room(h, center, outside) >= 0)
		return outside;
	for (int i = 0; i < 60; i++) {
		double middle = (inside + outside) / 2;
		if (room(h, center, middle) >= 0)
			inside = middle;
		else
			outside = middle;
	}
	return inside;
}

/* How far a possible line can be from the middle line at time t, over 65 possible slopes. */
static double reach(const struct hull *h, const struct hull_line *l, double lowest, double highest, double t)
{
	double at = l->offset + l->slope * (t - l->center), worst = 0;
	for (int i = 0; i <= 64; i++) {
		double b = lowest + (highest - lowest) * i / 64;
		double move = b * (t - l->center);
		worst = fmax(worst, fmax(ceiling(h, l->center, b) + move - at, at - ground(h, l->center, b) - move));
	}
	return worst;
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

/* The error of a line: how far the outermost possible one is from it at the ends of the run. */
static double error_of(const struct hull *h, const struct hull_line *l, double inside, double from, double to)
{
	double lowest = edge_slope(h, l->center, inside, -SLOPE_MAX);
	double highest = edge_slope(h, l->center, inside, SLOPE_MAX);
	return fmax(reach(h, l, lowest, highest, from), reach(h, l, lowest, highest, to));
}

bool hull_middle(const struct hull *h, double from, double to, struct hull_line *ret_line)
{
	struct hull_line l = {.center = (from + to) / 2};
	if (!has_both(h))
		return false;
	l.slope = widest_slope(h, l.center);
	double high = ceiling(h, l.center, l.slope), low = ground(h, l.center, l.slope);
	l.offset = (high + low) / 2;
	l.error = high >= low ? error_of(h, &l, l.slope, from, to) : (low - high) / 2;
	*ret_line = l;
	return true;
}

bool hull_allows_zero(const struct hull *h)
{
	return ceiling(h, 0, 0) >= 0 && ground(h, 0, 0) <= 0;
}

bool hull_zero(const struct hull *h, double from, double to, struct hull_line *ret_line)
{
	struct hull_line l = {.center = (from + to) / 2};
	if (!has_both(h))
		return false;
	l.error = error_of(h, &l, 0, from, to);
	*ret_line = l;
	return true;
}
