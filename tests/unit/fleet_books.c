/* fleet_books.c - changes, levels of jobs, common days and links, each beside the same computed anew and plainly from
 * the definition in its header. */
#include "fleet/changes.h"
#include "fleet/day_effects.h"
#include "fleet/links.h"
#include "fleet/series.h"

#include "base/sort.h"

#include "tests/unit/chance.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400u
#define MOST 400 /* jobs of a test */

/* ---- a change ---- */

/* Jobs that are alike but for their days and what is left of them. */
struct sample {
	size_t n;
	uint32_t day[MOST];
	double y[MOST], weight[MOST], hours[MOST];
};

static void put_job(struct scan *s, struct sample *x, uint32_t day, double y)
{
	struct scan_job job = {.id = s->jobs.n + 1,
			       .program = 1,
			       .user = 2,
			       .ranks = 16,
			       .start = day * DAY_S + 40000,
			       .day = day,
			       .core_hours = (float)(1 + x->n % 3),
			       .parallel = (float)exp(y)};
	cr_assert_eq(vec_push(&s->jobs, job), 0);
	cr_assert_lt(x->n, MOST);
	x->day[x->n] = day;
	x->y[x->n] = log((double)job.parallel);
	x->hours[x->n] = (double)job.core_hours;
	x->n++;
}

static void weigh(struct sample *x)
{
	for (size_t i = 0; i < x->n; i++) {
		double same = 0;
		for (size_t k = 0; k < x->n; k++)
			same += x->day[k] == x->day[i];
		x->weight[i] = fmin(1, SERIES_DAY_JOBS / same);
	}
}

/* Weighted mean of those of days [from, to). */
static double mean(const struct sample *x, uint32_t from, uint32_t to, double *ret_weight)
{
	double sum = 0, weight = 0;
	for (size_t i = 0; i < x->n; i++)
		if (x->day[i] >= from && x->day[i] < to) {
			sum += x->weight[i] * x->y[i];
			weight += x->weight[i];
		}
	*ret_weight = weight;
	return sum / weight;
}

/* The two-sample score of the split before a day. */
static double score(const struct sample *x, uint32_t day)
{
	double a, b, before = mean(x, 0, day, &a), after = mean(x, day, UINT32_MAX, &b);
	return (after - before) * sqrt(a * b / (a + b));
}

struct expected {
	uint32_t day, low_day, high_day;
	double difference, error, t, p;
};

/* Days are all of [0, days). Wallace's approximation of Student's t; two names, of which each day is looked at. */
static struct expected expected_of(const struct sample *x, uint32_t days)
{
	struct expected e = {.day = CHANGE_DAYS};
	double a, b, squares = 0, square = 0, product = 0, last = 0;
	for (uint32_t k = CHANGE_DAYS; k + CHANGE_DAYS <= days; k++)
		e.day = fabs(score(x, k)) > fabs(score(x, e.day)) ? k : e.day;
	double before = mean(x, 0, e.day, &a), after = mean(x, e.day, UINT32_MAX, &b), all = a + b;
	e.difference = after - before;
	for (uint32_t k = 0; k < days; k++) {
		double weight, left = mean(x, k, k + 1, &weight) - (k < e.day ? before : after);
		squares += weight * left * left;
		square += left * left;
		product += k > 0 ? left * last : 0;
		last = left;
	}
	double alike = fmax(0, fmin(0.9, product / square));
	/* Of each of four factors there is one level, which is held to 0 the more the surer that is. */
	double freedom = all - 1 - 4 * all / (all + 2 + 9 * all);
	double variance = squares / (days - 2) * all / freedom;
	e.error = sqrt(variance * (1 / a + 1 / b)) * sqrt((1 + alike) / (1 - alike));
	e.t = e.difference / e.error;
	double v = fmin(days, freedom) - 2;
	double z = (8 * v + 1) / (8 * v + 3) * sqrt(v * log1p(e.t * e.t / v));
	e.p = erfc(z / M_SQRT2) * 2 * 2 * days;
	e.low_day = e.high_day = e.day;
	for (uint32_t k = CHANGE_DAYS; k + CHANGE_DAYS <= days; k++) {
		double t = score(x, k) / score(x, e.day) * fabs(e.t);
		if (t > 0 && t * t >= e.t * e.t - AS_LIKELY) {
			e.low_day = k < e.low_day ? k : e.low_day;
			e.high_day = k > e.high_day ? k : e.high_day;
		}
	}
	return e;
}

