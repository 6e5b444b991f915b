/* last.h - the barrier in which a rank waited last: kept while waits are classified, one each in struct process. */
#pragma once

#include "postproc/stream/stream.h"

static inline void last_forget(struct process *p)
{
	p->last_barrier = (struct last_barrier){.start_ns = INT64_MIN, .site = NONE, .causer = NONE};
}

/* Barriers of several communicators may be classified in any order: the latest counts. */
static inline void last_note(const struct stream *st, const struct wait *w, enum wait_state state, int64_t ns,
			     uint32_t causer)
{
	struct last_barrier *last = &st->step->ranks[w->rank]->last_barrier;
	if (state == WAIT_AT_BARRIER && w->call.start_ns > last->start_ns)
		*last = (struct last_barrier){w->call.start_ns, w->call.end_ns, ns, w->site, causer};
}
