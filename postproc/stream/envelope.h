/* envelope.h - what messages of one communicator, sender, receiver and tag wait for each other, and the table of a
 * shard in which they are found. Belongs to match.c, which lays them into its lists. */
#pragma once

#include "postproc/stream/stream.h"

struct envelope {
	struct envelope *link;
	uint32_t comm, src, dst;
	int32_t tag;
	struct envelope *older, *newer; /* of the receiving rank's that have a send */
	bool partitioned;
	bool open, held;	       /* in a list of its shard or of the receiving rank */
	struct send *send, *last_send; /* not met, oldest first */
	struct recv *recv, *last_recv; /* not met, as posted */
};

/* That of these messages, made when there is none yet; NULL without memory. */
struct envelope *envelope_of(struct shard *sh, uint32_t comm, uint32_t src, uint32_t dst, int32_t tag,
			     bool partitioned);
/* The first that may be it; the others follow by `link`. NULL where there is none. */
const struct envelope *envelope_bucket(const struct shard *sh, uint32_t comm, uint32_t src, uint32_t dst, int32_t tag);
