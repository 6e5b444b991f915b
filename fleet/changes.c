/* changes.c - see changes.h. */
#include "fleet/changes.h"
#include "fleet/series.h"
#include "fleet/day_effects.h"

#include "base/search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 2
#define INTERVAL 1.959964
#define STEPS 6
#define VARIANCE_LEAST 1e-9
#define FREEDOM_LEAST 3.0

/* ---- a part of a series ---- */

struct day {
	uint32_t day;
	double weight, sum, left; /* sum: of what is left of its jobs; left: likewise beside a change */
	double score;		  /* of a change on this day: of its square, the share that chance would explain */
};

/* Jobs [from, to) of a series. */
struct part {
	struct series *s;
	size_t from, to;
	struct day *days;
	size_t ndays;
	double *left, *since; /* of each job of the series: what is left of it; of being behind a change */
	double weight;
};

static void part_done(struct part *p)
{
	free(p->days);
	free(p->left);
	free(p->since);
}

static void make_days(struct part *p)
{
	for (size_t i = p->from; i < p->to; i++) {
		const struct series_job *x = &p->s->jobs[i];
		if (p->ndays == 0 || p->days[p->ndays - 1].day != x->job->day)
			p->days[p->ndays++] = (struct day){.day = x->job->day};
		struct day *d = &p->days[p->ndays - 1];
		d->weight += x->weight;
		d->sum += x->weight * series_clipped(p->s, p->left[i]);
		p->weight += x->weight;
	}
}

/* How each day would do as the first one behind a change: 0 where CHANGE_DAYS are not left on either side. */
static void score_days(struct part *p)
{
	double before = 0, sum = 0, all = 0;
	for (size_t k = 0; k < p->ndays; k++)
		all += p->days[k].sum;
	for (size_t k = 0; k < p->ndays; k++) {
		double behind = p->weight - before;
		if (k >= CHANGE_DAYS && p->ndays - k >= CHANGE_DAYS)
			p->days[k].score = (all - sum - all * behind / p->weight) / sqrt(before * behind / p->weight);
		before += p->days[k].weight;
		sum += p->days[k].sum;
	}
}

static int part_make(struct series *s, const struct day_effects *w, size_t from, size_t to, struct part *ret_p)
{
	struct part p = {.s = s, .from = from, .to = to};
	p.days = calloc(to - from, sizeof(*p.days));
	p.left = calloc(s->n, sizeof(*p.left));
	p.since = calloc(s->n, sizeof(*p.since));
	if (p.days == NULL || p.left == NULL || p.since == NULL) {
		part_done(&p);
		return -ENOMEM;
	}
	for (size_t i = from; i < to; i++)
		p.left[i] = s->jobs[i].y - day_effect_of(w, s->jobs[i].job->day);
	series_fit(s, from, to, p.left);
	make_days(&p);
	score_days(&p);
	*ret_p = p;
	return 0;
}

/* ---- one change ---- */

struct split {
	size_t at; /* of the part's days: the first behind it; 0: none */
	double t, freedom, difference, error, p;
};

/* By which all jobs behind the change are better, beside what their levels explain; leaves in `since` what these leave
 * of being behind it. *ret_weight: how many jobs would tell as much if nothing else were to be learned. */
static double difference_at(struct part *p, size_t at, double *ret_weight)
{
	double weight = 0, difference = 0;
	for (size_t i = p->from; i < p->to; i++)
		p->since[i] = p->s->jobs[i].job->day >= p->days[at].day;
	series_project_out(p->s, p->from, p->to, p->since);
	for (size_t i = p->from; i < p->to; i++)
		if (p->s->jobs[i].job->day >= p->days[at].day)
			weight += p->s->jobs[i].weight * p->since[i];
	for (int step = 0; step < STEPS && weight > 0; step++) {
		double sum = 0;
		for (size_t i = p->from; i < p->to; i++)
			sum += p->s->jobs[i].weight * p->since[i] *
			       series_clipped(p->s, p->left[i] - difference * p->since[i]);
		difference += sum / weight;
	}
	*ret_weight = weight;
	return difference;
}

static void leave_of_days(struct part *p, double difference)
{
	size_t k = 0;
	for (size_t i = 0; i < p->ndays; i++)
		p->days[i].left = 0;
	for (size_t i = p->from; i < p->to; i++) {
		const struct series_job *x = &p->s->jobs[i];
		k += x->job->day != p->days[k].day;
		p->days[k].left += x->weight * series_clipped(p->s, p->left[i] - difference * p->since[i]);
	}
	for (size_t i = 0; i < p->ndays; i++)
		p->days[i].left /= p->days[i].weight;
}

