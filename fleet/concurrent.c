/* concurrent.c - see concurrent.h. In: jobs by start, with their times and nodes.  Out: of each, what ran beside it. */
#include "fleet/concurrent.h"

#include "base/search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define ACTIVE_MOST \
	1024u /* jobs at a time on a switch, and beside a job: of more it is not known who was beside whom */
#define OVERLAPS_MOST 32000000u /* of all jobs */

static const struct scan_job *job_of(const struct concurrent *w, uint32_t member)
{
	return &w->s->jobs.at[w->jobs.at[member].job];
}

/* ---- jobs and their switches ---- */

/* False: a node's switch is not known, or there are too many. */
static bool take_switches(const struct scan *s, const struct scan_job *j, const uint32_t *switch_of,
			  struct concurrent_job *m)
{
	for (uint32_t i = 0; i < j->nodes; i++) {
		uint32_t k = 0, at = switch_of[s->nodes.at[j->first_node + i].node];
		while (k < m->nswitches && m->switches[k] != at)
			k++;
		if (at == 0 || k == BESIDE_SWITCHES)
			return false;
		if (k == m->nswitches)
			m->switches[m->nswitches++] = at;
	}
	return m->nswitches > 0;
}

static int take_members(struct concurrent *w, const uint32_t *switch_of, uint32_t from)
{
	int rc = 0;
	for (uint32_t i = 0; i < w->s->jobs.n && rc == 0; i++) {
		const struct scan_job *j = &w->s->jobs.at[i];
		struct concurrent_job m = {.job = i};
		while (m.size < 31 && 1u << m.size < j->ranks)
			m.size++;
		if (j->day >= from && j->elapsed_s > 0 && take_switches(w->s, j, switch_of, &m))
			rc = vec_push(&w->jobs, m);
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

static int push_overlap(struct concurrent *w, uint32_t member, uint32_t other, float seconds)
{
	struct concurrent_job *m = &w->jobs.at[member];
	m->crowded |= m->overlaps >= ACTIVE_MOST || w->overlaps.n >= OVERLAPS_MOST;
	if (m->crowded)
		return 0;
	m->overlaps++;
	return vec_push(&w->overlaps, ((struct concurrent_program){member, other, seconds}));
}

static int note(struct concurrent *w, uint32_t a, uint32_t b)
{
	const struct scan_job *x = job_of(w, a), *y = job_of(w, b);
	float seconds = (float)(fmin(end_of(x), end_of(y)) - x->start);
	if (x->program == y->program || !(seconds > 0))
		return 0;
	int rc = push_overlap(w, a, y->program, seconds);
	return rc < 0 ? rc : push_overlap(w, b, x->program, seconds);
}

/* Of one that is not kept nobody knows that it is there, as long as it is. */
static void pass_over(struct concurrent *w, uint32_t member, struct active *a)
{
	w->jobs.at[member].crowded = true;
	for (size_t k = 0; k < a->at.n; k++)
		w->jobs.at[a->at.at[k]].crowded = true;
	a->unseen_until = fmax(a->unseen_until, end_of(job_of(w, member)));
}

/* Two that share several switches are beside each other once. */
static int add_neighbours_on(struct concurrent *w, uint32_t member, struct active *a, uint32_t *seen)
{
	double start = job_of(w, member)->start;
	size_t kept = 0;
	int rc = 0;
	for (size_t k = 0; k < a->at.n && rc == 0; k++) {
		uint32_t other = a->at.at[k];
		if (end_of(job_of(w, other)) <= start)
			continue;
		a->at.at[kept++] = other;
		if (seen[other] != member + 1)
			rc = note(w, member, other);
		seen[other] = member + 1;
	}
	a->at.n = kept;
	w->jobs.at[member].crowded |= start < a->unseen_until;
	if (rc < 0)
		return rc;
	if (a->at.n < ACTIVE_MOST)
		return vec_push(&a->at, member);
	pass_over(w, member, a);
	return 0;
}

static int add_neighbours(struct concurrent *w, uint32_t member, struct active *active, uint32_t *seen)
{
	int rc = 0;
	for (uint32_t i = 0; i < w->jobs.at[member].nswitches && rc == 0; i++)
		rc = add_neighbours_on(w, member, &active[w->jobs.at[member].switches[i]], seen);
	return rc;
}

static int by_member(const void *a, const void *b)
{
	const struct concurrent_program *x = a, *y = b;
	if (x->member != y->member)
		return x->member < y->member ? -1 : 1;
	return (x->program > y->program) - (x->program < y->program);
}

/* One of each member and program, with the seconds of all. */
static void index_overlaps(struct concurrent *w)
{
	size_t kept = 0;
	vec_sort(&w->overlaps, by_member);
	for (size_t i = 0; i < w->jobs.n; i++)
		w->jobs.at[i].overlaps = 0;
	for (size_t i = 0; i < w->overlaps.n; i++) {
		struct concurrent_program x = w->overlaps.at[i];
		struct concurrent_job *m = &w->jobs.at[x.member];
		if (m->crowded)
			continue;
		if (m->overlaps > 0 && w->overlaps.at[kept - 1].program == x.program) {
			w->overlaps.at[kept - 1].seconds += x.seconds;
			continue;
		}
		m->first = m->overlaps++ == 0 ? kept : m->first;
		w->overlaps.at[kept++] = x;
	}
	w->overlaps.n = kept;
}

static int find_overlaps(struct concurrent *w, uint32_t switches)
{
	struct active *active = calloc((size_t)switches + 1, sizeof(*active));
	uint32_t *seen = calloc(w->jobs.n + 1, sizeof(*seen));
	int rc = active != NULL && seen != NULL ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < w->jobs.n && rc == 0; i++)
		rc = add_neighbours(w, i, active, seen);
	for (uint32_t i = 0; active != NULL && i <= switches; i++)
		vec_done(&active[i].at);
	free(active);
	free(seen);
	if (rc == 0)
		index_overlaps(w);
	return rc;
}

int concurrent_find(const struct scan *s, const uint32_t *switch_of, uint32_t from_day, struct concurrent *ret_b)
{
	struct concurrent b = {.s = s};
	uint32_t switches = 0;
	for (size_t i = 0; i < s->names.n; i++)
		switches = switch_of[i] > switches ? switch_of[i] : switches;
	int rc = switches > 1 ? take_members(&b, switch_of, from_day) : 0;
	if (rc == 0 && switches > 1)
		rc = find_overlaps(&b, switches);
	b.switches = switches;
	if (rc < 0)
		concurrent_done(&b);
	*ret_b = b;
	return rc;
}

void concurrent_done(struct concurrent *b)
{
	vec_done(&b->jobs);
	vec_done(&b->overlaps);
}

double concurrent_seconds(const struct concurrent *b, const struct concurrent_job *job, uint32_t program)
{
	size_t end = job->first + job->overlaps;
	size_t at = search_first(job->first, end, i, b->overlaps.at[i].program < program);
	return at < end && b->overlaps.at[at].program == program ? (double)b->overlaps.at[at].seconds : 0;
}
