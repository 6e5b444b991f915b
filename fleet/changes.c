/* changes.c - see changes.h. */
#include "fleet/changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 4
#define DAY_JOBS_MOST 30.0 /* more jobs of a day do not make it surer: they have its weather in common */
#define EFFICIENCY_LEAST 1e-3
#define CLIP 1.0 /* of a logarithm: jobs that are off by a factor of e count as that */
#define DEPTH_MAX 2
#define INTERVAL 1.959964

struct item {
	uint32_t cell_key, user, day, cell;
	float y, hours, parallel;
};

/* The level of one day, or of one cell. */
struct level {
	double value, sum, n;
};

struct series {
	struct item *items;
	size_t nitems;
	struct level *days, *cells;
	size_t ndays, ncells;
	uint32_t first_day;
	uint32_t program;
	size_t programs; /* that are looked at in all */
};

/* ---- levels ---- */

static int by_cell(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->user != y->user)
		return x->user < y->user ? -1 : 1;
	if (x->cell_key != y->cell_key)
		return x->cell_key < y->cell_key ? -1 : 1;
	return x->day < y->day ? -1 : x->day > y->day;
}

static double clipped(double r)
{
	return fmax(-CLIP, fmin(CLIP, r));
}

static void end_levels(struct level *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		x[i].value += x[i].n > 0 ? x[i].sum / x[i].n : 0;
		x[i].sum = 0;
	}
}

static void count(struct series *s)
{
	for (size_t i = 0; i < s->nitems; i++) {
		s->days[s->items[i].day - s->first_day].n++;
		s->cells[s->items[i].cell].n++;
	}
}

static void fit(struct series *s)
{
	count(s);
	for (int round = 0; round < ROUNDS; round++)
		for (int side = 0; side < 2; side++) {
			for (size_t i = 0; i < s->nitems; i++) {
				struct level *d = &s->days[s->items[i].day - s->first_day];
				struct level *c = &s->cells[s->items[i].cell];
				(side == 0 ? c : d)->sum += clipped(s->items[i].y - d->value - c->value);
			}
			end_levels(side == 0 ? s->cells : s->days, side == 0 ? s->ncells : s->ndays);
		}
}

/* ---- splits ---- */

struct part {
	double n, sum, squares; /* weights, values */
	size_t days;
};

static double weight_of(const struct level *d)
{
	return fmin(d->n, DAY_JOBS_MOST);
}

static void add_day(struct part *p, const struct level *d, int sign)
{
	double w = sign * weight_of(d);
	if (d->n <= 0)
		return;
	p->n += w;
	p->sum += w * d->value;
	p->squares += w * d->value * d->value;
	p->days += (size_t)sign;
}

static double left_over(const struct part *p)
{
	return p->n > 0 ? p->squares - p->sum * p->sum / p->n : 0;
}

struct split {
	size_t at; /* first day of the second part */
	double t, difference, error;
};

/* How much the days of [from, to) have in common with the day before, beside the means of both parts: their lag-1
 * autocorrelation, 0 or more. */
static double correlation(const struct series *s, size_t from, size_t to, size_t at, double a, double b)
{
	double product = 0, square = 1e-12, last = NAN;
	for (size_t i = from; i < to; i++) {
		if (s->days[i].n <= 0)
			continue;
		double r = s->days[i].value - (i < at ? a : b);
		square += r * r;
		if (!isnan(last))
			product += r * last;
		last = r;
	}
	return fmax(0, fmin(0.9, product / square));
}

static struct split best_split(const struct series *s, size_t from, size_t to)
{
	struct part left = {0}, right = {0};
	struct split best = {0};
	double mean_left = 0, mean_right = 0;
	for (size_t i = from; i < to; i++)
		add_day(&right, &s->days[i], 1);
	for (size_t i = from; i + 1 < to; i++) {
		add_day(&left, &s->days[i], 1);
		add_day(&right, &s->days[i], -1);
		if (s->days[i].n <= 0 || left.days < CHANGE_DAYS || right.days < CHANGE_DAYS)
			continue;
		double freedom = (double)(left.days + right.days) - 2;
		double variance = fmax(1e-9, (left_over(&left) + left_over(&right)) / freedom);
		double error = sqrt(variance * (1 / left.n + 1 / right.n));
		double difference = right.sum / right.n - left.sum / left.n;
		if (fabs(difference) / error > fabs(best.t)) {
			best = (struct split){i + 1, difference / error, difference, error};
			mean_left = left.sum / left.n;
			mean_right = right.sum / right.n;
		}
	}
	if (best.at > 0) {
		double rho = correlation(s, from, to, best.at, mean_left, mean_right);
		best.error *= sqrt((1 + rho) / (1 - rho));
		best.t = best.difference / best.error;
		while (best.at < to && s->days[best.at].n <= 0)
			best.at++;
	}
	return best;
}

