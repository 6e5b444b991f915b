/* ranks.c - what each rank did, exact from its totals. No clock of another node is needed. */
#include "postproc/analysis.h"
#include "postproc/read/ends.h"
#include "postproc/read/exits.h"
#include "postproc/stream/threads.h"

#include <math.h>

#define LIVED_SHARE 0.9 /* of the longest region: who died later is compared with the others */

bool is_startup(const struct step *s, const struct sig *sig)
{
	return op_is_outside_region(sig_op_or(s, sig, ""));
}

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

/* Of those that are only counted, as MPI_Wtime, of which no time is recorded: an addition. 3.7 of 18.3 ns were measured
 * with 30 million calls. */
#define COUNTED_PART 0.2

#define TIMED_MIN 50u /* calls; fewer say nothing of all */

static bool is_only_counted(const struct sig *sig)
{
	return sig->ticks == 0 && sig->call.shape == SIG_TIME;
}

/* Of an ordinary call: as measured at the start, where nothing else had its caches, and by what its recording took
 * longer in its place, in a sample, but by no more than it can have taken: between_ns passes from call to call in the
 * mean, and timing one disturbs it. What takes a processor lasts longer where others take turns on it. */
static double call_tracing_ns(const struct process *p, const struct thread *t, double between_ns)
{
	double ns = isnan(p->overhead_ns) ? 0 : p->overhead_ns, longer_ns = 0;
	if (t->recording_calls >= TIMED_MIN && p->recording_ticks > 0)
		longer_ns =
			((double)t->recording_ticks / (double)t->recording_calls - p->recording_ticks) * p->ns_per_tick;
	if (longer_ns > 0 && !isnan(p->inside_ticks))
		longer_ns = fmin(longer_ns, fmax(0, between_ns - (ns - p->inside_ticks * p->ns_per_tick)));
	ns += longer_ns;
	if (t->running_ns > 0 && t->ready_ns > 0)
		ns *= (t->running_ns + t->ready_ns) / t->running_ns;
	return fmax(0, ns);
}

/* From call to call of the thread that has the rank's region, slow paths apart. */
static double between_ns(const struct step *s, const struct process *p, const struct rank_totals *t)
{
	uint64_t calls = 0;
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		calls += sig->thread == 0 && !is_startup(s, sig) && !is_only_counted(sig) ? sig->calls : 0;
	}
	double ns = t->region_ns - t->mpi_ns - (double)p->threads.at[0].slow_ticks * p->ns_per_tick;
	return calls > 0 ? fmax(0, ns) / (double)calls : INFINITY;
}

static void set_call_tracing(const struct step *s, struct process *p, const struct rank_totals *t)
{
	for (uint32_t i = 0; i < p->threads.n; i++) {
		struct thread *th = &p->threads.at[i];
		th->call_tracing_ns = call_tracing_ns(p, th, i == 0 ? between_ns(s, p, t) : INFINITY);
	}
}

double sig_tracing_ns(const struct process *p, const struct sig *sig)
{
	return (double)sig->calls * p->threads.at[sig->thread].call_tracing_ns *
	       (is_only_counted(sig) ? COUNTED_PART : 1);
}

/* What the tracer took for itself: of each call what an ordinary one costs, measured by the process when it began
 * (most of it the clock, also on slow paths), and what slow paths took from the second clock reading on, measured
 * one by one. */
static void add_tracing(const struct process *p, struct rank_totals *t)
{
	for (uint32_t i = 0; i < p->threads.n; i++) {
		const struct thread *th = &p->threads.at[i];
		double slow_ns = (double)th->slow_ticks * p->ns_per_tick;
		double fast_ns = 0;
		uint64_t calls = 0;
		for (size_t k = 0; k < p->sigs.n; k++)
			if (p->sigs.at[k].thread == i) {
				calls += p->sigs.at[k].calls;
				fast_ns += sig_tracing_ns(p, &p->sigs.at[k]);
			}
		double ns = slow_ns + fast_ns;
		t->threads += thread_called(p, i, calls);
		t->fast_ns += fast_ns;
		t->slow_calls += th->slow_calls;
		t->slow_ns += slow_ns;
		t->threads_tracing_ns += ns;
		if (i == 0)
			t->tracing_ns = ns;
	}
}

/* Never more than there is besides MPI. */
static double useful_of(struct rank_totals *t)
{
	double rest = t->region_ns > t->mpi_ns ? t->region_ns - t->mpi_ns : 0;
	t->tracing_ns = fmin(t->tracing_ns, rest);
	return rest - t->tracing_ns;
}

double tracing_share(const struct rank_totals *t)
{
	double all = (t->region_ns + t->hung_ns) * (double)t->threads;
	return all > 0 ? fmin(1, t->threads_tracing_ns / all) : 0;
}

double rank_open_ns(const struct process *p, uint32_t thread)
{
	const struct open_sig *o = thread == NONE ? NULL : step_open(p, thread);
	int64_t from = thread == NONE ? threads_open(p) : o != NULL ? o->enter_ns : TIME_ABSENT;
	bool known = p->init_exit_ns != TIME_ABSENT && p->end_ns != TIME_ABSENT && p->finalize_enter_ns == TIME_ABSENT;
	if (!known || from == TIME_ABSENT || from == INT64_MAX)
		return 0;
	return fmax(0, (double)(p->end_ns - p->hung_ns - from));
}

void rank_region(const struct process *p, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	int64_t from = p->init_exit_ns, to = p->finalize_enter_ns;
	if (from == TIME_ABSENT)
		from = p->first_ns != TIME_ABSENT ? p->first_ns : p->start_ns;
	if (to == TIME_ABSENT && p->end_ns != TIME_ABSENT)
		to = p->end_ns - p->hung_ns;
	if (to == TIME_ABSENT)
		to = ends_last_known(p);
	bool known = from != TIME_ABSENT && to > from && !ends_starting(p);
	*ret_from_ns = known ? from : TIME_ABSENT;
	*ret_to_ns = known ? to : TIME_ABSENT;
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
		set_call_tracing(s, p, t);
		add_tracing(p, t);
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
