/* stream.h - the events of all ranks, window of time by window of time, in bounded memory.
 *
 *   lanes     one a thread of a rank: decodes its blocks, an event at a time (lane.c)
 *   windows   the time axis in pieces of about as many events, from the heads of blocks (plan.c): chunks of the .mpix.
 *             Each is taken in slices that the processor's caches can hold
 *   shards    ranks in a row; pieces of work for threads. In each slice, with a barrier between them:
 *     calls   each shard walks its ranks' events, replays requests, posts sends and receives, enters collectives
 *             (walk.c, calls.c, requests.c)
 *     match   each shard takes the sends addressed to it and pairs them with its receives (match.c), and joins the
 *             parts of the communicators that it owns (collective.c)
 *     classify  each shard learns what its calls waited for (wait_states.c)
 *     keep    the sweep (sweep.c), and at the same time what a visitor does: packing the .mpix (export.c)
 *
 * What a shard does in a phase touches only its own things and what other shards have left for it in the phase before.
 * So the result is the same for any number of threads.
 *
 * What each part owns is in its header: moment.h, requests.h, message.h, collective.h, lane.h. Here is what joins
 * them. */
#pragma once

#include "base/pool.h"
#include "base/slab.h"
#include "postproc/clock/clock_pairs.h"
#include "postproc/stream/lane.h"
#include "postproc/stream/match.h"
#include "postproc/stream/collective.h"
#include "postproc/stream/message.h"
#include "postproc/stream/sweep.h"
#include "postproc/stream/tally.h"
#include "postproc/stream/team.h"

/* The operations of one rank on one communicator. */
struct comm_use {
	uint32_t comm;
	uint32_t colls, channels; /* collectives, persistent ones */
	uint32_t makes;		  /* communicators made of it, and its end */
	struct position last;	  /* the part of a collective that was entered last */
};

struct rank_stream {
	uint32_t first_lane, nlanes;
	VEC(struct comm_use) comms;
	struct index comm_index;
	uint32_t last_use;		  /* of comms */
	uint64_t recvs;			  /* posted */
	struct envelope *oldest, *newest; /* that have a send which nobody has received */
	VEC(struct recv *) wild;	  /* wildcards of which the source is not known yet, as posted */
	VEC(struct envelope *) held;	  /* whose first receive must wait for one of these */
	VEC(struct recv *) probed;	  /* posted by a matched probe, and not received yet */
	uint64_t nameless;		  /* receives that are over, of which nothing says who sent */
	uint64_t leaked;
	uint32_t leak_site;
};

/* What one shard leaves for another. */
struct mail {
	VEC(struct send *) sends;	      /* posted to a rank there */
	VEC(struct send *) over;	      /* of those of slices before: completed since */
	VEC(struct send *) classified;	      /* back to the sender: matched, and the receive completed */
	VEC(struct slow_send) slow, answered; /* to the receiver, and back */
	VEC(struct collective *) collectives; /* to the owner of the communicator: something came */
	VEC(struct collective *) decided;     /* and back */
};

/* A message that is complete, for the analyses and the .mpix. */
struct transfer {
	struct arrival send, recv;
	int64_t send_end_ns;		    /* of the call that started the send */
	int64_t done_start_ns, done_end_ns; /* of the call that completed the receive, or else started it */
	struct position sent, done;	    /* completed; NOWHERE: not yet, or never */
	uint64_t bytes;
	uint32_t comm, send_sig;
	uint32_t send_site_sig, recv_site_sig; /* signatures of the calls that started them: where that was */
	int32_t tag;
};

/* Bytes that came to a call by what only its partners record. */
struct came {
	struct moment call;
	uint32_t rank;
	uint64_t bytes;
};

/* A call that completes what another one started: no message, but a collective, or an operation on a window or file. */
struct completed {
	struct moment call;
	struct position start;
	uint32_t rank;
};

