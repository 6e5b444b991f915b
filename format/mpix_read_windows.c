/* mpix_read_windows.c - what happened in one window, of version 2. In: MESSAGES, WAITS and EVENTS chunks of all
 * groups.  Out: messages, wait states and parts in collectives, through callbacks. */
#include "format/mpix_reader.h"

uint32_t mpix_windows(const struct mpix_file *f)
{
	return f->super.version == 1 ? 0 : f->shape.windows;
}

int mpix_window_messages(struct mpix_file *f, uint32_t window, bool bare,
			 int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e)
{
	int rc = mpix_cache_begin(f, e);
	for (uint32_t g = 0; g < mpix_groups(f) && rc == 0; g++) {
		const struct mpix_entry *x = mpix_find(f, MPIX_MESSAGES, g, window);
		if (x != NULL)
			rc = mpix_visit_messages(f, x, bare, visit, context, e);
	}
	return rc;
}

int mpix_window_waits(struct mpix_file *f, uint32_t window, bool bare,
		      int (*visit)(void *context, const struct mpix_wait *wait), void *context, struct error *e)
{
	int rc = mpix_cache_begin(f, e);
	for (uint32_t g = 0; g < mpix_groups(f) && rc == 0; g++) {
		const struct mpix_entry *x = mpix_find(f, MPIX_WAITS, g, window);
		if (x != NULL)
			rc = mpix_visit_waits(f, x, (struct mpix_asked){0, f->lanes.n, bare}, visit, context, e);
	}
	return rc;
}

static int visit_run(const struct mpix_file *f, const struct mpix_part_data *part, const struct mpix_part_run *run,
		     uint32_t window, int (*visit)(void *context, const struct mpix_collective_part *part),
		     void *context)
{
	for (uint32_t i = 0; i < run->n; i++) {
		const struct mpix_part_event *ev = &part->events[run->first + i];
		if (ev->number == MPIX_NO_NUMBER)
			continue;
		struct mpix_collective_part x = {.at = {window, run->lane, i},
						 .start_ns = ev->start_ns,
						 .end_ns = ev->end_ns,
						 .number = ev->number,
						 .rank = f->lanes.rank[run->lane],
						 .comm = part->sigs->sigs[ev->sig].comm};
		int rc = visit(context, &x);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int mpix_window_parts(struct mpix_file *f, uint32_t window,
		      int (*visit)(void *context, const struct mpix_collective_part *part), void *context,
		      struct error *e)
{
	int rc = mpix_cache_begin(f, e);
	for (uint32_t g = 0; g < mpix_groups(f) && rc == 0; g++) {
		const struct mpix_part_data *part;
		rc = mpix_part_get(f, g, window, &part, e);
		for (uint32_t i = 0; rc == 0 && part != NULL && i < part->nruns; i++)
			rc = visit_run(f, part, &part->runs[i], window, visit, context);
		if (rc == 0)
			mpix_cache_trim(f);
	}
	return rc;
}
