/* program.c - see program.h. */
#include "program.h"
#include "format/mpic_sample.h"
#include "tests/tools/put_defs.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_ID 0x70726f67
#define SIGS_MAX 512
#define COMMS_MAX 32
#define OPS_MAX 64
#define OBJECTS_MAX 16
#define BLOCKS_MAX 8
#define TICK_ZERO 5000000000ll
#define REALTIME_ZERO 1700000000000000000ll

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
	uint64_t next_serial, events, lost, lost_from, previous_exit, slow_calls, slow_ticks;
};

struct rank_record {
	struct thread_record threads[PROGRAM_THREADS_MAX];
	bool budget_spent, killed;
	uint64_t open[8]; /* words of the call in which it died */
	uint32_t nopen;
	int status;
	double processor_wait_us;
	double cycles, user_us;
	double open_us, end_us; /* since when, and when it ended if not with the program */
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

struct program *program_create(unsigned ranks, unsigned nodes)
{
	struct program *p = calloc(1, sizeof(*p));
	int32_t world[PROGRAM_RANKS_MAX];
	cr_assert_not_null(p);
	p->ranks = ranks;
	p->nodes = nodes;
	p->job_id = "7";
	for (unsigned r = 0; r < ranks; r++)
		world[r] = (int32_t)r;
	program_comm(p, "MPI_COMM_WORLD", world, ranks);
	return p;
}

static void thread_done(struct thread_record *t)
{
	mpic_columns_done(&t->columns);
	for (unsigned i = 0; i < t->nblocks; i++)
		buf_done(&t->blocks[i].payload);
	for (uint32_t i = 0; i < t->nsigs; i++)
		free(t->sigs[i].words);
}

void program_destroy(struct program *p)
{
	for (unsigned r = 0; r < p->ranks; r++)
		for (unsigned t = 0; t < PROGRAM_THREADS_MAX; t++)
			thread_done(&p->rank[r].threads[t]);
	free(p);
}

void program_clock(struct program *p, unsigned node, double offset_us, double ppm)
{
	p->offset_us[node] = offset_us;
	p->ppm[node] = ppm;
}

uint32_t program_comm(struct program *p, const char *name, const int32_t *ranks, unsigned n)
{
	struct comm_record *c = &p->comm[p->ncomms];
	c->name = name;
	c->n[0] = n;
	memcpy(c->ranks[0], ranks, n * sizeof(*ranks));
	return p->ncomms++;
}

uint32_t program_intercomm(struct program *p, const int32_t *left, unsigned nleft, const int32_t *right,
			   unsigned nright)
{
	uint32_t id = program_comm(p, "inter", left, nleft);
	p->comm[id].n[1] = nright;
	memcpy(p->comm[id].ranks[1], right, nright * sizeof(*right));
	return id;
}

void program_job(struct program *p, const char *job_id)
{
	p->job_id = job_id;
}

void program_node_members(struct program *p, unsigned node, const char *members)
{
	p->node_members[node] = members;
}

void program_nodelist(struct program *p, const char *nodelist)
{
	p->nodelist = nodelist;
}

void program_budget_spent(struct program *p, unsigned rank)
{
	p->rank[rank].budget_spent = true;
}

void program_processor_wait(struct program *p, unsigned rank, double us)
{
	p->rank[rank].processor_wait_us = us;
}

void program_counters(struct program *p, unsigned rank, double cycles, double user_us)
{
	p->rank[rank].cycles = cycles;
	p->rank[rank].user_us = user_us;
}

void program_memory(struct program *p, unsigned node, uint64_t first_bytes, uint64_t then_bytes, uint64_t limit_bytes)
{
	p->memory_bytes[node][0] = first_bytes;
	p->memory_bytes[node][1] = then_bytes;
	p->memory_limit_bytes[node] = limit_bytes;
}

void program_killed(struct program *p, unsigned rank, int wait_status)
{
	p->rank[rank].killed = true;
	p->rank[rank].status = wait_status;
}

static uint16_t op_id(struct program *p, const char *name);
static uint64_t address_of(const struct call *c);

void program_died_in(struct program *p, unsigned rank, struct call c, enum sig_shape shape, uint64_t serial)
{
	struct rank_record *r = &p->rank[rank];
	uint64_t words[8] = {sig_head(op_id(p, c.op), shape, c.flags, 0, 0, shape == SIG_COLL ? c.coll : 0),
			     address_of(&c),
			     sig_pair(c.comm, (uint32_t)c.peer),
			     sig_pair((uint32_t)c.tag, MPIC_NO_TYPE),
			     0,
			     sig_pair(c.comm, (uint32_t)c.recv_peer),
			     sig_pair((uint32_t)c.recv_tag, MPIC_NO_TYPE),
			     0};
	if (shape == SIG_COLL || shape == SIG_COMPLETE)
		words[3] = 0;
	r->nopen = shape == SIG_COMPLETE ? 4 : shape == SIG_TIME ? 2 : shape == SIG_SENDRECV ? 8 : 5;
	if (shape == SIG_COMPLETE) {
		words[2] = sig_pair(1, 1);
		words[3] = sig_run_word(serial, 1, SIG_RUN_ABSOLUTE);
	}
	memcpy(r->open, words, sizeof(words));
	r->open_us = c.from_us;
	program_killed(p, rank, 9);
}

void program_died_in_rma(struct program *p, unsigned rank, struct call c, struct one_sided x)
{
	struct rank_record *r = &p->rank[rank];
	uint64_t words[8] = {sig_head(op_id(p, c.op), SIG_RMA, c.flags, x.ngroup, 0, x.kind), address_of(&c),
			     sig_pair(x.window, (uint32_t)x.target), sig_pair(x.assertion, x.lock), 0};
	cr_assert_leq(x.ngroup, 3);
	for (unsigned i = 0; i < x.ngroup; i++)
		words[5 + i] = (uint32_t)x.group[i] | 1ull << 32 | 1ull << 48;
	r->nopen = 5 + x.ngroup;
	memcpy(r->open, words, sizeof(words));
	r->open_us = c.from_us;
	program_killed(p, rank, 9);
}

void program_ended(struct program *p, unsigned rank, double at_us)
{
	p->rank[rank].end_us = at_us;
}

static unsigned node_of(const struct program *p, unsigned rank)
{
	return rank * p->nodes / p->ranks;
}

/* What the node's clock shows, in ns since the program's true zero. */
static double shown_ns(const struct program *p, unsigned node, double us)
{
	return (us * (1 + p->ppm[node] * 1e-6) + p->offset_us[node]) * 1e3;
}

static uint64_t tick_of(const struct program *p, unsigned rank, double us)
{
	return (uint64_t)(TICK_ZERO + llround(shown_ns(p, node_of(p, rank), us)));
}

static uint16_t op_id(struct program *p, const char *name)
{
	for (unsigned i = 0; i < p->nops; i++)
		if (strcmp(p->ops[i], name) == 0)
			return (uint16_t)i;
	cr_assert_lt(p->nops, OPS_MAX);
	p->ops[p->nops] = name;
	return (uint16_t)p->nops++;
}

static uint32_t sig_id(struct thread_record *r, const uint64_t *words, uint32_t n)
{
	for (uint32_t i = 0; i < r->nsigs; i++)
		if (r->sigs[i].n == n && memcmp(r->sigs[i].words, words, n * 8) == 0)
			return i;
	cr_assert_lt(r->nsigs, SIGS_MAX);
	struct sig_words *s = &r->sigs[r->nsigs];
	s->words = malloc(n * 8);
	memcpy(s->words, words, n * 8);
	s->n = n;
	s->total.sig = r->nsigs;
	return r->nsigs++;
}

/* One call of these words. */
/* extra: of a run of tests in vain, how many calls, and the ticks in them. */
static void record_run(struct program *p, unsigned rank, const struct call *c, const uint64_t *words, uint32_t n,
		       const uint64_t *extra)
{
	struct thread_record *t = &p->rank[rank].threads[c->thread];
	struct mpic_event ev = {.sig = sig_id(t, words, n),
				.enter_tick = tick_of(p, rank, c->from_us),
				.exit_tick = tick_of(p, rank, c->to_us)};
	ev.extra = extra;
	ev.nextra = extra != NULL ? 2 : 0;
	t->sigs[ev.sig].total.calls += extra != NULL ? extra[0] : 1;
	t->sigs[ev.sig].total.ticks += ev.exit_tick - ev.enter_tick;
	if ((c->flags & SIG_STARTS_REQUEST) != 0)
		t->next_serial++;
	if (p->rank[rank].budget_spent) {
		if (t->lost++ == 0)
			t->lost_from = ev.enter_tick;
		return;
	}
	if (!t->started)
		mpic_columns_begin(&t->columns, t->previous_exit > 0 ? t->previous_exit : tick_of(p, rank, 0));
	t->started = true;
	mpic_columns_put(&t->columns, &ev);
	t->previous_exit = ev.exit_tick;
	t->events++;
}

static void record(struct program *p, unsigned rank, const struct call *c, const uint64_t *words, uint32_t n)
{
	record_run(p, rank, c, words, n, NULL);
}

void program_end_block(struct program *p, unsigned rank, unsigned thread, enum block_fate fate)
{
	struct thread_record *t = &p->rank[rank].threads[thread];
	cr_assert(t->started);
	cr_assert_lt(t->nblocks, BLOCKS_MAX);
	struct block_record *b = &t->blocks[t->nblocks++];
	mpic_columns_payload(&t->columns, &b->payload);
	b->fate = fate;
	t->started = false;
}

static const struct {
	const char *name;
	uint64_t bytes;
} types[PROGRAM_TYPES] = {
	{"MPI_BYTE", 1}, {"MPI_INT", 4}, {"MPI_FLOAT", 4}, {"MPI_PACKED", 1}, {"", 24}, {"", 12}, {"MPI_INTEGER", 4},
};

static struct typesig typesig_of(unsigned type)
{
	struct typesig i = typesig_basic("MPI_INT", 7), d = typesig_basic("MPI_DOUBLE", 10);
	switch (type) {
	case TYPE_PACKED:
		return (struct typesig){0, 0};
	case TYPE_SIX_INTS:
		return typesig_repeat(i, 6);
	case TYPE_INT_DOUBLE:
		return typesig_concat(i, d);
	default:
		return typesig_basic(types[type].name, strlen(types[type].name));
	}
}

static uint64_t address_of(const struct call *c)
{
	return 0x400000 + 16 * (uint64_t)c->line + 1;
}

static void point_to_point(struct program *p, unsigned rank, const struct call *c, enum sig_shape shape)
{
	uint64_t words[9] = {sig_head(op_id(p, c->op), shape, c->flags, 0, 0, 0), address_of(c),
			     sig_pair(c->comm, (uint32_t)c->peer), sig_pair((uint32_t)c->tag, c->type),
			     (c->room > 0 && shape == SIG_RECV ? c->room : c->bytes) / types[c->type].bytes};
	uint32_t n = 5;
	if (shape == SIG_SENDRECV) {
		words[n++] = sig_pair(c->comm, (uint32_t)c->recv_peer);
		words[n++] = sig_pair((uint32_t)c->recv_tag, c->type);
		words[n++] = (c->room > 0 ? c->room : c->recv_bytes) / types[c->type].bytes;
	}
	if ((c->flags & SIG_SIZED) != 0)
		words[n++] = shape == SIG_SENDRECV ? c->recv_bytes : c->bytes;
	record(p, rank, c, words, n);
}

void program_send(struct program *p, unsigned rank, struct call c)
{
	point_to_point(p, rank, &c, SIG_SEND);
}

void program_recv(struct program *p, unsigned rank, struct call c)
{
	if ((c.flags & SIG_STARTS_REQUEST) == 0)
		c.flags |= SIG_SIZED;
	point_to_point(p, rank, &c, SIG_RECV);
}

void program_sendrecv(struct program *p, unsigned rank, struct call c)
{
	c.flags |= SIG_SIZED;
	point_to_point(p, rank, &c, SIG_SENDRECV);
}

void program_coll(struct program *p, unsigned rank, struct call c)
{
	uint64_t words[5 + PROGRAM_RANKS_MAX] = {sig_head(op_id(p, c.op), SIG_COLL, c.flags, c.nsizes, 0, c.coll),
						 address_of(&c), sig_pair(c.comm, (uint32_t)c.peer), c.bytes,
						 c.from_each};
	for (unsigned i = 0; i < c.nsizes; i++)
		words[5 + i] = c.sizes[i] | 1ull << 48;
	record(p, rank, &c, words, 5 + c.nsizes);
}

void program_words(struct program *p, unsigned rank, struct call c, unsigned shape, unsigned kind,
		   const uint64_t *words, unsigned n)
{
	uint64_t all[2 + 16] = {sig_head(op_id(p, c.op), (enum sig_shape)shape, c.flags, 0, 0, kind), address_of(&c)};
	cr_assert_leq(n, 16);
	if (n > 0)
		memcpy(all + 2, words, n * sizeof(*words));
	record(p, rank, &c, all, 2 + n);
}

void program_poll(struct program *p, unsigned rank, struct call c, enum sig_shape shape, const uint64_t *words,
		  unsigned n, uint64_t calls, double inside_us)
{
	uint64_t all[2 + 16] = {sig_head(op_id(p, c.op), shape, c.flags | SIG_POLLS, 0, 0, 0), address_of(&c)};
	uint64_t extra[2] = {calls, tick_of(p, rank, c.from_us + inside_us) - tick_of(p, rank, c.from_us)};
	cr_assert_leq(n, 16);
	memcpy(all + 2, words, n * sizeof(*words));
	record_run(p, rank, &c, all, 2 + n, extra);
}

static uint32_t add_object(struct program *p, enum mpic_def_type type, uint32_t comm)
{
	cr_assert_lt(p->nobjects, OBJECTS_MAX);
	p->objects[p->nobjects] = (struct object_record){type, comm};
	return p->nobjects++;
}

uint32_t program_window(struct program *p, uint32_t comm)
{
	return add_object(p, MPIC_DEF_WINDOW, comm);
}

uint32_t program_file(struct program *p, uint32_t comm)
{
	return add_object(p, MPIC_DEF_FILE, comm);
}

void program_rma(struct program *p, unsigned rank, struct call c, struct one_sided x)
{
	uint64_t words[5 + 64] = {sig_head(op_id(p, c.op), SIG_RMA, c.flags, x.ngroup, 0, x.kind), address_of(&c),
				  sig_pair(x.window, (uint32_t)x.target),
				  rma_moves_data(x.kind) ? c.bytes : sig_pair(x.assertion, x.lock), 0};
	cr_assert_leq(x.ngroup, 64);
	for (unsigned i = 0; i < x.ngroup; i++)
		words[5 + i] = (uint32_t)x.group[i] | 1ull << 32 | 1ull << 48;
	record(p, rank, &c, words, 5 + x.ngroup);
}

void program_io(struct program *p, unsigned rank, struct call c, enum sig_io kind, uint32_t file, unsigned how)
{
	uint64_t words[4] = {sig_head(op_id(p, c.op), SIG_IO, c.flags, 0, 0, kind), address_of(&c), sig_pair(file, how),
			     c.bytes};
	record(p, rank, &c, words, 4);
}

void program_slow(struct program *p, unsigned rank, unsigned thread, uint64_t calls, double us)
{
	p->rank[rank].threads[thread].slow_calls = calls;
	p->rank[rank].threads[thread].slow_ticks = (uint64_t)llround(us * 1e3);
}

void program_unknown_def(struct program *p)
{
	p->unknown_def = true;
}

uint64_t program_serial(const struct program *p, unsigned rank)
{
	return p->rank[rank].threads[0].next_serial - 1;
}

void program_start(struct program *p, unsigned rank, struct call c, const uint64_t *serials, unsigned n)
{
	uint64_t words[3 + 64] = {sig_head(op_id(p, c.op), SIG_START, c.flags, 0, 0, 0), address_of(&c),
				  sig_pair(n, n)};
	for (unsigned i = 0; i < n; i++)
		words[3 + i] = sig_run_word(serials[i], 1, SIG_RUN_ABSOLUTE);
	record(p, rank, &c, words, 3 + n);
}

void program_wait(struct program *p, unsigned rank, struct call c, const struct done *done, unsigned n)
{
	uint64_t words[3 + 4 * 64] = {0, address_of(&c), sig_pair(n, n)};
	uint32_t at = 3, statuses = 0;
	for (unsigned i = 0; i < n; i++)
		words[at++] = sig_run_word(p->rank[rank].threads[0].next_serial - done[i].serial, 1, 0);
	for (unsigned i = 0; i < n; i++) {
		if (done[i].source == NO_STATUS)
			continue;
		words[at++] = sig_pair(i, (uint32_t)done[i].source);
		words[at++] = sig_pair((uint32_t)done[i].tag, done[i].cancelled);
		words[at++] = done[i].bytes;
		statuses++;
	}
	words[0] = sig_head(op_id(p, c.op), SIG_COMPLETE, c.flags, statuses, 0, 0);
	record(p, rank, &c, words, at);
}

void program_free_request(struct program *p, unsigned rank, struct call c, uint64_t serial)
{
	uint64_t words[4] = {sig_head(op_id(p, "MPI_Request_free"), SIG_REQUEST, 0, 0, 0, 0), address_of(&c),
			     sig_pair(1, 1), sig_run_word(serial, 1, SIG_RUN_ABSOLUTE)};
	record(p, rank, &c, words, 4);
}

static void append_of(struct buf *file, const struct mpic_block *b, const void *bytes, size_t n)
{
	struct error e;
	cr_assert_eq(mpic_append_block(file, b, bytes, n, 1, &e), 0, "%s", e.text);
}

static void append(struct buf *file, enum mpic_kind kind, uint32_t process, uint64_t seq, const void *bytes, size_t n)
{
	append_of(file, &(struct mpic_block){.kind = kind, .process = process, .seq = seq}, bytes, n);
}

static void put_runs(struct buf *to, const int32_t *ranks, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct mpic_rank_run run = {ranks[i], 1, 1};
		buf_bytes(to, &run, sizeof(run));
	}
}

