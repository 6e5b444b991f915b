/* links.c - see links.h. In: jobs with their times and nodes.  Out: differences that are no chance. */
#include "fleet/links.h"

#include "base/sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_S (FLEET_SECONDS_PER_DAY / 4)
#define SWITCHES_MOST 32 /* of a job; one on more tells nothing of any */
#define HALF 0.5
#define ACTIVE_MOST \
	1024u /* jobs at a time on a switch, and beside a job: of more it is not known who was beside whom */
#define OVERLAPS_MOST 32000000u /* of all jobs */
#define OTHERS_MOST 500u	/* programs beside one, those of most jobs */

/* A job that tells something. */
struct member {
	uint32_t job; /* index into scan.jobs */
	uint32_t size;
	uint32_t switches[SWITCHES_MOST], nswitches;
	size_t first; /* of its overlaps */
	size_t overlaps;
	bool crowded; /* beside so many that they are not kept */
};

/* For so long another program was on a switch of the job's. */
struct overlap {
	uint32_t member, other;
	float seconds;
};

struct work {
	const struct scan *s;
	VEC(struct member) members; /* by start */
	VEC(struct overlap) overlaps;
	VEC(uint32_t) order; /* members by group, then by start */
	struct link_omitted omitted;
};

static const struct scan_job *job_of(const struct work *w, uint32_t member)
{
	return &w->s->jobs.at[w->members.at[member].job];
}

/* ---- jobs and their switches ---- */

/* False: a node's switch is not known, or there are too many. */
static bool take_switches(const struct scan *s, const struct scan_job *j, const uint32_t *switch_of, struct member *m)
{
	for (uint32_t i = 0; i < j->nodes; i++) {
		uint32_t k = 0, at = switch_of[s->nodes.at[j->first_node + i].node];
		while (k < m->nswitches && m->switches[k] != at)
			k++;
		if (at == 0 || k == SWITCHES_MOST)
			return false;
		if (k == m->nswitches)
			m->switches[m->nswitches++] = at;
	}
	return m->nswitches > 0;
}

static int take_members(struct work *w, const uint32_t *switch_of)
{
	uint32_t from = w->s->day_end > LINK_LAST_DAYS ? w->s->day_end - LINK_LAST_DAYS : 0;
	int rc = 0;
	for (uint32_t i = 0; i < w->s->jobs.n && rc == 0; i++) {
		const struct scan_job *j = &w->s->jobs.at[i];
		struct member m = {.job = i};
		while (m.size < 31 && 1u << m.size < j->ranks)
			m.size++;
		if (j->day >= from && j->elapsed_s > 0 && take_switches(w->s, j, switch_of, &m))
			rc = vec_push(&w->members, m);
	}
	return rc;
}

/* ---- who was beside whom ---- */

struct active {
	VEC(uint32_t) at;    /* members that have not ended, of one switch */
	double unseen_until; /* others that are not among them have by then */
};

static double end_of(const struct scan_job *j)
{
	return j->start + (double)j->elapsed_s;
}

static int push_overlap(struct work *w, uint32_t member, uint32_t other, float seconds)
{
	struct member *m = &w->members.at[member];
	m->crowded |= m->overlaps >= ACTIVE_MOST || w->overlaps.n >= OVERLAPS_MOST;
	if (m->crowded)
		return 0;
	m->overlaps++;
	return vec_push(&w->overlaps, ((struct overlap){member, other, seconds}));
}

static int note(struct work *w, uint32_t a, uint32_t b)
{
	const struct scan_job *x = job_of(w, a), *y = job_of(w, b);
	float seconds = (float)(fmin(end_of(x), end_of(y)) - x->start);
	if (x->program == y->program || !(seconds > 0))
		return 0;
	int rc = push_overlap(w, a, y->program, seconds);
	return rc < 0 ? rc : push_overlap(w, b, x->program, seconds);
}

/* Of one that is not kept nobody knows that it is there, as long as it is. */
static void pass_over(struct work *w, uint32_t member, struct active *a)
{
	w->members.at[member].crowded = true;
	for (size_t k = 0; k < a->at.n; k++)
		w->members.at[a->at.at[k]].crowded = true;
	a->unseen_until = fmax(a->unseen_until, end_of(job_of(w, member)));
}

