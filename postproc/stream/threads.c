/* threads.c - see threads.h. */
#include "postproc/stream/threads.h"

#include "base/search.h"

#include <math.h>

/* MPI_Test, Testall, Testany, Testsome, Iprobe, Probe, Improbe, Mprobe. */
static bool is_polling(const struct step *s, const struct sig *sig)
{
	const char *name = sig->op == NONE ? "" : s->ops.at[sig->op];
	return (strncmp(name, "MPI_Test", 8) == 0 && strcmp(name, "MPI_Test_cancelled") != 0) ||
	       strcmp(name, "MPI_Iprobe") == 0 || strcmp(name, "MPI_Probe") == 0 || strcmp(name, "MPI_Improbe") == 0 ||
	       strcmp(name, "MPI_Mprobe") == 0;
}

struct polls {
	uint64_t calls, polling;
};

static void classify(const struct step *s, struct process *p, struct polls *of)
{
	uint32_t workers = 0;
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		of[sig->thread].calls += sig->calls;
		of[sig->thread].polling += is_polling(s, sig) ? sig->calls : 0;
	}
	for (size_t t = 0; t < p->threads.n; t++) {
		struct thread *th = &p->threads.at[t];
		th->progress = of[t].calls > 0 && (double)of[t].polling >= PROGRESS_SHARE_MIN * (double)of[t].calls;
		workers += of[t].calls > 0 && !th->progress;
	}
	for (size_t t = 0; t < p->threads.n && workers == 0; t++) /* then each polls for itself */
		p->threads.at[t].progress = false;
}

int threads_classify(struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++) {
		struct process *p = s->ranks[r];
		if (p == NULL || p->threads.n < 2)
			continue;
		struct polls *of = calloc(p->threads.n, sizeof(*of));
		if (of == NULL)
			return -ENOMEM;
		classify(s, p, of);
		free(of);
	}
	return 0;
}

int64_t threads_open(const struct process *p)
{
	int64_t from = INT64_MAX;
	bool in_region = p->init_exit_ns != TIME_ABSENT && p->finalize_enter_ns == TIME_ABSENT;
	for (size_t i = 0; i < p->open.n && in_region; i++) {
		const struct open_sig *o = &p->open.at[i];
		if (o->enter_ns != TIME_ABSENT && o->enter_ns < from && !p->threads.at[o->thread].progress)
			from = o->enter_ns;
	}
	return from;
}

bool threads_several(const struct stream *st, uint32_t rank)
{
	const struct process *p = st->step->ranks[rank];
	return st->ranks[rank].nlanes > 1 || (p != NULL && p->threads.n > 1 && p->in_mpi.open_ns != INT64_MAX);
}

void threads_forget(struct process *p)
{
	p->in_mpi = (struct mpi_union){.until_ns = INT64_MIN, .traced_until_ns = INT64_MIN, .open_ns = threads_open(p)};
	for (size_t t = 0; t < p->threads.n; t++) {
		p->threads.at[t].first_ns = p->threads.at[t].last_ns = TIME_ABSENT;
		p->threads.at[t].wait_ns = 0;
	}
}

/* How many calls the event stands for. */
static uint64_t calls_at(const struct lane *l, uint32_t at)
{
	size_t first = search_first(l->extras_from, l->extras.n, i, l->extras.at[i].at < at);
	return first < l->extras.n && l->extras.at[first].at == at ? l->extras.at[first].calls : 1;
}

/* A run of unsuccessful tests is one event, from the first to the last: between them the thread was outside. What they
 * took in the mean is laid at its begin. */
static int64_t end_inside(const struct process *p, const struct lane *l, uint32_t at)
{
	const struct sig *sig = &p->sigs.at[l->sig[at]];
	int64_t start = l->start_ns[at], whole = l->end_ns[at] - start;
	if (!sig->defined || (sig->call.flags & SIG_POLLS) == 0 || sig->calls == 0)
		return l->end_ns[at];
	double inside = (double)calls_at(l, at) * (double)sig->ticks / (double)sig->calls * p->ns_per_tick;
	return inside < (double)whole ? start + (int64_t)inside : l->end_ns[at];
}

static void join(int64_t *until, int64_t *sum, int64_t from, int64_t to)
{
	from = from > *until ? from : *until;
	if (to <= from)
		return;
	add_ns(sum, to - from);
	*until = to;
}

void threads_saw(struct process *p, const struct lane *l, uint32_t at)
{
	struct thread *t = &p->threads.at[l->thread];
	struct mpi_union *u = &p->in_mpi;
	int64_t from = l->start_ns[at], to = end_inside(p, l, at);
	if (t->first_ns == TIME_ABSENT || from < t->first_ns)
		t->first_ns = from;
	if (t->last_ns == TIME_ABSENT || l->end_ns[at] > t->last_ns)
		t->last_ns = l->end_ns[at];
	if (t->progress)
		return;
	if (p->init_exit_ns != TIME_ABSENT && from < p->init_exit_ns)
		from = p->init_exit_ns;
	if (p->finalize_enter_ns != TIME_ABSENT && to > p->finalize_enter_ns)
		to = p->finalize_enter_ns;
	to = to < u->open_ns ? to : u->open_ns;
	join(&u->until_ns, &u->ns, from, to);
	if (to > from)
		join(&u->traced_until_ns, &u->traced_ns, from,
		     to + (isnan(p->overhead_ns) ? 0 : (int64_t)p->overhead_ns));
}

void threads_waited(const struct stream *st, const struct wait *w, int64_t ns)
{
	if (threads_several(st, w->rank))
		add_ns(&st->step->ranks[w->rank]->threads.at[st->lanes[w->call.at.lane].thread].wait_ns, ns);
}