static int place_in(const struct comm_record *c, unsigned side, unsigned rank)
{
	for (unsigned i = 0; i < c->n[side]; i++)
		if (c->ranks[side][i] == (int32_t)rank)
			return (int)i;
	return -1;
}

static void put_comm(struct buf *defs, const struct program *p, uint32_t id, unsigned rank)
{
	_cleanup_buf_ struct buf mine = {0}, theirs = {0};
	const struct comm_record *c = &p->comm[id];
	unsigned side = place_in(c, 0, rank) >= 0 ? 0 : 1;
	if (place_in(c, side, rank) < 0)
		return;
	put_runs(&mine, c->ranks[side], c->n[side]);
	put_runs(&theirs, c->ranks[1 - side], c->n[1 - side]);
	struct mpic_def d = {.type = MPIC_DEF_COMM,
			     .id = id,
			     .global_id = 100 + id,
			     .parent = MPIC_NO_COMM,
			     .created_by = 0xffff,
			     .size = c->n[side],
			     .my_rank = place_in(c, side, rank),
			     .inter = c->n[1] > 0,
			     .runs = {mine.data, mine.len_bytes},
			     .remote_runs = {theirs.data, theirs.len_bytes}};
	mpic_put_def_comm(defs, &d);
	mpic_put_def_name(defs, MPIC_DEF_COMM_NAME, id, c->name);
}