/* What a day's job differs by from its level; larger where days are like the day before, of which it is the square of
 * *ret_alike. */
static double variance_of_days(const struct part *p, double *ret_alike)
{
	double squares = 0, product = 0, square = 1e-12;
	for (size_t k = 0; k < p->ndays; k++) {
		const struct day *d = &p->days[k];
		squares += d->weight * d->left * d->left;
		square += d->left * d->left;
		if (k > 0)
			product += d->left * d[-1].left;
	}
	double alike = fmax(0, fmin(0.9, product / square));
	*ret_alike = sqrt((1 + alike) / (1 - alike));
	return fmax(VARIANCE_LEAST, squares / ((double)p->ndays - 2));
}

/* Two-sided, of Student's t; few days say less than their errors do (Wallace, Ann. Math. Stat. 30, 1959). */
static double chance_of(double t, double freedom)
{
	double z = (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom));
	return erfc(z / M_SQRT2);
}

/* *tests: among so many that are looked at. */
static struct split split_at(struct part *p, size_t at, double tests)
{
	double weight, alike, freedom = p->s->freedom; /* series_project_out() leaves it */
	struct split x = {.difference = difference_at(p, at, &weight), .freedom = fmin((double)p->ndays, freedom) - 2};
	if (x.freedom < FREEDOM_LEAST || weight <= 0)
		return (struct split){.p = 1};
	leave_of_days(p, x.difference);
	double variance = variance_of_days(p, &alike) * p->weight / freedom;
	x.at = at;
	x.error = sqrt(variance / weight) * alike;
	x.t = x.difference / x.error;
	x.p = chance_of(x.t, x.freedom) * tests;
	return x;
}

/* ---- of all that it could be ---- */

/* What is looked at in all. */
struct search {
	const struct scan *s;
	struct day_effects day_effects;
	double names; /* programs and users with enough days */
};

/* Half of what chance may bring is left to days that nothing tells of, half to those on which a version came. */
static double tests_of_days(const struct search *l, const struct part *p)
{
	return 2 * l->names * (double)(p->days[p->ndays - 1].day - p->days[0].day + 1);
}

static double tests_of_versions(const struct search *l)
{
	return 2 * (double)l->s->versions.n;
}

static size_t best_day(const struct part *p)
{
	size_t best = 0;
	for (size_t k = 1; k < p->ndays; k++)
		if (fabs(p->days[k].score) > fabs(p->days[best].score))
			best = k;
	return best;
}

static size_t day_at(const struct part *p, uint32_t day)
{
	size_t k = 0;
	while (k < p->ndays && p->days[k].day < day)
		k++;
	return k < p->ndays ? k : 0;
}

static struct split best_version(const struct search *l, struct part *p)
{
	struct split best = {.p = 1};
	const struct scan_version *all = l->s->versions.at;
	size_t n = l->s->versions.n;
	for (size_t i = search_first(0, n, k, all[k].program < p->s->name); i < n && all[i].program == p->s->name;
	     i++) {
		size_t at = day_at(p, all[i].day);
		if (at == 0 || p->days[at].score == 0)
			continue;
		struct split x = split_at(p, at, tests_of_versions(l));
		if (x.p < best.p)
			best = x;
	}
	return best;
}

static struct split best_split(const struct search *l, struct part *p)
{
	size_t at = best_day(p);
	struct split x = at > 0 ? split_at(p, at, tests_of_days(l, p)) : (struct split){.p = 1};
	return at == 0 || x.p <= CHANGE_P ? x : best_version(l, p);
}

/* ---- what is said of it ---- */

/* Days that would do as well: t goes with their score. */
static void fill_days(const struct part *p, const struct split *x, struct change *c)
{
	const struct day *best = &p->days[x->at];
	c->day = c->day_low = c->day_high = best->day;
	for (size_t k = 0; k < p->ndays; k++) {
		double t = p->days[k].score / best->score * fabs(x->t);
		if (t <= 0 || t * t < x->t * x->t - AS_LIKELY)
			continue;
		c->day_low = p->days[k].day < c->day_low ? p->days[k].day : c->day_low;
		c->day_high = p->days[k].day > c->day_high ? p->days[k].day : c->day_high;
	}
}