/* Two that share several switches are beside each other once. */
static int meet_on(struct work *w, uint32_t member, struct active *a, uint32_t *met)
{
	double start = job_of(w, member)->start;
	size_t kept = 0;
	int rc = 0;
	for (size_t k = 0; k < a->at.n && rc == 0; k++) {
		uint32_t other = a->at.at[k];
		if (end_of(job_of(w, other)) <= start)
			continue;
		a->at.at[kept++] = other;
		if (met[other] != member + 1)
			rc = note(w, member, other);
		met[other] = member + 1;
	}
	a->at.n = kept;
	w->members.at[member].crowded |= start < a->unseen_until;
	if (rc < 0)
		return rc;
	if (a->at.n < ACTIVE_MOST)
		return vec_push(&a->at, member);
	pass_over(w, member, a);
	return 0;
}

static int meet(struct work *w, uint32_t member, struct active *active, uint32_t *met)
{
	int rc = 0;
	for (uint32_t i = 0; i < w->members.at[member].nswitches && rc == 0; i++)
		rc = meet_on(w, member, &active[w->members.at[member].switches[i]], met);
	return rc;
}

static int by_member(const void *a, const void *b)
{
	const struct overlap *x = a, *y = b;
	if (x->member != y->member)
		return x->member < y->member ? -1 : 1;
	return (x->other > y->other) - (x->other < y->other);
}

/* One of each member and program, with the seconds of all. */
static void index_overlaps(struct work *w)
{
	size_t kept = 0;
	vec_sort(&w->overlaps, by_member);
	for (size_t i = 0; i < w->members.n; i++)
		w->members.at[i].overlaps = 0;
	for (size_t i = 0; i < w->overlaps.n; i++) {
		struct overlap x = w->overlaps.at[i];
		struct member *m = &w->members.at[x.member];
		if (m->crowded)
			continue;
		if (m->overlaps > 0 && w->overlaps.at[kept - 1].other == x.other) {
			w->overlaps.at[kept - 1].seconds += x.seconds;
			continue;
		}
		m->first = m->overlaps++ == 0 ? kept : m->first;
		w->overlaps.at[kept++] = x;
	}
	w->overlaps.n = kept;
}

static int find_overlaps(struct work *w, uint32_t switches)
{
	struct active *active = calloc((size_t)switches + 1, sizeof(*active));
	uint32_t *met = calloc(w->members.n + 1, sizeof(*met));
	int rc = active != NULL && met != NULL ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < w->members.n && rc == 0; i++)
		rc = meet(w, i, active, met);
	for (uint32_t i = 0; active != NULL && i <= switches; i++)
		vec_done(&active[i].at);
	free(active);
	free(met);
	if (rc == 0)
		index_overlaps(w);
	return rc;
}

/* ---- differences within a group and a quarter of a day ---- */

enum side { SIDE_NONE, SIDE_WITH, SIDE_WITHOUT };

/* Which of two kinds a job is of. */
struct question {
	const struct work *w;
	uint32_t other, at; /* a program beside it; or a switch */
};

static enum side side_beside(const struct question *q, const struct member *m)
{
	size_t low = m->first, high = m->first + m->overlaps;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (q->w->overlaps.at[middle].other < q->other)
			low = middle + 1;
		else
			high = middle;
	}
	if (m->crowded)
		return SIDE_NONE;
	if (low == m->first + m->overlaps || q->w->overlaps.at[low].other != q->other)
		return SIDE_WITHOUT;
	return (double)q->w->overlaps.at[low].seconds >= HALF * (double)q->w->s->jobs.at[m->job].elapsed_s ? SIDE_WITH
													   : SIDE_NONE;
}

static enum side side_switch(const struct question *q, const struct member *m)
{
	for (uint32_t i = 0; i < m->nswitches; i++)
		if (m->switches[i] == q->at)
			return m->nswitches == 1 ? SIDE_WITH : SIDE_NONE;
	return SIDE_WITHOUT;
}