static void write_defs(struct buf *file, const struct program *p, unsigned rank, unsigned thread)
{
	_cleanup_buf_ struct buf defs = {0};
	const struct thread_record *t = &p->rank[rank].threads[thread];
	if (p->unknown_def)
		mpic_put_def_name(&defs, (enum mpic_def_type)77, 0, "x");
	for (unsigned i = 0; thread == 0 && i < p->nops; i++)
		mpic_put_def_name(&defs, MPIC_DEF_OP, i, p->ops[i]);
	for (unsigned i = 0; thread == 0 && i < PROGRAM_TYPES; i++)
		mpic_put_def_datatype(&defs, i, types[i].bytes, typesig_of(i), types[i].name);
	for (uint32_t i = 0; thread == 0 && i < p->ncomms; i++)
		put_comm(&defs, p, i, rank);
	for (uint32_t i = 0; thread == 0 && i < p->nobjects; i++) {
		const struct object_record *o = &p->objects[i];
		struct mpic_def d = {
			.type = o->type, .id = i, .comm = o->comm, .global_id = 500 + i, .created_by = 0xffff};
		if (place_in(&p->comm[o->comm], 0, rank) >= 0)
			mpic_put_def_object(&defs, &d);
	}
	for (uint32_t i = 0; i < t->nsigs; i++)
		mpic_put_def_sig(&defs, i, t->sigs[i].words, t->sigs[i].n);
	append_of(file, &(struct mpic_block){.kind = MPIC_DEFS, .process = rank, .thread = thread}, defs.data,
		  defs.len_bytes);
}

