/* mpic.h - the .mpic file: one node's record of one job step, as a sequence of self-describing blocks.
 * Written by collect/ while the job runs, read by postproc/. SPEC.md draws the bytes.
 *
 * A file is read whole: mpic_open() scans the blocks, checks every CRC and skips damage by searching for
 * the next block; what was skipped is counted. Nothing read from a block is trusted by the decoders. */
#pragma once

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"
#include "format/limits.h"
#include "format/typesig.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- blocks ---- */

enum mpic_kind {
	MPIC_META = 1,	  /* JSON text; process == MPIC_NODE: about the node and the step, else about one process */
	MPIC_DEFS = 2,	  /* definition records of one thread, in order of seq */
	MPIC_EVENTS = 3,  /* call records of one thread, in columns, in order of seq */
	MPIC_PROFILE = 4, /* running totals per signature of one thread; the highest seq is the newest */
	MPIC_CLOCK = 5,	  /* clock samples of the node */
	MPIC_END = 6,	  /* JSON totals; the last block of a file that was finished, absent from one that was cut.
			   * Its seq is the file's id: one that stands in another block's payload ends nothing */
	MPIC_SAMPLE = 7, /* what all threads of the node were in, and their totals, at one time: format/mpic_sample.h */
};

#define MPIC_NODE 0xffffffffu

struct mpic_block {
	enum mpic_kind kind;
	uint32_t process; /* index of the process in this file, or MPIC_NODE */
	uint32_t thread;  /* index of the thread in its process, 0 = the one that called MPI_Init */
	uint64_t seq;	  /* per (kind, process, thread), from 0; blocks may stand in the file in any order */
	uint32_t raw_len_bytes;
	uint32_t packed_len_bytes;
	uint64_t payload_offset;
};

struct mpic_file {
	char *path;
	int fd;
	uint64_t len_bytes;
	struct mpic_block *blocks; /* sorted by (process, thread, kind, seq) */
	size_t nblocks;
	uint32_t version, id;			   /* of its first bytes */
	bool finished;				   /* its end block is there */
	uint64_t damaged_bytes;			   /* bytes that belong to no valid block */
	uint64_t known_bytes, known_damaged_bytes; /* up to the end of the last block; of them, damaged */
	bool totals;				   /* events and samples were passed over */
	uint64_t passed_bytes;			   /* of events, which then were not looked at */
};

/* Open path and scan it. A file that is not .mpic, or without one valid block: -EBADMSG; I/O: -errno.
 * The caller owns *ret_file until mpic_close(). */
int mpic_open(const char *path, struct mpic_file *ret_file, struct error *e);
/* The same without blocks of events and samples: of these only headers are read, so it takes no longer for long ones.
 * Whether they are intact it does not tell. */
int mpic_open_totals(const char *path, struct mpic_file *ret_file, struct error *e);
void mpic_close(struct mpic_file *f);
/* Scan what was written since, behind the last block. 1 when there are new blocks, 0 when there are none, -ESTALE when
 * it is another file now or a shorter one: to be closed and opened anew. Else as mpic_open(); f stays as it was. */
int mpic_update(struct mpic_file *f, struct error *e);
/* Learn from the first and last bytes alone whether a file is finished; at most MPIC_TAIL_BYTES are read. 1 and the end
 * block's JSON in ret_json (cleared first), 0 when it is not, -ENOTSUP when only mpic_open() can tell (version 2),
 * -EBADMSG when it is no .mpic, or -errno. */
int mpic_read_end(int fd, struct buf *ret_json, struct error *e);
/* The order of blocks in struct mpic_file, for qsort() and bsearch(). */
int mpic_compare_blocks(const void *left, const void *right);
/* The first len_bytes of the payload of b, or -EBADMSG if it has less. */
int mpic_read_head(const struct mpic_file *f, const struct mpic_block *b, uint8_t *ret_bytes, size_t len_bytes);
/* Inflate the payload of b and append it to out (after clearing it). */
int mpic_read(const struct mpic_file *f, const struct mpic_block *b, struct buf *out, struct error *e);

/* ---- definitions (payload of MPIC_DEFS) ---- */

enum mpic_def_type {
	MPIC_DEF_SIG = 1,
	MPIC_DEF_OP = 2,
	MPIC_DEF_COMM = 3,
	MPIC_DEF_DATATYPE = 4,
	MPIC_DEF_MODULE = 5,
	MPIC_DEF_COMM_NAME = 6,
	MPIC_DEF_FILE = 7, /* each opening is a file of its own */
	MPIC_DEF_WINDOW = 8,
	MPIC_DEF_WINDOW_NAME = 9,
	MPIC_DEF_TOPOLOGY = 10, /* who this rank's neighbours in a communicator are */
	MPIC_DEF_TYPES
};

