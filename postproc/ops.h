/* ops.h - what the events did: sends, receives and collective calls with their times, requests
 * resolved. */
#pragma once

#include "postproc/step.h"

enum p2p_flag {
	P2P_CANCELLED = 1,
	P2P_SYNCHRONOUS = 2,
	P2P_BLOCKING = 4, /* started and completed by one call */
	P2P_WILDCARD = 8,
	P2P_MATCHED = 16,
	P2P_SOURCE_KNOWN = 32, /* from a status */
	P2P_PARTITIONED = 64,
};

/* One message as one end sees it. */
struct p2p_op {
	uint32_t rank; /* whose operation */
	uint32_t comm; /* comm.same */
	int32_t peer;  /* world rank; SIG_ANY: never learnt */
	int32_t tag;
	uint64_t bytes;
	uint32_t start;	     /* event of rank that started it */
	uint32_t completion; /* event that completed it, or NONE */
	uint32_t flags;
};

/* One rank's part in a collective. */
struct coll_op {
	uint32_t rank;
	uint32_t comm;		    /* comm.same */
	uint32_t channel;	    /* 0: blocking and nonblocking calls; n: the n-th persistent collective of
			     the communicator */
	uint32_t k;		    /* the k-th on that channel */
	uint32_t start, completion; /* as above */
	uint32_t sig;
};

struct op_counts {
	uint64_t proc_null; /* operations with MPI_PROC_NULL */
	uint64_t cancelled;
	uint64_t outside;	   /* with a process that is not of this MPI_COMM_WORLD */
	uint64_t unknown_source;   /* wildcard receives of which no status says the source */
	uint64_t failed;	   /* calls that returned an error */
	uint64_t unknown_requests; /* completions of requests whose start is not in the record */
};

struct ops {
	VEC(struct p2p_op) sends, recvs;
	VEC(struct coll_op) colls;
	uint64_t *leaked; /* by rank: requests neither completed nor freed */
	uint32_t *leak_site;
	uint64_t *unread; /* by file: bytes that completed nonblocking reads did not find */
	struct op_counts counts;
};

/* Replay all ranks' events: 0 or -ENOMEM. The order of starts within each rank is kept. */
int ops_replay(const struct step *s, struct ops *ret_ops);
void ops_done(struct ops *o);

static inline const struct event *op_event(const struct step *s, uint32_t rank, uint32_t at)
{
	return &s->ranks[rank]->events.at[at];
}

static inline const struct sig *event_sig(const struct step *s, uint32_t rank, uint32_t at)
{
	const struct process *p = s->ranks[rank];
	return &p->sigs.at[p->events.at[at].sig];
}