static void put_thread_meta(struct buf *meta, unsigned thread, const struct thread_record *t, double ready_us)
{
	buf_printf(meta, "%s{\"thread\":%u,\"events\":%llu,\"lost\":%llu", thread > 0 ? "," : "", thread,
		   (unsigned long long)t->events, (unsigned long long)t->lost);
	if (t->lost > 0)
		buf_printf(meta, ",\"lost_from_tick\":%llu", (unsigned long long)t->lost_from);
	if (t->slow_calls > 0)
		buf_printf(meta, ",\"slow_calls\":%llu,\"slow_ticks\":%llu", (unsigned long long)t->slow_calls,
			   (unsigned long long)t->slow_ticks);
	buf_printf(meta, ",\"running_ns\":0,\"ready_ns\":%.0f}", ready_us * 1e3);
}

static void write_meta(struct buf *file, const struct program *p, unsigned rank, double end_us)
{
	_cleanup_buf_ struct buf meta = {0};
	const struct rank_record *r = &p->rank[rank];
	end_us = r->end_us > 0 ? r->end_us : end_us;
	buf_printf(&meta,
		   "{\"pid\":%u,\"rank\":%u,\"size\":%u,\"state\":\"%s\",\"library\":\"Test MPI\","
		   "\"transports\":\"pml test, btl "
		   "self\",\"exe\":\"/test\",\"argv\":[\"./"
		   "test\"],\"cpus\":\"%u\",\"cpu\":%u,\"start_tick\":%llu,\"init_exit_tick\":%llu,"
		   "\"overhead_ns\":50,",
		   1000 + rank, rank, p->ranks, r->killed ? "lost" : "finalized", rank, rank,
		   (unsigned long long)tick_of(p, rank, 0), (unsigned long long)tick_of(p, rank, 0));
	buf_printf(&meta, "\"%s\":%llu,\"end_tick\":%llu,\"threads\":[",
		   r->killed ? "last_tick" : "finalize_enter_tick", (unsigned long long)tick_of(p, rank, end_us),
		   (unsigned long long)tick_of(p, rank, end_us));
	for (unsigned t = 0; t < PROGRAM_THREADS_MAX; t++)
		if (t == 0 || r->threads[t].nsigs > 0)
			put_thread_meta(&meta, t, &r->threads[t], t == 0 ? r->processor_wait_us : 0);
	buf_str(&meta, "]");
	if (r->nopen > 0)
		buf_printf(&meta, ",\"open\":[{\"thread\":0,\"enter_tick\":%llu,\"words\":[",
			   (unsigned long long)(r->open_us > 0 ? tick_of(p, rank, r->open_us) : 0));
	for (uint32_t i = 0; i < r->nopen; i++)
		buf_printf(&meta, "%s\"%llx\"", i > 0 ? "," : "", (unsigned long long)r->open[i]);
	buf_str(&meta, r->nopen > 0 ? "]}]}" : "}");
	append(file, MPIC_META, rank, 0, meta.data, meta.len_bytes);
}

