/* mpix_lod.h - levels of detail of messages (mpix_lod.c): it owns the tiles of the finest grid while parts are added.
 * Private to format/mpix_*.c. */
#pragma once

#include "format/mpix_chunks.h"
#include "format/mpix_pack.h"

/* Levels of detail of messages: tiles of the finest grid, merged at the end. */
struct mpix_lod {
	struct mpix_top_tile {
		struct mpix_candidate *at; /* the largest so far, then some more */
		uint32_t n;
		uint64_t messages;
		bool full; /* at[MPIX_TOP_RECORDS - 1] is the least that counts */
	} * top;
	struct mpix_flow_sum {
		uint64_t messages, bytes;
	} * *flow;		      /* [tile][source * nodes + destination]; NULL: nothing yet */
	uint32_t top_grid, flow_grid; /* levels of those tiles */
	uint32_t nodes;
};

/* Sets the head's flow_places. 0 or -ENOMEM. */
int mpix_lod_init(struct mpix_lod *l, struct mpix_head *h);
void mpix_lod_done(struct mpix_lod *l);
/* Candidates and flows of a part's messages. */
int mpix_lod_pack(const struct mpix_lod *l, const struct mpix_head *h, const struct mpix_part *part,
		  struct mpix_scratch *s, struct mpix_packed *p);
int mpix_lod_put(struct mpix_lod *l, const struct mpix_packed *p);
/* Write TOP and FLOW of every level, and into the head how many there are. */
int mpix_lod_write(struct mpix_lod *l, struct mpix_head *h, struct mpix_chunks *out, struct error *e);
