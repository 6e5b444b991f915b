/* phases.c - "phases": what comes before a loop, the loop, and what comes after it, on one rank. The loop is what
 * comes again at even distances, or at distances that change evenly: a call site of one call each time around
 * (stream/periods.c).
 * In: periods, time windows. docs/SEMANTICS.md, Phases. */
#include "postproc/analysis.h"

#include <math.h>

#define ITERATIONS_MIN 10
#define LOOP_SHARE_MIN 0.1 /* of the region: shorter loops are none */
#define IO_SHARE_MIN 0.1   /* of what follows the loop: then it is output */
#define NEAR_LONGEST 0.9   /* of the longest loop: who lasts that long is as good */

/* Distances that are no further than this from their line, in units of their mean: even, and not quite. Between the
 * two come those that are steady for so much of the time. */
#define EVEN 0.25
#define NEARLY_EVEN 0.5
#define STEADY_MIN 0.67

enum rhythm { IS_EVEN, IS_STEADY, IS_NEARLY_EVEN, RHYTHMS };

struct loop {
	uint32_t rank, site; /* that tells the iterations; NONE: no loop */
	const struct period *period;
	int64_t from_ns, to_ns;
};

static bool has_rhythm(const struct period *b, enum rhythm rhythm)
{
	if (b->calls < ITERATIONS_MIN)
		return false;
	return rhythm == IS_STEADY ? period_steadiness(b) >= STEADY_MIN
				   : period_deviation(b) <= (rhythm == IS_EVEN ? EVEN : NEARLY_EVEN);
}

static double length_of(const struct period *b)
{
	return (double)(b->last_ns - b->first_ns);
}

/* Of those that last as long as any, a collective of all ranks before others, the most frequent, the first. */
static bool is_better(const struct period *x, const struct period *best)
{
	if (best == NULL || x->of_all != best->of_all)
		return best == NULL || x->of_all;
	return x->calls > best->calls;
}

static double longest_of(const struct periods *all, enum rhythm rhythm)
{
	double longest = 0;
	for (unsigned i = 0; i < PERIOD_RANKS; i++)
		for (size_t k = 0; all->of[i].rank != NONE && k < all->nsites; k++) {
			const struct period *b = &all->of[i].at[k];
			if (has_rhythm(b, rhythm))
				longest = fmax(longest, length_of(b));
		}
	return longest;
}

static struct loop choose(const struct analysis *a, enum rhythm rhythm)
{
	const struct periods *all = &a->periods;
	struct loop loop = {.site = NONE};
	double longest = longest_of(all, rhythm);
	if (longest < LOOP_SHARE_MIN * a->longest_region_ns)
		return loop;
	for (unsigned i = 0; i < PERIOD_RANKS; i++)
		for (size_t k = 0; all->of[i].rank != NONE && k < all->nsites; k++) {
			const struct period *b = &all->of[i].at[k];
			if (!has_rhythm(b, rhythm) || length_of(b) < NEAR_LONGEST * longest ||
			    !is_better(b, loop.period))
				continue;
			loop = (struct loop){.rank = all->of[i].rank, .site = (uint32_t)k, .period = b};
		}
	return loop;
}

/* The calls of one time around: sites with as many calls, from the first that begins to the last that ends. */
struct body {
	const struct period *first, *last;
};

