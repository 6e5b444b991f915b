/* ranks.c - what each rank did, exact from its totals. No clock of another node is needed. */
#include "postproc/analysis.h"
#include "postproc/read/ends.h"
#include "postproc/read/exits.h"

#include <math.h>

#define LIVED_SHARE 0.9 /* of the longest region: who died later is compared with the others */

static uint64_t requests_named(const struct sig_call *call)
{
	struct sig_run run;
	uint32_t index = 0;
	uint64_t n = 0;
	while (sig_next_run(call, &index, &run) == 1)
		n += run.count;
	return n;
}

static void add_sig(const struct step *s, const struct process *p, const struct sig *sig, struct rank_totals *t)
{
	double ns = (double)sig->ticks * p->ns_per_tick;
	t->calls += sig->calls;
	if (sig->thread == 0 && is_startup(s, sig))
		t->startup_ns += ns;
	else if (sig->thread == 0)
		t->mpi_ns += ns;
	if (!sig->defined)
		return;
	if ((sig->call.flags & SIG_POLLS) != 0 && !p->threads.at[sig->thread].progress)
		t->polling_ns += ns;
	if (sig->call.shape == SIG_COMPLETE && (sig->call.flags & SIG_POLLS) == 0)
		t->completions += (sig->calls + sig->parts) * requests_named(&sig->call);
	if (sig->call.shape == SIG_COLL && sig->call.coll == COLL_BARRIER)
		t->barriers += sig->calls;
	else if (sig->call.shape == SIG_COLL)
		t->collectives += sig->calls;
}

/* Never more than there is besides MPI. */
static double useful_of(struct rank_totals *t)
{
	double rest = t->region_ns > t->mpi_ns ? t->region_ns - t->mpi_ns : 0;
	t->tracing_ns = fmin(t->tracing_ns, rest);
	return rest - t->tracing_ns;
}

static double region_of(const struct process *p)
{
	int64_t from, to;
	rank_region(p, &from, &to);
	return from != TIME_ABSENT ? (double)(to - from) : 0;
}

static void add_traffic(struct analysis *a, uint32_t r)
{
	struct rank_totals *t = &a->ranks[r];
	t->messages_out = a->p2p.out_count[r];
	t->messages_in = a->p2p.in_count[r];
	t->bytes_out = a->p2p.out_bytes[r];
	t->bytes_in = a->p2p.in_bytes[r];
	t->coll_bytes_out = a->coll.out_bytes[r];
	t->coll_bytes_in = a->coll.in_bytes[r];
}

/* A peer is another rank with which messages went at least one way. */
static void count_peers(struct analysis *a)
{
	for (size_t i = 0; i < a->p2p.links.n; i++) {
		const struct link *c = &a->p2p.links.at[i];
		if (c->src == c->dst)
			continue;
		a->ranks[c->src].peers++;
		if (!links_have(a->p2p.links.at, a->p2p.links.n, c->dst, c->src))
			a->ranks[c->dst].peers++;
	}
}

/* Of those that are compared. */
static void compare_useful(struct analysis *a)
{
	double sum = 0;
	a->ranks_compared = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		const struct rank_totals *t = &a->ranks[r];
		if (!t->compared)
			continue;
		a->ranks_compared++;
		sum += t->useful_ns;
		a->max_useful_ns = fmax(a->max_useful_ns, t->useful_ns);
	}
	a->mean_useful_ns = a->ranks_compared > 0 ? sum / a->ranks_compared : 0;
}

/* Ranks of which the time is known. Of one that died long before the others it is not known what it had still to do; if
 * it had computed more than these do in the mean, then that much for certain. */
static void choose_compared(struct analysis *a)
{
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		struct rank_totals *t = &a->ranks[r];
		bool died = t->known && exits_before_finalize(a->step->ranks[r]);
		t->compared = t->known && !(died && t->region_ns < LIVED_SHARE * a->longest_region_ns);
	}
	compare_useful(a);
	double mean_ns = a->mean_useful_ns;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		a->ranks[r].compared |= a->ranks[r].known && a->ranks[r].useful_ns > mean_ns;
	compare_useful(a);
}

/* Does the wait-for graph say that it waits for somebody who cannot go on either? Of a long list the rest is not kept:
 * who is in a call and behind all that are. */
static bool waits_for_ever(const struct analysis *a, uint32_t rank)
{
	for (size_t i = 0; i < a->tally.defects.rows.n; i++) {
		const struct defect *d = &a->tally.defects.rows.at[i];
		if (d->kind != DEFECT_DEADLOCK)
			continue;
		for (uint32_t k = 0; k < d->nranks; k++)
			if (d->ranks[k] == rank)
				return true;
		if (d->more_ranks && rank > d->ranks[d->nranks - 1])
			return true;
	}
	return false;
}

/* The call that it never came back from: of MPI_Init and MPI_Finalize it is no part of the region. Waiting where it is
 * known for whom. */
static void add_open(const struct analysis *a, uint32_t rank, const struct process *p, struct rank_totals *t)
{
	int64_t since_ns = INT64_MAX;
	for (size_t i = 0; i < p->open.n; i++)
		if (p->open.at[i].enter_ns != TIME_ABSENT && p->open.at[i].enter_ns < since_ns)
			since_ns = p->open.at[i].enter_ns;
	if (since_ns == INT64_MAX || p->end_ns == TIME_ABSENT)
		return;
	t->hung_ns = (double)p->hung_ns;
	if (p->init_exit_ns == TIME_ABSENT || p->finalize_enter_ns != TIME_ABSENT)
		t->startup_ns += fmax(0, (double)(p->end_ns - p->hung_ns - since_ns));
	if (!waits_for_ever(a, rank))
		return;
	t->wait_ns = fmin(t->mpi_ns, t->wait_ns + t->open_ns);
	t->hung_wait_ns = t->hung_ns;
}

int ranks_total(struct analysis *a)
{
	const struct step *s = a->step;
	ends_resolve(a->step);
	a->ranks = calloc(s->nranks, sizeof(*a->ranks));
	if (a->ranks == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++) {
		struct rank_totals *t = &a->ranks[r];
		struct process *p = s->ranks[r];
		add_traffic(a, r);
		t->wait_ns = (double)a->tally.waits.by_rank[r];
		if (p == NULL)
			continue;
		for (size_t i = 0; i < p->sigs.n; i++)
			add_sig(s, p, &p->sigs.at[i], t);
		a->ranks_seen++;
		if (t->calls == 0 &&
		    !s->nodes.at[p->node].file.finished) /* no totals yet: its time in MPI is not known */
			continue;
		if (s->totals && p->end_ns == TIME_ABSENT && p->finalize_enter_ns == TIME_ABSENT) /* its events tell */
			continue;
		t->known = true;
		t->region_ns = region_of(p);
		t->open_ns = rank_open_ns(p, 0);
		t->mpi_ns += t->open_ns;
		tracing_of_rank(s, p, t);
		t->useful_ns = useful_of(t);
		t->threads_ns = t->region_ns;
		if (t->threads > 1 && threads_rank(s, p, t) < 0)
			return -ENOMEM;
		t->open_ns = fmin(t->mpi_ns, t->open_ns);
		add_open(a, r, p, t);
		a->threaded |= t->threads > 1;
		a->threads_ns += t->threads_ns;
		if (t->region_ns > a->longest_region_ns)
			a->longest_region_ns = t->region_ns;
	}
	choose_compared(a);
	count_peers(a);
	return 0;
}
