/* part_time_windows.c - "time_windows": the run in equal parts: what happened and where the time
 * went in each. */
#include "postproc/analysis.h"

#define WINDOWS 100

struct window {
	uint64_t events, bytes, transfers, completions, barriers, collectives;
	int64_t class_ns[MPIX_CLASSES]; /* all ranks, thread 0 */
	int64_t wait_ns, present_ns;
	double tracing_ns;
};

struct windows {
	struct window at[WINDOWS];
	int64_t length_ns;
};

static unsigned window_of(const struct windows *w, int64_t ns)
{
	int64_t i = ns / w->length_ns;
	return i < 0 ? 0 : i >= WINDOWS ? WINDOWS - 1 : (unsigned)i;
}

/* Spread a stretch of time over the windows that it covers. */
static void add_stretch(const struct windows *w, int64_t from, int64_t to, int64_t *first, size_t stride)
{
	for (unsigned i = window_of(w, from); from < to && i < WINDOWS; i++) {
		int64_t end = (int64_t)(i + 1) * w->length_ns;
		if (end > to || i == WINDOWS - 1)
			end = to;
		add_ns((int64_t *)(void *)((char *)first + i * stride), end - from);
		from = end;
	}
}

static void add_event(struct windows *w, const struct step *s, const struct process *p, const struct event *ev,
		      double tracing_ns)
{
	const struct sig *sig = &p->sigs.at[ev->sig];
	enum mpix_class class = step_class(s, sig);
	struct window *at = &w->at[window_of(w, ev->start_ns)];
	at->events += ev->calls > 0;
	at->completions += sig->call.shape == SIG_COMPLETE && (sig->call.flags & SIG_POLLS) == 0;
	at->barriers += class == MPIX_SYNC;
	at->collectives += class == MPIX_COLL;
	if (sig->thread != 0)
		return;
	at->tracing_ns += (double)ev->calls * tracing_ns;
	add_stretch(w, ev->start_ns, ev->end_ns, &w->at[0].class_ns[class], sizeof(struct window));
	add_stretch(w, ev->start_ns, ev->start_ns + ev->wait_ns, &w->at[0].wait_ns, sizeof(struct window));
}

/* The tracer's time, shared by calls. */
static double tracing_per_call(const struct process *p, const struct rank_totals *t)
{
	uint64_t calls = 0;
	for (size_t i = 0; i < p->sigs.n; i++)
		calls += p->sigs.at[i].thread == 0 ? p->sigs.at[i].calls : 0;
	return calls > 0 ? t->tracing_ns / (double)calls : 0;
}

static void add_rank(struct windows *w, const struct step *s, const struct process *p, const struct rank_totals *t)
{
	double tracing_ns = tracing_per_call(p, t);
	int64_t from = p->start_ns, to = p->end_ns;
	for (size_t i = 0; i < p->events.n; i++) {
		add_event(w, s, p, &p->events.at[i], tracing_ns);
		if (from == TIME_ABSENT || p->events.at[i].start_ns < from)
			from = p->events.at[i].start_ns;
		if (to == TIME_ABSENT || p->events.at[i].end_ns > to)
			to = p->events.at[i].end_ns;
	}
	if (from != TIME_ABSENT && to != TIME_ABSENT)
		add_stretch(w, from, to, &w->at[0].present_ns, sizeof(struct window));
}

static void put_window(const struct windows *w, cJSON *list, unsigned i)
{
	static const char *const names[MPIX_CLASSES] = {"outside", "p2p", "wait", "collective",
							"sync",	   "rma", "io",	  "other"};
	const struct window *at = &w->at[i];
	int64_t mpi_ns = 0;
	cJSON *row = json_row(list);
	json_put_seconds(row, "start_s", (int64_t)i * w->length_ns);
	json_put_seconds(row, "end_s", (int64_t)(i + 1) * w->length_ns);
	json_put(row, "events", (double)at->events);
	json_put(row, "bytes", (double)at->bytes);
	json_put(row, "transfers", (double)at->transfers);
	json_put(row, "completions", (double)at->completions);
	json_put(row, "barriers", (double)at->barriers);
	json_put(row, "collectives", (double)at->collectives);
	for (unsigned c = 1; c < MPIX_CLASSES; c++)
		add_ns(&mpi_ns, at->class_ns[c]);
	double useful_ns = (double)at->present_ns - (double)mpi_ns - at->tracing_ns;
	json_put(row, "useful_s", useful_ns > 0 ? useful_ns / 1e9 : 0);
	json_put_seconds(row, "mpi_s", mpi_ns);
	json_put_seconds(row, "wait_s", at->wait_ns);
	cJSON *classes = json_object(row, "classes_s");
	for (unsigned c = 1; c < MPIX_CLASSES; c++)
		json_put_seconds(classes, names[c], at->class_ns[c]);
}

int part_time_windows(struct analysis *a)
{
	const struct step *s = a->step;
	struct windows *w = calloc(1, sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	w->length_ns = s->runtime_ns / WINDOWS + 1;
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL)
			add_rank(w, s, s->ranks[r], &a->ranks[r]);
	for (size_t i = 0; i < a->matching.messages.n; i++) {
		const struct p2p_op *send = &a->ops.sends.at[a->matching.messages.at[i].send];
		struct window *at = &w->at[window_of(w, op_event(s, send->rank, send->start)->start_ns)];
		at->transfers++;
		at->bytes += send->bytes;
	}
	cJSON *list = json_array(a->root, "time_windows");
	for (unsigned i = 0; i < WINDOWS; i++)
		put_window(w, list, i);
	free(w);
	return 0;
}
