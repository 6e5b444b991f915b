/* stream.h - the events of all ranks, window of time by window of time, in bounded memory.
 *
 *   lanes     one a thread of a rank: decodes its blocks, an event at a time (lane.c)
  *   windows   the time axis in pieces of about as many events, from the heads of blocks (plan.c): chunks of the .mpix.
 *             Each is taken in slices that the processor's caches can hold
 *   shards    ranks in a row; pieces of work for threads. In each slice, with a barrier between them:
 *     calls   each shard walks its ranks' events, replays requests, posts sends and receives, enters collectives
 *             (walk.c, calls.c, requests.c)
 *     match   each shard takes the sends addressed to it and meets them with its receives (match.c), and joins the
 *             parts of the communicators that it owns (meet.c)
 *     judge   each shard learns what its calls waited for (judge.c)
 *     keep    the sweep (sweep.c), and at the same time what a visitor does: packing the .mpix (export.c)
 *
 * What a shard does in a phase touches only its own things and what other shards have left for it in the phase before.
 * So the result is the same for any number of threads. */
#pragma once

#include "base/pool.h"
#include "base/slab.h"
#include "postproc/clock/clock_pairs.h"
#include "postproc/stream/match.h"
#include "postproc/stream/sweep.h"
#include "postproc/stream/tally.h"

/* Which event of the stream: the at-th of a lane in a window. */
struct position {
	uint32_t window, lane, at;
};

#define NOWHERE ((struct position){NONE, NONE, NONE})

/* A call that starts or completes something, as far as others need it. */
struct moment {
	int64_t start_ns, end_ns;
	struct position at;
};

/* A call that completes messages or its part in collectives, until it is known what it waited for. */
struct wait {
	struct moment call;
	uint32_t rank, site;
	uint32_t open;			/* messages and parts that are not judged yet */
	int64_t sender_ns, receiver_ns; /* the longest that a message was late, or a receive */
	int64_t other_ns;		/* of sender_ns: something else could have been received */
	struct claim *claim;		/* if that is received one day, or NULL */
	struct moment sender, receiver; /* who was that */
	uint32_t sender_rank, receiver_rank;
	int64_t progress_ns; /* the longest that a send needed its receiver inside of MPI */
	struct moment progress;
	uint32_t progress_rank;
	bool receives;	   /* it completes receives too */
	struct poll *poll; /* before it, or NULL */
	int64_t from_ns;   /* since when it was waited for what it completes: the start of that, or of the call */
	int64_t wait_ns;   /* noted so far */
};

/* Tests in vain for the same, from the first run to the last. */
struct poll {
	struct moment call; /* of the first run, to the end of the last */
	uint32_t sig;
	uint64_t serials; /* of the lane, by which its requests count */
	int64_t inside_ns;
	struct need *need; /* of the first run, or NULL */
	struct edge *edge; /* that it gets, of the latest sender so far */
};

#define POLLS_MAX 8u /* of a lane that wait for their end; of more the first are forgotten */

/* Was a rank outside of MPI at some time, and which call did it come with next? */
struct coming {
	bool outside, came;
	struct moment at;
};

/* A call that completes a send and takes longer than that can. */
struct slow_send {
	struct wait *wait;
	struct need *need; /* or NULL */
	uint32_t rank, peer;
	struct moment call;
	int64_t moves_ns; /* what sending may take */
	struct coming coming;
};

/* Part of a wait in which another message was on its way: it counts if that is received later in the run. Held by the
 * wait, until that is closed, and by the message. */
struct claim {
	struct claim *next; /* of the message */
	struct moment call, sender;
	uint32_t rank, site, sender_rank;
	int64_t ns;	       /* 0: it does not count */
	bool received, closed; /* the message; the wait */
};

struct envelope;

enum transfer_flag {
	SENT_SYNCHRONOUS = 1,
	SENT_PARTITIONED = 2,
	SENT_CANCELLED = 4,
	RECV_WILD = 8,
	SENT_STARTED = 16, /* by MPI_Start */
	RECV_PROBED = 32,  /* only looked at: it stays where it is */
};

/* One message at the rank that sends it. Belongs to that rank's shard. */
struct send {
	struct send *next; /* in its envelope */
	struct recv *recv;
	struct wait *wait;
	struct moment start, done; /* done.at.window NONE: not yet, or never */
	uint64_t bytes;
	uint32_t rank, peer, comm, sig, starter; /* comm.same; starter: signature of MPI_Start, or NONE */
	int32_t tag;
	uint32_t type; /* kind of the datatype, read/types.h */
	uint16_t flags;
	bool over; /* done, freed, or nothing more will be heard of it */
	bool met;
	struct moment recv_start; /* of the receive, when met and over */
	struct claim *claims;	  /* of calls that could have received it instead */
	struct edge *edge;	  /* of its start, or NULL */
	struct need *need;	  /* of its completion, if that may have waited for the receive */
};

