/* traffic.h - who sent how much to whom, in world ranks, exact from the totals. */
#pragma once

#include "postproc/ops.h"

struct cell {
	uint32_t src, dst;
	uint64_t count, bytes; /* messages, or collective operations that moved data from src to dst */
};

#define TRAFFIC_CELLS_MAX (1u << 24) /* beyond it, cells are only counted */

struct traffic {
	VEC(struct cell) cells; /* ascending (src, dst) */
	uint64_t cells_left_out, bytes_left_out;
	uint64_t count, bytes;				       /* in all */
	uint64_t *out_count, *in_count, *out_bytes, *in_bytes; /* by rank */
};

/* Messages sent, whether received or not. 0 or -ENOMEM. */
int traffic_p2p(const struct step *s, const struct ops *o, struct traffic *ret_traffic);
/* What collectives move by their meaning (SEMANTICS.md 5): root to leaf, leaf to root, all pairs.
 */
int traffic_collective(const struct step *s, const struct ops *o, struct traffic *ret_traffic);
/* One-sided calls, from where the data lay to where it went. */
int traffic_rma(const struct step *s, struct traffic *ret_traffic);
void traffic_done(struct traffic *t);
/* Is there a cell of this pair in n cells, ascending (src, dst)? */
bool cells_have(const struct cell *cells, size_t n, uint32_t src, uint32_t dst);