static void write_events(struct buf *file, const struct thread_record *t, unsigned rank, unsigned thread)
{
	for (unsigned i = 0; i < t->nblocks; i++) {
		const struct block_record *b = &t->blocks[i];
		struct mpic_block block = {.kind = MPIC_EVENTS, .process = rank, .thread = thread, .seq = i};
		if (b->fate != BLOCK_MISSING)
			append_of(file, &block, b->payload.data,
				  b->payload.len_bytes - (b->fate == BLOCK_BROKEN ? 1 : 0));
	}
}

static void write_thread(struct buf *file, struct program *p, unsigned rank, unsigned thread)
{
	_cleanup_buf_ struct buf totals = {0};
	struct thread_record *t = &p->rank[rank].threads[thread];
	if (thread > 0 && t->nsigs == 0)
		return;
	write_defs(file, p, rank, thread);
	if (t->started)
		program_end_block(p, rank, thread, BLOCK_WHOLE);
	write_events(file, t, rank, thread);
	for (uint32_t i = 0; i < t->nsigs; i++)
		mpic_put_total(&totals, &t->sigs[i].total);
	append_of(file, &(struct mpic_block){.kind = MPIC_PROFILE, .process = rank, .thread = thread}, totals.data,
		  totals.len_bytes);
}

static void write_rank(struct buf *file, struct program *p, unsigned rank, double end_us)
{
	write_meta(file, p, rank, end_us);
	for (unsigned t = 0; t < PROGRAM_THREADS_MAX; t++)
		write_thread(file, p, rank, t);
}