static void expect_change(struct scan *s, struct sample *x, uint32_t days)
{
	change_list list = {0};
	double hours[2] = {0}, sums[2] = {0}, jobs[2] = {0};
	s->day_end = days;
	weigh(x);
	struct expected e = expected_of(x, days);
	cr_assert_eq(changes_find(s, &list), 0);
	cr_assert_eq(list.n, 1, "%zu", list.n);
	const struct change *c = &list.at[0];
	for (size_t i = 0; i < x->n; i++) {
		int side = x->day[i] >= e.day;
		hours[side] += x->hours[i];
		sums[side] += x->hours[i] * exp(x->y[i]);
		jobs[side]++;
	}
	cr_expect_eq(c->day, e.day, "%u instead of %u", c->day, e.day);
	cr_expect_eq(c->day_low, e.low_day, "%u instead of %u", c->day_low, e.low_day);
	cr_expect_eq(c->day_high, e.high_day, "%u instead of %u", c->day_high, e.high_day);
	cr_expect_float_eq(c->change, expm1(e.difference), 1e-6, "%f instead of %f", c->change, expm1(e.difference));
	cr_expect_float_eq(c->low, expm1(e.difference - 1.959964 * e.error), 1e-5, "%f", c->low);
	cr_expect_float_eq(c->high, expm1(e.difference + 1.959964 * e.error), 1e-5, "%f", c->high);
	cr_expect_float_eq(log(c->p), log(e.p), 1e-3, "%g instead of %g", c->p, e.p);
	cr_expect_float_eq(c->before, sums[0] / hours[0], 1e-6);
	cr_expect_float_eq(c->after, sums[1] / hours[1], 1e-6);
	cr_expect_eq(c->jobs_before, jobs[0]);
	cr_expect_eq(c->jobs_after, jobs[1]);
	cr_expect_float_eq(c->hours_since, -hours[1] * expm1(e.difference), 1e-4);
	vec_done(&list);
	scan_done(s);
}

/* Less than SEASON_DAYS, so that days of the week are not told apart. */
Test(fleet_books, a_change_is_that_of_two_samples)
{
	static const struct {
		uint32_t days, at, row, many; /* row: so many days in a row are alike; many: jobs of day 3 */
		double by, noise;
	} rows[] = {{24, 12, 1, 1, -0.1, 0.03},
		    {24, 12, 4, 1, -0.2, 0.03},
		    {27, 10, 1, 60, 0.15, 0.05},
		    {26, 14, 2, 40, 0.12, 0.03}};
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct scan s = {0};
		struct sample x = {0};
		for (uint32_t day = 0; day < rows[r].days; day++)
			for (uint32_t i = 0; i < (day == 3 ? rows[r].many : 1 + day % 2); i++) {
				double noise = (day / rows[r].row % 2 == 0 ? 1 : -1) * rows[r].noise *
					       (1 + 0.1 * (day % 3) - 0.05 * i / (i + 1.0));
				put_job(&s, &x, day, log(0.6) + noise + (day >= rows[r].at ? rows[r].by : 0));
			}
		expect_change(&s, &x, rows[r].days);
	}
}

/* ---- levels ---- */

static struct scan_job job_of(uint32_t user, uint32_t ranks, uint32_t day, uint32_t hour, double y)
{
	return (struct scan_job){.program = 9,
				 .user = user,
				 .ranks = ranks,
				 .day = day,
				 .start = day * DAY_S + hour * 3600,
				 .parallel = (float)exp(y)};
}