/* One message at the rank that receives it. */
struct recv {
	struct recv *next; /* in its envelope */
	struct envelope *envelope;
	struct send *send;
	struct wait *wait;
	struct moment start, done;
	uint64_t bytes, order;		   /* order: of receives posted by this rank */
	uint32_t rank, comm, sig, starter; /* starter: signature of MPI_Start, or NONE */
	int32_t peer, tag;		   /* SIG_ANY: not known yet */
	uint32_t type;			   /* as of the send */
	uint16_t flags;
	struct edge *edge; /* of its start, if a sender may have waited for it */
	struct need *need; /* of its completion */
	bool over;	   /* completed or given up: source and tag are final */
	bool cancelled;
	bool turn; /* those completed before it have been looked at */
};

/* What all members do together beside collectives; goes on from enum sig_coll. */
enum together_kind {
	TOGETHER_CREATE = COLL_KINDS,
	TOGETHER_FENCE,
	TOGETHER_FREE,
	/* Of these the standard does not say that all wait for all; libraries do, more or less. */
	TOGETHER_IO,
	TOGETHER_COMM_CREATE,
	TOGETHER_COMM_FREE,
};

static inline bool together_may_leave(int32_t kind)
{
	return kind >= TOGETHER_IO;
}

struct together {
	uint32_t comm, channel, k;
	int32_t kind;
	bool in_sweep;	 /* who leaves may have waited for the last to enter */
	bool of_members; /* a communicator is made by those only who are in it */
};

/* One rank's part in a collective operation. */
struct part {
	struct part *next;
	struct meet *meet;
	struct wait *wait;
	struct moment start, done;
	uint32_t rank, sig, starter;
	int32_t coll;  /* enum sig_coll, or enum together_kind */
	uint64_t came; /* bytes that only partners record */
	bool completed;
	int64_t until_ns; /* scans, neighbourhoods: the last enter of those waited for, or INT64_MIN */
	struct moment causer;
	uint32_t causer_rank;
	struct edge *edge; /* neighbourhoods: of its start, until decided */
	struct need *need; /* and of its completion */
};

/* Who came when. */
struct arrival {
	uint32_t rank; /* NONE: nobody */
	struct moment call;
};

/* The parts of one collective operation in one shard; at the communicator's owner, of all. */
struct meet {
	struct meet *link;    /* in the table of open ones */
	struct meet *sibling; /* at the owner: the next shard's */
	struct meet *whole;   /* the owner's */
	struct part *parts;
	uint32_t comm, channel, k;
	uint32_t shard;
	uint32_t entered, completed;	       /* members */
	uint32_t told_entered, told_completed; /* of which the owner knows */
	int32_t coll, root;		       /* of the first part seen */
	struct arrival first, last, root_arrival, first_leaf, last_leaf;
	struct arrival first_out; /* by the end of its call */
	uint64_t agreed;	  /* sizes, as of the first part seen: read/agreed.h */
	bool differs, unequal, dirty, decided;
	uint32_t judged; /* shards */
	uint32_t shards;
};

#define REQUESTS_PAGE 128u

struct request {
	struct send *send;
	struct recv *recv;
	struct part *part;
	uint32_t sig; /* that started or initialised it */
	uint32_t channel, starts;
	uint32_t window, at; /* which event of its lane started it */
	bool persistent, active, cancelling;
};

struct request_page {
	uint32_t live;
	struct request at[REQUESTS_PAGE];
};

struct requests_of {
	VEC(struct request_page *) pages; /* NULL: all of it is over */
	uint64_t count;
	struct request_page *last;
};

/* An event that is moved, in ns. */
struct shift {
	uint64_t number; /* of its lane */
	int64_t start_ns, end_ns;
};

/* More of a long call, recorded as an event of its own. */
struct lane_more {
	uint32_t before; /* which event of the window */
	uint32_t sig;
	int64_t start_ns, end_ns;
};

