/* tally.c - see tally.h. */
#include "postproc/stream/tally.h"

int tally_begin(struct tally *t, const struct step *s)
{
	*t = (struct tally){.window_ns = s->runtime_ns / TIME_WINDOWS + 1, .sent_from_ns = INT64_MAX};
	t->spreads = calloc(s->comms.n + 1, sizeof(*t->spreads));
	t->arrivals = calloc(s->sites.n + 1, sizeof(*t->arrivals));
	t->came_last = calloc(s->nranks + 1u, sizeof(*t->came_last));
	return t->spreads == NULL || t->arrivals == NULL || t->came_last == NULL || waits_begin(&t->waits, s) < 0
		       ? -ENOMEM
		       : 0;
}

void tally_done(struct tally *t)
{
	waits_done(&t->waits);
	free(t->spreads);
	free(t->arrivals);
	free(t->came_last);
	vec_done(&t->orphans);
	defects_done(&t->defects);
}

unsigned tally_other_window(struct tally *t, int64_t ns)
{
	int64_t i = ns / t->window_ns;
	t->last = i < 0 ? 0 : i >= TIME_WINDOWS ? TIME_WINDOWS - 1 : (unsigned)i;
	t->last_ns = t->last * t->window_ns;
	return t->last;
}

void tally_spread(struct tally *t, int64_t from, int64_t to, int64_t *first)
{
	for (unsigned i = tally_window_of(t, from); from < to && i < TIME_WINDOWS; i++) {
		int64_t end = (int64_t)(i + 1) * t->window_ns;
		if (end > to || i == TIME_WINDOWS - 1)
			end = to;
		add_ns((int64_t *)(void *)((char *)first + i * sizeof(struct time_window)), end - from);
		from = end;
	}
}

static void merge_window(struct time_window *into, const struct time_window *from)
{
	into->events += from->events;
	into->bytes += from->bytes;
	into->transfers += from->transfers;
	into->completions += from->completions;
	into->barriers += from->barriers;
	into->collectives += from->collectives;
	for (unsigned c = 0; c < MPIX_CLASSES; c++) {
		add_ns(&into->class_ns[c], from->class_ns[c]);
		add_ns(&into->runs_ns[c], from->runs_ns[c]);
	}
	add_ns(&into->wait_ns, from->wait_ns);
	add_ns(&into->present_ns, from->present_ns);
}

void spread_add(struct spread *sp, int64_t ns, uint32_t last)
{
	sp->operations++;
	add_ns(&sp->sum_ns, ns);
	sp->max_ns = ns > sp->max_ns ? ns : sp->max_ns;
	if (sp->votes == 0)
		sp->last = last;
	sp->votes = sp->last == last ? sp->votes + 1 : sp->votes - 1;
}

/* Of two majorities the smaller one is taken off the larger. */
static void merge_spread(struct spread *into, const struct spread *from)
{
	if (into->operations == 0) {
		*into = *from;
		return;
	}
	bool agree = into->last == from->last || into->votes == 0 || from->votes == 0;
	uint64_t more = into->votes > from->votes ? into->votes : from->votes;
	uint64_t less = into->votes > from->votes ? from->votes : into->votes;
	into->last = from->votes > into->votes ? from->last : into->last;
	into->votes = agree ? more + less : more - less;
	into->operations += from->operations;
	add_ns(&into->sum_ns, from->sum_ns);
	into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
}

int tally_merge(struct tally *into, const struct tally *from, const struct step *s)
{
	for (unsigned i = 0; i < TIME_WINDOWS; i++)
		merge_window(&into->windows[i], &from->windows[i]);
	for (size_t i = 0; i < HISTOGRAM_BINS; i++)
		into->waited.count[i] += from->waited.count[i];
	into->waited.all += from->waited.all;
	into->sent_from_ns = from->sent_from_ns < into->sent_from_ns ? from->sent_from_ns : into->sent_from_ns;
	into->sent_to_ns = from->sent_to_ns > into->sent_to_ns ? from->sent_to_ns : into->sent_to_ns;
	into->transfers += from->transfers;
	into->bytes += from->bytes;
	for (size_t i = 0; i < s->comms.n; i++)
		merge_spread(&into->spreads[i], &from->spreads[i]);
	for (size_t i = 0; i <= s->sites.n; i++)
		merge_spread(&into->arrivals[i], &from->arrivals[i]);
	for (uint32_t r = 0; r < s->nranks; r++)
		into->came_last[r] += from->came_last[r];
	for (size_t i = 0; i < from->orphans.n && into->orphans.n < ORPHANS_MAX; i++)
		if (vec_push(&into->orphans, from->orphans.at[i]) < 0)
			return -ENOMEM;
	if (defects_merge(&into->defects, &from->defects) < 0)
		return -ENOMEM;
	return waits_merge(&into->waits, &from->waits, s);
}

/* Values below HISTOGRAM_STEPS have a bin each; above, the five bits after the first choose it. */
static size_t bin_of(uint64_t value)
{
	if (value < HISTOGRAM_STEPS)
		return (size_t)value;
	unsigned power = 63 - (unsigned)__builtin_clzll(value); /* 5 or more */
	return (power - 4) * HISTOGRAM_STEPS + ((value >> (power - 5)) & (HISTOGRAM_STEPS - 1));
}

static double middle_of(size_t bin)
{
	if (bin < HISTOGRAM_STEPS)
		return (double)bin;
	unsigned power = (unsigned)(bin / HISTOGRAM_STEPS) + 4;
	double step = (double)(1ull << (power - 5));
	return (double)(1ull << power) + step * (double)(bin % HISTOGRAM_STEPS) + step / 2;
}

void histogram_add(struct histogram *h, int64_t ns)
{
	if (ns <= 0)
		return;
	h->count[bin_of((uint64_t)ns)]++;
	h->all++;
}

double histogram_quantile(const struct histogram *h, double part)
{
	double wanted = (double)h->all * part, passed = 0;
	for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
		passed += (double)h->count[i];
		if (h->count[i] > 0 && passed > wanted)
			return middle_of(i);
	}
	return 0;
}