static void write_node_meta(struct buf *file, const struct program *p, unsigned node)
{
	_cleanup_buf_ struct buf meta = {0};
	bool first = true;
	buf_printf(&meta,
		   "{\"node\":\"n%u\",\"nodeid\":%u,\"nnodes\":%u,\"cluster\":\"test\",\"job_id\":"
		   "\"%s\",\"restart\":0,\"nodelist\":\"%s\","
		   "\"step_id\":\"0\",\"ntasks\":%u,\"program\":\"./test\",\"argv\":[\"./test\"],"
		   "\"clock\":{\"source\":\"tsc\",\"hz\":1e9},%s\"exits\":[",
		   node, node, p->nodes, p->job_id, p->nodelist != NULL ? p->nodelist : "", p->ranks,
		   p->node_members[node] != NULL ? p->node_members[node] : "");
	for (unsigned r = 0; r < p->ranks; r++) {
		if (node_of(p, r) != node)
			continue;
		buf_printf(&meta, "%s{\"task\":%u,\"status\":%d}", first ? "" : ",", r, p->rank[r].status);
		first = false;
	}
	buf_str(&meta, "]}");
	append(file, MPIC_META, MPIC_NODE, 0, meta.data, meta.len_bytes);
}

/* The realtime clock lies like the tick; the truth is only in the messages. */
static void write_clock(struct buf *file, const struct program *p, unsigned node, double end_us)
{
	_cleanup_buf_ struct buf samples = {0};
	for (int i = 0; i <= 10; i++) {
		int64_t ns = llround(shown_ns(p, node, end_us * i / 10));
		struct mpic_clock c = {(uint64_t)(TICK_ZERO + ns), 1000000000 + ns, REALTIME_ZERO + ns};
		mpic_put_clock(&samples, &c);
	}
	append(file, MPIC_CLOCK, MPIC_NODE, 0, samples.data, samples.len_bytes);
}

