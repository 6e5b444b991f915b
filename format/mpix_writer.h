/* mpix_writer.h - what the parts of the .mpix writer share; private to format/mpix_*.c.
 *
 * mpix_pack() turns what one group has of one window into chunks and into its share of the levels of detail
 * (mpix_pack.c: events; mpix_pack_links.c: messages; mpix_pack_waits.c; mpix_summary.c; mpix_lod.c). It only reads
 * the writer. Puts append the chunks and add the shares (mpix_writer.c), so the order of puts alone decides the
 * file's bytes. */
#pragma once

#include "base/atomic_file.h"
#include "base/index.h"
#include "base/sort.h"
#include "base/vec.h"
#include "format/mpic.h"
#include "format/mpix_layout.h"
#include "format/pack.h"

#define MPIX_PLANES (MPIX_CLASSES - 1)
#define MPIX_LOD_LEVEL 6     /* of deflate: few bytes, packed once */
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

/* Numbers by a key, forgotten all at once. */
struct mpix_memory {
	struct mpix_memory_slot {
		uint32_t key, age, window, index;
	} * slots;
	size_t cap; /* a power of two */
	uint32_t age;
};

/* Forget everything and have room for n different keys: 0 or -ENOMEM. */
int mpix_memory_begin(struct mpix_memory *m, size_t n);
/* The slot of key; *ret_known: it was asked for since mpix_memory_begin(). */
struct mpix_memory_slot *mpix_memory_at(struct mpix_memory *m, uint32_t key, bool *ret_known);
void mpix_memory_done(struct mpix_memory *m);

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

/* Shares of time of the finest level. */
struct mpix_summary {
	uint16_t *share; /* [rank][class - 1][bin], 65535 = the whole bin */
	struct mpix_open_bin {
		float busy_ns[MPIX_PLANES];
		uint32_t bin;
	} * open; /* of each rank: the bin that may still grow */
	uint32_t bins;
	double width_ns, bins_per_ns;
};

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

struct mpix_sigs {
	struct mpix_signature *at;
	uint32_t n;
	size_t cap;
};

/* A sample as it will be written: the last ones can still become one with their neighbours. */
struct mpix_held_sample {
	int64_t start_ns, end_ns;
	uint32_t records;
	struct buf bytes;
};

struct mpix_writer {
	struct atomic_file file;
	struct mpix_info info; /* a copy, with copies of all lists */
	char **ops;
	struct mpix_lanes lanes;
	struct mpix_shape shape;
	struct mpix_sigs *sigs; /* by rank */
	struct mpix_syncs {
		struct mpix_sync *at; /* runs of it: NULL, they stand in runs one after the other */
		size_t n, cap;
		struct mpix_sync_run *runs;
		size_t nruns, cap_runs;
	} syncs;
	VEC(struct mpix_held_sample) samples;
	uint64_t samples_bytes, samples_max_bytes, samples_next; /* held; at most; the least number of the next one */
	uint64_t offset;					 /* where the next chunk goes */
	struct mpix_entry *entries;
	size_t nentries, cap_entries;
	struct buf raw, packed; /* of the chunk being built */
	struct libdeflate_compressor *packer;
	struct mpix_summary summary;
	struct mpix_lod lod;
	uint32_t next_window, next_group; /* that may be put */
	int code;			  /* the first failure; everything after it is refused */
};

/* Lanes of a group: the first, and where the next group begins. */
static inline void mpix_group_lanes(const struct mpix_writer *w, uint32_t group, uint32_t *ret_first, uint32_t *ret_end)
{
	uint64_t first = (uint64_t)group * w->shape.group_ranks, end = first + w->shape.group_ranks;
	*ret_first = w->lanes.first[first];
	*ret_end = w->lanes.first[end < w->info.ranks ? end : w->info.ranks];
}

static inline const struct mpix_clock *mpix_clock_of(const struct mpix_writer *w, uint32_t lane)
{
	return &w->info.clocks[w->info.clock_of_lane != NULL ? w->info.clock_of_lane[lane] : 0];
}

/* Pack w->raw and append it as one chunk; entry says what it is, place and sizes are filled in. Clears w->raw. */
int mpix_write_chunk(struct mpix_writer *w, struct mpix_entry entry, struct error *e);
/* Append a chunk that is packed. */
int mpix_write_packed(struct mpix_writer *w, const struct mpix_chunk *chunk, struct error *e);

/* ---- packing; each adds what it makes to p ---- */

/* Deflate s->raw into the next chunk of p; entry as mpix_write_chunk(). */
int mpix_pack_chunk(struct mpix_scratch *s, struct mpix_packed *p, struct mpix_entry entry, size_t numbers_at,
		    size_t bits_at, struct error *e);
int mpix_pack_links(const struct mpix_writer *w, const struct mpix_part *part, struct mpix_scratch *s,
		    struct mpix_packed *p, struct error *e);
int mpix_pack_waits(const struct mpix_writer *w, const struct mpix_part *part, struct mpix_scratch *s,
		    struct mpix_packed *p, struct error *e);

/* SYNCS of all groups (mpix_syncs.c). */
int mpix_syncs_write(struct mpix_writer *w, struct error *e);

/* SAMPLES (mpix_samples.c). */
int mpix_samples_write(struct mpix_writer *w, struct error *e);
void mpix_samples_done(struct mpix_writer *w);

/* ---- levels of detail ---- */

int mpix_summary_init(struct mpix_writer *w);
void mpix_summary_done(struct mpix_writer *w);
/* Begin the sums of a part: 0 or -ENOMEM. */
int mpix_summary_begin(const struct mpix_writer *w, const struct mpix_part *part, struct mpix_packed *p);
/* Rank of the group (row) was in a call of a class. */
void mpix_summary_add(const struct mpix_writer *w, struct mpix_packed *p, uint32_t row, unsigned class, int64_t from_ns,
		      int64_t to_ns);
void mpix_summary_put(struct mpix_writer *w, const struct mpix_packed *p);
/* Write all tiles of all levels. */
int mpix_summary_write(struct mpix_writer *w, struct error *e);

int mpix_lod_init(struct mpix_writer *w);
void mpix_lod_done(struct mpix_writer *w);
/* Candidates and flows of a part's messages. */
int mpix_lod_pack(const struct mpix_writer *w, const struct mpix_part *part, struct mpix_scratch *s,
		  struct mpix_packed *p);
int mpix_lod_put(struct mpix_writer *w, const struct mpix_packed *p);
/* Write TOP and FLOW of every level. */
int mpix_lod_write(struct mpix_writer *w, struct error *e);
