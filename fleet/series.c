/* series.c - see series.h. */
#include "fleet/series.h"

#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 12
#define ROUNDS_UNSHRUNK 2 /* before variances are estimated */
#define DAY_PARTS 8
#define SIZES 33
#define WEEK 7
#define EFFICIENCY_LEAST 1e-3
#define CLIP_AT_FIRST 1.0 /* of a logarithm: jobs that are off by a factor of e count as that */
#define CLIP_DEVIATIONS 2.0
#define NORMAL_MEDIAN 1.4826
#define SHRINKAGE_AT_FIRST 2.0
#define SHRINKAGE_LEAST 0.05
#define SHRINKAGE_MOST 1000.0
#define LEFT_LEAST 1e-4 /* efficiencies are not known better than that */

uint32_t series_name(const struct scan_job *j, enum series_of what)
{
	return what == OF_PROGRAM ? j->program : j->user;
}

/* ---- jobs ---- */

static int by_other(const void *a, const void *b)
{
	const struct series_job *x = a, *y = b;
	if (x->level[BY_OTHER] != y->level[BY_OTHER])
		return x->level[BY_OTHER] < y->level[BY_OTHER] ? -1 : 1;
	return (x->level[BY_SIZE] > y->level[BY_SIZE]) - (x->level[BY_SIZE] < y->level[BY_SIZE]);
}

static int by_start(const void *a, const void *b)
{
	const struct series_job *x = a, *y = b;
	return (x->job > y->job) - (x->job < y->job);
}

static struct series_job job_of(const struct scan_job *j, enum series_of what)
{
	const uint32_t other = what == OF_PROGRAM ? j->user : j->program;
	const uint32_t size = j->ranks > 0 ? 32 - (uint32_t)__builtin_clz(j->ranks) : 0;
	return (struct series_job){.job = j,
				   .level = {other, size, 0,
					     j->start % FLEET_SECONDS_PER_DAY * DAY_PARTS / FLEET_SECONDS_PER_DAY,
					     j->day % WEEK},
				   .y = log(fmax(EFFICIENCY_LEAST, (double)j->parallel)) + (double)j->slowed};
}

/* Numbers of others are those of names until then. */
static void number_levels(struct series *s)
{
	uint32_t others = 0, both = 0, last = 0;
	qsort(s->jobs, s->n, sizeof(*s->jobs), by_other);
	for (size_t i = 0; i < s->n; i++) {
		struct series_job *x = &s->jobs[i];
		bool same = i > 0 && x->level[BY_OTHER] == last;
		last = x->level[BY_OTHER];
		others += !same;
		both += !same || x->level[BY_SIZE] != x[-1].level[BY_SIZE];
		x->level[BY_OTHER] = others - 1;
		x->level[BY_BOTH] = both - 1;
	}
	qsort(s->jobs, s->n, sizeof(*s->jobs), by_start);
	const uint32_t n[SERIES_FACTORS] = {others, SIZES, both, DAY_PARTS, WEEK};
	memcpy(s->nlevels, n, sizeof(n));
}

static void weigh(struct series *s)
{
	for (size_t i = 0, end; i < s->n; i = end) {
		for (end = i; end < s->n && s->jobs[end].job->day == s->jobs[i].job->day; end++)
			;
		for (size_t k = i; k < end; k++)
			s->jobs[k].weight = fmin(1, SERIES_DAY_JOBS / (double)(end - i));
	}
}

int series_make(const struct scan_job *const *jobs, size_t n, enum series_of what, struct series *ret_s)
{
	*ret_s = (struct series){0};
	struct series s = {.n = n, .name = series_name(jobs[0], what)};
	s.jobs = calloc(n, sizeof(*s.jobs));
	s.room = calloc(n, sizeof(*s.room));
	bool whole = s.jobs != NULL && s.room != NULL;
	for (size_t i = 0; i < n && whole; i++)
		s.jobs[i] = job_of(jobs[i], what);
	if (whole)
		number_levels(&s);
	for (int k = 0; k < SERIES_FACTORS && whole; k++) {
		s.levels[k] = calloc(s.nlevels[k], sizeof(*s.levels[k]));
		whole = s.levels[k] != NULL;
	}
	if (!whole) {
		series_done(&s);
		return -ENOMEM;
	}
	weigh(&s);
	*ret_s = s;
	return 0;
}

void series_done(struct series *s)
{
	for (int k = 0; k < SERIES_FACTORS; k++)
		free(s->levels[k]);
	free(s->jobs);
	free(s->room);
	memset(s, 0, sizeof(*s));
}

/* ---- levels ---- */

double series_clipped(const struct series *s, double left)
{
	return fmax(-s->clip, fmin(s->clip, left));
}

static bool is_fitted(const struct series *s, int factor, size_t from, size_t to)
{
	return factor != BY_WEEKDAY || s->jobs[to - 1].job->day - s->jobs[from].job->day >= SEASON_DAYS;
}

