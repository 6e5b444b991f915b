/* mpix_layout.h - the bytes of an .mpix file; private to format/mpix_*.c. SPEC.md says what they mean.
 *
 *   0    superblock, 64 bytes        written last, so that a file cut short never looks whole
 *   64   chunks, each deflated       EVENTS, MESSAGES, SUMMARY, TOP, FLOW, then ANALYSIS, META
 *   ...  index, 56 bytes a chunk     sorted by (kind, rank level, level, group, seq)
 *   end  trailer, 16 bytes           u64 file bytes, u32 CRC-32C of the superblock, 'X' 'I' 'P' 'M'
 *
 *   superblock                                   index entry
 *    0  magic 89 'MPIX' 0d 0a 1a                  0 u8  kind           24 i64 end_ns (exclusive)
 *    8  u32 version = 1                           1 u8  level          32 u64 offset
 *   12  u32 superblock bytes = 64                 2 u16 rank level     40 u32 packed bytes
 *   16  u64 file bytes                            4 u32 group          44 u32 raw bytes
 *   24  u64 index offset                          8 u32 seq            48 u32 CRC-32C of packed bytes
 *   32  u32 index entries                        12 u32 records        52 u32 0
 *   36  u32 CRC-32C of the index                 16 i64 start_ns
 *   40  u32 bytes of one entry = 56
 *   44  16 bytes 0
 *   60  u32 CRC-32C of bytes 0..59 */
#pragma once

#include "base/buf.h"
#include "base/cursor.h"
#include "format/mpix.h"

#include <stdbool.h>

#define MPIX_VERSION 1u
#define MPIX_SUPERBLOCK_BYTES 64u
#define MPIX_ENTRY_BYTES 56u
#define MPIX_TRAILER_BYTES 16u
extern const uint8_t mpix_magic[8];

enum mpix_kind {
	MPIX_META = 1,
	MPIX_ANALYSIS = 2,
	MPIX_SUMMARY = 3,  /* shares of time per class: level = time, rank level, group = row tile,
			      seq = time tile */
	MPIX_EVENTS = 4,   /* calls of one rank group: group, seq in time */
	MPIX_MESSAGES = 5, /* all messages, by send start: seq */
	MPIX_TOP = 6,	   /* the largest messages of a time tile: level, seq */
	MPIX_FLOW = 7,	   /* sums between rank groups of a time tile: level, seq */
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
	uint32_t entries, index_crc;
};

/* How the numbers of chunks are to be read; the contents of META, after ranks, runtime and
 * operations. */
struct mpix_shape {
	uint32_t group_ranks;	   /* ranks of one event group */
	uint32_t rows, bins;	   /* of a full summary tile */
	uint32_t row_factor;	   /* ranks a row of rank level k+1 has per row of level k */
	uint32_t time_levels;	   /* of the summary; level l has bins << l bins over the runtime */
	uint32_t rank_levels;	   /* of the summary */
	uint32_t message_levels;   /* of TOP and FLOW; level l has 1 << l tiles over the runtime */
	uint32_t flow_ranks;	   /* ranks of one node of FLOW */
	uint32_t threads;	   /* 1 + the highest thread number */
	uint64_t segment_ns;	   /* width of the grid that event segments start on */
	uint64_t events, messages; /* in all */
};

#define MPIX_GROUP_RANKS 16u
#define MPIX_TILE_ROWS 64u
#define MPIX_TILE_BINS 256u
#define MPIX_ROW_FACTOR 4u
#define MPIX_GRID 2048u		   /* segments of the time axis */
#define MPIX_CHUNK_RECORDS 16384u  /* what the writer aims at */
#define MPIX_SEGMENT_RECORDS 4096u /* longest segment the writer makes */
#define MPIX_TOP_RECORDS 1024u
#define MPIX_FLOW_NODES 64u

/* ---- columns: every field of a record in a stream of its own, so that deflate sees like with like ---- */

#define MPIX_COLUMNS 12

struct mpix_columns {
	struct buf column[MPIX_COLUMNS];
};

void mpix_columns_done(struct mpix_columns *c);
void mpix_columns_clear(struct mpix_columns *c);
bool mpix_columns_failed(const struct mpix_columns *c);
/* Twelve lengths, then twelve columns, appended to out. */
void mpix_columns_join(const struct mpix_columns *c, struct buf *out);
int mpix_columns_split(struct cursor *payload, struct cursor ret_columns[MPIX_COLUMNS]);

static inline uint64_t mpix_zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t mpix_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* ---- records ---- */

/* Append one event; *clock is the end of the event before it in the segment, and becomes this
 * one's. */
void mpix_put_event(struct mpix_columns *c, const struct mpix_event *event, int64_t *clock);
int mpix_get_event(struct cursor columns[MPIX_COLUMNS], struct mpix_event *ret_event, int64_t *clock);
/* Append one message; *clock is the send start of the one before. */
void mpix_put_message(struct mpix_columns *c, const struct mpix_message *message, int64_t *clock);
int mpix_get_message(struct cursor columns[MPIX_COLUMNS], struct mpix_message *ret_message, int64_t *clock);

/* ---- superblock, index, meta, packing ---- */

void mpix_put_super(struct buf *out, const struct mpix_super *s);
/* -EBADMSG with what is wrong; file_bytes is the length found. */
int mpix_get_super(struct cursor bytes, uint64_t file_bytes, struct mpix_super *ret_super, struct error *e);
void mpix_put_trailer(struct buf *out, uint64_t file_bytes, uint32_t super_crc);
void mpix_put_entry(struct buf *out, const struct mpix_entry *entry);
int mpix_get_entry(struct cursor *c, struct mpix_entry *ret_entry);
void mpix_put_meta(struct buf *out, const struct mpix_info *info, const struct mpix_shape *shape);
/* The names are allocated in one block: free(*ret_names) frees them all. */
int mpix_get_meta(struct cursor bytes, struct mpix_info *ret_info, struct mpix_shape *ret_shape,
		  const char ***ret_names);