/* One thread of one rank. */
struct lane {
	struct process *process;
	uint32_t rank, thread, number;
	const struct clock_rule *rule;
	const struct mpic_file *file;
	const struct mpic_block *block, *last_block;
	uint64_t seq;
	struct mpic_events events;
	struct buf payload;
	struct mpic_event next; /* if more */
	int64_t next_start_ns, next_end_ns;
	uint32_t next_sig;
	bool begun, more;
	size_t knot;
	struct clock_knot at_knot;
	uint64_t knot_from, knot_ticks; /* where that counts; none yet: 0 ticks */
	unsigned time_window;		/* of the last event */
	size_t literal;			/* of thread.literals */
	struct seen {
		uint64_t calls, ticks, parts;
	} * seen;			/* by signature */
	uint64_t calls, read, left_out; /* as in struct thread */
	uint32_t bad_blocks;
	bool gap;
	struct requests_of requests;
	struct moment head; /* the last event that began a call */
	uint32_t head_sig;
	/* The last event before the window; window NONE: there is none. */
	struct lane_open {
		uint32_t window, at, sig;
		uint64_t enter, leave, calls;
		int64_t start_ns, end_ns;
	} open;
	/* the window */
	uint32_t window;
	uint32_t n, cap;
	uint32_t from; /* the first of the slice */
	size_t extras_from;
	uint32_t at; /* the next to walk, of several lanes */
	size_t more_at;
	uint64_t *enter, *leave; /* ticks */
	int64_t *start_ns, *end_ns;
	uint32_t *sig;
	uint64_t begin_tick; /* end of the event before */
	VEC(struct lane_extra {
		uint32_t at;
		uint64_t calls;
		uint64_t inside_ticks;
	})
	extras; /* calls that stand for many */
	VEC(struct lane_bytes {
		uint32_t at;
		uint64_t bytes;
	})
	moved;				 /* by MPI_Start and such */
	VEC(struct lane_more) more_of;	 /* of events that go on, in order; not counted among them */
	VEC(struct mpix_number) numbers; /* of collectives, see format/mpix.h */
	VEC(struct act) acts;		 /* ascending at */
	VEC(struct poll *) polls;	 /* of which the end has not come */
	/* repaired times */
	VEC(struct shift) shifts; /* ascending number */
	size_t shift;
	uint64_t ordinal; /* of the next event */
};

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
	uint64_t leaked;
	uint32_t leak_site;
};

/* What one shard leaves for another. */
struct mail {
	VEC(struct send *) sends;	      /* posted to a rank there */
	VEC(struct send *) over;	      /* of these: completed since */
	VEC(struct send *) judged;	      /* back to the sender: matched, and the receive completed */
	VEC(struct slow_send) slow, answered; /* to the receiver, and back */
	VEC(struct meet *) meets;	      /* to the owner of the communicator: something came */
	VEC(struct meet *) decided;	      /* and back */
};

/* A message that is complete, for the analyses and the .mpix. */
struct transfer {
	struct moment send, send_done, recv, recv_done;
	uint64_t bytes;
	uint32_t src, dst, comm, send_sig;
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
	bool since;	   /* ns is from the end of causer_call to its own end; causer NONE */
	uint32_t causer;   /* rank or NONE */
	struct moment causer_call;
	bool part; /* of another state already noted */
};

