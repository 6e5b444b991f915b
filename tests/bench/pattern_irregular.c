/* pattern_irregular.c - a sparse random graph: each rank has six to send to and six to receive from; in each iteration
 * some edges carry a message, of one of many sizes and some tags. They are waited for in three ways. Now and then rows
 * and columns of ranks agree, and persistent requests go round in each row. */
#include "calls.h"
#include "patterns.h"

#define EDGES 6u
#define SIZES 20000u
#define SIZES_OF_EDGE 64u
#define BYTES_MAX (7 * SIZES)
#define TAG_ANY_SOURCE 100 /* of edge 0, whose receives do not say from whom */
#define TAG_RING 7

struct graph {
	struct grid grid;
	uint32_t *to[EDGES], *from[EDGES];
	uint64_t (*began)[EDGES];	  /* of sends */
	uint64_t *started;		  /* of persistent ones */
	uint64_t *last_row, *last_column; /* when its last rank came */
	uint32_t row, column;		  /* communicators */
};

/* One request of a rank in this iteration. */
struct pending {
	uint64_t over_ps;
	uint64_t bytes;
	uint32_t place; /* in the array */
	int32_t source; /* of a receive that did not name it, else -1 */
};

struct pendings {
	struct pending list[2 * EDGES];
	uint32_t n;
};

struct message {
	bool is_there;
	uint64_t bytes;
	int32_t tag;
};

static struct message message_on(const struct synth *s, uint32_t edge, uint32_t from, uint64_t iteration)
{
	uint64_t which = synth_mix(s->options.seed + 10 + edge, from), chance = synth_mix(which, iteration);
	uint64_t square = (chance >> 8 & 0xffff) * (chance >> 8 & 0xffff) >> 16; /* small ones more often */
	uint64_t size = square * SIZES_OF_EDGE >> 16;
	return (struct message){.is_there = (chance & 3) != 0,
				.bytes = 1 + 7 * ((which + size * 151) % SIZES),
				.tag = edge == 0 ? TAG_ANY_SOURCE : (int32_t)(size & 3)};
}

static void shuffle(struct synth *s, uint32_t *to, uint32_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = i;
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t k = (uint32_t)(synth_random(s) % (i + 1)), other = to[k];
		to[k] = to[i];
		to[i] = other;
	}
	for (uint32_t i = 0; i < n; i++)
		from[to[i]] = i;
}

static struct graph make_graph(struct synth *s)
{
	const uint32_t n = s->options.ranks;
	struct graph g = {.grid = grid_of(n)};
	for (uint32_t e = 0; e < EDGES; e++) {
		g.to[e] = allocate(n, sizeof(uint32_t));
		g.from[e] = allocate(n, sizeof(uint32_t));
		shuffle(s, g.to[e], g.from[e], n);
	}
	g.began = allocate(n, sizeof(*g.began));
	g.started = allocate(n, sizeof(*g.started));
	g.last_row = allocate(g.grid.rows, sizeof(*g.last_row));
	g.last_column = allocate(g.grid.columns, sizeof(*g.last_column));
	return g;
}

static void graph_done(struct graph *g)
{
	for (uint32_t e = 0; e < EDGES; e++) {
		free(g->to[e]);
		free(g->from[e]);
	}
	free(g->began);
	free(g->started);
	free(g->last_row);
	free(g->last_column);
}

/* ---- communicators and persistent requests ---- */

static uint32_t split(struct synth *s, const struct graph *g, unsigned line, bool rows)
{
	const struct grid d = g->grid;
	uint64_t last = last_of_all(s);
	uint32_t comm = 0;
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		const struct mpic_rank_run row = {(int32_t)(i / d.columns * d.columns), 1, d.columns};
		const struct mpic_rank_run column = {(int32_t)(i % d.columns), (int32_t)d.columns, d.rows};
		const struct mpic_rank_run members = rows ? row : column;
		comm = synth_comm(s, i, OP_Comm_split, synth_mix(synth_mix(1, rows), (uint64_t)members.first + 2),
				  members);
		const uint64_t words[3] = {sig_head(OP_Comm_split, SIG_COMM, 0, 0, 0, 0), synth_address(line),
					   sig_pair(WORLD, comm)};
		synth_call(s, i, words, 3, s->ranks[i].now_ps, last + agreement(s, s->options.ranks));
	}
	return comm;
}

/* From the left, to the right, in each row. They are the first requests of all: serials 0 and 1. */
static void make_ring(struct synth *s, const struct graph *g)
{
	const uint32_t n = g->grid.columns;
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		const uint32_t me = i % n;
		start(s, i, OP_Recv_init, SIG_RECV, SIG_PERSISTENT, __LINE__,
		      (struct envelope){g->row, (int32_t)((me + n - 1) % n), TAG_RING, TYPE_DOUBLE, 512});
		start(s, i, OP_Send_init, SIG_SEND, SIG_PERSISTENT, __LINE__,
		      (struct envelope){g->row, (int32_t)((me + 1) % n), TAG_RING, TYPE_DOUBLE, 512});
	}
}