/* Means over core-hours, as a person would compare them. */
static void fill(const struct part *p, const struct split *x, struct change *c)
{
	double sums[2] = {0}, hours[2] = {0}, jobs[2] = {0};
	for (size_t i = p->from; i < p->to; i++) {
		const struct scan_job *j = p->s->jobs[i].job;
		int side = j->day >= p->days[x->at].day;
		double all = (double)j->core_hours * (1 + (double)j->others);
		sums[side] += all * (double)j->parallel;
		hours[side] += all;
		jobs[side] += 1 + (double)j->others;
	}
	*c = (struct change){.name = p->s->name,
			     .before = hours[0] > 0 ? sums[0] / hours[0] : 0,
			     .after = hours[1] > 0 ? sums[1] / hours[1] : 0,
			     .change = expm1(x->difference),
			     .low = expm1(x->difference - INTERVAL * x->error),
			     .high = expm1(x->difference + INTERVAL * x->error),
			     .p = fmin(1, x->p),
			     .jobs_before = (uint32_t)lround(jobs[0]),
			     .jobs_after = (uint32_t)lround(jobs[1]),
			     .hours_since = hours[1] * -expm1(x->difference)};
	fill_days(p, x, c);
}

static size_t first_job_of(const struct part *p, uint32_t day)
{
	size_t i = p->from;
	while (i < p->to && p->s->jobs[i].job->day < day)
		i++;
	return i;
}

static int find_in(const struct search *l, struct series *s, size_t from, size_t to, int depth, change_list *list)
{
	struct change c = {0};
	struct part p;
	size_t middle = 0;
	int rc = from < to ? part_make(s, &l->day_effects, from, to, &p) : 0;
	if (from == to || rc < 0)
		return rc;
	struct split x = best_split(l, &p);
	if (x.at > 0 && x.p <= CHANGE_P && fabs(expm1(x.difference)) >= CHANGE_LEAST) {
		fill(&p, &x, &c);
		middle = first_job_of(&p, c.day);
		rc = vec_push(list, c);
	}
	part_done(&p);
	if (rc == 0 && middle > 0 && depth < DEPTH_MAX)
		rc = find_in(l, s, from, middle, depth + 1, list);
	return rc == 0 && middle > 0 && depth < DEPTH_MAX ? find_in(l, s, middle, to, depth + 1, list) : rc;
}

/* ---- programs, users ---- */

static int compare_names(const void *a, const void *b, enum series_of what)
{
	const struct scan_job *const *x = a, *const *y = b;
	uint32_t m = series_name(*x, what), n = series_name(*y, what);
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

/* The jobs that count, in the order of their programs or users, of each by start. */
struct order {
	const struct scan_job **at;
	size_t n;
	enum series_of what;
};

static void sort_by(struct order *o, enum series_of what)
{
	qsort(o->at, o->n, sizeof(*o->at), what == OF_USER ? by_user : by_program);
	o->what = what;
}

/* Of one name, from `first` on: the first that is not, and on how many days jobs of it began. */
static size_t end_of_name(const struct order *o, size_t first, size_t *ret_days)
{
	size_t end = first + 1;
	for (*ret_days = 1; end < o->n && series_name(o->at[end], o->what) == series_name(o->at[first], o->what); end++)
		*ret_days += o->at[end]->day != o->at[end - 1]->day;
	return end;
}

static size_t count_names(const struct order *o)
{
	size_t n = 0, days;
	for (size_t i = 0; i < o->n;) {
		i = end_of_name(o, i, &days);
		n += days >= 2 * CHANGE_DAYS;
	}
	return n;
}

static int each_name(const struct search *l, const struct order *o, change_list *list)
{
	size_t days;
	int rc = 0;
	for (size_t i = 0, end; i < o->n && rc == 0; i = end) {
		struct series s;
		end = end_of_name(o, i, &days);
		if (series_name(o->at[i], o->what) == 0 || days < 2 * CHANGE_DAYS)
			continue;
		rc = series_make(o->at + i, end - i, o->what, &s);
		if (rc < 0)
			return rc;
		rc = find_in(l, &s, 0, s.n, 0, list);
		series_done(&s);
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

static int find_all(struct search *l, struct order *o, change_list *list)
{
	sort_by(o, OF_USER);
	l->names = (double)count_names(o);
	sort_by(o, OF_PROGRAM);
	l->names += (double)count_names(o);
	int rc = day_effects_find(o->at, o->n, &l->day_effects);
	if (rc == 0)
		rc = each_name(l, o, list);
	leave_changed_out(o, list);
	sort_by(o, OF_USER);
	return rc == 0 ? each_name(l, o, list) : rc;
}

int changes_find(const struct scan *s, change_list *ret_list)
{
	struct search l = {.s = s};
	struct order o = {.at = calloc(s->jobs.n + 1, sizeof(*o.at))};
	if (o.at == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->jobs.n; i++)
		if (s->jobs.at[i].parallel > 0 && s->jobs.at[i].ranks > 1)
			o.at[o.n++] = &s->jobs.at[i];
	int rc = find_all(&l, &o, ret_list);
	day_effects_done(&l.day_effects);
	free(o.at);
	vec_sort(ret_list, by_day);
	return rc;
}