/* A run of world ranks first, first+stride, ... (count of them); an external process (spawned) is -1. */
struct mpic_rank_run {
	int32_t first;
	int32_t stride;
	uint32_t count;
};

struct mpic_def {
	enum mpic_def_type type; /* below MPIC_DEF_TYPES, else nothing more is recorded: a newer writer's */
	uint32_t id;		 /* signatures: per thread; all others: per process */
	/* SIG */
	const uint64_t *words; /* valid while the payload is; 8-byte aligned */
	uint32_t nwords;
	/* OP, DATATYPE, MODULE (path), COMM_NAME, FILE, WINDOW_NAME */
	struct span name;
	/* COMM, WINDOW, FILE: global_id is the same number on all members */
	uint64_t global_id;
	uint32_t parent;     /* local id, or MPIC_NO_COMM */
	uint32_t created_by; /* op id */
	uint32_t size;	     /* of the local group */
	int32_t my_rank;     /* in this communicator */
	bool inter;
	/* TOPOLOGY: i32 each, ranks of the communicator or SIG_PROC_NULL */
	struct span in_neighbors, out_neighbors;
	struct span runs, remote_runs; /* of struct mpic_rank_run: local group, remote group */
	/* WINDOW, FILE */
	uint32_t comm; /* local id */
	uint32_t mode; /* FILE: bits of enum mpic_file_mode */
	/* DATATYPE; WINDOW: bytes that this rank exposes */
	uint64_t size_bytes;
	uint64_t type_hash, type_elements; /* struct typesig */
	/* MODULE: addresses [begin, end) are the file's at address - bias */
	uint64_t begin, end, bias;
	struct span build_id;
};

#define MPIC_NO_COMM 0xffffffffu
#define MPIC_NO_TYPE 0xffffffffu   /* counts of it are bytes */
#define MPIC_NO_OBJECT 0xffffffffu /* a window or file that nobody saw being made */

/* How a file was opened; MPI libraries number MPI_MODE_* differently. */
enum mpic_file_mode {
	MPIC_MODE_READ = 1,
	MPIC_MODE_WRITE = 2,
	MPIC_MODE_CREATE = 4,
	MPIC_MODE_APPEND = 8,
	MPIC_MODE_DELETE_ON_CLOSE = 16,
	MPIC_MODE_SEQUENTIAL = 32,
	MPIC_MODE_EXCLUSIVE = 64,
	MPIC_MODE_UNIQUE = 128,
};

/* 1 and *ret_def, 0 at the end, -EBADMSG. payload must be 8-byte aligned at the first call. */
int mpic_next_def(struct cursor *payload, struct mpic_def *ret_def);
/* Expand runs into world ranks; returns how many were written, at most max. */
uint32_t mpic_expand_runs(struct span runs, int32_t *ret_ranks, uint32_t max);

/* ---- events (payload of MPIC_EVENTS) ---- */

struct mpic_event {
	uint32_t sig;
	uint64_t enter_tick; /* ticks of the node's clock; CLOCK blocks turn them into seconds */
	uint64_t exit_tick;
	const uint64_t *extra; /* words that belong to this one event (see sig.h), valid until the next call */
	uint32_t nextra;
};

#define MPIC_EXTRA_MAX 8192

/* Events of one block. A zeroed struct is ready, may be begun again, and is freed by mpic_events_done(). */
struct mpic_events {
	uint32_t *words; /* the signature column */
	uint32_t *next;	 /* by signature: index of the times of its next event */
	uint64_t *times; /* gap, duration of each, group by group */
	size_t cap_words, cap_next, cap_times;
	uint32_t nsigs, count, at;
	uint64_t clock;	      /* exit of the previous event */
	bool has_columns;     /* of extra words: all are there, group by group; else they are read from extra */
	uint32_t *next_extra; /* by signature: where in extra_words its next event has its own */
	struct cursor extra;
	uint64_t *extra_words;
	size_t cap_extra, cap_next_extra;
};

/* Start on a payload, which must stay until the last event. *ret_count = number of events. 0, -EBADMSG or -ENOMEM. */
int mpic_events_begin(struct mpic_events *it, struct cursor payload, uint32_t *ret_count);
/* From the first MPIC_EVENTS_HEAD_BYTES of a payload of len_bytes: how many events, and the exit of the event before
 * the first. -EBADMSG also of more columns than it has room for. */