Test(fleet_books, levels_are_of_users_sizes_both_hours_and_days_of_the_week)
{
	const struct scan_job jobs[] = {job_of(7, 1, 14, 0, -1), job_of(5, 2, 14, 2, -1), job_of(7, 3, 15, 3, -1),
					job_of(5, 4, 20, 23, -20), job_of(7, 1, 20, 23, -1)};
	static const uint32_t levels[5][SERIES_FACTORS] = {
		{1, 1, 2, 0, 0}, {0, 2, 0, 0, 0}, {1, 2, 3, 1, 1}, {0, 3, 1, 7, 6}, {1, 1, 2, 7, 6}};
	const struct scan_job *at[5];
	struct series s;
	for (int i = 0; i < 5; i++)
		at[i] = &jobs[i];
	cr_assert_eq(series_make(at, 5, OF_PROGRAM, &s), 0);
	cr_expect_eq(s.name, 9);
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < SERIES_FACTORS; k++)
			cr_expect_eq(s.jobs[i].level[k], levels[i][k], "job %d, factor %d: %u", i, k,
				     s.jobs[i].level[k]);
	static const uint32_t n[SERIES_FACTORS] = {2, 33, 4, 8, 7};
	for (int k = 0; k < SERIES_FACTORS; k++)
		cr_expect_eq(s.nlevels[k], n[k]);
	cr_expect_float_eq(s.jobs[0].y, -1, 1e-6);
	cr_expect_float_eq(s.jobs[3].y, log(1e-3), 1e-9, "less than a thousandth is as that");
	series_done(&s);
	cr_assert_eq(series_make(at, 5, OF_USER, &s), 0);
	cr_expect_eq(s.name, 7);
	cr_expect_eq(s.nlevels[BY_OTHER], 1, "all are of one program");
	series_done(&s);
}

/* Three users, two sizes, four times of the day, and Sundays, each with its own. */
static double level_of(uint32_t user, uint32_t ranks, uint32_t hour, uint32_t day)
{
	return (user - 2.0) * 0.3 + (ranks > 16 ? -0.2 : 0.2) + (hour >= 12 ? 0.1 : -0.1) + (day % 7 == 3 ? -0.14 : 0);
}

#define FIT_DAYS 70u
#define FIT_JOBS (FIT_DAYS * 12)

/* What is left of a level is as much as holds it to 0. */
static void expect_levels(const struct series *s, const double *left)
{
	for (int f = 0; f < SERIES_FACTORS; f++)
		for (uint32_t k = 0; k < s->nlevels[f]; k++) {
			double sum = 0, weight = 0;
			for (uint32_t i = 0; i < FIT_JOBS; i++)
				if (s->jobs[i].level[f] == k) {
					sum += series_clipped(s, left[i]);
					weight++;
				}
			cr_expect_eq(s->levels[f][k].weight, weight);
			if (weight > 0)
				cr_expect_float_eq(sum / weight, s->shrinkage[f] * s->levels[f][k].value / weight, 2e-3,
						   "factor %d, level %u: %f, %f", f, k, sum / weight,
						   s->shrinkage[f] * s->levels[f][k].value / weight);
			else
				cr_expect_eq(s->levels[f][k].value, 0);
		}
}

Test(fleet_books, what_is_left_is_chance_when_levels_are_known)
{
	static struct scan_job jobs[FIT_JOBS];
	static const struct scan_job *at[FIT_JOBS];
	static double left[FIT_JOBS], noise[FIT_JOBS], room[FIT_JOBS];
	uint64_t state = 5;
	struct series s;
	for (uint32_t i = 0; i < FIT_JOBS; i++) {
		uint32_t user = 1 + i % 3, ranks = i / 3 % 2 == 0 ? 16 : 64, hour = i % 12 < 6 ? 1 : 13, day = i / 12;
		noise[i] = 0.02 * chance(&state);
		jobs[i] = job_of(user, ranks, day, hour, -1.5 + level_of(user, ranks, hour, day) + noise[i]);
		at[i] = &jobs[i];
	}
	cr_assert_eq(series_make(at, FIT_JOBS, OF_PROGRAM, &s), 0);
	for (uint32_t i = 0; i < FIT_JOBS; i++)
		left[i] = s.jobs[i].y;
	series_fit(&s, 0, FIT_JOBS, left);
	double squares = 0;
	for (uint32_t i = 0; i < FIT_JOBS; i++) {
		cr_expect_float_eq(left[i], noise[i], 0.012, "job %u: %f instead of %f", i, left[i], noise[i]);
		squares += pow(series_clipped(&s, left[i]), 2);
		room[i] = fabs(left[i]);
	}
	cr_expect_float_eq(s.clip, 2 * 1.4826 * sort_median(room, FIT_JOBS), 1e-9);
	cr_expect_float_eq(s.variance, squares / s.freedom, 0.01 * s.variance);
	cr_expect_float_eq(sqrt(s.variance), 0.02, 0.002);
	/* Of 3 + 2 + 6 + 2 + 7 levels, most of which others explain. */
	cr_expect(s.freedom > FIT_JOBS - 20 && s.freedom < FIT_JOBS - 8, "%f", s.freedom);
	expect_levels(&s, left);
	cr_expect_float_eq(s.levels[BY_WEEKDAY][3].value - s.levels[BY_WEEKDAY][2].value, -0.14, 0.01);
	series_done(&s);
}

