/* team.h - one analysis by several processes (base/peers.h).
 *
 * All read what the files say but the events, and decide alike what is to be done next. Of the events each process has
 * only those of its shards (stream.h), ranks in a row; process 0 has fewer than the others, as it does what is of all
 * ranks. What shards leave for each other goes through mail as between threads, so phases are the same; mail for a
 * shard of another process goes there between two phases, as copies (mail.c):
 *
 *   calls     -> sends, their ends, questions (slow_send), operations with the parts that have changed
 *   match     -> back: sends that are over, answers, operations that are decided
 *   classify  -> to process 0: starts, ends and signatures of the slice's events, and what the sweep is told of them
 *                (columns.c); at the end of a window what groups of ranks of the file need of ranks elsewhere
 *   keep      -> to process 0: packed groups, which writes them (export.c)
 *   the end   -> to process 0: sums (results.c)
 *
 * A copy names its original by the process and the address there, an edge by a number of its own: it is handed on from
 * one process to another, never to two. Process 0 makes edges and needs once more, for the sweep.
 *
 * Alone: what looks at all ranks' requests at any time, or at windows and files, has no mail. Of such steps process 0
 * does all. */
#pragma once

#include "base/peers.h"
#include "base/cursor.h"
#include "base/map64.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct stream;
struct shard;
struct edge;
struct need;

/* What edges of one shard are at process 0, by number, as long as somebody may name them. */
#define EDGES_PAGE 1024u
struct edges_page {
	uint32_t live;
	struct edge_known {
		struct edge *edge;
		uint32_t holders; /* beside the sweep: who can name it */
	} at[EDGES_PAGE];
};

struct edges_known {
	VEC(struct edges_page *) pages;
};

struct team {
	struct peers *peers;
	struct buf *out, *in;	   /* by process */
	uint32_t *first_shard;	   /* by process, size + 1 */
	uint32_t *process_of;	   /* by shard */
	struct map64 *sends;	   /* by shard: copies of sends that are not over */
	struct map64 *parts;	   /* by shard: of parts and operations of which more may come */
	struct edges_known *edges; /* at process 0, by shard */
	struct map64 needs;	   /* at process 0: that are open */
	struct cursor *rest;	   /* by process: of in, what is still to be taken */
	int own;		   /* what failed here first */
	bool alone;
};

/* Shares out the shards; st->team stays NULL for a process alone. 0 or -ENOMEM. */
int team_begin(struct stream *st, struct peers *peers);
/* What is between two runs of the events: nothing. */
void team_clear(struct stream *st);
void team_done(struct stream *st);

/* Do several processes have shards? */
bool team_shares(const struct stream *st);
bool team_has_rank(const struct stream *st, uint32_t rank);
bool team_is_first(const struct stream *st);
/* Process 0 does all, from now on. */
void team_leave(struct stream *st);
uint32_t team_process_of_rank(const struct stream *st, uint32_t rank);

/* Exchange what is in out; code: of this process so far. 0, or the code of one that failed. numbers may be NULL. */
int team_exchange(struct stream *st, int code, int64_t *number);

/* mail.c: what shards elsewhere left for those here, between two phases. Each sends, exchanges, and takes. */
int mail_posted(struct stream *st, int code);
int mail_answered(struct stream *st, int code);

/* columns.c */
void columns_send(struct stream *st);
/* Behind it, in rest of each process, is what visitors have lent. */
int columns_take(struct stream *st);
void columns_clear(struct stream *st);
/* A new edge of this shard has a number, if several processes share; a copy of one has another's. NULL without memory,
 * and for number 0. */
void edge_number(struct shard *sh, struct edge *e);
struct edge *edge_copy(struct shard *sh, uint64_t number);
/* Its number, 0 for NULL: whoever is told it has what was held here. */
uint64_t edge_hand_on(struct stream *st, struct edge *e);

/* results.c: sums to process 0; code: of this process so far, as in all exchanges. */
int results_gather(struct stream *st, int code);
/* When the lanes are at their ends, to all: of which threads events are missing. */
int results_share_gaps(struct stream *st, int code);
/* What was learnt of the nodes' clocks: of all into *all of process 0. Did any message arrive before it was sent? */
struct pairs;
int results_gather_clocks(struct stream *st, int code, struct pairs *all, bool *ret_violated);

/* ---- bytes ---- */

static inline void put(struct buf *b, const void *x, size_t size)
{
	buf_bytes(b, x, size);
}

static inline int get(struct cursor *c, void *x, size_t size)
{
	return rd_copy(c, x, size);
}
