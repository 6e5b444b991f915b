/* state.h - what each thread of each rank of a step is in, at one moment, and what it waits for. Who fills it (the
 * samples of a step that runs: postproc/live; the end of a trace: postproc/stream) says how it is known; who reads it
 * need not ask where it comes from. Numbers of call sites are the supplier's, ranks those of MPI_COMM_WORLD. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "format/sig.h"

#define STATE_NONE 0xffffffffu
#define STATE_WANTS_MAX 64u /* of one thread that are known one by one; the others are counted */

enum state_how { STATE_SAMPLE, STATE_EVENT, STATE_END };

enum state_kind {
	STATE_FREE, /* it can go on, or nobody knows that it cannot; what it wants may be there */
	STATE_OVER, /* it has ended, or is in MPI_Finalize: nobody gets anything from it any more */
	STATE_ALL,  /* in a call that ends when all of its wants are met */
	STATE_ONE,  /* when one of them is */
};

enum want_kind {
	WANT_MESSAGE,  /* to be sent by peer (SIG_ANY: by anybody of comm) with tag (SIG_ANY: any) */
	WANT_RECEIVER, /* that peer receives what was sent to it with tag */
	WANT_MEETING,  /* the k-th operation of comm and channel, of those that all members begin */
	WANT_RANKS,    /* one of those listed does something about an object, as `object` says */
};

/* What one of those listed is to do. */
enum want_object { WANT_UNLOCK, WANT_POST, WANT_COMPLETE };

/* Channels of a communicator: its collectives, and its windows, each with operations of its own. */
#define CHANNEL_COLLECTIVES 0u
#define CHANNEL_WINDOW(window) (1u + (window))
/* What makes communicators: nobody leaves it before all are in it, so its operations need no number. */
#define CHANNEL_CREATION 0xffffffffu

struct want {
	enum want_kind kind;
	bool there;	  /* it is under way, so that nobody is needed */
	bool partitioned; /* such messages meet only each other */
	uint32_t comm;	  /* MESSAGE, RECEIVER, MEETING: of struct states */
	int32_t peer, tag;
	uint64_t bytes; /* of a message; 0: not known */
	/* MEETING */
	uint32_t channel;
	uint64_t k;
	const char *op;	    /* NULL: that of the call that waits */
	int32_t coll, root; /* enum sig_coll, COLL_NONE: of a window; world rank, or negative */
	/* RANKS */
	enum want_object object;
	uint32_t first, n; /* in struct states.ranks */
};

/* One thread. */
struct state {
	uint32_t rank, thread;
	enum state_kind kind;
	enum state_how how;
	const char *op; /* the supplier's; NULL: in no call */
	uint32_t site;	/* or STATE_NONE */
	double since_s; /* in that call; NAN: not known */
	uint32_t first_want, nwants;
	uint32_t left_out; /* wants that are not listed */
};

/* One communicator as a group sees it: members in order, negative those of another world. */
struct state_comm {
	const int32_t *group, *remote; /* remote: NULL unless it is an inter-communicator */
	uint32_t size, remote_size;
	uint32_t same; /* the first view of the same communicator */
};

/* How many operations of comm (its first view) and channel a rank has begun before what its threads are in. */
struct state_use {
	uint32_t rank, comm, channel;
	uint64_t entered;
};

struct states {
	uint32_t nranks;
	VEC(struct state) threads; /* in order of ranks; a rank that has none can go on */
	VEC(struct want) wants;
	VEC(int32_t) ranks; /* that wants list */
	VEC(struct state_comm) comms;
	VEC(struct state_use) uses;
	VEC(uint8_t) more; /* by rank: not 0: it may have threads that have not called MPI yet; fewer: nobody else */
};

/* Add a thread, then its wants: 0 or -ENOMEM. */
int states_add(struct states *s, const struct state *thread);
/* Of the thread added last. One too many is counted. */
int states_want(struct states *s, const struct want *want);
/* `want` may be met by one of these. */
int states_want_ranks(struct states *s, struct want want, const int32_t *ranks, uint32_t n);
void states_done(struct states *s);

/* What would let it go on: "a message from rank 0 with tag 9", "rank 3's MPI_Barrier"; op: of the call that waits,
 * by: the rank that it needs, or STATE_NONE. */
void state_put_want(struct buf *b, const struct want *want, const char *op, uint32_t by);