struct differences {
	VEC(double) at;
	struct link_effect x;
	uint64_t seen;		      /* days, a bit each: fewer than 64 are looked at */
	VEC(struct link_day) exposed; /* core-hours of those with it */
};

struct block {
	double sum[3];
	uint32_t n[3];
	double hours;
};

static int end_block(struct differences *d, struct block *b, uint32_t day)
{
	int rc = 0;
	if (b->hours > 0) /* also where there is nothing to compare with */
		rc = vec_push(&d->exposed, ((struct link_day){day, b->hours}));
	if (rc == 0 && b->n[SIDE_WITH] > 0 && b->n[SIDE_WITHOUT] > 0) {
		rc = vec_push(&d->at, b->sum[SIDE_WITH] / b->n[SIDE_WITH] - b->sum[SIDE_WITHOUT] / b->n[SIDE_WITHOUT]);
		d->x.jobs += b->n[SIDE_WITH];
		d->x.without += b->n[SIDE_WITHOUT];
		d->x.blocks++;
		d->seen |= UINT64_C(1) << day % 64;
	}
	*b = (struct block){0};
	return rc;
}

/* Of the members order[first, end) of one group. */
static int compare(const struct question *q, size_t first, size_t end, struct differences *d)
{
	struct block b = {0};
	uint32_t at = 0;
	int rc = 0;
	for (size_t i = first; i < end && rc == 0; i++) {
		const struct member *m = &q->w->members.at[q->w->order.at[i]];
		const struct scan_job *j = &q->w->s->jobs.at[m->job];
		if (i > first && j->start / BLOCK_S != at)
			rc = end_block(d, &b, at * BLOCK_S / FLEET_SECONDS_PER_DAY);
		at = j->start / BLOCK_S;
		enum side side = q->other != 0 ? side_beside(q, m) : side_switch(q, m);
		if (isnan(j->in_mpi) || side == SIDE_NONE)
			continue;
		b.sum[side] += (double)j->in_mpi;
		b.n[side]++;
		b.hours += side == SIDE_WITH ? (double)j->core_hours : 0;
	}
	return rc == 0 ? end_block(d, &b, at * BLOCK_S / FLEET_SECONDS_PER_DAY) : rc;
}

static int by_size(const void *a, const void *b)
{
	double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
	return (x > y) - (x < y);
}

/* Ties share their ranks; that they make it surer is left out. */
static double signed_ranks_z(double *at, size_t n)
{
	double sum = 0;
	qsort(at, n, sizeof(*at), by_size);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && fabs(at[end]) == fabs(at[i]);)
			end++;
		for (size_t k = i; k < end; k++)
			sum += at[k] > 0 ? (double)(i + 1 + end) / 2 : at[k] == 0 ? (double)(i + 1 + end) / 4 : 0;
	}
	double k = (double)n;
	return (sum - k * (k + 1) / 4) / sqrt(k * (k + 1) * (2 * k + 1) / 24);
}

/* Keep what can be judged; *d is free for the next one. */
static int judge(struct differences *d, link_list *list)
{
	struct link_effect x = d->x;
	size_t n = d->at.n;
	int rc = 0;
	x.days = (uint32_t)__builtin_popcountll(d->seen);
	if (x.blocks >= LINK_BLOCKS && x.days >= LINK_DAYS) {
		x.z = signed_ranks_z(d->at.at, n);
		x.effect = sort_median(d->at.at, n);
		for (size_t i = 0; i < d->exposed.n && rc == 0; i++) {
			struct link_day day = {d->exposed.at[i].day, d->exposed.at[i].hours * fmax(0, x.effect)};
			rc = vec_push(&x.cost, day);
		}
		rc = rc == 0 ? vec_push(list, x) : rc;
		if (rc < 0)
			vec_done(&x.cost);
	}
	vec_done(&d->at);
	vec_done(&d->exposed);
	*d = (struct differences){0};
	return rc;
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
	if (sorted->members.at[m].size != sorted->members.at[n].size)
		return sorted->members.at[m].size < sorted->members.at[n].size ? -1 : 1;
	return (m > n) - (m < n);
}

