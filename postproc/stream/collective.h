/* collective.h - collective operations: the part of one rank, and all of one operation (collective.c). */
#pragma once

#include "base/index.h"
#include "format/sig.h"
#include "postproc/stream/moment.h"

struct shard;

/* What all members do together beside collectives; goes on from enum sig_coll. */
enum sync_kind {
	SYNC_CREATE = COLL_KINDS,
	SYNC_FENCE,
	SYNC_FREE,
	/* Of these the standard does not say that all wait for all; libraries do, more or less. */
	SYNC_IO,
	SYNC_COMM_CREATE,
	SYNC_COMM_FREE,
};

static inline bool sync_may_leave(int32_t kind)
{
	return kind >= SYNC_IO;
}

struct sync_call {
	uint32_t comm, channel, k;
	int32_t kind;
	bool in_sweep;	 /* who leaves may have waited for the last to enter */
	bool of_members; /* a communicator is made by those only who are in it */
};

/* One rank's part in a collective operation. */
struct part {
	struct part *next;
	struct collective *collective;
	struct wait *wait;
	struct moment start, done;
	uint32_t rank, sig, starter;
	int16_t coll; /* enum sig_coll, or enum sync_kind */
	bool completed;
	bool tested;   /* by a test it was completed, which does not wait */
	uint64_t came; /* bytes that only partners record */
	/* Scans, neighbourhoods: the last to enter of those waited for, or NOBODY. Other nonblocking ones: who came to
	 * complete it, where that is who was waited for. */
	struct arrival causer;
	struct edge *edge; /* until decided: of its start in neighbourhoods, of its completion in those */
	struct need *need; /* and of its completion */
	uint64_t origin;   /* of a copy: where the original is in its process */
	uint8_t told;	   /* the owner's process knows of it: 1 its start, 2 its completion */
};

/* The parts of one collective operation in one shard; at the communicator's owner, of all. */
struct collective {
	struct collective *link;    /* in the table of open ones */
	struct collective *sibling; /* at the owner: the next shard's */
	struct collective *whole;   /* the owner's */
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
	uint32_t classified; /* shards */
	uint32_t shards;
	uint64_t origin; /* as of a part */
};

/* Operations that follow each other stand beside each other in a table. */
static inline uint64_t collective_hash(uint32_t comm, uint32_t channel, uint32_t k)
{
	return index_mix((uint64_t)comm << 32 | channel, 0) + k;
}

static inline bool part_blocks(const struct part *p)
{
	return p->start.at.at == p->done.at.at && p->start.at.lane == p->done.at.lane &&
	       p->start.at.window == p->done.at.window;
}

/* Others may have to come to the call in which they complete it: of a nonblocking operation in a library without a
 * progress thread, and of one with a root wherever others pass its data on. */
static inline bool part_needs_others_to_complete(const struct part *p)
{
	return coll_is_rooted((enum sig_coll)p->coll) || (!part_blocks(p) && coll_is_all_for_all(p->coll));
}

/* Passing data on may take so long by itself. */
#define PASS_ON_NS 10000

static inline bool part_may_wait_for_others(const struct part *p)
{
	return part_needs_others_to_complete(p) && (!part_blocks(p) || p->done.end_ns - p->done.start_ns > PASS_ON_NS);
}

struct part *collective_enter(struct shard *sh, uint32_t comm, uint32_t channel, uint32_t k, const struct part *part);
int collective_leave(struct shard *sh, struct part *p);
void collectives_done(struct shard *sh);
