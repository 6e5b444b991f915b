/* opens.h - calls that ranks never came back from. No event of the file tells of them, the analysis does: from when,
 * and to the end of the rank. Here they are events as others are, the last ones of their threads, for all formats and
 * for queries. In: per_rank[].open of the analysis.  Out: events by cell. */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "format/mpix.h"

struct open_call {
	uint32_t group, window, rank; /* the window in which it begins */
	struct mpix_event call;	      /* at.window is MPIX_NOWHERE: it is not in the file */
};

struct opens {
	VEC(struct open_call) calls; /* ascending (group, window, lane, start) */
	uint64_t unknown;	     /* of which nobody knows when they began, or where they stand: not among calls */
	int64_t first_ns;	     /* the earliest begin; INT64_MAX: none */
	struct mpix_info info;	     /* the file's, with the names of functions that nobody ever came back from */
	const char **ops;	     /* info's */
};

/* Is it one of these, and not of the file? */
static inline bool opens_has(const struct mpix_event *call)
{
	return call->at.window == MPIX_NOWHERE;
}

/* analysis is used until opens_done(). 0, or -ENOMEM with text; opens_done() in any case. */
int opens_read(struct opens *o, const struct mpix_file *f, const cJSON *analysis, struct error *e);
void opens_done(struct opens *o);
/* Those of a cell: how many. */
size_t opens_of(const struct opens *o, uint32_t group, uint32_t window, const struct open_call **ret_calls);
/* mpix_cell_events() with them: each comes behind what else of its lane begins in the cell, and begins no earlier than
 * that ends. */
int opens_cell_events(const struct opens *o, struct mpix_file *f, uint32_t group, uint32_t window,
		      int (*visit)(void *context, const struct mpix_event *event), void *context, struct error *e);
