/* mpix_pack.h - what one group has of one window, packed: chunks, and its share of the levels of detail
 * (mpix_pack.c: events; mpix_pack_links.c: messages; mpix_pack_waits.c; mpix_summary.c; mpix_lod.c). Private to
 * format/mpix_*.c. */
#pragma once

#include "base/index.h"
#include "base/sort.h"
#include "format/mpic.h"
#include "format/mpix_head.h"
#include "format/mpix_memory.h"
#include "format/pack.h"

#define MPIX_PLANES (MPIX_CLASSES - 1)
#define MPIX_NUMBERS_LEVEL 1 /* as an .mpic */
#define MPIX_STREAM_LEVEL 2  /* smaller than 1 by a tenth, and hardly slower; beyond it little is won */
#define MPIX_WAITS_LEVEL 5   /* of waits: those of many lanes are almost alike, so looking for repeats wins a sixth */

struct mpix_chunk {
	struct mpix_entry entry;
	struct buf bytes;
};

/* A message that may be among the largest of its tile. */
struct mpix_candidate {
	struct mpix_message message;
	uint64_t order; /* among equal sizes: a hash of its positions, so that they come evenly from the tile */
	uint32_t tile;
};

/* What went from one end of FLOW to another in a tile. */
struct mpix_flow {
	uint32_t tile, src, dst;
	uint64_t messages, bytes;
};

struct mpix_packed {
	uint32_t window, group;
	struct mpix_chunk chunks[3];
	uint32_t nchunks;
	uint64_t events, messages, waits;
	/* time by rank of the group, class - 1, bin - first_bin; ns */
	float *busy_ns;
	size_t cap_busy;
	uint32_t first_bin, nbins;
	/* The bin that was added to last, less first_bin; all that is in the window and surely in it. */
	uint32_t bin;
	int64_t bin_from_ns, bin_to_ns;
	int64_t start_ns, end_ns; /* of the window */
	struct mpix_candidate *candidates;
	size_t ncandidates, cap_candidates;
	struct mpix_flow *flows;
	size_t nflows, cap_flows;
	struct mpix_tile_count {
		uint32_t tile, messages;
	} * tiles;
	size_t ntiles, cap_tiles;
};

struct mpix_scratch {
	struct mpic_columns columns;
	struct buf raw, payload;
	struct buf fields[MPIX_COLUMNS_MAX];
	uint32_t *order, *counts;
	size_t cap_order, cap_counts;
	struct libdeflate_compressor *packer, *waits_packer;
	struct sort_key *sorting; /* twice as many as are sorted */
	size_t cap_sorting;
	struct mpix_candidate_key {
		uint64_t bytes, order;
		uint32_t at, tile;
	} * keys;
	size_t cap_keys;
	struct index by_flow; /* flows of the packed part */
	uint32_t last_flow;   /* that was added to, of the packed part */
	struct mpix_memory memory;
};

/* Deflate s->raw into the next chunk of p; entry as mpix_write_chunk(). */
int mpix_pack_chunk(struct mpix_scratch *s, struct mpix_packed *p, struct mpix_entry entry, size_t numbers_at,
		    size_t bits_at, struct error *e);
int mpix_pack_links(const struct mpix_head *h, const struct mpix_part *part, struct mpix_scratch *s,
		    struct mpix_packed *p, struct error *e);
int mpix_pack_waits(const struct mpix_head *h, const struct mpix_part *part, struct mpix_scratch *s,
		    struct mpix_packed *p, struct error *e);
