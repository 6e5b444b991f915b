/* changes.c - see changes.h. */
#include "fleet/changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 4
#define DAY_PARTS 8
#define SECONDS_PER_DAY 86400u
#define DAY_JOBS_MOST 30.0 /* more jobs of a day do not make it surer: they have its weather in common */
#define EFFICIENCY_LEAST 1e-3
#define CLIP 1.0 /* of a logarithm: jobs that are off by a factor of e count as that */
#define DEPTH_MAX 2
#define INTERVAL 1.959964

struct item {
	uint32_t cell_key, other, day, part, cell; /* other: its user, or program; part: of the day */
	float y, hours, parallel, jobs;		   /* hours, jobs: with those for which it stands */
};

/* The level of one day, or of one cell. */
struct level {
	double value, sum, n;
};

struct series {
	struct item *items;
	size_t nitems;
	struct level *days, *cells, parts[DAY_PARTS];
	size_t ndays, ncells;
	uint32_t first_day;
	uint32_t name;
	size_t names; /* that are looked at in all */
};

/* ---- levels ---- */

static int by_cell(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->other != y->other)
		return x->other < y->other ? -1 : 1;
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
		s->parts[s->items[i].part].n++;
	}
}

static void fit(struct series *s)
{
	count(s);
	for (int round = 0; round < ROUNDS; round++)
		for (int side = 0; side < 3; side++) {
			for (size_t i = 0; i < s->nitems; i++) {
				struct level *d = &s->days[s->items[i].day - s->first_day];
				struct level *c = &s->cells[s->items[i].cell], *p = &s->parts[s->items[i].part];
				(side == 0   ? c
				 : side == 1 ? p
					     : d)
					->sum += clipped(s->items[i].y - d->value - c->value - p->value);
			}
			end_levels(side == 0   ? s->cells
				   : side == 1 ? s->parts
					       : s->days,
				   side == 0   ? s->ncells
				   : side == 1 ? DAY_PARTS
					       : s->ndays);
		}
}

static double weight_of(const struct level *d)
{
	return fmin(d->n, DAY_JOBS_MOST);
}

static double mean_of_week(const struct series *s, size_t first)
{
	double sum = 0, n = 0;
	for (size_t i = first; i < first + 7 && i < s->ndays; i++) {
		sum += weight_of(&s->days[i]) * s->days[i].value;
		n += weight_of(&s->days[i]);
	}
	return n > 0 ? sum / n : 0;
}

/* A day of the week is measured by the week that it is of, so that a change is none of it. */
static void take_week_away(struct series *s)
{
	double sum[7] = {0}, n[7] = {0};
	if (s->ndays < SEASON_DAYS)
		return;
	for (size_t i = 0; i < s->ndays; i++) {
		double w = weight_of(&s->days[i]);
		sum[i % 7] += w * (s->days[i].value - mean_of_week(s, i - i % 7));
		n[i % 7] += w;
	}
	for (size_t i = 0; i < s->ndays; i++)
		s->days[i].value -= n[i % 7] > 0 ? sum[i % 7] / n[i % 7] : 0;
}

/* ---- splits ---- */

struct part {
	double n, sum, squares; /* weights, values */
	size_t days;
};

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
	size_t at;				     /* first day of the second part */
	size_t low, high;			     /* surely between */
	double t, freedom, difference, error, scale; /* scale: what days have in common takes of t */
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

static double mean_of(const struct part *p)
{
	return p->sum / p->n;
}

/* Of the split into two parts: how they differ, and how many of its own errors that is. */
static struct split split_of(const struct part *left, const struct part *right, size_t at)
{
	double freedom = (double)(left->days + right->days) - 2;
	double variance = fmax(1e-9, (left_over(left) + left_over(right)) / freedom);
	double error = sqrt(variance * (1 / left->n + 1 / right->n)), difference = mean_of(right) - mean_of(left);
	return (struct split){.at = at,
			      .low = at,
			      .high = at,
			      .t = difference / error,
			      .freedom = freedom,
			      .difference = difference,
			      .error = error};
}