static void name_ring(struct synth *s, uint32_t rank, unsigned line, enum synth_op op, enum sig_shape shape,
		      uint32_t first, uint32_t n, uint64_t enter, uint64_t exit)
{
	const uint64_t words[4] = {sig_head((uint16_t)op, shape, 0, 0, 0, 0), synth_address(line), sig_pair(1, n),
				   sig_run_word(first, n, SIG_RUN_ABSOLUTE)};
	synth_call(s, rank, words, 4, enter, exit);
}

static void go_round(struct synth *s, struct graph *g)
{
	const uint32_t n = g->grid.columns;
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		g->started[i] = begin(s, i);
		name_ring(s, i, __LINE__, OP_Startall, SIG_START, 0, 2, g->started[i],
			  g->started[i] + synth_vary(s, 3 * START));
	}
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		uint32_t left = i / n * n + (i % n + n - 1) % n;
		uint64_t enter = begin(s, i), over = g->started[left] + transfer(s, left, i, 512 * BYTES_DOUBLE);
		name_ring(s, i, __LINE__, OP_Waitall, SIG_COMPLETE, 0, 2, enter,
			  later(enter, over) + synth_vary(s, FINISH));
	}
}

static void free_comm(struct synth *s, uint32_t rank, uint32_t comm)
{
	const uint64_t words[3] = {sig_head(OP_Comm_free, SIG_COMM, 0, 0, 0, 0), synth_address(__LINE__),
				   sig_pair(comm, MPIC_NO_COMM)};
	uint64_t enter = begin(s, rank);
	synth_call(s, rank, words, 3, enter, enter + synth_vary(s, FINISH));
}

static void end_ring(struct synth *s, const struct graph *g)
{
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		for (uint32_t k = 0; k < 2; k++) {
			uint64_t enter = begin(s, i);
			name_ring(s, i, __LINE__, OP_Request_free, SIG_REQUEST, k, 1, enter,
				  enter + synth_vary(s, START));
		}
		free_comm(s, i, g->row);
		free_comm(s, i, g->column);
	}
}

/* Each row, or each column, agrees. */
static void agree(struct synth *s, struct graph *g, unsigned line, bool rows)
{
	const uint32_t columns = g->grid.columns, members = rows ? columns : g->grid.rows;
	const struct shared c = {OP_Allreduce, COLL_ALLREDUCE, rows ? g->row : g->column,
				 SIG_NO_ROOT,  BYTES_DOUBLE,   BYTES_DOUBLE};
	uint64_t *last = rows ? g->last_row : g->last_column;
	for (uint32_t i = 0; i < s->options.ranks; i++) {
		uint32_t group = rows ? i / columns : i % columns;
		s->ranks[i].now_ps += synth_vary(s, GAP);
		last[group] = later(last[group], s->ranks[i].now_ps);
	}
	for (uint32_t i = 0; i < s->options.ranks; i++)
		coll(s, i, line, c, s->ranks[i].now_ps, last[rows ? i / columns : i % columns] + agreement(s, members));
}

/* ---- messages ---- */

static void start_messages(struct synth *s, struct graph *g, uint32_t rank, uint64_t iteration)
{
	struct message m;
	for (uint32_t e = 0; e < EDGES; e++) {
		uint32_t from = g->from[e][rank];
		m = message_on(s, e, from, iteration);
		if (!m.is_there)
			continue;
		if (e == 0)
			start(s, rank, OP_Irecv, SIG_RECV, SIG_ANY_SOURCE, __LINE__,
			      (struct envelope){WORLD, SIG_ANY, m.tag, TYPE_BYTE, BYTES_MAX});
		else
			start(s, rank, OP_Irecv, SIG_RECV, 0, __LINE__,
			      (struct envelope){WORLD, (int32_t)from, m.tag, TYPE_BYTE, m.bytes});
	}
	compute(s, rank, 5 * US);
	for (uint32_t e = 0; e < EDGES; e++) {
		m = message_on(s, e, rank, iteration);
		if (m.is_there)
			g->began[rank][e] =
				start(s, rank, OP_Isend, SIG_SEND, 0, __LINE__,
				      (struct envelope){WORLD, (int32_t)g->to[e][rank], m.tag, TYPE_BYTE, m.bytes});
	}
}

/* The requests of start_messages(), in that order. */
static struct pendings requests_of(struct synth *s, const struct graph *g, uint32_t rank, uint64_t iteration)
{
	struct pendings p = {.n = 0};
	for (uint32_t e = 0; e < 2 * EDGES; e++) {
		bool received = e < EDGES;
		uint32_t edge = e % EDGES, from = received ? g->from[edge][rank] : rank;
		struct message m = message_on(s, edge, from, iteration);
		if (!m.is_there)
			continue;
		uint64_t over = g->began[from][edge] + (received ? transfer(s, from, rank, m.bytes) : 2 * START);
		p.list[p.n] = (struct pending){over, m.bytes, p.n, e == 0 ? (int32_t)from : -1};
		p.n++;
	}
	return p;
}

