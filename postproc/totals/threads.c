/* threads.c - the times of ranks that call MPI from several threads (docs/SEMANTICS.md, Threads). Times inside MPI are
 * those of the totals; spans, waits and what threads do at the same time come from the events, in stream/threads.c. */
#include "postproc/analysis.h"

#include <math.h>

static void add_sig(const struct step *s, const struct process *p, const struct sig *sig, struct thread_totals *t,
		    bool *began)
{
	t->calls += sig->calls;
	t->tracing_ns += sig_tracing_ns(p, sig);
	if (is_startup(s, sig))
		*began |= sig->calls > 0 && strcmp(s->ops.at[sig->op], "MPI_Finalize") != 0;
	else
		t->mpi_ns += (double)sig->ticks * p->ns_per_tick;
}

/* Not beyond the region: threads may call before MPI_Init is over, to ask whether it is. Not the time in which no
 * thread had this number. To the region's end, where it waits in a call of open_ns. */
static double span_of(const struct process *p, const struct thread *th, double open_ns)
{
	int64_t from = th->first_ns, to = th->last_ns;
	if (open_ns > 0) {
		to = p->end_ns - p->hung_ns;
		from = from != TIME_ABSENT ? from : to - (int64_t)open_ns;
	}
	if (p->init_exit_ns != TIME_ABSENT && from < p->init_exit_ns)
		from = p->init_exit_ns;
	if (p->finalize_enter_ns != TIME_ABSENT && to > p->finalize_enter_ns)
		to = p->finalize_enter_ns;
	return to > from ? fmax(0, (double)(to - from) - (double)th->unused_ticks * p->ns_per_tick) : 0;
}

static void sum_thread(const struct process *p, uint32_t i, bool began, double region_ns, struct thread_totals *t)
{
	const struct thread *th = &p->threads.at[i];
	double open_ns = rank_open_ns(p, i);
	bool seen = th->first_ns != TIME_ABSENT || open_ns > 0;
	t->tracing_ns += (double)th->slow_ticks * p->ns_per_tick;
	t->progress = th->progress;
	t->called = thread_called(p, i, t->calls);
	t->known = began || seen;
	t->span_ns = began || !seen ? region_ns : fmin(region_ns, span_of(p, th, open_ns));
	t->mpi_ns = fmin(t->mpi_ns + open_ns, t->span_ns);
	t->wait_ns = fmin((double)th->wait_ns, t->mpi_ns);
	t->useful_ns = fmax(0, t->span_ns - t->mpi_ns - t->tracing_ns);
}

struct thread_totals *threads_of(const struct step *s, const struct process *p, double region_ns)
{
	struct thread_totals *of = calloc(p->threads.n + 1, sizeof(*of));
	bool *began = calloc(p->threads.n + 1, sizeof(*began)), any = false;
	if (of != NULL && began != NULL) {
		for (size_t i = 0; i < p->sigs.n; i++) {
			uint32_t at = p->sigs.at[i].thread;
			add_sig(s, p, &p->sigs.at[i], &of[at], &began[at]);
			any |= began[at];
		}
		began[0] |= !any; /* the first is the one that called MPI before all others */
		for (uint32_t i = 0; i < p->threads.n; i++)
			sum_thread(p, i, began[i], region_ns, &of[i]);
		free(began);
		return of;
	}
	free(of);
	free(began);
	return NULL;
}

/* Every call of every thread that counts is there. */
static bool is_whole(const struct step *s, const struct process *p, const struct thread_totals *of)
{
	if (s->totals)
		return false;
	for (uint32_t i = 0; i < p->threads.n; i++) {
		const struct thread *th = &p->threads.at[i];
		if (of[i].called && !of[i].progress && (th->lost > 0 || th->gap || th->behind > 0))
			return false;
	}
	return p->bad_blocks == 0;
}

/* The first that does not poll for others, and how many of them there are. */
static uint32_t workers_of(const struct process *p, const struct thread_totals *of, uint32_t *ret_first)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < p->threads.n; i++) {
		if (!of[i].called || of[i].progress)
			continue;
		*ret_first = n++ == 0 ? i : *ret_first;
	}
	return n;
}

/* Of all threads together: a union, not a sum; of it waited what of the threads' time in MPI was waiting. When slow
 * paths of the tracer were taken is not known: they took at least as long as those of one thread. */
static void take_union(const struct process *p, const struct thread_totals *of, struct rank_totals *t)
{
	double waited = 0, mpi = 0, slow = 0;
	for (uint32_t i = 0; i < p->threads.n; i++) {
		if (!of[i].called || of[i].progress)
			continue;
		waited += of[i].wait_ns;
		mpi += of[i].mpi_ns;
		slow = fmax(slow, (double)p->threads.at[i].slow_ticks * p->ns_per_tick);
	}
	t->open_ns = rank_open_ns(p, NONE);
	t->mpi_ns = fmin(t->region_ns, (double)p->in_mpi.ns + t->open_ns);
	t->tracing_ns = (double)(p->in_mpi.traced_ns - p->in_mpi.ns) + slow;
	t->wait_ns = mpi > 0 ? t->mpi_ns * waited / mpi : 0;
}

/* Of one thread in the rank's region: outside of its span it does not call MPI. */
static void take_one(const struct process *p, const struct thread_totals *all, uint32_t thread, struct rank_totals *t)
{
	const struct thread_totals *of = &all[thread];
	t->mpi_ns = fmin(t->region_ns, of->mpi_ns);
	t->open_ns = rank_open_ns(p, thread);
	t->tracing_ns = of->tracing_ns;
	t->wait_ns = of->wait_ns;
}

int threads_rank(const struct step *s, const struct process *p, struct rank_totals *t)
{
	struct thread_totals *of = threads_of(s, p, t->region_ns);
	uint32_t first = 0;
	if (of == NULL)
		return -ENOMEM;
	uint32_t workers = workers_of(p, of, &first);
	t->time_of = workers == 1 ? TIME_OF_THREAD : is_whole(s, p, of) ? TIME_OF_ALL : TIME_OF_FIRST;
	if (t->time_of == TIME_OF_ALL)
		take_union(p, of, t);
	else
		take_one(p, of, first, t);
	t->tracing_ns = fmin(t->tracing_ns, t->region_ns - t->mpi_ns);
	t->useful_ns = t->region_ns - t->mpi_ns - t->tracing_ns;
	t->threads_ns = 0;
	for (uint32_t i = 0; i < p->threads.n; i++)
		t->threads_ns += of[i].called ? of[i].span_ns : 0;
	free(of);
	return 0;
}