/* Calls take() with each split of [from, to) that leaves CHANGE_DAYS on either side. */
static void each_split(const struct series *s, size_t from, size_t to, struct split *best,
		       void (*take)(const struct split *x, struct split *best))
{
	struct part left = {0}, right = {0};
	for (size_t i = from; i < to; i++)
		add_day(&right, &s->days[i], 1);
	for (size_t i = from; i + 1 < to; i++) {
		add_day(&left, &s->days[i], 1);
		add_day(&right, &s->days[i], -1);
		if (s->days[i].n <= 0 || left.days < CHANGE_DAYS || right.days < CHANGE_DAYS)
			continue;
		struct split x = split_of(&left, &right, i + 1);
		take(&x, best);
	}
}

static void take_better(const struct split *x, struct split *best)
{
	if (fabs(x->t) > fabs(best->t))
		*best = *x;
}

/* best->t is corrected by then: x is compared as it would be. */
static void take_as_likely(const struct split *x, struct split *best)
{
	double t = x->t * best->scale;
	if (t * t < best->t * best->t - AS_LIKELY || x->difference * best->difference < 0)
		return;
	best->low = x->at < best->low ? x->at : best->low;
	best->high = x->at > best->high ? x->at : best->high;
}

static double side_mean(const struct series *s, size_t from, size_t to)
{
	struct part p = {0};
	for (size_t i = from; i < to; i++)
		add_day(&p, &s->days[i], 1);
	return p.n > 0 ? mean_of(&p) : 0;
}

static struct split best_split(const struct series *s, size_t from, size_t to)
{
	struct split best = {0};
	each_split(s, from, to, &best, take_better);
	if (best.at == 0)
		return best;
	double rho = correlation(s, from, to, best.at, side_mean(s, from, best.at), side_mean(s, best.at, to));
	best.scale = sqrt((1 - rho) / (1 + rho));
	best.error /= best.scale;
	best.t *= best.scale;
	each_split(s, from, to, &best, take_as_likely);
	while (best.at < to && s->days[best.at].n <= 0)
		best.at++;
	best.high = best.high > best.at ? best.high : best.at;
	return best;
}

/* Means over core-hours, as a person would compare them. */
static void fill(const struct series *s, size_t from, size_t to, const struct split *x, struct change *c)
{
	double sums[2] = {0}, hours[2] = {0}, jobs[2] = {0};
	for (size_t i = 0; i < s->nitems; i++) {
		size_t day = s->items[i].day - s->first_day;
		int side = day >= x->at;
		if (day < from || day >= to)
			continue;
		sums[side] += (double)s->items[i].hours * s->items[i].parallel;
		hours[side] += s->items[i].hours;
		jobs[side] += (double)s->items[i].jobs;
	}
	*c = (struct change){.name = s->name,
			     .day_low = s->first_day + (uint32_t)x->low,
			     .day_high = s->first_day + (uint32_t)x->high,
			     .day = s->first_day + (uint32_t)x->at,
			     .before = hours[0] > 0 ? sums[0] / hours[0] : 0,
			     .after = hours[1] > 0 ? sums[1] / hours[1] : 0,
			     .change = expm1(x->difference),
			     .low = expm1(x->difference - INTERVAL * x->error),
			     .high = expm1(x->difference + INTERVAL * x->error),
			     .jobs_before = (uint32_t)lround(jobs[0]),
			     .jobs_after = (uint32_t)lround(jobs[1]),
			     .hours_since = hours[1] * -expm1(x->difference)};
}

/* Two-sided, of Student's t; few days say less than their errors do (Wallace, Ann. Math. Stat. 30, 1959). */
static double chance_of(double t, double freedom)
{
	double z = (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom));
	return erfc(z / M_SQRT2);
}

static int split_part(const struct series *s, size_t from, size_t to, int depth, change_list *list)
{
	struct change c;
	struct split x = best_split(s, from, to);
	if (x.at == 0)
		return 0;
	double p = chance_of(x.t, x.freedom) * (double)(to - from) * (double)s->names;
	if (p > CHANGE_P || fabs(expm1(x.difference)) < CHANGE_LEAST)
		return 0;
	fill(s, from, to, &x, &c);
	c.p = fmin(1, p);
	if (vec_push(list, c) < 0)
		return -ENOMEM;
	int rc = depth < DEPTH_MAX ? split_part(s, from, x.at, depth + 1, list) : 0;
	return rc < 0 || depth >= DEPTH_MAX ? rc : split_part(s, x.at, to, depth + 1, list);
}

/* ---- programs, users ---- */

