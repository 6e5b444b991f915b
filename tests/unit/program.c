/* program.c - see program.h. */
#include "program_parts.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

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

void program_thread_level(struct program *p, unsigned rank, int level)
{
	p->rank[rank].thread_level = level;
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

void program_table_full(struct program *p, unsigned rank)
{
	p->rank[rank].table_full = true;
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

void program_finalizing(struct program *p, unsigned rank, double at_us, int wait_status)
{
	program_killed(p, rank, wait_status);
	p->rank[rank].finalize_us = at_us;
}

void program_unrecorded(struct program *p, unsigned rank)
{
	p->rank[rank].unrecorded = true;
}

void program_ended(struct program *p, unsigned rank, double at_us)
{
	p->rank[rank].end_us = at_us;
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

/* Calls of these words: an event, with what is in it beside them. */
struct run {
	const uint64_t *words, *extra;
	uint32_t n, nextra;
	uint64_t calls;
};

static void record_run(struct program *p, unsigned rank, const struct call *c, const struct run *run)
{
	struct thread_record *t = &p->rank[rank].threads[c->thread];
	struct mpic_event ev = {.sig = sig_id(t, run->words, run->n),
				.enter_tick = tick_of(p, rank, c->from_us),
				.exit_tick = tick_of(p, rank, c->to_us)};
	ev.extra = run->extra;
	ev.nextra = run->nextra;
	t->sigs[ev.sig].total.calls += run->calls;
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
	const uint64_t coarse[2] = {sig_head((uint16_t)words[0], SIG_TIME, 0, 1, 0, 0), words[1]};
	struct run known = {words, NULL, n, 0, 1}, literal = {coarse, words, 2, n, 1};
	record_run(p, rank, c, p->rank[rank].table_full ? &literal : &known);
}

void program_end_block(struct program *p, unsigned rank, unsigned thread, enum block_fate fate)
{
	struct thread_record *t = &p->rank[rank].threads[thread];
	cr_assert(t->started);
	cr_assert_lt(t->nblocks, BLOCKS_MAX);
	struct block_record *b = &t->blocks[t->nblocks++];
	mpic_columns_payload(&t->columns, &b->payload);
	b->fate = fate;
	t->events -= fate == BLOCK_LATER ? t->columns.count : 0;
	t->started = false;
}

static uint64_t address_of(const struct call *c)
{
	return 0x400000 + 16 * (uint64_t)c->line + 1;
}

static void point_to_point(struct program *p, unsigned rank, const struct call *c, enum sig_shape shape)
{
	uint64_t words[9] = {sig_head(op_id(p, c->op), shape, c->flags, 0, 0, 0), address_of(c),
			     sig_pair(c->comm, (uint32_t)c->peer), sig_pair((uint32_t)c->tag, c->type),
			     (c->room > 0 && shape == SIG_RECV ? c->room : c->bytes) / program_types[c->type].bytes};
	uint32_t n = 5;
	if (shape == SIG_SENDRECV) {
		words[n++] = sig_pair(c->comm, (uint32_t)c->recv_peer);
		words[n++] = sig_pair((uint32_t)c->recv_tag, c->type);
		words[n++] = (c->room > 0 ? c->room : c->recv_bytes) / program_types[c->type].bytes;
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
	record_run(p, rank, &c, &(struct run){all, extra, 2 + n, 2, calls});
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

void program_timed(struct program *p, unsigned rank, uint64_t calls, uint64_t ns)
{
	p->rank[rank].threads[0].timed_calls = calls;
	p->rank[rank].threads[0].timed_ticks = calls * ns;
}

void program_shares_processor(struct program *p, unsigned rank, double us)
{
	p->rank[rank].processor_wait_us = p->rank[rank].running_us = us;
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
