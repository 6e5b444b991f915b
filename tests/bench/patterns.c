/* patterns.c - see patterns.h. */
#include "patterns.h"

#include <stdlib.h>

#define NS 1000ull /* in picoseconds */
#define US (1000 * NS)

#define GAP (25 * NS)	/* between two calls */
#define START (90 * NS) /* Irecv, Isend: nothing but bookkeeping */
#define FINISH (150 * NS)
#define BYTES_DOUBLE 8u

#define WORLD 0u

static void *allocate(size_t n, size_t size)
{
	void *p = calloc(n, size);
	if (p == NULL)
		exit(3);
	return p;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Until the message of a rank is at another: within a node, or over the network. */
static uint64_t transfer(struct synth *s, uint32_t from, uint32_t to, uint64_t bytes)
{
	bool near = synth_node_of(s, from) == synth_node_of(s, to);
	return synth_vary(s, (near ? 400 * NS : 1500 * NS) + bytes * (near ? 100 : 80));
}

/* Until all of so many ranks know of each other. */
static uint64_t agreement(struct synth *s, uint32_t ranks)
{
	uint64_t levels = 1;
	while (1u << levels < ranks)
		levels++;
	return synth_vary(s, levels * 900 * NS);
}

/* ---- calls, as pmpi/record.h puts them into words; each returns when it began ---- */

static uint64_t begin(struct synth *s, uint32_t rank)
{
	return s->ranks[rank].now_ps + synth_vary(s, GAP);
}

static void compute(struct synth *s, uint32_t rank, uint64_t ps)
{
	s->ranks[rank].now_ps += synth_vary(s, (uint64_t)((double)ps * s->ranks[rank].pace));
}

struct envelope {
	uint32_t comm;
	int32_t peer, tag;
	uint32_t type;
	uint64_t count;
};

static uint64_t start(struct synth *s, uint32_t rank, enum synth_op op, enum sig_shape shape, unsigned flags,
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
static void wait_last(struct synth *s, uint32_t rank, unsigned line, uint32_t n, uint64_t over_ps)
{
	const uint64_t words[4] = {sig_head(OP_Waitall, SIG_COMPLETE, 0, 0, 0, 0), synth_address(line), sig_pair(1, n),
				   sig_run_word(n, n, 0)};
	uint64_t enter = begin(s, rank);
	synth_call(s, rank, words, 4, enter, later(enter, over_ps) + synth_vary(s, FINISH));
}

static void simple(struct synth *s, uint32_t rank, enum synth_op op, unsigned line)
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

static void coll(struct synth *s, uint32_t rank, unsigned line, struct shared c, uint64_t enter, uint64_t exit)
{
	const uint64_t words[5] = {sig_head((uint16_t)c.op, SIG_COLL, 0, 0, 0, c.kind), synth_address(line),
				   sig_pair(c.comm, (uint32_t)c.root), c.send, c.recv};
	synth_call(s, rank, words, 5, enter, exit);
}

/* Of all ranks; work_ps = what it takes beside waiting. Returns when the last one came. */
static uint64_t coll_of_all(struct synth *s, unsigned line, struct shared c, uint64_t work_ps)
{
	uint32_t n = s->options.ranks;
	uint64_t last = 0;
	for (uint32_t i = 0; i < n; i++) {
		s->ranks[i].now_ps += synth_vary(s, GAP);
		last = later(last, s->ranks[i].now_ps);
	}
	for (uint32_t i = 0; i < n; i++)
		coll(s, i, line, c, s->ranks[i].now_ps, last + agreement(s, n) + synth_vary(s, work_ps));
	return last;
}

/* ---- halo ---- */

struct grid {
	uint32_t rows, columns;
};

/* As square as can be, the larger one first: MPI_Dims_create. */
static struct grid grid_of(uint32_t ranks)
{
	uint32_t columns = 1;
	for (uint32_t i = 1; (uint64_t)i * i <= ranks; i++)
		columns = ranks % i == 0 ? i : columns;
	return (struct grid){ranks / columns, columns};
}

static uint32_t neighbor(struct grid g, uint32_t rank, unsigned k)
{
	uint32_t row = rank / g.columns, column = rank % g.columns;
	if (k < 2)
		row = (row + (k == 0 ? g.rows - 1 : 1)) % g.rows;
	else
		column = (column + (k == 2 ? g.columns - 1 : 1)) % g.columns;
	return row * g.columns + column;
}

static uint32_t make_grid(struct synth *s)
{
	const struct mpic_rank_run world = {0, 1, s->options.ranks};
	uint32_t comm = 0;
	uint64_t last = 0;
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		simple(s, i, OP_Comm_size, __LINE__);
		simple(s, i, OP_Dims_create, __LINE__);
		s->ranks[i].now_ps += synth_vary(s, GAP);
		last = later(last, s->ranks[i].now_ps);
	}
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		comm = synth_comm(s, i, OP_Cart_create, synth_mix(1, 0), world);
		const uint64_t words[3] = {sig_head(OP_Cart_create, SIG_COMM, 0, 0, 0, 0), synth_address(__LINE__),
					   sig_pair(WORLD, comm)};
		synth_call(s, i, words, 3, s->ranks[i].now_ps, last + synth_vary(s, 100 * US));
		simple(s, i, OP_Comm_rank, __LINE__);
		simple(s, i, OP_Cart_shift, __LINE__);
		simple(s, i, OP_Cart_shift, __LINE__);
	}
	return comm;
}