/* A call that waited. */
struct waited {
	struct moment call;
	uint32_t rank, site;
	uint32_t state; /* enum wait_state */
	int64_t ns;
	bool until_causer; /* ns is from the start of the call to the start of the causer's, or its own end */
	bool since;	   /* ns is from the end of the call at causer_at to its own end; causer NONE */
	bool part;	   /* of another state already noted */
	uint32_t causer;   /* rank or NONE */
	struct position causer_at;
};

struct shard {
	struct stream *stream;
	uint32_t number, first_rank, end_rank;
	struct slab sends, recvs, waits, claims, polls, parts, collectives, envelopes, pages, edges, needs;
	struct envelope **envelope_table;
	size_t envelope_buckets, nenvelopes;
	struct collective **collective_table, **whole_table;
	size_t collective_buckets, nmeets, whole_buckets, nwholes;
	VEC(struct recv *) ready;	  /* completed in this window, in order */
	VEC(struct slow_send) slow;	  /* to ranks here, of which it is not known when they come */
	VEC(struct envelope *) open;	  /* of which something has changed for the first receive */
	VEC(struct collective *) dirty;	  /* in which something came in this window */
	VEC(struct collective *) retired; /* of the owner: all shards have classified */
	VEC(struct edge *) dropped;	  /* let go of, since the sweep last looked */
	VEC(struct need *) settled;	  /* that the sweep had given up: known since it last looked */
	VEC(uint64_t) shared;		  /* edges, by number, that one more holds: for the sweep of another process */
	uint64_t nedges;		  /* that have a number */
	VEC(struct transfer) transfers;	  /* of this window */
	VEC(struct waited) waited;
	VEC(struct came) came;
	VEC(struct completed) completed;
	struct op_counts counts;
	struct unmatched unmatched;
	uint64_t *unread; /* by file */
	struct tally tally;
	struct part **part_of; /* by rank, all NULL between uses; or NULL */
	uint64_t violations, largest_ns;
	struct pairs pairs; /* of nodes */
	struct rma *rma;    /* or NULL: no windows, no files */
	int code;
};

struct stream {
	struct step *step;
	struct pool *pool;
	struct team *team; /* NULL: this process does all */
	uint32_t nshards, nlanes, nwindows;
	uint32_t first_shard, end_shard; /* of this process */
	uint32_t nslices, slices;	 /* in all, and in a window */
	struct clock_rule *rules;	 /* by node */
	struct lane *lanes;
	struct rank_stream *ranks;
	struct shard *shards;
	uint8_t *shard_of; /* by rank */
	struct mail *mail; /* [from][to] */
	int64_t *starts;   /* of slices, nslices + 1 */
	uint32_t window, slice;
	uint64_t events;    /* about: as the heads of blocks say */
	struct range *runs; /* by node */
	struct clock_result clock;
	bool sweeps; /* no rank has more than one lane */
	struct sweep *sweep;
	bool any_synchronous;	       /* small messages may wait for their receivers too */
	struct locks_used *locks_used; /* by window; NULL: no windows, no files */
	struct cycles *cycles;	       /* NULL: there are no sends to look at */
	struct sweep_result swept;
};

/* What the stream is for. begin: before the first window, once more when all begins again. window: once each, when all
 * of it is known that can be known by then. */
struct stream_visitor {
	void *context;
	int (*begin)(void *context, struct stream *st);
	/* Pieces of work of a window that threads do at the same time, before window(); n: how many there are. */
	uint32_t n;
	int (*piece)(void *context, struct stream *st, uint32_t i);
	int (*window)(void *context, struct stream *st);
	/* Whom this one looks on for, NULL: nobody. What goes between several processes is its own matter. */
	const struct stream_visitor *inner;
	/* Of several processes, NULL: nothing is to go between them. Before piece(): what another one's pieces need
	 * goes there; before window(), which then is called at process 0 only: what is needed there. */
	int (*lend)(void *context, struct stream *st);
	int (*borrow)(void *context, struct stream *st, uint32_t from, struct cursor *c);
	int (*send)(void *context, struct stream *st, struct buf *out);
	int (*take)(void *context, struct stream *st, uint32_t from, struct cursor *c);
};

