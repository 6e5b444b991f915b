/* day_effects.c - see day_effects.h. */
#include "fleet/day_effects.h"

#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FREEDOM_LEAST 10.0 /* of a program that tells something */
#define SURE_LEAST 0.02	   /* a program's mean of a day counts as that sure at most: one is not all */
#define ROUNDS 3
#define WEEK 7u

/* What is left of a program's jobs of a day: their mean. */
struct mean {
	uint32_t day;
	double value, weight;
};

struct day {
	bool known;
	double value;
	double season; /* value, less what its day of the week has of its own */
};

struct finding {
	struct day *days;
	uint32_t first_day, n;
	VEC(struct mean) means;
};

static double *room_for(size_t n)
{
	return calloc(n + 1, sizeof(double));
}

/* ---- what is left of programs ---- */

/* All of it: a day that is far off may be so for all of them, and the median of programs passes over single jobs. */
static int add_means(struct finding *f, const struct series *s, const double *left)
{
	for (size_t i = 0, end; i < s->n; i = end) {
		struct mean m = {.day = s->jobs[i].job->day - f->first_day};
		for (end = i; end < s->n && s->jobs[end].job->day == s->jobs[i].job->day; end++) {
			const struct series_job *x = &s->jobs[end];
			m.weight += x->weight;
			m.value += x->weight * (left[end] + s->levels[BY_WEEKDAY][x->level[BY_WEEKDAY]].value);
		}
		m.value /= m.weight;
		m.weight = 1 / fmax(SURE_LEAST * SURE_LEAST, s->variance / m.weight);
		if (vec_push(&f->means, m) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_program(struct finding *f, struct series *s)
{
	double *left = room_for(s->n);
	if (left == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++)
		left[i] = s->jobs[i].y - f->days[s->jobs[i].job->day - f->first_day].value;
	series_fit(s, 0, s->n, left);
	int rc = s->freedom >= FREEDOM_LEAST ? add_means(f, s, left) : 0;
	free(left);
	return rc;
}

static int add_all(struct finding *f, const struct scan_job *const *jobs, size_t n)
{
	f->means.n = 0;
	for (size_t i = 0, end; i < n; i = end) {
		struct series s;
		for (end = i; end < n && jobs[end]->program == jobs[i]->program; end++)
			;
		int rc = series_make(jobs + i, end - i, OF_PROGRAM, &s);
		if (rc == 0)
			rc = add_program(f, &s);
		series_done(&s);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- days ---- */

static int by_day(const void *a, const void *b)
{
	const struct mean *x = a, *y = b;
	if (x->day != y->day)
		return x->day < y->day ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

/* Of means by value: the first one with which half of the weight is there. */
static double weighted_median(const struct mean *m, size_t n)
{
	double all = 0, sum = 0;
	size_t i = 0;
	for (size_t k = 0; k < n; k++)
		all += m[k].weight;
	while (i < n - 1 && (sum += m[i].weight) < all / 2)
		i++;
	return m[i].value;
}

static void add_to_days(struct finding *f)
{
	vec_sort(&f->means, by_day);
	for (size_t i = 0, end; i < f->means.n; i = end) {
		struct day *d = &f->days[f->means.at[i].day];
		for (end = i; end < f->means.n && f->means.at[end].day == f->means.at[i].day; end++)
			;
		d->known = end - i >= DAY_EFFECT_PROGRAMS;
		if (d->known)
			d->value += weighted_median(&f->means.at[i], end - i);
	}
}

/* ---- what does not last ---- */

static double median_around(const struct finding *f, uint32_t day, bool of_season)
{
	double room[2 * DAY_EFFECT_DAYS + 1];
	size_t n = 0;
	uint32_t end = day + DAY_EFFECT_DAYS + 1 < f->n ? day + DAY_EFFECT_DAYS + 1 : f->n;
	for (uint32_t i = day > DAY_EFFECT_DAYS ? day - DAY_EFFECT_DAYS : 0; i < end; i++)
		if (f->days[i].known)
			room[n++] = of_season ? f->days[i].season : f->days[i].value;
	return sort_median(room, n);
}

/* Weekends before and behind the end of a month are more than half of the days there: they are told apart first. */
static int take_weekdays_away(struct finding *f)
{
	double *room = room_for(f->n);
	for (uint32_t weekday = 0; weekday < WEEK && room != NULL; weekday++) {
		size_t n = 0;
		for (uint32_t i = weekday; i < f->n; i += WEEK)
			if (f->days[i].known)
				room[n++] = f->days[i].value - median_around(f, i, false);
		double own = sort_median(room, n);
		for (uint32_t i = weekday; i < f->n; i += WEEK)
			f->days[i].season = f->days[i].value - own;
	}
	free(room);
	return room != NULL ? 0 : -ENOMEM;
}

static int find(struct finding *f, const struct scan_job *const *jobs, size_t n, struct day_effects *w)
{
	for (int round = 0; round < ROUNDS; round++) {
		if (add_all(f, jobs, n) < 0)
			return -ENOMEM;
		add_to_days(f);
	}
	if (take_weekdays_away(f) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n; i++)
		w->days[i] = f->days[i].known ? f->days[i].value - median_around(f, i, true) : 0;
	return 0;
}

int day_effects_find(const struct scan_job *const *jobs, size_t n, struct day_effects *ret_w)
{
	struct finding f = {.first_day = UINT32_MAX};
	uint32_t last = 0;
	for (size_t i = 0; i < n; i++) {
		f.first_day = jobs[i]->day < f.first_day ? jobs[i]->day : f.first_day;
		last = jobs[i]->day > last ? jobs[i]->day : last;
	}
	f.n = n > 0 ? last - f.first_day + 1 : 0;
	f.days = calloc(f.n + 1u, sizeof(*f.days));
	*ret_w = (struct day_effects){room_for(f.n), f.first_day, f.n};
	int rc = f.days != NULL && ret_w->days != NULL ? find(&f, jobs, n, ret_w) : -ENOMEM;
	free(f.days);
	vec_done(&f.means);
	if (rc < 0)
		day_effects_done(ret_w);
	return rc;
}

void day_effects_done(struct day_effects *w)
{
	free(w->days);
	memset(w, 0, sizeof(*w));
}

double day_effect_of(const struct day_effects *w, uint32_t day)
{
	return day >= w->first_day && day - w->first_day < w->n ? w->days[day - w->first_day] : 0;
}
