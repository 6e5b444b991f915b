/* links.c - see links.h. In: jobs, and who was beside whom.  Out: differences that are no chance. */
#include "fleet/links.h"
#include "fleet/concurrent.h"

#include "base/search.h"
#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_S (FLEET_SECONDS_PER_DAY / 4)
#define HALF 0.5
#define OTHERS_MOST 500u /* programs beside one, those of most jobs */

/* What is compared with the same of other times. */
struct candidate {
	struct link_effect whole, since; /* since: behind the change, if there is one */
	double change_z;
	size_t splits;
};

struct work {
	struct concurrent beside;
	VEC(uint32_t) order; /* jobs of beside by group, then by start */
	VEC(struct candidate) candidates;
	struct link_omitted omitted;
};

static const struct scan_job *job_of(const struct work *w, uint32_t member)
{
	return &w->beside.s->jobs.at[w->beside.jobs.at[member].job];
}

/* ---- differences within a group and a quarter of a day ---- */

enum side { SIDE_NONE, SIDE_WITH, SIDE_WITHOUT };

/* Which of two kinds a job is of. */
struct question {
	const struct work *w;
	uint32_t other, at; /* a program beside it; or a switch */
};

static enum side side_beside(const struct question *q, const struct concurrent_job *m)
{
	double seconds = concurrent_seconds(&q->w->beside, m, q->other);
	if (m->crowded)
		return SIDE_NONE;
	if (seconds <= 0)
		return SIDE_WITHOUT;
	return seconds >= HALF * (double)q->w->beside.s->jobs.at[m->job].elapsed_s ? SIDE_WITH : SIDE_NONE;
}

static enum side side_switch(const struct question *q, const struct concurrent_job *m)
{
	for (uint32_t i = 0; i < m->nswitches; i++)
		if (m->switches[i] == q->at)
			return m->nswitches == 1 ? SIDE_WITH : SIDE_NONE;
	return SIDE_WITHOUT;
}

struct difference {
	double value;
	uint32_t block, with, without; /* quarter of a day since 1970; jobs of either kind */
	struct link_pair pair;	       /* the first of either kind */
};

struct differences {
	VEC(struct difference) at;
	VEC(struct link_day) exposed; /* core-hours of those with it */
	struct link_effect about;
};

static void differences_done(struct differences *d)
{
	vec_done(&d->at);
	vec_done(&d->exposed);
}

struct block {
	double sum[3];
	uint32_t n[3];
	sqlite3_int64 first[3];
	double hours;
};

static int end_block(struct differences *d, struct block *b, uint32_t block)
{
	uint32_t day = block * BLOCK_S / FLEET_SECONDS_PER_DAY;
	int rc = 0;
	if (b->hours > 0) /* also where there is nothing to compare with */
		rc = vec_push(&d->exposed, ((struct link_day){day, b->hours}));
	if (rc == 0 && b->n[SIDE_WITH] > 0 && b->n[SIDE_WITHOUT] > 0)
		rc = vec_push(&d->at, ((struct difference){
					      .value = b->sum[SIDE_WITH] / b->n[SIDE_WITH] -
						       b->sum[SIDE_WITHOUT] / b->n[SIDE_WITHOUT],
					      .block = block,
					      .with = b->n[SIDE_WITH],
					      .without = b->n[SIDE_WITHOUT],
					      .pair = {b->first[SIDE_WITH], b->first[SIDE_WITHOUT]},
				      }));
	*b = (struct block){0};
	return rc;
}

