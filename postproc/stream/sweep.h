/* sweep.h - walks all ranks' events again in an order in which whatever an event had to wait for comes before it: a
 * receive after the start of its send, an all-to-all after the last has entered, leaves of a broadcast after its root.
 * On the way it keeps
 *   - what made ranks wait (delay.h)
 *   - the logical steps of calls, and how late they are there (lateness.h)
 *   - the ideal time of each rank, if transfers cost nothing: computing keeps its length, calls last only as long as
 *     they must wait for others (docs/SEMANTICS.md, efficiencies)
 *   - the critical path to each rank: whom it hangs on (Boehme et al., Identifying the root causes of wait states in
 *     large-scale parallel applications, ACM TOPC 2016)
 *   - or, asked to repair, the times of events that end before what they waited for began, moved behind it: the forward
 *     half of the controlled logical clock (Becker, Rabenseifner, Wolf, Linford: Scalable timestamp synchronization for
 *     event traces of message-passing applications, Parallel Computing 35, 2009)
 * A rank that waits for something that is not there yet stays where it is until a later window; what has not come when
 * the waiting call is over does not come any more, and is not waited for. */
#pragma once

#include "base/slab.h"
#include "base/vec.h"
#include "postproc/stream/delay.h"
#include "postproc/stream/lateness.h"

#include <stdbool.h>
#include <stdint.h>

struct shard;
struct moment;

struct stream;
struct stretch;

/* The path to a rank at one time. */
struct snapshot {
	struct stretch *stretch; /* or NULL */
	int64_t at_ns, useful_ns, mpi_ns;
};

/* The start of a call that another may wait for. Two may hold it. */
struct edge {
	union {
		double ideal;
		uint64_t number; /* where another process sweeps: it has the same under that number (team.h) */
	};
	struct snapshot path;
	int64_t start_ns;
	uint32_t step;	 /* of the call */
	uint32_t waiter; /* lane plus 1 */
	uint16_t refs;
	uint8_t shard;
	bool known;
};

enum edge_state { EDGE_OPEN, EDGE_NONE, EDGE_KNOWN };

/* What one completion needs, when it is known. */
struct need {
	struct edge *edge;
	uint8_t state; /* enum edge_state */
	bool optional; /* what does not come is nothing that is missed */
	bool level;    /* both leave together: of the same logical step */
	bool given_up; /* by the sweep, before it was known: whoever comes to know it tells the sweep, which frees it */
	uint16_t shard;
};

enum action_kind { ACTION_BEGIN, ACTION_NEED, ACTION_ENTER, ACTION_LEAVE };

/* What one event begins or needs. */
struct action {
	uint32_t at; /* of its lane, in the window */
	uint8_t kind, coll;
	bool root;
	uint32_t comm, channel, k; /* ENTER, LEAVE */
	union {
		struct edge *edge; /* BEGIN */
		struct need *need; /* NEED */
	};
};

/* A piece of the critical path: one rank from one time to another. */
struct path_piece {
	uint32_t rank;
	bool sited; /* its calls have been added to their sites */
	int64_t from_ns, to_ns, useful_ns, mpi_ns;
};

struct sweep_result {
	double ideal_ns;	     /* length of the run; NaN: not known */
	VEC(struct path_piece) path; /* in order of time */
	uint64_t pieces_left_out;    /* before those */
	int64_t *useful_ns, *mpi_ns; /* on the path, by rank, all of it */
	int64_t *site_ns; /* in calls on the path, by call site, of pieces that are not in unsited; or NULL */
	VEC(struct path_piece) unsited; /* pieces of which the calls' sites are not in site_ns, in order of time */
	uint64_t missed;		/* needs that did not come */
	struct delay_result delays;
	struct late_site *late; /* by call site, or NULL */
	uint64_t late_left_out; /* calls of which it is not known how late they were */
};

/* ---- who passes an edge on: match.c, progress.c ---- */

/* Nobody passes it on: the sweep is told, which may hold more by it. e may be NULL. */
int edge_drop(struct shard *sh, struct edge *e);
/* In the match phase, of a rank of the shard: the start of a call that others turn out to have waited for, held by the
 * sweep and by who passes it on; NULL where the call is of an earlier slice. progress.c. 0 or -ENOMEM. */
int edge_late(struct shard *sh, const struct moment *at, struct edge **ret_edge);
/* One more holds it; NULL where so many cannot. */
struct edge *edge_share(struct shard *sh, struct edge *e);
/* What a completion needs is known, which the sweep may have given up meanwhile. e: NULL for nothing. */
int need_resolve(struct shard *sh, struct need *n, struct edge *e);

/* ---- the walk ---- */

struct sweep;

/* NULL without memory. */
struct sweep *sweep_create(struct stream *st, bool repair);
/* One window, after its matching. 0 or -ENOMEM. */
int sweep_window(struct sweep *w);
/* All there is: what is still needed does not come. The caller owns *ret_result. */
int sweep_end(struct sweep *w, struct sweep_result *ret_result);
void sweep_result_done(struct sweep_result *r);
void sweep_destroy(struct sweep *w);
