/* rma.h - one-sided communication and files: what their calls waited for (docs/SEMANTICS.md, wait states).
 *
 *   rma.c           calls that all members of a window or a file make together: they are matched as collectives are
 *   rma_epochs.c    Post, Start, Complete, Wait: epochs of origins met with those of targets
 *   rma_locks.c     passive targets: who held a lock that another wanted
 *   progress.c      of these too: who computed while another reached for its memory
 *
 * In the calls phase each shard follows its own ranks and leaves for others what they must know; in the match phase it
 * takes what was left for it; what the shard of a target finds out of an origin goes back in the classify phase. */
#pragma once

#include "postproc/stream/progress.h"

/* Of one window, from all signatures: locks that are not said to be free of conflicts. */
struct locks_used {
	bool exclusive, of_all;
};

/* What a rank's Post or Complete tells those it concerns. */
struct arrived {
	uint32_t rank, to, window;
	bool complete;
	struct moment call;
	int64_t access_ns; /* Complete: end of the last access to the target, or of the Start */
	uint64_t order;	   /* of arrival */
};

/* One rank of the other side of an epoch. */
struct partner {
	uint32_t rank;
	bool matched, given_up;
	struct moment call;    /* its Post or Complete */
	int64_t its_access_ns; /* as it says with Complete */
	uint32_t longest_sig;  /* NONE: no access to it */
	struct moment longest; /* the longest of them */
	int64_t access_ns;     /* end of the last */
};

struct epoch {
	struct epoch *next;
	bool closed;
	struct moment open, close; /* Start and Complete, or Post and Wait */
	uint32_t open_sig, close_sig;
	uint32_t n, nmet;
	struct partner at[]; /* ascending rank */
};

/* Epochs of one rank on one window, of one side. */
struct epochs {
	struct epoch *oldest, *newest; /* not classified yet */
	struct epoch *now;	       /* not closed, or NULL */
	VEC(struct arrived) early;     /* of which the own epoch has not begun */
	uint64_t arrivals;
};

/* A lock that a rank holds, or has asked for. */
struct held {
	int32_t target; /* SIG_ANY: of everybody */
	bool exclusive, nocheck, used;
	int64_t had_ns; /* it was held then for certain: an access was complete at the target; or INT64_MAX */
};

/* One window or file of one rank. */
struct object_use {
	uint32_t object;
	bool file;
	uint32_t k; /* calls that all members make */
	struct epochs accesses, exposures;
	VEC(struct held) held; /* ascending target */
};

enum passive_how { HOW_LOCK, HOW_ACCESS, HOW_FLUSH, HOW_UNLOCK, HOWS };

/* What a call in a lock's epoch tells the target's shard. */
struct passive {
	int64_t time_ns; /* when it is dealt with */
	bool blocked;	 /* else the lock was given back */
	bool exclusive, contends, progresses, pending;
	uint8_t how; /* enum passive_how */
	uint32_t window, rank, sig;
	int32_t target; /* see rma_locks.c */
	struct moment call;
	int64_t had_ns;	      /* given back: as in struct held */
	struct coming coming; /* of the target, from when the call began */
};

/* What the target's shard found out: longest holder, and when the target came. */
struct verdict {
	uint32_t rank, sig;
	struct moment call;
	int64_t locked_ns, outside_ns;
	uint32_t holder, target;
	struct moment release, came_at;
};

struct rma_mail {
	VEC(struct arrived) arrived;
	VEC(struct passive) passive;
	VEC(struct verdict) verdicts;
};

/* The last who gave a lock back: two, since nobody waits for himself. */
struct released {
	uint32_t rank;
	struct moment call;
	int64_t had_ns;
};

struct lock {
	uint32_t window;
	int32_t target;
	struct released exclusive[2], shared[2];
	bool alone[HOWS]; /* such a call ended while the target computed: the library needs it not */
};

struct rma {
	struct rma_rank {
		VEC(struct object_use) uses;
		struct index index;
		uint32_t last;
	} * ranks; /* of the shard */
	struct rma_mail *to;
	VEC(struct passive) pending; /* not dealt with yet */
	VEC(struct lock) locks;
	struct index lock_index;
};

/* Once, before all: st->locks_used. */
int rma_plan(struct stream *st);
int rma_begin(struct shard *sh);
void rma_done(struct shard *sh);
/* In the calls phase. 1: all members make this call together, as *ret_call says. 0: not. Or -ENOMEM. */
int rma_call(struct shard *sh, uint32_t rank, uint32_t sig_at, const struct moment *call, struct sync_call *ret_call);
void rma_match(struct shard *sh);
void rma_match_end(struct shard *sh);
void rma_classify(struct shard *sh);

/* Between these files. */
struct object_use *rma_use(struct shard *sh, uint32_t rank, uint32_t object, bool file);

static inline struct rma_mail *rma_mail_to(const struct shard *sh, uint32_t rank)
{
	return &sh->rma->to[shard_of(sh->stream, rank)];
}

/* rma_epochs.c */
int epochs_call(struct shard *sh, struct object_use *u, uint32_t rank, uint32_t sig_at, const struct moment *call);
/* A call that moves data: 1, it is of an access epoch; 0: not. */
int epochs_access(struct object_use *u, const struct sig *sig, uint32_t sig_at, const struct moment *call);
int epochs_arrive(struct shard *sh, const struct arrived *x);
void epochs_done(struct object_use *u);
/* rma_locks.c */
int locks_call(struct shard *sh, struct object_use *u, uint32_t rank, uint32_t sig_at, const struct moment *call);
int locks_take(struct shard *sh, const struct passive *x);
/* Deal with what is over before end_ns. */
int locks_until(struct shard *sh, int64_t end_ns);