/* Of the jobs order[first, end) of one group. */
static int compare(const struct question *q, size_t first, size_t end, struct differences *d)
{
	struct block b = {0};
	uint32_t at = 0;
	int rc = 0;
	for (size_t i = first; i < end && rc == 0; i++) {
		const struct concurrent_job *m = &q->w->beside.jobs.at[q->w->order.at[i]];
		const struct scan_job *j = &q->w->beside.s->jobs.at[m->job];
		if (i > first && j->start / BLOCK_S != at)
			rc = end_block(d, &b, at);
		at = j->start / BLOCK_S;
		enum side side = q->other != 0 ? side_beside(q, m) : side_switch(q, m);
		if (isnan(j->in_mpi) || side == SIDE_NONE)
			continue;
		b.sum[side] += (double)j->in_mpi;
		b.first[side] = b.n[side]++ == 0 ? j->id : b.first[side];
		b.hours += side == SIDE_WITH ? (double)j->core_hours : 0;
	}
	return rc == 0 ? end_block(d, &b, at) : rc;
}

/* ---- what they say together ---- */

/* The rank of each value, from 1 on: ties share theirs. */
static void rank(const double *values, size_t n, double *room, double *ret_ranks)
{
	memcpy(room, values, n * sizeof(*room));
	qsort(room, n, sizeof(*room), sort_by_double);
	for (size_t i = 0; i < n; i++) {
		size_t first = search_first(0, n, k, room[k] < values[i]);
		size_t end = search_first(first, n, k, room[k] <= values[i]);
		ret_ranks[i] = (double)(first + 1 + end) / 2;
	}
}

/* Three arrays of as many values as there are differences. */
struct room {
	double *values, *sorted, *ranks;
};

static int room_make(size_t n, struct room *ret_r)
{
	double *all = calloc(3 * n + 1, sizeof(*all));
	*ret_r = (struct room){all, all + n, all + 2 * n};
	return all != NULL ? 0 : -ENOMEM;
}

/* Wilcoxon's signed ranks. That ties make it surer is left out. */
static double signed_ranks_z(const struct difference *at, size_t n, struct room *r)
{
	double sum = 0, k = (double)n;
	for (size_t i = 0; i < n; i++)
		r->values[i] = fabs(at[i].value);
	rank(r->values, n, r->sorted, r->ranks);
	for (size_t i = 0; i < n; i++)
		sum += at[i].value > 0 ? r->ranks[i] : at[i].value == 0 ? r->ranks[i] / 2 : 0;
	return (sum - k * (k + 1) / 4) / sqrt(k * (k + 1) * (2 * k + 1) / 24);
}

static double median_of(const struct difference *at, size_t n, struct room *r)
{
	for (size_t i = 0; i < n; i++)
		r->values[i] = at[i].value;
	return sort_median(r->values, n);
}

static uint32_t day_of(const struct difference *x)
{
	return x->block * BLOCK_S / FLEET_SECONDS_PER_DAY;
}

/* The largest differences. */
static void fill_evidence(const struct difference *at, size_t n, struct link_effect *x)
{
	double values[LINK_EVIDENCE] = {0};
	memset(x->evidence, 0, sizeof(x->evidence));
	for (size_t i = 0; i < n; i++) {
		size_t k = LINK_EVIDENCE;
		for (; k > 0 && at[i].value > values[k - 1]; k--)
			if (k < LINK_EVIDENCE) {
				values[k] = values[k - 1];
				x->evidence[k] = x->evidence[k - 1];
			}
		if (k < LINK_EVIDENCE) {
			values[k] = at[i].value;
			x->evidence[k] = at[i].pair;
		}
	}
}

/* Those at[0, n), by time; there are some. */
static void fill(const struct difference *at, size_t n, struct room *r, struct link_effect *x)
{
	x->jobs = x->without = x->days = 0;
	for (size_t i = 0; i < n; i++) {
		x->jobs += at[i].with;
		x->without += at[i].without;
		x->days += i == 0 || day_of(&at[i]) != day_of(&at[i - 1]);
	}
	x->blocks = (uint32_t)n;
	x->z = signed_ranks_z(at, n, r);
	x->effect = median_of(at, n, r);
	fill_evidence(at, n, x);
}

static bool has_enough(const struct link_effect *x)
{
	return x->blocks >= LINK_BLOCKS && x->days >= LINK_DAYS;
}

/* ---- since when ---- */