static struct body body_of(const struct analysis *a, const struct loop *loop)
{
	struct body body = {loop->period, loop->period};
	const struct period *of = NULL;
	for (unsigned i = 0; i < PERIOD_RANKS; i++)
		of = a->periods.of[i].rank == loop->rank ? a->periods.of[i].at : of;
	for (size_t k = 0; k < a->periods.nsites; k++) {
		const struct period *b = &of[k];
		if (b->calls != loop->period->calls ||
		    fabs((double)(b->first_ns - loop->period->first_ns)) > loop->period->longest_ns)
			continue;
		body.first = b->first_ns < body.first->first_ns ? b : body.first;
		body.last = b->last_end_ns > body.last->last_end_ns ? b : body.last;
	}
	return body;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Between the last call of one time around and the first of the next there is computing: does it belong before the
 * calls, or behind them? What follows the last call of all tells. */
static void find_ends(const struct analysis *a, struct loop *loop)
{
	const struct process *p = a->step->ranks[loop->rank];
	const struct period *b = loop->period;
	struct body body = body_of(a, loop);
	int64_t begin = p->init_exit_ns != TIME_ABSENT ? p->init_exit_ns : 0;
	double calls_ns = (double)(body.last->last_end_ns - body.first->last_ns);
	double between = fmax(0, period_line_ns(b, (double)b->calls - 1) - calls_ns);
	double after = body.last->next_ns != INT64_MIN ? (double)(body.last->next_ns - body.last->last_end_ns) : 0;
	loop->from_ns = body.first->first_ns;
	loop->to_ns = body.last->last_end_ns;
	if (after >= between / 2)
		loop->to_ns += (int64_t)fmin(after, between);
	else
		loop->from_ns = later(begin, loop->from_ns - (int64_t)fmax(0, period_line_ns(b, -1) - calls_ns));
}

/* All ranks, from the parts of the time line that lie in it. */
struct phase {
	const char *name;
	int64_t from_ns, to_ns;
	double mpi_ns, wait_ns, io_ns, present_ns;
};

static void sum_up(const struct tally *t, struct phase *x)
{
	for (unsigned i = 0; i < TIME_WINDOWS; i++) {
		const struct time_window *w = &t->windows[i];
		int64_t from = later((int64_t)i * t->window_ns, x->from_ns), end = (int64_t)(i + 1) * t->window_ns;
		int64_t to = end < x->to_ns ? end : x->to_ns;
		double part = to > from ? (double)(to - from) / (double)t->window_ns : 0;
		for (unsigned c = 1; c < MPIX_CLASSES; c++)
			x->mpi_ns += part * (double)w->class_ns[c];
		x->wait_ns += part * (double)w->wait_ns;
		x->io_ns += part * (double)w->class_ns[MPIX_IO];
		x->present_ns += part * (double)w->present_ns;
	}
}

static void put_phase(const struct analysis *a, cJSON *list, struct phase *x)
{
	if (x->to_ns <= x->from_ns)
		return;
	sum_up(&a->tally, x);
	if (strcmp(x->name, "end") == 0 && x->io_ns >= IO_SHARE_MIN * x->present_ns && x->io_ns > 0)
		x->name = "output";
	cJSON *row = json_row(list);
	json_put_text(row, "phase", x->name);
	cJSON *window = json_array(row, "window_s");
	json_push(window, (double)x->from_ns / 1e9);
	json_push(window, (double)x->to_ns / 1e9);
	json_put(row, "mpi_s", x->mpi_ns / 1e9);
	json_put(row, "wait_s", x->wait_ns / 1e9);
	json_put(row, "io_s", x->io_ns / 1e9);
}

static void put_pieces(cJSON *o, const struct period *b)
{
	cJSON *list = json_array(o, "pieces");
	uint64_t n, from = 0;
	for (unsigned i = 0; i < PERIOD_PIECES && (n = period_piece_of(b, i)) > 0; i++, from += n) {
		cJSON *row = json_row(list);
		json_put(row, "from", (double)from);
		json_put(row, "iterations", (double)n);
		json_put(row, "iteration_s", b->piece_ns[i] / (double)n / 1e9);
	}
}

static void put_loop(const struct analysis *a, cJSON *o, const struct loop *loop)
{
	const struct period *b = loop->period;
	const struct process *p = a->step->ranks[loop->rank];
	int64_t begin = p->init_exit_ns != TIME_ABSENT ? p->init_exit_ns : 0;
	int64_t end = p->finalize_enter_ns != TIME_ABSENT ? p->finalize_enter_ns : a->step->runtime_ns;
	double last = (double)b->calls - 2; /* number of the last distance */
	json_put(o, "rank", loop->rank);
	json_put(o, "callsite", loop->site);
	json_put(o, "iterations", (double)b->calls);
	json_put(o, "iteration_s", b->mean_ns / 1e9);
	json_put(o, "shortest_s", b->shortest_ns / 1e9);
	json_put(o, "longest_s", b->longest_ns / 1e9);
	json_put(o, "drift", (period_line_ns(b, last) - period_line_ns(b, 0)) / b->mean_ns);
	json_put(o, "deviation", period_deviation(b));
	put_pieces(o, b);
	cJSON *list = json_array(o, "parts");
	put_phase(a, list, &(struct phase){.name = "init", .from_ns = begin, .to_ns = loop->from_ns});
	put_phase(a, list, &(struct phase){.name = "iterations", .from_ns = loop->from_ns, .to_ns = loop->to_ns});
	put_phase(a, list, &(struct phase){.name = "end", .from_ns = loop->to_ns, .to_ns = end});
}

static void put_unknown(cJSON *o)
{
	static const char *const names[] = {"rank",	  "callsite",  "iterations", "iteration_s",
					    "shortest_s", "longest_s", "drift",	     "deviation"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cJSON_AddNullToObject(o, names[i]);
	json_array(o, "pieces");
	json_array(o, "parts");
}

static bool has_events(const struct analysis *a)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < TIME_WINDOWS; i++)
		n += a->tally.windows[i].events;
	return n > 0;
}

int analysis_phases(struct analysis *a)
{
	struct loop loop = {.site = NONE};
	cJSON *o = json_object(a->root, "phases");
	for (int i = 0; i < RHYTHMS && loop.site == NONE; i++)
		loop = choose(a, (enum rhythm)i);
	json_put_text(o, "note",
		      loop.site != NONE ? ""
		      : !has_events(a)	? "phases are found in single calls, and none are recorded"
					: "no call comes again at even distances for a tenth of the run");
	if (loop.site == NONE) {
		put_unknown(o);
		return 0;
	}
	find_ends(a, &loop);
	put_loop(a, o, &loop);
	return 0;
}
