/* program_parts.h - what is known of a program: program.c takes it down, program_write.c writes it into files. */
#pragma once

#include "program.h"

#include <math.h>

#define SIGS_MAX 512
#define COMMS_MAX 32
#define OPS_MAX 64
#define OBJECTS_MAX 16
#define BLOCKS_MAX 8
#define TICK_ZERO 5000000000ll

struct sig_words {
	uint64_t *words;
	uint32_t n;
	struct mpic_total total;
};

struct block_record {
	struct buf payload;
	enum block_fate fate;
};

struct thread_record {
	struct sig_words sigs[SIGS_MAX];
	uint32_t nsigs;
	struct mpic_columns columns;
	bool started; /* columns hold something */
	struct block_record blocks[BLOCKS_MAX];
	unsigned nblocks;
	uint64_t next_serial, events, lost, lost_from, previous_exit, slow_calls, slow_ticks, timed_calls, timed_ticks;
};

struct rank_record {
	struct thread_record threads[PROGRAM_THREADS_MAX];
	bool budget_spent, table_full, killed, unrecorded;
	uint64_t open[8]; /* words of the call in which it died */
	uint32_t nopen;
	int thread_level;
	int status;
	double processor_wait_us, running_us;
	double cycles, user_us;
	double open_us, end_us; /* since when, and when it ended if not with the program */
	double finalize_us;	/* when a killed one had come to MPI_Finalize; 0: never */
};

struct comm_record {
	const char *name;
	int32_t ranks[2][PROGRAM_RANKS_MAX];
	unsigned n[2];
};

struct object_record {
	enum mpic_def_type type;
	uint32_t comm;
};

struct program {
	unsigned ranks, nodes;
	double offset_us[PROGRAM_RANKS_MAX], ppm[PROGRAM_RANKS_MAX];
	struct rank_record rank[PROGRAM_RANKS_MAX];
	struct comm_record comm[COMMS_MAX];
	unsigned ncomms;
	struct object_record objects[OBJECTS_MAX];
	unsigned nobjects;
	const char *ops[OPS_MAX];
	unsigned nops;
	const char *job_id, *nodelist;
	const char *node_members[PROGRAM_RANKS_MAX];
	uint64_t memory_bytes[PROGRAM_RANKS_MAX][2], memory_limit_bytes[PROGRAM_RANKS_MAX]; /* by node */
	bool unknown_def;
};

static inline unsigned node_of(const struct program *p, unsigned rank)
{
	return rank * p->nodes / p->ranks;
}

/* What the node's clock shows, in ns since the program's true zero. */
static inline double shown_ns(const struct program *p, unsigned node, double us)
{
	return (us * (1 + p->ppm[node] * 1e-6) + p->offset_us[node]) * 1e3;
}

static inline uint64_t tick_of(const struct program *p, unsigned rank, double us)
{
	return (uint64_t)(TICK_ZERO + llround(shown_ns(p, node_of(p, rank), us)));
}

/* Of each type: its name and size. */
extern const struct type_facts {
	const char *name;
	uint64_t bytes;
} program_types[PROGRAM_TYPES];