/* Before at[k]: sums of ranks as far from what they would be (Wilcoxon's two-sample statistic). */
static double split_z(double sum, size_t k, size_t n)
{
	double a = (double)k, all = (double)n;
	return (a * (all + 1) / 2 - sum) / sqrt(a * (all - a) * (all + 1) / 12);
}

/* Calls take() for each split that leaves enough on either side, with its z: positive where it is worse behind it. */
static void each_split(const struct differences *d, const struct room *r, struct candidate *c,
		       void (*take)(struct candidate *c, const struct differences *d, size_t k, double z))
{
	size_t n = d->at.n;
	double sum = 0;
	for (size_t k = 1; k < n; k++) {
		sum += r->ranks[k - 1];
		if (k >= LINK_BLOCKS && n - k >= LINK_BLOCKS && d->at.at[k].block != d->at.at[k - 1].block)
			take(c, d, k, split_z(sum, k, n));
	}
}

static void update_split(struct candidate *c, const struct differences *d, size_t k, double z)
{
	c->splits++;
	if (fabs(z) <= fabs(c->change_z))
		return;
	c->change_z = z;
	c->since.since = c->since.since_low = c->since.since_high = (double)d->at.at[k].block * BLOCK_S;
}

static void widen_interval(struct candidate *c, const struct differences *d, size_t k, double z)
{
	double at = (double)d->at.at[k].block * BLOCK_S;
	if (z * c->change_z < 0 || z * z < c->change_z * c->change_z - AS_LIKELY)
		return;
	c->since.since_low = fmin(c->since.since_low, at);
	c->since.since_high = fmax(c->since.since_high, at);
}

static void find_change(const struct differences *d, struct room *r, struct candidate *c)
{
	size_t n = d->at.n;
	for (size_t i = 0; i < n; i++)
		r->values[i] = d->at.at[i].value;
	rank(r->values, n, r->sorted, r->ranks);
	each_split(d, r, c, update_split);
	if (c->splits == 0)
		return;
	each_split(d, r, c, widen_interval);
	size_t first = search_first(0, n, i, d->at.at[i].block * (double)BLOCK_S < c->since.since);
	struct link_effect before = c->since;
	fill(d->at.at, first, r, &before);
	fill(d->at.at + first, n - first, r, &c->since);
	c->since.before = before.effect;
	if (!has_enough(&before) || !has_enough(&c->since))
		c->change_z = 0;
}

static int by_time(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;
	return (x->block > y->block) - (x->block < y->block);
}

/* Keep what can be judged. */
static int add_candidate(struct work *w, struct differences *d)
{
	struct candidate c = {.whole = d->about, .since = d->about};
	struct room r;
	if (d->at.n < LINK_BLOCKS)
		return 0;
	if (room_make(d->at.n, &r) < 0)
		return -ENOMEM;
	vec_sort(&d->at, by_time);
	fill(d->at.at, d->at.n, &r, &c.whole);
	if (has_enough(&c.whole))
		find_change(d, &r, &c);
	free(r.values);
	if (!has_enough(&c.whole))
		return 0;
	memcpy(&c.whole.cost, &d->exposed, sizeof(c.whole.cost));
	if (vec_push(&w->candidates, c) < 0)
		return -ENOMEM;
	memset(&d->exposed, 0, sizeof(d->exposed));
	return 0;
}

/* ---- groups ---- */

static const struct work *sorted; /* of by_group(): qsort() has no context */

static int by_group(const void *a, const void *b)
{
	uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	const struct scan_job *x = job_of(sorted, m), *y = job_of(sorted, n);
	if (x->program != y->program)
		return x->program < y->program ? -1 : 1;
	if (x->user != y->user)
		return x->user < y->user ? -1 : 1;
	if (sorted->beside.jobs.at[m].size != sorted->beside.jobs.at[n].size)
		return sorted->beside.jobs.at[m].size < sorted->beside.jobs.at[n].size ? -1 : 1;
	return (m > n) - (m < n);
}

