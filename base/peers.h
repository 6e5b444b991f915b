/* peers.h - processes that do one thing together: who they are, and how bytes go between them. All that they say to
 * each other is one operation, which all call in the same order: an exchange, of bytes from any to any and of a few
 * numbers of which all get the least. A barrier is an exchange of nothing, a broadcast one in which only one sends, a
 * reduction one of numbers.
 *
 * Who makes one: postproc/cluster/, over MPI; peers_threads.c, for tests, threads of one process that stand for
 * processes. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define PEER_NUMBERS 2u

struct peers {
	uint32_t rank, size;
	bool over; /* one has failed, and all know */
	/* Send out[i] to process i, and empty it; what process i has sent is in[i] then, nothing of before. Of each of
	 * the numbers all get the least. Sizes have 64 bits. 0, or -ENOMEM, of which the others know nothing. */
	int (*exchange)(struct peers *c, struct buf *out, struct buf *in, int64_t numbers[PEER_NUMBERS]);
	void (*destroy)(struct peers *c);
};

/* exchange() with the code of this process so far as the first number, so that all hear of a failure: 0, or the code of
 * one that failed, and nothing more is exchanged then but words. number: the other one, or NULL. */
int peers_exchange(struct peers *c, int code, struct buf *out, struct buf *in, int64_t *number);
/* The same of nothing but codes and number. */
int peers_agree(struct peers *c, int code, int64_t *number);
/* After one has failed: what it says of it comes to process 0, which is to print it; to the others nothing. */
void peers_tell(struct peers *c, struct error *e);

/* What a library of postproc/cluster/ has under the name of PEERS_OPEN: begin. NULL: it cannot, and e says why. */
#define PEERS_OPEN "mpitrace_peers_open"
typedef struct peers *(*peers_open)(struct error *e);

/* ---- peers_threads.c: as many as wanted in one process, each for a thread ---- */

struct peer_group;

/* NULL without memory. */
struct peer_group *peer_group_create(uint32_t size);
struct peers *peer_group_of(struct peer_group *g, uint32_t rank);
/* How many messages went between two, and their bytes; the largest number of those that one has sent in an exchange. */
struct peer_counts {
	uint64_t exchanges, messages, bytes;
	uint32_t most;
};
struct peer_counts peer_group_counts(const struct peer_group *g);
void peer_group_destroy(struct peer_group *g);
