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

/* actions.c: what the call at hand needs, to be settled; its start, for which others may wait, held by the sweep until
 * it comes there, and by who is to pass it on; that it enters or leaves a collective. NULL where nobody sweeps. 0 or
 * -ENOMEM. */
int walk_need(struct walk *w, struct need **ret_need);
int walk_edge(struct walk *w, struct edge **ret_edge);
/* The same, before all that the call needs: others may wait for it while it waits. */
int walk_edge_first(struct walk *w, struct edge **ret_edge);
int walk_action(struct walk *w, const struct part *p, uint8_t kind);
/* polls.c: a run of tests or probes in vain; those before the call at hand, which has success, go to its wait; other
 * requests are tested from now on. 0 or -ENOMEM. */
int poll_run(struct walk *w);
int poll_ends(struct walk *w, struct wait *wait);
int poll_forget(struct walk *w);
/* probes.c: what a matched probe (Mprobe, Improbe) has found is received by the call that is given it, whatever else is
 * received meanwhile: it is posted here, and taken by that call, or NULL. 0 or -ENOMEM. */
int probe_posts(struct walk *w);
struct recv *probe_taken(struct walk *w, const struct sig *sig);
/* comm_calls.c: is a communicator made or freed by several? k is not set. */
bool comm_call(struct walk *w, struct sync_call *ret_call);
/* calls.c: what the event starts and completes; w->wait is then its wait, to be closed, or NULL. 0 or -ENOMEM. */
int calls_event(struct walk *w);