struct shard {
	struct stream *stream;
	uint32_t number, first_rank, end_rank;
	struct slab sends, recvs, waits, claims, polls, parts, meets, envelopes, pages, edges, needs;
	struct envelope **envelope_table;
	size_t envelope_buckets, nenvelopes;
	struct meet **meet_table, **whole_table;
	size_t meet_buckets, nmeets, whole_buckets, nwholes;
	VEC(struct recv *) ready;	/* completed in this window, in order */
	VEC(struct slow_send) slow;	/* to ranks here, of which it is not known when they come */
	VEC(struct envelope *) open;	/* of which something has changed for the first receive */
	VEC(struct meet *) dirty;	/* in which something came in this window */
	VEC(struct meet *) retired;	/* of the owner: all shards have judged */
	VEC(struct edge *) dropped;	/* let go of, since the sweep last looked */
	VEC(struct need *) settled;	/* that the sweep had given up: known since it last looked */
	VEC(struct transfer) transfers; /* of this window */
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
	uint32_t nshards, nlanes, nwindows;
	uint32_t nslices, slices; /* in all, and in a window */
	struct clock_rule *rules; /* by node */
	struct lane *lanes;
	struct rank_stream *ranks;
	struct shard *shards;
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
int clocks_learn_meet(struct shard *sh, const struct meet *whole);
/* 1: the clocks of nodes must be moved by ties, and all be done again; 0: not. */
int clocks_judge(struct stream *st, struct tie **ret_ties);
/* lane.c: decode the events that start before end_ns; p's totals grow. 0 or -ENOMEM. */
int lane_begin(struct lane *l);
int lane_window(struct lane *l, uint32_t window, int64_t end_ns);
/* Nothing of the window any more; its last event is l->open. */
void lane_clear(struct lane *l);
void lane_end(struct lane *l); /* tells the process what was seen */
void lane_done(struct lane *l);
int64_t lane_ns(struct lane *l, uint64_t tick);
/* walk.c, match.c, meet.c, waits.c: one phase of one shard */
void calls_window(struct shard *sh);
/* Is each event of sig a part of the next collective on its communicator? */
bool calls_numbered(const struct sig *sig);
void calls_end(struct shard *sh);
void match_window(struct shard *sh);
void match_end(struct shard *sh);
void meet_window(struct shard *sh);
void meet_end(struct shard *sh);
void judge_window(struct shard *sh);

/* match.c: a receive is posted, or known to be over; in the calls phase. */
int match_post(struct shard *sh, struct recv *r);
int match_over(struct shard *sh, struct recv *r);
int match_send(struct shard *sh, struct send *x);
int match_send_over(struct shard *sh, struct send *x);
/* Is there a message to dst that nobody has received (src, tag: -1 means any); a receive for one that has not come? */
bool match_has_send(const struct shard *sh, uint32_t comm, int32_t src, uint32_t dst, int32_t tag);
bool match_has_recv(const struct shard *sh, uint32_t comm, uint32_t src, uint32_t dst, int32_t tag);
void match_begin(struct shard *sh);
void match_done(struct shard *sh);
/* Nobody passes it on: the sweep is told, which may hold more by it. e may be NULL. */
int edge_drop(struct shard *sh, struct edge *e);
/* In the match phase, of a rank of the shard: the start of a call that others turn out to have waited for, held by the
 * sweep and by who passes it on; NULL where the call is of an earlier slice. progress.c. 0 or -ENOMEM. */
int edge_late(struct shard *sh, const struct moment *at, struct edge **ret_edge);
/* One more holds it; NULL where so many cannot. */
struct edge *edge_share(struct edge *e);
/* What a completion needs is known, which the sweep may have given up meanwhile. e: NULL for nothing. */
int need_settle(struct shard *sh, struct need *n, struct edge *e);
/* meet.c */
struct part *meet_enter(struct shard *sh, uint32_t comm, uint32_t channel, uint32_t k, const struct part *part);
int meet_leave(struct shard *sh, struct part *p);
void meet_done(struct shard *sh);
/* waits.c */
struct wait *wait_begin(struct shard *sh, uint32_t rank, uint32_t site, const struct moment *call);
int wait_note(struct shard *sh, struct wait *w, enum wait_state state, int64_t ns, uint32_t causer,
	      const struct moment *call, bool part);
/* The same from when another call was over (*call): nobody caused that. */
int wait_note_since(struct shard *sh, struct wait *w, enum wait_state state, int64_t ns, const struct moment *call);
int wait_close(struct shard *sh, struct wait *w); /* one thing less is open */
/* What of it could have gone to another message, if that was received or once it is. */
int claim_close(struct shard *sh, struct claim *c);
/* polls.c: what of the tests before the call was waiting for that call of causer; it is over. */
int poll_until(struct shard *sh, struct wait *w, uint32_t causer, const struct moment *call);
int poll_over(struct shard *sh, struct wait *w);

/* requests.c: the next serial number's request, fresh; NULL without memory. */
struct request *request_start(struct shard *sh, struct requests_of *r, uint32_t sig);
/* NULL: none was ever started by that number; &request_gone: it is over, and nothing is done with it. */
struct request *request_find(const struct requests_of *r, uint64_t serial);
void request_over(struct shard *sh, struct requests_of *r, uint64_t serial, struct request *q);
extern struct request request_gone;

#define AHEAD 6u /* things of a list that are asked for before they are needed: they were written a phase ago */

/* One thing of up to some cache lines will be needed soon. */
static inline void prefetch(const void *x, size_t size)
{
	for (size_t at = 0; at < size; at += 64)
		__builtin_prefetch((const char *)x + at);
}

static inline uint32_t shard_of(const struct stream *st, uint32_t rank)
{
	return (uint32_t)((uint64_t)rank * st->nshards / st->step->nranks);
}

static inline struct mail *mail_to(const struct shard *sh, uint32_t to)
{
	return &sh->stream->mail[(size_t)sh->number * sh->stream->nshards + to];
}

static inline struct mail *mail_from(const struct shard *sh, uint32_t from)
{
	return &sh->stream->mail[(size_t)from * sh->stream->nshards + sh->number];
}
