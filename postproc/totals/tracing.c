/* tracing.c - what the tracer took for itself, from the exact totals and what it measured of its own calls. */
#include "postproc/analysis.h"

#include <math.h>

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

void tracing_of_rank(const struct step *s, struct process *p, struct rank_totals *t)
{
	set_call_tracing(s, p, t);
	add_tracing(p, t);
}

double tracing_share(const struct rank_totals *t)
{
	double all = (t->region_ns + t->hung_ns) * (double)t->threads;
	return all > 0 ? fmin(1, t->threads_tracing_ns / all) : 0;
}