/* Times when the four sends of each rank began are left in began. */
static void halo_start(struct synth *s, struct grid g, uint32_t comm, uint64_t (*began)[4])
{
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		compute(s, i, 20 * US);
		for (unsigned k = 0; k < 4; k++)
			start(s, i, OP_Irecv, SIG_RECV, 0, __LINE__,
			      (struct envelope){comm, (int32_t)neighbor(g, i, k), (int32_t)k, TYPE_DOUBLE, 128});
		for (unsigned k = 0; k < 4; k++)
			began[i][k] = start(
				s, i, OP_Isend, SIG_SEND, 0, __LINE__,
				(struct envelope){comm, (int32_t)neighbor(g, i, k ^ 1), (int32_t)k, TYPE_DOUBLE, 128});
	}
}

void pattern_halo(struct synth *s, uint64_t events)
{
	const struct grid g = grid_of(s->options.ranks);
	uint64_t(*began)[4] = allocate(s->options.ranks, sizeof(*began));
	uint32_t comm = make_grid(s);
	const struct shared sum = {OP_Allreduce, COLL_ALLREDUCE, comm, SIG_NO_ROOT, BYTES_DOUBLE, BYTES_DOUBLE};
	while (s->ranks[0].events < events && !s->failed) {
		halo_start(s, g, comm, began);
		for (uint32_t i = 0; i < s->options.ranks; i++) {
			uint64_t over = 0;
			for (unsigned k = 0; k < 4; k++) {
				uint32_t from = neighbor(g, i, k);
				over = later(over, began[from][k] + transfer(s, from, i, 128 * BYTES_DOUBLE));
			}
			wait_last(s, i, __LINE__, 8, over);
		}
		synth_round(s, coll_of_all(s, __LINE__, sum, 100 * NS));
	}
	free(began);
}

/* ---- self ---- */

void pattern_self(struct synth *s, uint64_t events)
{
	while (s->ranks[0].events < events && !s->failed) {
		for (uint32_t i = 0; i < s->options.ranks; i++) {
			const struct envelope e = {WORLD, (int32_t)i, 5, TYPE_INT, 1};
			start(s, i, OP_Irecv, SIG_RECV, 0, __LINE__, e);
			uint64_t began = start(s, i, OP_Isend, SIG_SEND, 0, __LINE__, e);
			wait_last(s, i, __LINE__, 2, began + START);
		}
		synth_round(s, s->ranks[0].now_ps);
	}
}