static void begin(struct series *s, size_t from, size_t to)
{
	for (int k = 0; k < SERIES_FACTORS; k++) {
		memset(s->levels[k], 0, s->nlevels[k] * sizeof(*s->levels[k]));
		for (size_t i = from; i < to; i++)
			s->levels[k][s->jobs[i].level[k]].weight += s->jobs[i].weight;
	}
}

static void take_mean_away(const struct series *s, size_t from, size_t to, double *values)
{
	double sum = 0, weight = 0;
	for (size_t i = from; i < to; i++) {
		sum += s->jobs[i].weight * values[i];
		weight += s->jobs[i].weight;
	}
	for (size_t i = from; i < to; i++)
		values[i] -= sum / weight;
}

/* Its levels anew, by what is left with those that it had. */
static void fit_factor(struct series *s, int factor, size_t from, size_t to, double *values)
{
	struct series_level *levels = s->levels[factor];
	for (size_t i = from; i < to; i++)
		levels[s->jobs[i].level[factor]].sum += s->jobs[i].weight * series_clipped(s, values[i]);
	for (uint32_t k = 0; k < s->nlevels[factor]; k++) {
		struct series_level *l = &levels[k];
		double value = l->weight > 0 ? (l->sum + l->weight * l->value) / (l->weight + s->shrinkage[factor]) : 0;
		l->sum = value - l->value;
		l->value = value;
	}
	for (size_t i = from; i < to; i++)
		values[i] -= levels[s->jobs[i].level[factor]].sum;
	for (uint32_t k = 0; k < s->nlevels[factor]; k++)
		levels[k].sum = 0;
}

static double count_parameters(const struct series *s, size_t from, size_t to)
{
	double n = 1; /* the mean */
	for (int f = 0; f < SERIES_FACTORS; f++)
		for (uint32_t k = 0; k < s->nlevels[f] && is_fitted(s, f, from, to); k++)
			if (s->levels[f][k].weight > 0)
				n += s->levels[f][k].weight / (s->levels[f][k].weight + s->shrinkage[f]);
	return n;
}

static void learn_variance(struct series *s, size_t from, size_t to, const double *values)
{
	double squares = 0, weight = 0;
	for (size_t i = from; i < to; i++) {
		squares += s->jobs[i].weight * series_clipped(s, values[i]) * series_clipped(s, values[i]);
		weight += s->jobs[i].weight;
	}
	s->freedom = weight - count_parameters(s, from, to);
	s->variance = fmax(LEFT_LEAST * LEFT_LEAST, squares / fmax(1, s->freedom));
}

/* How much levels differ, beside what is left of their jobs. */
static void estimate_shrinkage(struct series *s)
{
	for (int f = 0; f < SERIES_FACTORS; f++) {
		double sum = 0, n = 0;
		for (uint32_t k = 0; k < s->nlevels[f]; k++) {
			const struct series_level *l = &s->levels[f][k];
			if (l->weight <= 0)
				continue;
			sum += l->value * l->value + s->variance / (l->weight + s->shrinkage[f]);
			n++;
		}
		s->shrinkage[f] = fmax(SHRINKAGE_LEAST, fmin(SHRINKAGE_MOST, s->variance * n / sum));
	}
}

static double clip_of(const struct series *s, size_t from, size_t to, const double *values)
{
	for (size_t i = from; i < to; i++)
		s->room[i - from] = fabs(values[i]);
	return CLIP_DEVIATIONS * fmax(LEFT_LEAST, NORMAL_MEDIAN * sort_median(s->room, to - from));
}

static bool is_power_of_two(int n)
{
	return (n & (n - 1)) == 0;
}

static void fit(struct series *s, size_t from, size_t to, double *values, bool learn)
{
	begin(s, from, to);
	for (int round = 0; round < ROUNDS; round++) {
		take_mean_away(s, from, to, values);
		if (learn && round > 0 && is_power_of_two(round))
			s->clip = clip_of(s, from, to, values);
		for (int f = 0; f < SERIES_FACTORS; f++)
			if (is_fitted(s, f, from, to))
				fit_factor(s, f, from, to, values);
		if (learn)
			learn_variance(s, from, to, values);
		if (learn && round >= ROUNDS_UNSHRUNK)
			estimate_shrinkage(s);
	}
}

void series_fit(struct series *s, size_t from, size_t to, double *values)
{
	s->clip = CLIP_AT_FIRST;
	for (int f = 0; f < SERIES_FACTORS; f++)
		s->shrinkage[f] = SHRINKAGE_AT_FIRST;
	fit(s, from, to, values, true);
	s->clip = clip_of(s, from, to, values);
}

void series_project_out(struct series *s, size_t from, size_t to, double *values)
{
	double clip = s->clip;
	s->clip = INFINITY;
	fit(s, from, to, values, false);
	s->clip = clip;
}