/* Decode all events of s and let visitor see them. Totals of signatures and threads are complete afterwards. 0, or
 * -errno with text; stream_done() in any case. */
int stream_run(struct step *s, unsigned nthreads, const struct stream_visitor *visitor, struct stream *ret_stream,
	       struct error *e);
void stream_done(struct stream *st);

/* plan.c */
int plan_make(struct stream *st);
/* Clocks were moved: where is zero now? */
int plan_again(struct stream *st, const struct tie *ties);
/* Lanes from their beginning, with the shifts that were found. */
int plan_repaired(struct stream *st);
/* clocks.c */
int clocks_learn(struct shard *sh, uint32_t from_rank, int64_t start_ns, uint32_t to_rank, int64_t end_ns);
int clocks_learn_collective(struct shard *sh, const struct collective *whole);
/* 1: the clocks of nodes must be moved by ties, and all be done again; 0: not. Of all processes, as is whether any
 * message arrived before it was sent. */
int clocks_decide(struct stream *st, int code, struct tie **ret_ties, bool *ret_violated);
/* The last once more. */
int clocks_count(struct stream *st, int code, bool *ret_violated);
/* walk.c, match.c, collective.c, waits.c: one phase of one shard */
void calls_window(struct shard *sh);
/* Is each event of sig a part of the next collective on its communicator? */
bool calls_numbered(const struct sig *sig);
void calls_end(struct shard *sh);
void match_window(struct shard *sh);
void match_end(struct shard *sh);
void collectives_window(struct shard *sh);
void collectives_end(struct shard *sh);
void classify_window(struct shard *sh);

/* waits.c */
struct wait *wait_begin(struct shard *sh, uint32_t rank, uint32_t site, const struct moment *call);
int wait_note(struct shard *sh, struct wait *w, enum wait_state state, int64_t ns, const struct arrival *causer,
	      bool part);
int wait_close(struct shard *sh, struct wait *w); /* one thing less is open */
/* What of it could have gone to another message, if that was received or once it is. */
int claim_close(struct shard *sh, struct claim *c);
/* polls.c: what of the tests before the call was waiting for causer; it is over. */
int poll_until(struct shard *sh, struct wait *w, const struct arrival *causer);
int poll_over(struct shard *sh, struct wait *w);

#define AHEAD 6u /* things of a list that are asked for before they are needed: they were written a phase ago */

/* One thing of up to some cache lines will be needed soon. */
static inline void prefetch(const void *x, size_t size)
{
	for (size_t at = 0; at < size; at += 64)
		__builtin_prefetch((const char *)x + at);
}

/* A thread's, or NULL. */
static inline const struct lane *stream_lane(const struct stream *st, uint32_t rank, uint32_t thread)
{
	const struct rank_stream *r = &st->ranks[rank];
	for (uint32_t i = 0; i < r->nlanes; i++)
		if (st->lanes[r->first_lane + i].thread == thread)
			return &st->lanes[r->first_lane + i];
	return NULL;
}

static inline uint32_t shard_of(const struct stream *st, uint32_t rank)
{
	return st->shard_of[rank];
}

static inline const struct sig *shard_sig(const struct shard *sh, uint32_t rank, uint32_t sig_at)
{
	return &sh->stream->step->ranks[rank]->sigs.at[sig_at];
}

static inline struct mail *mail_to(const struct shard *sh, uint32_t to)
{
	return &sh->stream->mail[(size_t)sh->number * sh->stream->nshards + to];
}

static inline struct mail *mail_from(const struct shard *sh, uint32_t from)
{
	return &sh->stream->mail[(size_t)from * sh->stream->nshards + sh->number];
}