/* Behind n words: the status, if there is one to know. Returns how many words there are. */
static uint32_t put_status(uint64_t *words, uint32_t n, const struct pending *p)
{
	if (p->source < 0)
		return n;
	words[0] |= 1ull << 32; /* of the list */
	words[n++] = sig_pair(0, (uint32_t)p->source);
	words[n++] = sig_pair(TAG_ANY_SOURCE, 0);
	words[n++] = p->bytes;
	return n;
}

static void complete_all(struct synth *s, uint32_t rank, unsigned line, enum synth_op op, const struct pendings *p,
			 uint64_t enter, uint64_t over)
{
	uint64_t words[7] = {sig_head((uint16_t)op, SIG_COMPLETE, 0, 0, 0, 0), synth_address(line), sig_pair(1, p->n),
			     sig_run_word(p->n, p->n, 0)};
	uint32_t n = put_status(words, 4, &p->list[0]);
	synth_call(s, rank, words, n, enter, later(enter, over) + synth_vary(s, FINISH));
}

static uint64_t all_over(const struct pendings *p)
{
	uint64_t last = 0;
	for (uint32_t i = 0; i < p->n; i++)
		last = later(last, p->list[i].over_ps);
	return last;
}

static void test_all(struct synth *s, uint32_t rank, const struct pendings *p)
{
	const uint64_t words[3] = {sig_head(OP_Testall, SIG_COMPLETE, SIG_POLLS, 0, 0, 0), synth_address(__LINE__),
				   sig_pair(0, p->n)};
	uint64_t enter = begin(s, rank), over = all_over(p);
	if (over > enter + US)
		synth_polls(s, rank, words, 3, enter, over, 1 + (over - enter) / (300 * NS));
	complete_all(s, rank, __LINE__, OP_Testall, p, begin(s, rank), over);
}

static int by_time(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;
	return x->over_ps != y->over_ps ? (x->over_ps > y->over_ps) - (x->over_ps < y->over_ps)
					: (x->place > y->place) - (x->place < y->place);
}

static void wait_any(struct synth *s, uint32_t rank, struct pendings *p)
{
	qsort(p->list, p->n, sizeof(p->list[0]), by_time);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pending *one = &p->list[i];
		uint64_t words[7] = {sig_head(OP_Waitany, SIG_COMPLETE, 0, 0, 0, 0), synth_address(__LINE__),
				     sig_pair(1, p->n), sig_run_word(p->n - one->place, 1, 0)};
		uint32_t n = put_status(words, 4, one);
		uint64_t enter = begin(s, rank);
		synth_call(s, rank, words, n, enter, later(enter, one->over_ps) + synth_vary(s, FINISH));
		compute(s, rank, US);
	}
}

static void finish_messages(struct synth *s, const struct graph *g, uint32_t rank, uint64_t iteration)
{
	struct pendings p = requests_of(s, g, rank, iteration);
	unsigned how = (unsigned)(synth_mix(rank, iteration) >> 20) % 4;
	if (p.n == 0)
		return;
	if (how == 0)
		test_all(s, rank, &p);
	else if (how == 1)
		complete_all(s, rank, __LINE__, OP_Waitall, &p, begin(s, rank), all_over(&p));
	else
		wait_any(s, rank, &p);
}

void pattern_irregular(struct synth *s, uint64_t events)
{
	const uint32_t n = s->options.ranks;
	const struct shared sum = {OP_Allreduce, COLL_ALLREDUCE, WORLD, SIG_NO_ROOT, BYTES_DOUBLE, BYTES_DOUBLE};
	struct graph g = make_graph(s);
	g.row = split(s, &g, __LINE__, true);
	g.column = split(s, &g, __LINE__, false);
	make_ring(s, &g);
	for (uint64_t k = 0; s->events + 4 * (uint64_t)n < events && !s->failed; k++) {
		for (uint32_t i = 0; i < n; i++) {
			compute(s, i, 25 * US);
			start_messages(s, &g, i, k);
		}
		for (uint32_t i = 0; i < n; i++)
			finish_messages(s, &g, i, k);
		if (k % 4 == 1)
			agree(s, &g, __LINE__, true);
		if (k % 4 == 3)
			agree(s, &g, __LINE__, false);
		if (k % 8 < 2)
			go_round(s, &g);
		if (k % 16 == 15)
			coll_of_all(s, __LINE__, sum, 100 * NS);
		synth_round(s, s->ranks[0].now_ps);
	}
	end_ring(s, &g);
	graph_done(&g);
}
