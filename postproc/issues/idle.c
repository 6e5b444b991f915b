/* idle.c - ranks with nothing to do: in most of the run, or at its end. */
#include "postproc/issues/issues.h"
#include "postproc/read/exits.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>

#define IDLE_SHARE_MIN 0.8   /* of the run: neither computing nor moving data */
#define IDLE_RANKS_SHARE 0.5 /* more ranks than that are no exception: the program waits for itself */
#define END_SHARE_MAX 0.01   /* of the run: what may follow a barrier that ends it */

/* What is left of the run's length; of a rank that ended before, its absence too, but not if it died. */
static double idle_ns(const struct analysis *a, uint32_t r)
{
	const struct rank_totals *t = &a->ranks[r];
	double busy = t->useful_ns + t->tracing_ns + fmax(0, t->mpi_ns - t->wait_ns);
	if (a->step->ranks[r] == NULL || t->region_ns <= 0 || exits_early(a->step->ranks[r]))
		return 0;
	return fmax(0, a->longest_region_ns - busy);
}

static bool is_idle(const struct analysis *a, uint32_t r)
{
	return idle_ns(a, r) >= IDLE_SHARE_MIN * a->longest_region_ns && a->longest_region_ns > 0;
}

/* Where they spend it, and with whom. */
static void name_idle(const struct analysis *a, struct issue *f)
{
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (is_idle(a, r))
			issue_add_rank(f, r);
	for (size_t i = 0; i < a->tally.waits.rows.n; i++) {
		const struct wait_row *w = &a->tally.waits.rows.at[i];
		if (!is_idle(a, w->rank) || (double)w->ns < 0.1 * a->longest_region_ns)
			continue;
		if (w->causer != NONE)
			issue_add_pair(f, w->causer, w->rank);
		issue_add_site(f, w->site);
	}
}

void issue_idle_ranks(const struct analysis *a, struct issue *f)
{
	uint32_t n = 0;
	char each[32], run[32], place[256];
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		if (!is_idle(a, r))
			continue;
		n++;
		f->loss_s += idle_ns(a, r) / 1e9;
	}
	f->metric = "least share of the run in which such a rank neither computes nor moves data";
	f->threshold = IDLE_SHARE_MIN;
	f->of_s = issue_run_s(a);
	f->found = n > 0 && n <= IDLE_RANKS_SHARE * a->ranks_seen && f->loss_s / f->of_s >= WAIT_SHARE_MIN;
	if (!f->found)
		return;
	f->value = 1;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (is_idle(a, r))
			f->value = fmin(f->value, idle_ns(a, r) / a->longest_region_ns);
	name_idle(a, f);
	snprintf(f->what, sizeof(f->what), "%s of %s ranks are idle for %s of %s in the mean%s.", fmt_count(n).s,
		 fmt_count(a->ranks_seen).s, duration_text(f->loss_s / n, each),
		 duration_text(a->longest_region_ns / 1e9, run),
		 site_text(a->step, f->nsites > 0 ? f->sites[0] : NONE, place, sizeof(place)));
	snprintf(f->why, sizeof(f->why), "They wait, or ended early: the job holds processors that it does not use.");
	snprintf(f->next, sizeof(f->next),
		 "Give the ranks named a part of the work, or run with as many ranks as there are parts of it.");
}

/* ---- the end ---- */

struct ending {
	double ns;	       /* waited, in the last barrier and in MPI_Finalize */
	int64_t from_ns;       /* since when */
	uint32_t site, causer; /* NONE: not known */
};

static double finalize_ns(const struct step *s, const struct process *p, uint32_t *ret_site)
{
	double ns = 0;
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		if (sig->op == NONE || strcmp(s->ops.at[sig->op], "MPI_Finalize") != 0)
			continue;
		ns += (double)sig->ticks * p->ns_per_tick;
		*ret_site = sig->site;
	}
	return ns;
}

/* The rank that comes to MPI_Finalize last, or NONE where some never did. */
static uint32_t last_to_finalize(const struct step *s)
{
	uint32_t last = NONE;
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		if (p == NULL || p->finalize_enter_ns == TIME_ABSENT)
			return NONE;
		if (last == NONE || p->finalize_enter_ns > s->ranks[last]->finalize_enter_ns)
			last = r;
	}
	return last;
}

static struct ending end_of(const struct analysis *a, uint32_t r, uint32_t last)
{
	const struct step *s = a->step;
	const struct process *p = s->ranks[r];
	const struct last_barrier *b = &p->last_barrier;
	struct ending e = {.from_ns = p->finalize_enter_ns, .site = NONE, .causer = last};
	double inside = finalize_ns(s, p, &e.site);
	e.ns = fmin(inside, (double)(s->ranks[last]->finalize_enter_ns - p->finalize_enter_ns));
	if (b->start_ns == INT64_MIN ||
	    (double)(p->finalize_enter_ns - b->end_ns) > END_SHARE_MAX * a->longest_region_ns)
		return e;
	if ((double)b->ns > e.ns) {
		e.site = b->site;
		e.causer = b->causer;
	}
	e.from_ns = b->start_ns;
	e.ns += (double)b->ns;
	return e;
}

static void name_end(struct issue *f, const struct ending *e, uint32_t rank, int64_t end_ns)
{
	f->from_ns = e->from_ns < f->from_ns ? e->from_ns : f->from_ns;
	f->to_ns = end_ns;
	issue_add_site(f, e->site);
	if (e->causer == NONE)
		return;
	issue_add_rank(f, e->causer);
	issue_add_pair(f, e->causer, rank);
}

/* Times of several nodes are compared: not where their clocks say nothing. */
void issue_stuck_at_end(const struct analysis *a, struct issue *f)
{
	uint32_t last = last_to_finalize(a->step), n = 0;
	char total[32], most[32], place[256];
	double longest = 0;
	f->metric = "share of all ranks' time, each as long as the run";
	f->threshold = WAIT_SHARE_MIN;
	f->of_s = issue_run_s(a);
	if (last == NONE || a->ranks_seen < 2 || (a->step->nodes.n > 1 && isnan(a->clock.error_bound_ns)))
		return;
	f->from_ns = INT64_MAX;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		struct ending e = end_of(a, r, last);
		if (e.ns < WAIT_SHARE_MIN * a->longest_region_ns)
			continue;
		n++;
		f->loss_s += e.ns / 1e9;
		longest = fmax(longest, e.ns);
		name_end(f, &e, r, a->step->ranks[last]->finalize_enter_ns);
	}
	f->value = f->loss_s / f->of_s;
	f->found = f->value >= f->threshold;
	if (!f->found)
		return;
	snprintf(f->what, sizeof(f->what),
		 "%s finished early and waited at the end for rank %u, %s in total, at most %s%s.",
		 fmt_many(n, "rank").s, f->nranks > 0 ? f->ranks[0] : last, duration_text(f->loss_s, total),
		 duration_text(longest / 1e9, most),
		 site_text(a->step, f->nsites > 0 ? f->sites[0] : NONE, place, sizeof(place)));
	snprintf(f->why, sizeof(f->why),
		 "The job ends with its last rank: while that one works alone, all others wait.");
	snprintf(f->next, sizeof(f->next),
		 "Look at what the last rank does there: share its output or remaining work among all ranks, or begin "
		 "it earlier.");
}
