/* mpic_sample.h - one look at all threads of a node: payload of MPIC_SAMPLE. Written by collect/, read by live/.
 * SPEC.md draws the bytes. Totals are what came since the sample before; those of a whole one, since the start. */
#pragma once

#include "base/buf.h"
#include "base/cursor.h"
#include "format/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct mpic_sample {
	uint64_t tick; /* of the node's clock, and the same moment by the others */
	int64_t monotonic_ns, realtime_ns;
	uint64_t gap_ns; /* until the next one */
	bool whole;	 /* the first of an agent, and after one that was not written: counts from nothing */
};

enum mpic_sample_type {
	MPIC_SAMPLE_PROCESS = 1,
	MPIC_SAMPLE_THREAD = 2,
	MPIC_SAMPLE_TOTAL = 3,
	MPIC_SAMPLE_OPEN = 4,
	MPIC_SAMPLE_STILL = 5,
	MPIC_SAMPLE_SYSTEM = 6,
	MPIC_SAMPLE_MEMORY = 7,
	MPIC_SAMPLE_COUNTERS = 8,
	MPIC_SAMPLE_STARTED = 9,
	MPIC_SAMPLE_OTHERS = 10,
};

#define MPIC_SAMPLE_STARTED_MAX 64u

enum mpic_sample_state {
	SAMPLE_RUNNING = 0,
	SAMPLE_FINALIZED = 1,
	SAMPLE_ABORTED = 2,
	SAMPLE_LOST = 3,
	SAMPLE_STARTING = 4
};

/* What the kernel counted of a thread; SYSTEM records hold what came since the one before. */
struct mpic_system {
	uint64_t cpu_ns, wait_ns; /* on a processor; ready to run, and on none: schedstat of proc(5) */
	uint64_t slices;	  /* times it got a processor */
	uint64_t minor_faults, major_faults;
	uint64_t cpu;	      /* the processor it was on last */
	uint64_t run_state;   /* the letter of proc(5), 'T': stopped by a signal; 0: not known */
	uint64_t involuntary; /* context switches; looked at now and then, so that a sample may have those of several */
};

/* What the processor counted of a thread in user mode, since the COUNTERS record before: every eighth sample or so. */
struct mpic_counters {
	uint64_t cycles, instructions, user_ns;
};

/* One record, with the process and thread that it is of. */
struct mpic_sample_item {
	enum mpic_sample_type type;
	uint32_t process, thread;
	enum mpic_sample_state state; /* PROCESS */
	uint64_t resident_bytes;      /* PROCESS; 0: not known */
	uint32_t sig;		      /* TOTAL; OPEN: of a call that has no words */
	uint64_t calls, ticks;	      /* TOTAL */
	uint64_t age_ticks;	      /* OPEN: how long it has been in the call */
	uint32_t nwords;	      /* OPEN: as in sig.h; 0: see sig */
	uint64_t words[MPIC_SAMPLE_WORDS_MAX];
	struct mpic_system system;     /* SYSTEM */
	struct mpic_counters counters; /* COUNTERS */
	uint64_t next_serial;	       /* STARTED: of the requests of the thread, and by which signature the last */
	uint32_t nstarted;	       /* of them were started, the newest first */
	uint32_t started[MPIC_SAMPLE_STARTED_MAX];
	uint64_t others; /* OTHERS: threads of the process that have not called MPI, without the MPI library's */
	uint64_t used_bytes, limit_bytes; /* MEMORY: of the node, behind the head; has no process */
};

/* A zeroed struct with a payload is at its first record. */
struct mpic_sample_reader {
	struct cursor rest;
	uint32_t process, thread, next_sig;
	bool in_process, in_thread;
};

/* Head of a payload; *ret_reader is at the first record. 0 or -EBADMSG. */
int mpic_sample_begin(struct cursor payload, struct mpic_sample *ret_sample, struct mpic_sample_reader *ret_reader);
/* 1 and *ret_item, 0 at the end, -EBADMSG. Records of a type not known here are passed over. */
int mpic_sample_next(struct mpic_sample_reader *r, struct mpic_sample_item *ret_item);

/* ---- writing: a head; then for each process its record, for each of its threads a record and what is of it ---- */

void mpic_put_sample(struct buf *out, const struct mpic_sample *s);
void mpic_put_sample_process(struct buf *out, uint32_t process, enum mpic_sample_state state, uint64_t resident_bytes);
void mpic_put_sample_thread(struct buf *out, uint32_t thread);
/* In ascending order of sig; next_sig: one above the last of this thread, 0 for the first. */
void mpic_put_sample_total(struct buf *out, uint32_t next_sig, uint32_t sig, uint64_t calls, uint64_t ticks);
/* The thread is in a call, by its words, or by its signature where nwords is 0. */
void mpic_put_sample_open(struct buf *out, uint64_t age_ticks, uint32_t sig, const uint64_t *words, uint32_t nwords);
/* It is in the call of the sample before. */
void mpic_put_sample_still(struct buf *out);
/* It is still in a call, which may wait for requests: those that the thread started last. */
void mpic_put_sample_started(struct buf *out, uint64_t next_serial, const uint32_t *started, uint32_t n);
/* Behind a process and its threads, one of which is still in a call: how many others the kernel knows of it, where that
 * changed. */
void mpic_put_sample_others(struct buf *out, uint64_t others);
void mpic_put_sample_system(struct buf *out, const struct mpic_system *since);
void mpic_put_sample_counters(struct buf *out, const struct mpic_counters *since);
/* Behind the head. */
void mpic_put_sample_memory(struct buf *out, uint64_t used_bytes, uint64_t limit_bytes);