static bool same_group(const struct work *w, uint32_t m, uint32_t n)
{
	const struct scan_job *x = job_of(w, m), *y = job_of(w, n);
	return x->program == y->program && x->user == y->user && w->beside.jobs.at[m].size == w->beside.jobs.at[n].size;
}

static size_t end_of_group(const struct work *w, size_t first)
{
	size_t end = first + 1;
	while (end < w->order.n && same_group(w, w->order.at[first], w->order.at[end]))
		end++;
	return end;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* A program, and beside how many of a group it was. */
struct other {
	uint32_t program, members;
};

static int by_members(const void *a, const void *b)
{
	const struct other *x = a, *y = b;
	if (x->members != y->members)
		return x->members > y->members ? -1 : 1;
	return (x->program > y->program) - (x->program < y->program);
}

typedef VEC(struct other) others_list;

/* Every program that was beside one of the group, once; those that were beside fewer than tell anything are not. */
static int find_others(const struct work *w, size_t first, size_t end, others_list *others)
{
	VEC(uint32_t) met = {0};
	int rc = 0;
	for (size_t i = first; i < end && rc == 0; i++) {
		const struct concurrent_job *m = &w->beside.jobs.at[w->order.at[i]];
		for (size_t k = m->first; k < m->first + m->overlaps && rc == 0; k++)
			rc = vec_push(&met, w->beside.overlaps.at[k].program);
	}
	vec_sort(&met, by_number);
	for (size_t i = 0, next; i < met.n && rc == 0; i = next) {
		for (next = i + 1; next < met.n && met.at[next] == met.at[i];)
			next++;
		if (next - i >= LINK_BLOCKS)
			rc = vec_push(others, ((struct other){met.at[i], (uint32_t)(next - i)}));
	}
	vec_sort(others, by_members);
	vec_done(&met);
	return rc;
}

static int compare_others(struct work *w, size_t first, size_t end)
{
	others_list others = {0};
	int rc = find_others(w, first, end, &others);
	size_t n = others.n < OTHERS_MOST ? others.n : OTHERS_MOST;
	w->omitted.programs += others.n - n;
	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct scan_job *j = job_of(w, w->order.at[first]);
		uint32_t other = others.at[i].program;
		struct question q = {.w = w, .other = other};
		struct differences d = {
			.about = {.at = LINK_NONE, .program = j->program, .user = j->user, .other = other}};
		rc = compare(&q, first, end, &d);
		rc = rc == 0 ? add_candidate(w, &d) : rc;
		differences_done(&d);
	}
	vec_done(&others);
	return rc;
}

static int compare_switch(struct work *w, uint32_t at)
{
	struct question q = {.w = w, .at = at};
	struct differences d = {.about = {.at = at}};
	int rc = 0;
	for (size_t i = 0, end; i < w->order.n && rc == 0; i = end) {
		end = end_of_group(w, i);
		rc = compare(&q, i, end, &d);
	}
	rc = rc == 0 ? add_candidate(w, &d) : rc;
	differences_done(&d);
	return rc;
}

/* ---- which are no chance ---- */

static double tail_of(double z)
{
	return erfc(z / M_SQRT2) / 2;
}

/* What changed is judged by its jobs since then. Exposed core-hours become what it may have cost. */
static struct link_effect tested_effect(struct candidate *c, size_t n)
{
	struct link_effect x = c->whole;
	size_t kept = 0;
	double p = c->change_z != 0 ? 2 * tail_of(fabs(c->change_z)) * (double)c->splits * (double)n : 1;
	if (p <= LINK_CHANGE_P && fabs(c->since.effect - c->since.before) >= LINK_LEAST) {
		x = c->since;
		x.change_p = p;
		memcpy(&x.cost, &c->whole.cost, sizeof(x.cost));
	}
	for (size_t i = 0; i < x.cost.n; i++) {
		struct link_day day = x.cost.at[i];
		day.hours *= fmax(0, x.effect);
		if (((double)day.day + 1) * FLEET_SECONDS_PER_DAY > x.since)
			x.cost.at[kept++] = day;
	}
	x.cost.n = kept;
	memset(&c->whole.cost, 0, sizeof(c->whole.cost));
	return x;
}

