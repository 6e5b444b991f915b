/* program_write.c - a program as .mpic files. In: program_parts.h. */
#include "format/mpic_sample.h"
#include "program_parts.h"
#include "tests/tools/put_defs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_ID 0x70726f67
#define REALTIME_ZERO 1700000000000000000ll

const struct type_facts program_types[PROGRAM_TYPES] = {
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
		return typesig_basic(program_types[type].name, strlen(program_types[type].name));
	}
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
		mpic_put_def_datatype(&defs, i, program_types[i].bytes, typesig_of(i), program_types[i].name);
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

static void put_thread_meta(struct buf *meta, unsigned thread, const struct thread_record *t, double running_us,
			    double ready_us)
{
	buf_printf(meta, "%s{\"thread\":%u,\"events\":%llu,\"lost\":%llu", thread > 0 ? "," : "", thread,
		   (unsigned long long)t->events, (unsigned long long)t->lost);
	if (t->lost > 0)
		buf_printf(meta, ",\"lost_from_tick\":%llu", (unsigned long long)t->lost_from);
	if (t->slow_calls > 0)
		buf_printf(meta, ",\"slow_calls\":%llu,\"slow_ticks\":%llu", (unsigned long long)t->slow_calls,
			   (unsigned long long)t->slow_ticks);
	if (t->timed_calls > 0)
		buf_printf(meta, ",\"recording_calls\":%llu,\"recording_ticks\":%llu",
			   (unsigned long long)t->timed_calls, (unsigned long long)t->timed_ticks);
	buf_printf(meta, ",\"running_ns\":%.0f,\"ready_ns\":%.0f}", running_us * 1e3, ready_us * 1e3);
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
		   "\"thread_level\":%d,\"overhead_ns\":50,\"recording_ticks\":10,\"inside_ticks\":30,",
		   1000 + rank, rank, p->ranks, r->killed ? "lost" : "finalized", rank, rank,
		   (unsigned long long)tick_of(p, rank, 0), (unsigned long long)tick_of(p, rank, 0), r->thread_level);
	if (r->finalize_us > 0)
		buf_printf(&meta, "\"finalize_enter_tick\":%llu,",
			   (unsigned long long)tick_of(p, rank, r->finalize_us));
	buf_printf(&meta, "\"%s\":%llu,\"end_tick\":%llu,\"threads\":[",
		   r->killed ? "last_tick" : "finalize_enter_tick", (unsigned long long)tick_of(p, rank, end_us),
		   (unsigned long long)tick_of(p, rank, end_us));
	for (unsigned t = 0; t < PROGRAM_THREADS_MAX; t++)
		if (t == 0 || r->threads[t].nsigs > 0)
			put_thread_meta(&meta, t, &r->threads[t], t == 0 ? r->running_us : 0,
					t == 0 ? r->processor_wait_us : 0);
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
		if (b->fate != BLOCK_MISSING && b->fate != BLOCK_LATER)
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
		if (node_of(p, r) == node && !p->rank[r].unrecorded)
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
