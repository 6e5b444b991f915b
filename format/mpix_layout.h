/* mpix_layout.h - superblock, index and META of an .mpix file, and what its chunks have in common; private to
 * format/mpix_*.c and their tests. SPEC.md draws the bytes. */
#pragma once

#include "base/buf.h"
#include "base/cursor.h"
#include "format/mpix.h"

#include <stdbool.h>

#define MPIX_VERSION 2u
#define MPIX_VERSION_OLDEST 1u /* that can be read */
#define MPIX_SUPERBLOCK_BYTES 64u
#define MPIX_ENTRY_BYTES 56u
#define MPIX_TRAILER_BYTES 16u
extern const uint8_t mpix_magic[8];

enum mpix_kind {
	MPIX_META = 1,
	MPIX_ANALYSIS = 2,
	MPIX_SUMMARY = 3,    /* shares of time per class: level = time, rank level, group = row tile, seq = time tile */
	MPIX_EVENTS = 4,     /* group, seq = window; so are MESSAGES and WAITS */
	MPIX_MESSAGES = 5,   /* pairs of positions */
	MPIX_TOP = 6,	     /* the largest messages of a time tile: level, seq */
	MPIX_FLOW = 7,	     /* sums between places of a time tile: level, seq */
	MPIX_SIGNATURES = 8, /* group */
	MPIX_CLOCK = 9,	     /* group = clock */
	MPIX_WAITS = 10,
	MPIX_OBJECTS = 11, /* group: windows and files that signatures name */
	MPIX_SYNCS = 12,   /* group: locks and groups of one-sided synchronisations */
	MPIX_STACKS = 13,  /* group: callers that signatures name */
	MPIX_SAMPLES = 14, /* seq: what all threads did from one sample to the next */
	MPIX_KINDS	   /* those from here on are skipped */
};

struct mpix_entry {
	uint8_t kind, level;
	uint16_t rank_level;
	uint32_t group, seq, records;
	int64_t start_ns, end_ns;
	uint64_t offset;
	uint32_t packed_bytes, raw_bytes, crc;
};

struct mpix_super {
	uint64_t file_bytes, index_offset;
	uint32_t version, entries, index_crc;
};

/* How the numbers of chunks are to be read; the contents of META beside struct mpix_info. */
struct mpix_shape {
	uint32_t group_ranks; /* ranks of one group */
	uint32_t rows, bins;  /* of a full summary tile */
	uint32_t row_factor;  /* ranks a row of rank level k+1 has per row of level k */
	uint32_t time_levels; /* of the summary; level l has bins << l bins over the runtime */
	uint32_t rank_levels; /* of the summary */
	uint32_t top_levels;  /* level l has 1 << l tiles over the runtime */
	uint32_t flow_levels; /* as well */
	uint32_t flow_places; /* places of one end of a flow */
	uint32_t windows;
	uint64_t events, messages, waits; /* in all */
};

#define MPIX_TILE_ROWS 64u
#define MPIX_TILE_BINS 256u
#define MPIX_ROW_FACTOR 4u
#define MPIX_TOP_RECORDS 512u

/* ---- superblock, index ---- */

void mpix_put_super(struct buf *out, const struct mpix_super *s);
/* -EBADMSG with what is wrong; file_bytes is the length found. */
int mpix_get_super(struct cursor bytes, uint64_t file_bytes, struct mpix_super *ret_super, struct error *e);
void mpix_put_trailer(struct buf *out, uint64_t file_bytes, uint32_t super_crc);
void mpix_put_entry(struct buf *out, const struct mpix_entry *entry);
int mpix_get_entry(struct cursor *c, struct mpix_entry *ret_entry);
/* Does the index end the file, and is it no longer than an index may be? 0, or -EBADMSG with text. */
int mpix_check_place(const struct mpix_super *s, struct error *e);
/* All entries from the bytes of the index: MPIX_ENTRY_BYTES each, in order, each name once, each within the file. 0, or
 * -EBADMSG with text. */
int mpix_get_index(const struct mpix_super *s, const uint8_t *bytes, struct mpix_entry *ret_entries, struct error *e);
/* The order of the index, for qsort() and bsearch(). */
int mpix_compare_entries(const void *left, const void *right);

