/* walk.h - one event at hand: what walk.c, which comes to it, and calls.c, which knows what it does, share. */
#pragma once

#include "postproc/stream/stream.h"

struct walk {
	struct shard *sh;
	struct stream *st;
	struct lane *lane;
	struct lane *owner; /* of the request at hand: it was started there */
	struct rank_stream *rank;
	struct process *p;
	const struct sig *sig;
	uint32_t at, sig_at, status;
	struct moment call; /* where what it starts and completes is noted */
	struct wait *wait;  /* of it, or NULL so far */
};

static inline uint32_t same_comm(const struct walk *w, uint32_t comm)
{
	return w->st->step->comms.at[comm].same;
}

/* comm_calls.c: is a communicator made or freed by several? k is not set. */
bool comm_call(struct walk *w, struct together *ret_together);
/* calls.c: what the event starts and completes. 0 or -ENOMEM. */
int calls_event(struct walk *w);
