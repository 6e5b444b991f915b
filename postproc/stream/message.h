/* message.h - a message at the rank that sends it and at the one that receives it (match.c). */
#pragma once

#include "postproc/stream/moment.h"

struct shard;
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
	/* What is asked of it first stands in its first cache line. */
	struct send *next; /* in its envelope */
	struct recv *recv;
	struct wait *wait;
	struct claim *claims; /* of calls that could have received it instead */
	struct edge *edge;    /* of its start, or NULL */
	struct need *need;    /* of its completion, if that may have waited for the receive */
	uint32_t type;	      /* kind of the datatype, read/types.h */
	uint32_t slice;	      /* in which it was started */
	uint16_t flags;
	bool over; /* done, freed, or nothing more will be heard of it */
	bool matched;
	int32_t tag;
	struct moment start, done; /* done.at.window NONE: not yet, or never */
	uint64_t bytes;
	uint32_t rank, peer, comm, sig, starter; /* comm.same; starter: signature of MPI_Start, or NONE */
	struct arrival recv_start;		 /* of the receive, when met and over */
	uint64_t origin;			 /* of a copy: where the original is in its process */
};

/* One message at the rank that receives it. */
struct recv {
	struct recv *next; /* in its envelope */
	struct envelope *envelope;
	struct wait *wait;
	struct edge *edge; /* of its start, if a sender may have waited for it */
	struct need *need; /* of its completion */
	uint64_t order;	   /* of receives posted by this rank */
	int32_t peer, tag; /* SIG_ANY: not known yet */
	uint16_t flags;
	bool over; /* completed or given up: source and tag are final */
	bool cancelled;
	bool turn; /* those completed before it have been looked at */
	struct moment start, done;
	uint64_t bytes;
	uint32_t type;			   /* as of the send */
	uint32_t rank, comm, sig, starter; /* starter: signature of MPI_Start, or NONE */
};

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