/* ---- META (mpix_meta.c) ---- */

/* Lanes by rank and by number. */
struct mpix_lanes {
	uint32_t *first; /* of each rank, and one more */
	uint32_t *rank;	 /* of each lane */
	uint32_t n;
};

/* threads: of each rank, or NULL. 0, -EINVAL over a limit, -ENOMEM. */
int mpix_lanes_make(struct mpix_lanes *ret_lanes, uint32_t ranks, const uint32_t *threads);
void mpix_lanes_done(struct mpix_lanes *l);

void mpix_put_meta(struct buf *out, const struct mpix_info *info, const struct mpix_shape *shape);
/* What ret_info points to is allocated in one block each: ops, threads, clock_of_lane, place_of_rank; mpix_info_done()
 * frees, also after a failure. -EBADMSG or -ENOMEM. */
int mpix_get_meta(struct cursor bytes, struct mpix_info *ret_info, struct mpix_shape *ret_shape);
void mpix_info_done(struct mpix_info *info);
/* {u8 length, printable ASCII} n times: one block, the pointers, then the names. */
int mpix_get_names(struct cursor *c, uint32_t n, const char ***ret_names);

/* ---- numbers ---- */

static inline uint64_t mpix_zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t mpix_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static inline uint64_t mpix_site_out(uint32_t callsite)
{
	return callsite == MPIX_NO_CALLSITE ? 0 : (uint64_t)callsite + 1;
}

static inline uint32_t mpix_site_in(uint64_t value)
{
	return value == 0 || value > UINT32_MAX ? MPIX_NO_CALLSITE : (uint32_t)(value - 1);
}

#define MPIX_TICKS_MAX (1ull << 53)
#define MPIX_NS_FAR 1e17 /* what a clock says beyond it is that */

/* SPEC.md, CLOCK. *at: the knot that was used last, 0 at first. */
static inline int64_t mpix_ns(const struct mpix_clock_knot *knots, uint32_t nknots, uint64_t tick, uint32_t *at)
{
	while (*at > 0 && knots[*at].tick > tick)
		--*at;
	while (*at + 1 < nknots && knots[*at + 1].tick <= tick)
		++*at;
	const struct mpix_clock_knot *k = &knots[*at];
	double ticks = (double)(int64_t)(tick - k->tick), product = ticks * k->ns_per_tick, x = k->ns + product;
	if (!(x > -MPIX_NS_FAR && x < MPIX_NS_FAR))
		return x > 0 ? (int64_t)MPIX_NS_FAR : -(int64_t)MPIX_NS_FAR;
	int64_t whole = (int64_t)x;
	whole -= (double)whole > x;
	return whole + (x - (double)whole >= 0.5);
}

/* ---- columns: every field of a record in a stream of its own, so that deflate sees like with like ---- */

#define MPIX_COLUMNS_MAX 12

/* n lengths, then n columns, appended to out. */
void mpix_join_columns(const struct buf *columns, unsigned n, struct buf *out);
/* The reverse; nothing may be left in payload. */
int mpix_split_columns(struct cursor *payload, struct cursor *ret_columns, unsigned n);

/* Room for `max` varints more at the end of b, to be written by mpix_varint(); NULL without memory. */
static inline uint8_t *mpix_varint_room(struct buf *b, size_t max)
{
	return buf_reserve(b, max * 10 + 1);
}

static inline uint8_t *mpix_varint(uint8_t *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	return to;
}

static inline int mpix_rd_u32(struct cursor *c, uint32_t *ret_value)
{
	uint64_t value;
	if (rd_varint(c, &value) < 0 || value > UINT32_MAX)
		return -EBADMSG;
	*ret_value = (uint32_t)value;
	return 0;
}

/* ---- messages of TOP, which are all of version 1 (mpix_records.c) ---- */

#define MPIX_MESSAGE_COLUMNS 12

/* Append one message; *clock is the send start of the one before. */
void mpix_put_message(struct buf columns[MPIX_MESSAGE_COLUMNS], const struct mpix_message *message, int64_t *clock);
int mpix_get_message(struct cursor columns[MPIX_MESSAGE_COLUMNS], struct mpix_message *ret_message, int64_t *clock);
