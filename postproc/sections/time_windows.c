/* time_windows.c - "time_windows": the run in equal parts: what happened and where the time
 * went in each. */
#include "postproc/analysis.h"

#include <math.h>

/* The tracer's time, shared by calls. */
static double tracing_per_call(const struct process *p, const struct rank_totals *t)
{
	uint64_t calls = 0;
	for (size_t i = 0; i < p->sigs.n; i++)
		calls += p->sigs.at[i].thread == 0 ? p->sigs.at[i].calls : 0;
	return calls > 0 ? t->tracing_ns / (double)calls : 0;
}

/* To its end: waiting where the wait-for graph says so. */
static void add_open(const struct step *s, struct tally *t, const struct process *p, const struct open_sig *o,
		     int64_t to)
{
	tally_stretch(t, o->enter_ns, to, &t->windows[0].class_ns[step_class(s, &p->sigs.at[o->sig])]);
	if (o->waits)
		tally_stretch(t, o->enter_ns, to, &t->windows[0].wait_ns);
}

/* It is spread as the calls of thread 0 are. */
void time_windows_add_rank(const struct step *s, struct tally *t, const struct process *p,
			   const struct rank_totals *totals)
{
	double tracing_ns = tracing_per_call(p, totals);
	int64_t from = p->start_ns, to = p->end_ns;
	if (from == TIME_ABSENT || (p->first_ns != TIME_ABSENT && p->first_ns < from))
		from = p->first_ns;
	if (to == TIME_ABSENT || (p->last_ns != TIME_ABSENT && p->last_ns > to))
		to = p->last_ns;
	for (unsigned i = 0; i < TIME_WINDOWS && p->calls_in != NULL; i++)
		t->windows[i].tracing_ns += (double)p->calls_in[i] * tracing_ns;
	if (from != TIME_ABSENT && to != TIME_ABSENT)
		tally_stretch(t, from, to, &t->windows[0].present_ns);
	for (size_t i = 0; i < p->open.n; i++)
		if (p->open.at[i].thread == 0 && p->open.at[i].enter_ns != TIME_ABSENT)
			add_open(s, t, p, &p->open.at[i], to);
}

static double tests_ns(const struct step *s, uint32_t first_rank, uint32_t end_rank, enum mpix_class class)
{
	double ns = 0;
	for (uint32_t r = first_rank; r < end_rank; r++)
		for (size_t i = 0; s->ranks[r] != NULL && i < s->ranks[r]->sigs.n; i++) {
			const struct sig *sig = &s->ranks[r]->sigs.at[i];
			if (sig->defined && sig->thread == 0 && (sig->call.flags & SIG_POLLS) != 0 &&
			    sig->class == class)
				ns += (double)sig->ticks * s->ranks[r]->ns_per_tick;
		}
	return ns;
}

void time_windows_add_tests(const struct step *s, struct tally *t, uint32_t first_rank, uint32_t end_rank)
{
	for (unsigned c = 1; c < MPIX_CLASSES; c++) {
		int64_t whole_ns = 0;
		for (unsigned i = 0; i < TIME_WINDOWS; i++)
			add_ns(&whole_ns, t->windows[i].runs_ns[c]);
		if (whole_ns <= 0)
			continue;
		double part = fmin(1, tests_ns(s, first_rank, end_rank, (enum mpix_class)c) / (double)whole_ns);
		for (unsigned i = 0; i < TIME_WINDOWS; i++)
			add_ns(&t->windows[i].class_ns[c], (int64_t)(part * (double)t->windows[i].runs_ns[c]));
	}
}

int64_t time_window_mpi_ns(const struct time_window *at)
{
	int64_t ns = 0;
	for (unsigned c = 1; c < MPIX_CLASSES; c++)
		add_ns(&ns, at->class_ns[c]);
	return ns;
}

int64_t time_window_useful_ns(const struct time_window *at)
{
	double ns = (double)at->present_ns - (double)time_window_mpi_ns(at) - at->tracing_ns;
	return ns > 0 ? (int64_t)ns : 0;
}

static void put_window(const struct tally *t, cJSON *list, unsigned i)
{
	static const char *const names[MPIX_CLASSES] = {"outside", "p2p", "wait", "collective",
							"sync",	   "rma", "io",	  "other"};
	const struct time_window *at = &t->windows[i];
	cJSON *row = json_row(list);
	json_put_seconds(row, "start_s", (int64_t)i * t->window_ns);
	json_put_seconds(row, "end_s", (int64_t)(i + 1) * t->window_ns);
	json_put(row, "events", (double)at->events);
	json_put(row, "bytes", (double)at->bytes);
	json_put(row, "transfers", (double)at->transfers);
	json_put(row, "completions", (double)at->completions);
	json_put(row, "barriers", (double)at->barriers);
	json_put(row, "collectives", (double)at->collectives);
	json_put_seconds(row, "useful_s", time_window_useful_ns(at));
	json_put_seconds(row, "mpi_s", time_window_mpi_ns(at));
	json_put_seconds(row, "wait_s", at->wait_ns);
	cJSON *classes = json_object(row, "classes_s");
	for (unsigned c = 1; c < MPIX_CLASSES; c++)
		json_put_seconds(classes, names[c], at->class_ns[c]);
}

int analysis_time_windows(struct analysis *a)
{
	const struct step *s = a->step;
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL)
			time_windows_add_rank(s, &a->tally, s->ranks[r], &a->ranks[r]);
	time_windows_add_tests(s, &a->tally, 0, s->nranks);
	cJSON *list = json_array(a->root, "time_windows");
	for (unsigned i = 0; i < TIME_WINDOWS; i++)
		put_window(&a->tally, list, i);
	return 0;
}