Test(fleet_books, a_fit_knows_nothing_of_the_one_before)
{
	static struct scan_job jobs[90];
	static const struct scan_job *at[90];
	double left[3][90];
	uint64_t state = 29;
	struct series s;
	for (uint32_t i = 0; i < 90; i++) {
		jobs[i] = job_of(1 + i % 3, 16, i / 3, i % 4 * 6,
				 -2 + level_of(1 + i % 3, 16, 1, 0) + 0.1 * chance(&state));
		at[i] = &jobs[i];
	}
	cr_assert_eq(series_make(at, 90, OF_PROGRAM, &s), 0);
	for (int k = 0; k < 3; k++) {
		for (uint32_t i = 0; i < 90; i++)
			left[k][i] = s.jobs[i].y * (k == 1 ? 5 : 1);
		series_fit(&s, 0, 90, left[k]);
	}
	for (uint32_t i = 0; i < 90; i++)
		cr_expect_eq(left[2][i], left[0][i], "job %u", i);
	series_done(&s);
}

/* ---- what all have in common ---- */

#define COMMON_DAYS 84u

static double common(uint32_t day)
{
	return (day == 40 ? -0.2 : 0) + (day >= 60 ? -0.3 : 0) + (day % 7 == 5 ? -0.1 : 0);
}

static struct day_effects effects_of(uint32_t programs)
{
	static struct scan_job jobs[COMMON_DAYS * 12 * 3];
	static const struct scan_job *at[COMMON_DAYS * 12 * 3];
	uint64_t state = 7;
	size_t n = 0;
	struct day_effects w;
	for (uint32_t program = 1; program <= programs; program++)
		for (uint32_t day = 0; day < COMMON_DAYS; day++)
			for (uint32_t i = 0; i < 3; i++, n++) {
				jobs[n] = job_of(2, 16, 100 + day, 3 * i, -1 + common(day) + 0.01 * chance(&state));
				jobs[n].program = program;
				at[n] = &jobs[n];
			}
	cr_assert_eq(day_effects_find(at, n, &w), 0);
	return w;
}

Test(fleet_books, days_have_in_common_what_does_not_last)
{
	struct day_effects w = effects_of(12);
	cr_expect_eq(w.n, COMMON_DAYS);
	cr_expect_eq(w.first_day, 100);
	double weekday = day_effect_of(&w, 100 + 12) - day_effect_of(&w, 100 + 13);
	cr_expect_float_eq(weekday, -0.1, 0.015, "%f", weekday);
	for (uint32_t day = 0; day < COMMON_DAYS; day++) {
		double own = day_effect_of(&w, 100 + day), lasting = day >= 60 ? -0.3 : 0;
		cr_expect_float_eq(own, common(day) - lasting, 0.02, "day %u: %f", day, own);
	}
	cr_expect_eq(day_effect_of(&w, 99), 0);
	cr_expect_eq(day_effect_of(&w, 100 + COMMON_DAYS), 0);
	day_effects_done(&w);
}

Test(fleet_books, of_seven_programs_nobody_knows_what_they_have_in_common)
{
	for (uint32_t programs = DAY_EFFECT_PROGRAMS - 1; programs <= DAY_EFFECT_PROGRAMS; programs++) {
		struct day_effects w = effects_of(programs);
		cr_expect_eq(day_effect_of(&w, 140) < -0.1, programs == DAY_EFFECT_PROGRAMS);
		day_effects_done(&w);
	}
}