/* Means over core-hours, as a person would compare them. */
static void fill(const struct series *s, size_t from, size_t to, const struct split *x, struct change *c)
{
	double sums[2] = {0}, hours[2] = {0};
	uint32_t jobs[2] = {0};
	for (size_t i = 0; i < s->nitems; i++) {
		size_t day = s->items[i].day - s->first_day;
		int side = day >= x->at;
		if (day < from || day >= to)
			continue;
		sums[side] += (double)s->items[i].hours * s->items[i].parallel;
		hours[side] += s->items[i].hours;
		jobs[side]++;
	}
	*c = (struct change){.program = s->program,
			     .day = s->first_day + (uint32_t)x->at,
			     .before = hours[0] > 0 ? sums[0] / hours[0] : 0,
			     .after = hours[1] > 0 ? sums[1] / hours[1] : 0,
			     .change = expm1(x->difference),
			     .low = expm1(x->difference - INTERVAL * x->error),
			     .high = expm1(x->difference + INTERVAL * x->error),
			     .jobs_before = jobs[0],
			     .jobs_after = jobs[1],
			     .hours_since = hours[1] * -expm1(x->difference)};
}

static int split_part(const struct series *s, size_t from, size_t to, int depth, change_list *list)
{
	struct change c;
	struct split x = best_split(s, from, to);
	if (x.at == 0)
		return 0;
	double p = erfc(fabs(x.t) / M_SQRT2) * (double)(to - from) * (double)s->programs;
	if (p > CHANGE_P || fabs(expm1(x.difference)) < CHANGE_LEAST)
		return 0;
	fill(s, from, to, &x, &c);
	c.p = fmin(1, p);
	if (vec_push(list, c) < 0)
		return -ENOMEM;
	int rc = depth < DEPTH_MAX ? split_part(s, from, x.at, depth + 1, list) : 0;
	return rc < 0 || depth >= DEPTH_MAX ? rc : split_part(s, x.at, to, depth + 1, list);
}

/* ---- programs ---- */

static int look_at(struct series *s, change_list *list)
{
	qsort(s->items, s->nitems, sizeof(*s->items), by_cell);
	uint32_t last = 0;
	s->first_day = UINT32_MAX;
	for (size_t i = 0; i < s->nitems; i++) {
		struct item *x = &s->items[i];
		bool same = i > 0 && x->user == x[-1].user && x->cell_key == x[-1].cell_key;
		x->cell = i == 0 ? 0 : x[-1].cell + !same;
		s->first_day = x->day < s->first_day ? x->day : s->first_day;
		last = x->day > last ? x->day : last;
	}
	s->ncells = s->items[s->nitems - 1].cell + 1;
	s->ndays = last - s->first_day + 1;
	s->days = calloc(s->ndays, sizeof(*s->days));
	s->cells = calloc(s->ncells, sizeof(*s->cells));
	int rc = s->days != NULL && s->cells != NULL ? 0 : -ENOMEM;
	if (rc == 0) {
		fit(s);
		rc = split_part(s, 0, s->ndays, 0, list);
	}
	free(s->days);
	free(s->cells);
	return rc;
}

static int by_program(const void *a, const void *b)
{
	const struct scan_job *const *x = a, *const *y = b;
	if ((*x)->program != (*y)->program)
		return (*x)->program < (*y)->program ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static int by_day(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->program != y->program)
		return x->program < y->program ? -1 : 1;
	return x->day < y->day ? -1 : x->day > y->day;
}

static struct item item_of(const struct scan_job *j)
{
	return (struct item){.user = j->user,
			     .cell_key = j->ranks > 0 ? 32 - (uint32_t)__builtin_clz(j->ranks) : 0,
			     .day = j->day,
			     .y = (float)log(fmax(EFFICIENCY_LEAST, j->parallel)),
			     .hours = j->core_hours,
			     .parallel = j->parallel};
}

/* order: pointers to the jobs that count, by program. */
static int each_program(const struct scan_job **order, size_t n, change_list *list)
{
	size_t programs = 0;
	int rc = 0;
	for (size_t i = 0; i < n; i++)
		programs += i == 0 || order[i]->program != order[i - 1]->program;
	for (size_t i = 0, end; i < n && rc == 0; i = end) {
		for (end = i; end < n && order[end]->program == order[i]->program; end++)
			;
		struct series s = {.program = order[i]->program, .programs = programs, .nitems = end - i};
		s.items = calloc(s.nitems, sizeof(*s.items));
		for (size_t k = i; k < end && s.items != NULL; k++)
			s.items[k - i] = item_of(order[k]);
		rc = s.items != NULL ? look_at(&s, list) : -ENOMEM;
		free(s.items);
	}
	return rc;
}

int changes_find(const struct scan *s, change_list *ret_list)
{
	const struct scan_job **order = calloc(s->jobs.n + 1, sizeof(*order));
	size_t n = 0;
	if (order == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->jobs.n; i++)
		if (s->jobs.at[i].parallel > 0 && s->jobs.at[i].ranks > 1)
			order[n++] = &s->jobs.at[i];
	qsort(order, n, sizeof(*order), by_program);
	int rc = each_program(order, n, ret_list);
	free(order);
	vec_sort(ret_list, by_day);
	return rc;
}