static bool same_group(const struct work *w, uint32_t m, uint32_t n)
{
	const struct scan_job *x = job_of(w, m), *y = job_of(w, n);
	return x->program == y->program && x->user == y->user && w->members.at[m].size == w->members.at[n].size;
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
		const struct member *m = &w->members.at[w->order.at[i]];
		for (size_t k = m->first; k < m->first + m->overlaps && rc == 0; k++)
			rc = vec_push(&met, w->overlaps.at[k].other);
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

static int compare_others(struct work *w, size_t first, size_t end, link_list *list)
{
	others_list others = {0};
	int rc = find_others(w, first, end, &others);
	size_t n = others.n < OTHERS_MOST ? others.n : OTHERS_MOST;
	w->omitted.programs += others.n - n;
	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct scan_job *j = job_of(w, w->order.at[first]);
		uint32_t other = others.at[i].program;
		struct question q = {.w = w, .other = other};
		struct differences d = {.x = {.at = LINK_NONE, .program = j->program, .user = j->user, .other = other}};
		rc = compare(&q, first, end, &d);
		int judged = judge(&d, list);
		rc = rc < 0 ? rc : judged;
	}
	vec_done(&others);
	return rc;
}

static int compare_switch(const struct work *w, uint32_t at, link_list *list)
{
	struct question q = {.w = w, .at = at};
	struct differences d = {.x = {.at = at}};
	int rc = 0;
	for (size_t i = 0, end; i < w->order.n && rc == 0; i = end) {
		end = end_of_group(w, i);
		rc = compare(&q, i, end, &d);
	}
	int judged = judge(&d, list);
	return rc < 0 ? rc : judged;
}

/* ---- which are no chance ---- */

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
static void keep_sure(link_list *list)
{
	double q = 1;
	size_t kept = 0;
	vec_sort(list, by_z);
	for (size_t i = list->n; i-- > 0;) {
		double p = erfc(list->at[i].z / M_SQRT2) / 2;
		q = fmin(q, p * (double)list->n / (double)(i + 1));
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

static int append(link_list *to, link_list *from)
{
	int rc = 0;
	for (size_t i = 0; i < from->n && rc == 0; i++) {
		rc = vec_push(to, from->at[i]);
		if (rc == 0)
			memset(&from->at[i].cost, 0, sizeof(from->at[i].cost));
	}
	return rc;
}

static int find(struct work *w, uint32_t switches, link_list *beside, link_list *of_switches)
{
	int rc = find_overlaps(w, switches);
	for (uint32_t i = 0; i < w->members.n && rc == 0; i++)
		rc = vec_push(&w->order, i);
	sorted = w;
	if (rc == 0)
		vec_sort(&w->order, by_group);
	for (size_t i = 0, end; i < w->order.n && rc == 0; i = end) {
		end = end_of_group(w, i);
		rc = compare_others(w, i, end, beside);
	}
	for (uint32_t i = 1; i <= switches && rc == 0; i++)
		rc = compare_switch(w, i, of_switches);
	return rc;
}

int links_find(const struct scan *s, const uint32_t *switch_of, link_list *ret_list, struct link_omitted *ret_omitted)
{
	struct work w = {.s = s};
	link_list beside = {0}, of_switches = {0}, list = {0};
	uint32_t switches = 0;
	for (size_t i = 0; i < s->names.n; i++)
		switches = switch_of[i] > switches ? switch_of[i] : switches;
	int rc = switches > 1 ? take_members(&w, switch_of) : 0;
	if (rc == 0 && switches > 1)
		rc = find(&w, switches, &beside, &of_switches);
	for (size_t i = 0; i < w.members.n; i++)
		w.omitted.jobs += w.members.at[i].crowded;
	*ret_omitted = w.omitted;
	keep_sure(&beside);
	keep_sure(&of_switches);
	rc = rc == 0 ? append(&list, &of_switches) : rc;
	rc = rc == 0 ? append(&list, &beside) : rc;
	links_done(&beside);
	links_done(&of_switches);
	vec_done(&w.members);
	vec_done(&w.overlaps);
	vec_done(&w.order);
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