static int look_at(struct series *s, change_list *list)
{
	qsort(s->items, s->nitems, sizeof(*s->items), by_cell);
	uint32_t last = 0;
	s->first_day = UINT32_MAX;
	for (size_t i = 0; i < s->nitems; i++) {
		struct item *x = &s->items[i];
		bool same = i > 0 && x->other == x[-1].other && x->cell_key == x[-1].cell_key;
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
		take_week_away(s);
		rc = split_part(s, 0, s->ndays, 0, list);
	}
	free(s->days);
	free(s->cells);
	return rc;
}

enum whose { OF_PROGRAM, OF_USER };

static uint32_t name_of(const struct scan_job *j, enum whose whose)
{
	return whose == OF_PROGRAM ? j->program : j->user;
}

static int compare_names(const void *a, const void *b, enum whose whose)
{
	const struct scan_job *const *x = a, *const *y = b;
	uint32_t m = name_of(*x, whose), n = name_of(*y, whose);
	if (m != n)
		return m < n ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static int by_program(const void *a, const void *b)
{
	return compare_names(a, b, OF_PROGRAM);
}

static int by_user(const void *a, const void *b)
{
	return compare_names(a, b, OF_USER);
}

static int by_day(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->day < y->day ? -1 : x->day > y->day;
}

static struct item item_of(const struct scan_job *j, enum whose whose)
{
	return (struct item){.other = whose == OF_PROGRAM ? j->user : j->program,
			     .cell_key = j->ranks > 0 ? 32 - (uint32_t)__builtin_clz(j->ranks) : 0,
			     .day = j->day,
			     .part = j->start % SECONDS_PER_DAY / (SECONDS_PER_DAY / DAY_PARTS),
			     .y = (float)log(fmax(EFFICIENCY_LEAST, j->parallel)),
			     .hours = j->core_hours * (1 + j->others),
			     .jobs = 1 + j->others,
			     .parallel = j->parallel};
}

/* The jobs that count, in the order of their programs or users. */
struct order {
	const struct scan_job **at;
	size_t n;
	enum whose whose;
};

static void sort_by(struct order *o, enum whose whose)
{
	qsort(o->at, o->n, sizeof(*o->at), whose == OF_USER ? by_user : by_program);
	o->whose = whose;
}

static size_t count_names(const struct order *o)
{
	size_t n = 0;
	for (size_t i = 0; i < o->n; i++)
		n += i == 0 || name_of(o->at[i], o->whose) != name_of(o->at[i - 1], o->whose);
	return n;
}

static int each_name(const struct order *o, size_t names, change_list *list)
{
	int rc = 0;
	for (size_t i = 0, end; i < o->n && rc == 0; i = end) {
		uint32_t name = name_of(o->at[i], o->whose);
		for (end = i; end < o->n && name_of(o->at[end], o->whose) == name; end++)
			;
		if (name == 0)
			continue;
		struct series s = {.name = name, .names = names, .nitems = end - i};
		s.items = calloc(s.nitems, sizeof(*s.items));
		for (size_t k = i; k < end && s.items != NULL; k++)
			s.items[k - i] = item_of(o->at[k], o->whose);
		rc = s.items != NULL ? look_at(&s, list) : -ENOMEM;
		free(s.items);
	}
	return rc;
}

static bool has_changed(const change_list *list, uint32_t program)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].name == program)
			return true;
	return false;
}

/* Jobs of programs that changed say nothing of their users. */
static void leave_changed_out(struct order *o, const change_list *list)
{
	size_t kept = 0;
	for (size_t i = 0; i < o->n; i++)
		if (!has_changed(list, o->at[i]->program))
			o->at[kept++] = o->at[i];
	o->n = kept;
}

int changes_find(const struct scan *s, change_list *ret_list)
{
	struct order o = {.at = calloc(s->jobs.n + 1, sizeof(*o.at))};
	if (o.at == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->jobs.n; i++)
		if (s->jobs.at[i].parallel > 0 && s->jobs.at[i].ranks > 1)
			o.at[o.n++] = &s->jobs.at[i];
	sort_by(&o, OF_USER);
	size_t names = count_names(&o);
	sort_by(&o, OF_PROGRAM);
	names += count_names(&o);
	int rc = each_name(&o, names, ret_list);
	leave_changed_out(&o, ret_list);
	sort_by(&o, OF_USER);
	if (rc == 0)
		rc = each_name(&o, names, ret_list);
	free(o.at);
	vec_sort(ret_list, by_day);
	return rc;
}