static int by_z(const void *a, const void *b)
{
	const struct link_effect *x = a, *y = b;
	return (x->z < y->z) - (x->z > y->z);
}

static bool names_victim(const link_list *list, size_t n, const struct link_effect *x)
{
	for (size_t i = 0; i < n; i++)
		if (x->at == LINK_NONE && list->at[i].at == LINK_NONE && list->at[i].program == x->program &&
		    list->at[i].user == x->user)
			return true;
	return false;
}

/* The surest first; of a program the surest only. */
static void keep_significant(link_list *list)
{
	double q = 1;
	size_t kept = 0;
	vec_sort(list, by_z);
	for (size_t i = list->n; i-- > 0;) {
		q = fmin(q, tail_of(list->at[i].z) * (double)list->n / (double)(i + 1));
		list->at[i].q = q;
	}
	for (size_t i = 0; i < list->n; i++) {
		struct link_effect x = list->at[i];
		if (x.q <= LINK_RATE && x.effect >= LINK_LEAST && !names_victim(list, kept, &x))
			list->at[kept++] = x;
		else
			vec_done(&x.cost);
	}
	list->n = kept;
}

/* Those of w->candidates that are no chance, behind those of the list. */
static int test_candidates(struct work *w, link_list *list)
{
	link_list found = {0};
	int rc = 0;
	for (size_t i = 0; i < w->candidates.n && rc == 0; i++) {
		struct link_effect x = tested_effect(&w->candidates.at[i], w->candidates.n);
		rc = vec_push(&found, x);
		if (rc < 0)
			vec_done(&x.cost);
	}
	for (size_t i = 0; i < w->candidates.n; i++)
		vec_done(&w->candidates.at[i].whole.cost);
	w->candidates.n = 0;
	keep_significant(&found);
	for (size_t i = 0; i < found.n && rc == 0; i++) {
		rc = vec_push(list, found.at[i]);
		if (rc == 0)
			memset(&found.at[i].cost, 0, sizeof(found.at[i].cost));
	}
	links_done(&found);
	return rc;
}

static int find(struct work *w, link_list *list)
{
	int rc = 0;
	for (uint32_t i = 0; i < w->beside.jobs.n && rc == 0; i++)
		rc = vec_push(&w->order, i);
	sorted = w;
	if (rc == 0)
		vec_sort(&w->order, by_group);
	for (uint32_t i = 1; i <= w->beside.switches && rc == 0; i++)
		rc = compare_switch(w, i);
	rc = rc == 0 ? test_candidates(w, list) : rc;
	for (size_t i = 0, end; i < w->order.n && rc == 0; i = end) {
		end = end_of_group(w, i);
		rc = compare_others(w, i, end);
	}
	return rc == 0 ? test_candidates(w, list) : rc;
}

int links_find(const struct scan *s, const uint32_t *switch_of, link_list *ret_list, struct link_omitted *ret_omitted)
{
	struct work w = {0};
	link_list list = {0};
	int rc =
		concurrent_find(s, switch_of, s->day_end > LINK_LAST_DAYS ? s->day_end - LINK_LAST_DAYS : 0, &w.beside);
	if (rc == 0)
		rc = find(&w, &list);
	for (size_t i = 0; i < w.beside.jobs.n; i++)
		w.omitted.jobs += w.beside.jobs.at[i].crowded;
	*ret_omitted = w.omitted;
	for (size_t i = 0; i < w.candidates.n; i++)
		vec_done(&w.candidates.at[i].whole.cost);
	vec_done(&w.candidates);
	vec_done(&w.order);
	concurrent_done(&w.beside);
	if (rc < 0)
		links_done(&list);
	else
		*ret_list = list;
	return rc;
}

void links_done(link_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		vec_done(&list->at[i].cost);
	vec_done(list);
}
