/* synth_parts.h - what the files of synth.h share. */
#pragma once

#include "synth.h"

#include "collect/snapshot.h"

#include <limits.h>

#define SLOW_TICKS 5000	       /* of the tracer, for what is new */
#define CODE_BEGIN 0x401000ull /* of the program */
#define CODE_BYTES 0x8000ull
#define INSTRUCTION_BYTES 16u /* from line to line */

/* What tracer and agent know of one rank. */
struct synth_record {
	uint32_t index; /* in its node's file */
	uint64_t *records;
	size_t len_words, cap_words, added_words;
	uint64_t begin_tick, previous_tick;
	uint64_t *slots; /* as in pmpi/stream.h: hash | signature */
	uint32_t slots_mask;
	struct segment_total *totals;
	size_t totals_cap;
	uint32_t nsigs, nexact, ncomms;
	uint64_t ops_defined;
	struct buf defs;
	uint64_t defs_seq, events_seq, profile_seq, meta_seq;
	uint64_t written, calls;
	uint64_t slow_calls, slow_ticks;
	uint64_t start_tick, init_exit_tick, finalize_tick, end_tick;
	struct tick_sample clock_start, clock_end;
	struct backoff snapshots;
	bool running, finalized;
};

/* One node: its clock and its file. */
struct node {
	char path[PATH_MAX];
	int fd;
	struct buf pending;
	uint64_t blocks, clock_seq, meta_seq;
	uint64_t tick_zero;
	unsigned __int128 ticks_per_ps; /* in 2^-64 */
	int64_t monotonic_zero_ns;
	struct buf clocks;
	struct backoff clocks_sampled, clocks_written;
};

struct synth_files {
	struct node *nodes;
	uint32_t nnodes;
	size_t segment_words;
	uint64_t next_round_ps;
	struct mpic_columns columns;
	struct buf payload;
};

extern const char *const synth_op_names[SYNTH_OP_COUNT];

/* synth.c */
void *synth_allocate(size_t n, size_t size);
void synth_grow(void *at, size_t *cap, size_t want, size_t size);
void synth_add_up(struct synth_record *r);
struct node *synth_place_of(const struct synth *s, uint32_t rank);
/* synth_blocks.c: what tracer and agent write, at picoseconds since the job began */
void synth_give_up(struct synth *s, const char *what);
uint64_t synth_tick_at(struct synth *s, const struct node *n, uint64_t ps);
struct tick_sample synth_sample_at(struct synth *s, const struct node *n, uint64_t ps);
void synth_flush(struct synth *s, struct node *n);
void synth_put_block(struct synth *s, struct node *n, const struct mpic_block *b, const struct buf *payload);
void synth_put_defs(struct synth *s, uint32_t rank);
void synth_put_clocks(struct synth *s, struct node *n, int64_t now_ns);
void synth_keep_clock(struct node *n, struct tick_sample t);
void synth_put_node_meta(struct synth *s, uint32_t node);
void synth_put_meta(struct synth *s, uint32_t rank, bool whole);
void synth_snapshot(struct synth *s, uint32_t rank, bool whole, int64_t now_ns);
/* synth_defs.c: definitions, and the signature of a call (*ret_literal: it has none of its own) */
void synth_define_modules(struct synth_record *r, const char *program);
void synth_define_types(struct synth_record *r);
void synth_begin_dictionary(struct synth_record *r);
uint32_t synth_sig_of(struct synth_record *r, const uint64_t *words, uint32_t n, bool *ret_literal);