#define MPIC_EVENTS_HEAD_BYTES 40u
int mpic_events_peek(const uint8_t *head, size_t len_bytes, uint32_t *ret_count, uint64_t *ret_begin_tick);
/* mpic_events_next() of an event with words. */
int mpic_events_words(struct mpic_events *it, struct mpic_event *ret_event);

/* 1 and *ret_event, 0 at the end, -EBADMSG. */
static inline int mpic_events_next(struct mpic_events *it, struct mpic_event *ret_event)
{
	if (it->at == it->count)
		return 0;
	uint32_t word = it->words[it->at++];
	const uint64_t *times = &it->times[2 * (size_t)it->next[word >> 1]++];
	__builtin_prefetch(times + 16); /* of the signature; readers of many threads come back to it late */
	*ret_event = (struct mpic_event){.sig = word >> 1};
	if (__builtin_add_overflow(it->clock, times[0], &ret_event->enter_tick) ||
	    __builtin_add_overflow(ret_event->enter_tick, times[1], &ret_event->exit_tick))
		return -EBADMSG;
	it->clock = ret_event->exit_tick;
	return (word & 1) == 0 ? 1 : mpic_events_words(it, ret_event);
}

void mpic_events_done(struct mpic_events *it);
/* Offsets in a payload: from where on only entropy coding makes it shorter, and from where on nothing does. len_bytes
 * where there is no such part. */
void mpic_events_parts(const void *payload, size_t len_bytes, size_t *ret_numbers_at, size_t *ret_bits_at);

/* ---- profile, clocks ---- */

struct mpic_total {
	uint32_t sig;
	uint64_t calls; /* exact for the whole run, whatever happened to single events */
	uint64_t ticks; /* inside these calls */
};

/* 1, 0 at the end, -EBADMSG. */
int mpic_next_total(struct cursor *payload, struct mpic_total *ret_total);

struct mpic_clock {
	uint64_t tick;
	int64_t monotonic_ns;
	int64_t realtime_ns;
};

int mpic_next_clock(struct cursor *payload, struct mpic_clock *ret_clock);

/* ---- writing (collect/ and tests) ---- */

/* Append one packed block (deflate level 1..9) to out. block's lengths and offset are ignored. */
int mpic_append_block(struct buf *out, const struct mpic_block *block, const void *payload, size_t len_bytes, int level,
		      struct error *e);
/* The 16 bytes that begin a file. id: any number that a traced program cannot know; the END block has it as its seq. */
void mpic_append_magic(struct buf *out, uint32_t id);

void mpic_put_total(struct buf *out, const struct mpic_total *t);
void mpic_put_clock(struct buf *out, const struct mpic_clock *c);

struct mpic_column_event {
	uint64_t gap, duration;
	uint32_t word; /* of the signature column */
};

/* Columns of one event block under construction; a zeroed struct is empty, mpic_columns_done() frees. */
struct mpic_columns {
	struct mpic_column_event *events;
	uint32_t *order;
	uint64_t *times;
	uint64_t *extra; /* of events that have any, in order of time: number of words, words */
	size_t cap, cap_order, cap_times, nextra, cap_extra;
	struct mpic_time_coder *coder;
	bool plain_words;    /* form 1, for an .mpix: words are no columns; set it before the first put */
	uint64_t begin_tick; /* exit of the event before the first; set it before the first put */
	uint64_t clock;
	uint32_t count, nsigs;
	bool failed;
};

void mpic_columns_begin(struct mpic_columns *c, uint64_t begin_tick);
/* The next event's gap counts from tick: what follows is another thread's. */
void mpic_columns_resume(struct mpic_columns *c, uint64_t tick);
void mpic_columns_put(struct mpic_columns *c, const struct mpic_event *event);
/* Many events without words, of which what mpic_columns_put() looks at is known: room for n, then each. False without
 * memory. */
bool mpic_columns_room(struct mpic_columns *c, uint32_t n);
static inline void mpic_columns_add(struct mpic_columns *c, uint32_t sig, uint64_t enter_tick, uint64_t exit_tick)
{
	c->events[c->count++] = (struct mpic_column_event){enter_tick - c->clock, exit_tick - enter_tick, sig << 1};
	c->nsigs = sig >= c->nsigs ? sig + 1 : c->nsigs;
	c->clock = exit_tick;
}
/* Join the columns into one payload appended to out. */
void mpic_columns_payload(struct mpic_columns *c, struct buf *out);
void mpic_columns_done(struct mpic_columns *c);
