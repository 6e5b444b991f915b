/* calls.h - one call of a simulated rank, as pmpi/record.h puts it into words, and how long it takes. */
#pragma once

#include "synth.h"

#include <stdlib.h>

#define NS 1000ull /* in picoseconds */
#define US (1000 * NS)

#define GAP (25 * NS)	/* between two calls */
#define START (90 * NS) /* Irecv, Isend: nothing but bookkeeping */
#define FINISH (150 * NS)
#define BYTES_DOUBLE 8u

#define WORLD 0u

static inline void *allocate(size_t n, size_t size)
{
	void *p = calloc(n, size);
	if (p == NULL)
		exit(3);
	return p;
}

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Until the message of a rank is at another: within a node, or over the network. */
static inline uint64_t transfer(struct synth *s, uint32_t from, uint32_t to, uint64_t bytes)
{
	bool near = synth_node_of(s, from) == synth_node_of(s, to);
	return synth_vary(s, (near ? 400 * NS : 1500 * NS) + bytes * (near ? 100 : 80));
}

/* Until all of so many ranks know of each other. */
static inline uint64_t agreement(struct synth *s, uint32_t ranks)
{
	uint64_t levels = 1;
	while (1u << levels < ranks)
		levels++;
	return synth_vary(s, levels * 900 * NS);
}

/* ---- calls, as pmpi/record.h puts them into words; each returns when it began ---- */

static inline uint64_t begin(struct synth *s, uint32_t rank)
{
	return s->ranks[rank].now_ps + synth_vary(s, GAP);
}

static inline void compute(struct synth *s, uint32_t rank, uint64_t ps)
{
	s->ranks[rank].now_ps += synth_vary(s, (uint64_t)((double)ps * s->ranks[rank].pace));
}

struct envelope {
	uint32_t comm;
	int32_t peer, tag;
	uint32_t type;
	uint64_t count;
};

static inline uint64_t start(struct synth *s, uint32_t rank, enum synth_op op, enum sig_shape shape, unsigned flags,
			     unsigned line, struct envelope e)
{
	const uint64_t words[5] = {sig_head((uint16_t)op, shape, flags | SIG_STARTS_REQUEST, 0, 0, 0),
				   synth_address(line), sig_pair(e.comm, (uint32_t)e.peer),
				   sig_pair((uint32_t)e.tag, e.type), e.count};
	uint64_t enter = begin(s, rank);
	synth_call(s, rank, words, 5, enter, enter + synth_vary(s, shape == SIG_SEND ? 2 * START : START));
	return enter;
}

/* Waitall of the last n requests, which are over at the given time. */
static inline void wait_last(struct synth *s, uint32_t rank, unsigned line, uint32_t n, uint64_t over_ps)
{
	const uint64_t words[4] = {sig_head(OP_Waitall, SIG_COMPLETE, 0, 0, 0, 0), synth_address(line), sig_pair(1, n),
				   sig_run_word(n, n, 0)};
	uint64_t enter = begin(s, rank);
	synth_call(s, rank, words, 4, enter, later(enter, over_ps) + synth_vary(s, FINISH));
}

static inline void simple(struct synth *s, uint32_t rank, enum synth_op op, unsigned line)
{
	const uint64_t words[2] = {sig_head((uint16_t)op, SIG_TIME, 0, 0, 0, 0), synth_address(line)};
	uint64_t enter = begin(s, rank);
	synth_call(s, rank, words, 2, enter, enter + synth_vary(s, START));
}

struct shared {
	enum synth_op op;
	enum sig_coll kind;
	uint32_t comm;
	int32_t root;
	uint64_t send, recv;
};

static inline void coll(struct synth *s, uint32_t rank, unsigned line, struct shared c, uint64_t enter, uint64_t exit)
{
	const uint64_t words[5] = {sig_head((uint16_t)c.op, SIG_COLL, 0, 0, 0, c.kind), synth_address(line),
				   sig_pair(c.comm, (uint32_t)c.root), c.send, c.recv};
	synth_call(s, rank, words, 5, enter, exit);
}

/* All ranks come to one call, which begins at their now_ps. Returns when the last one comes. */
static inline uint64_t last_of_all(struct synth *s)
{
	uint64_t last = 0;
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		s->ranks[i].now_ps += synth_vary(s, GAP);
		last = later(last, s->ranks[i].now_ps);
	}
	return last;
}

/* Of all ranks; work_ps = what it takes beside waiting. Returns when the last one came. */
static inline uint64_t coll_of_all(struct synth *s, unsigned line, struct shared c, uint64_t work_ps)
{
	uint32_t n = s->options.ranks;
	uint64_t last = last_of_all(s);
	for (uint32_t i = 0; i < n; i++)
		coll(s, i, line, c, s->ranks[i].now_ps, last + agreement(s, n) + synth_vary(s, work_ps));
	return last;
}

struct grid {
	uint32_t rows, columns;
};

/* As square as can be, the larger one first: MPI_Dims_create. */
static inline struct grid grid_of(uint32_t ranks)
{
	uint32_t columns = 1;
	for (uint32_t i = 1; (uint64_t)i * i <= ranks; i++)
		columns = ranks % i == 0 ? i : columns;
	return (struct grid){ranks / columns, columns};
}