/* Two samples, the first of which is whole. Processes have the numbers of their ranks. */
static void write_samples(struct buf *file, const struct program *p, unsigned node, double end_us)
{
	for (unsigned i = 0; i < 2; i++) {
		_cleanup_buf_ struct buf b = {0};
		int64_t ns = llround(shown_ns(p, node, end_us * i));
		mpic_put_sample(&b, &(struct mpic_sample){(uint64_t)(TICK_ZERO + ns), 1000000000 + ns,
							  REALTIME_ZERO + ns, 1000000000, i == 0});
		if (p->memory_limit_bytes[node] > 0)
			mpic_put_sample_memory(&b, p->memory_bytes[node][i], p->memory_limit_bytes[node]);
		for (unsigned r = 0; r < p->ranks; r++) {
			const struct rank_record *x = &p->rank[r];
			if (node_of(p, r) != node)
				continue;
			mpic_put_sample_process(&b, r, SAMPLE_RUNNING, p->memory_bytes[node][i] / 2);
			mpic_put_sample_thread(&b, 0);
			mpic_put_sample_counters(&b, &(struct mpic_counters){(uint64_t)(x->cycles / 2),
									     (uint64_t)(x->cycles / 4),
									     (uint64_t)(x->user_us * 500)});
		}
		append(file, MPIC_SAMPLE, MPIC_NODE, i, b.data, b.len_bytes);
	}
}

static void write_node(struct program *p, const char *dir, unsigned node, double end_us)
{
	_cleanup_buf_ struct buf file = {0};
	char path[512];
	mpic_append_magic(&file, FILE_ID);
	write_node_meta(&file, p, node);
	write_clock(&file, p, node, end_us);
	for (unsigned r = 0; r < p->ranks; r++)
		if (node_of(p, r) == node)
			write_rank(&file, p, r, end_us);
	write_samples(&file, p, node, end_us);
	append(&file, MPIC_END, MPIC_NODE, FILE_ID, "{}", 2);
	snprintf(path, sizeof(path), "%s/n%u.mpic", dir, node);
	FILE *f = fopen(path, "w");
	cr_assert_not_null(f);
	cr_assert_eq(fwrite(file.data, 1, file.len_bytes, f), file.len_bytes);
	cr_assert_eq(fclose(f), 0);
}

void program_write(struct program *p, const char *dir, double end_us, int leave_out)
{
	for (unsigned n = 0; n < p->nodes; n++)
		if ((int)n != leave_out)
			write_node(p, dir, n, end_us);
}
