/* mpix_read_cells.c - what one group of ranks has of one window, of version 2.
 * In: EVENTS, MESSAGES and WAITS chunks.  Out: events, messages and wait states, through callbacks. */
#include "format/mpix_reader.h"

uint32_t mpix_groups(const struct mpix_file *f)
{
	return f->super.version == 1 ? 0 : (f->info.ranks - 1) / f->shape.group_ranks + 1;
}

void mpix_group_ranks(const struct mpix_file *f, uint32_t group, uint32_t *ret_first, uint32_t *ret_end)
{
	uint64_t first = (uint64_t)group * f->shape.group_ranks, end = first + f->shape.group_ranks;
	*ret_first = (uint32_t)(first < f->info.ranks ? first : f->info.ranks);
	*ret_end = (uint32_t)(end < f->info.ranks ? end : f->info.ranks);
}

uint32_t mpix_first_lane(const struct mpix_file *f, uint32_t rank)
{
	return f->lanes.first[rank < f->info.ranks ? rank : f->info.ranks];
}

uint32_t mpix_rank_of_lane(const struct mpix_file *f, uint32_t lane)
{
	return lane < f->lanes.n ? f->lanes.rank[lane] : f->info.ranks;
}

static uint32_t records(const struct mpix_entry *x)
{
	return x != NULL ? x->records : 0;
}

struct mpix_cell_counts mpix_cell_count(const struct mpix_file *f, uint32_t group, uint32_t window)
{
	if (group >= mpix_groups(f))
		return (struct mpix_cell_counts){0, 0, 0, INT64_MAX, INT64_MIN, INT64_MAX};
	const struct mpix_entry *messages = mpix_find(f, MPIX_MESSAGES, group, window);
	const struct mpix_entry *waits = mpix_find(f, MPIX_WAITS, group, window);
	return (struct mpix_cell_counts){
		.events = records(mpix_find(f, MPIX_EVENTS, group, window)),
		.messages = records(messages),
		.waits = records(waits),
		.messages_from_ns = messages != NULL ? messages->start_ns : INT64_MAX,
		.messages_to_ns = messages != NULL ? messages->end_ns : INT64_MIN,
		.waits_from_ns = waits != NULL ? waits->start_ns : INT64_MAX,
	};
}

int64_t mpix_window_start(const struct mpix_file *f, uint32_t window)
{
	for (uint32_t g = 0; g < mpix_groups(f); g++) {
		const struct mpix_entry *x = mpix_find(f, MPIX_EVENTS, g, window);
		if (x != NULL)
			return x->start_ns;
	}
	return INT64_MAX;
}

int mpix_cell_events(struct mpix_file *f, uint32_t group, uint32_t window,
		     int (*visit)(void *context, const struct mpix_event *event), void *context, struct error *e)
{
	const struct mpix_part_data *part = NULL;
	int rc = mpix_cache_begin(f, e);
	if (rc < 0)
		return rc;
	mpix_cache_trim(f);
	rc = mpix_part_get(f, group, window, &part, e);
	for (uint32_t r = 0; rc == 0 && part != NULL && r < part->nruns; r++) {
		const struct mpix_part_run *run = &part->runs[r];
		uint32_t rank = f->lanes.rank[run->lane], first_lane = f->lanes.first[rank];
		uint32_t first_sig = part->sigs->first[rank % f->shape.group_ranks];
		for (uint32_t i = 0; i < run->n && rc == 0; i++) {
			struct mpix_position at = {window, run->lane, i};
			struct mpix_event ev =
				mpix_event_of(part, &part->events[run->first + i], at, first_lane, first_sig);
			rc = visit(context, &ev);
		}
	}
	return rc;
}

int mpix_cell_messages(struct mpix_file *f, uint32_t group, uint32_t window,
		       int (*visit)(void *context, const struct mpix_link *link), void *context, struct error *e)
{
	int rc = mpix_cache_begin(f, e);
	const struct mpix_entry *x = mpix_find(f, MPIX_MESSAGES, group, window);
	return rc == 0 && x != NULL ? mpix_visit_messages(f, x, false, visit, context, e) : rc;
}

int mpix_cell_waits(struct mpix_file *f, uint32_t group, uint32_t window,
		    int (*visit)(void *context, const struct mpix_wait *wait), void *context, struct error *e)
{
	int rc = mpix_cache_begin(f, e);
	const struct mpix_entry *x = mpix_find(f, MPIX_WAITS, group, window);
	return rc == 0 && x != NULL
		       ? mpix_visit_waits(f, x, (struct mpix_asked){0, f->lanes.n, false}, visit, context, e)
		       : rc;
}
