/* synth_blocks.c - clocks, blocks and META of simulated nodes (format/SPEC.md), as collect/ writes them. */
#include "synth_parts.h"

#include "base/vec.h"
#include "pmpi/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFLATE_LEVEL 6
#define FLUSH_BYTES (1u << 20)
#define REALTIME_ZERO_NS 1760000000000000000ll

void synth_give_up(struct synth *s, const char *what)
{
	if (!s->failed)
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
	s->failed = true;
}

/* ---- clocks ---- */

uint64_t synth_tick_at(struct synth *s, const struct node *n, uint64_t ps)
{
	uint64_t tick = n->tick_zero + (uint64_t)(ps * n->ticks_per_ps >> 64);
	return s->options.noise ? (tick + (synth_random(s) >> 32) % 26) & ~1ull : tick * 2 / 49 * 49 / 2;
}

struct tick_sample synth_sample_at(struct synth *s, const struct node *n, uint64_t ps)
{
	int64_t ns = (int64_t)(ps / 1000);
	return (struct tick_sample){synth_tick_at(s, n, ps), n->monotonic_zero_ns + ns,
				    REALTIME_ZERO_NS + ns + (int64_t)(synth_random(s) % 61) - 30};
}

/* ---- blocks ---- */

void synth_flush(struct synth *s, struct node *n)
{
	size_t done = 0;
	while (done < n->pending.len_bytes && !s->failed) {
		ssize_t got = write(n->fd, n->pending.data + done, n->pending.len_bytes - done);
		if (got > 0)
			done += (size_t)got;
		else if (got == 0 || errno != EINTR)
			synth_give_up(s, n->path);
	}
	n->pending.len_bytes = 0;
}

void synth_put_block(struct synth *s, struct node *n, const struct mpic_block *b, const struct buf *payload)
{
	struct error e;
	errno = ENOMEM;
	if (buf_failed(payload)) {
		synth_give_up(s, n->path);
	} else if (mpic_append_block(&n->pending, b, payload->data, payload->len_bytes, DEFLATE_LEVEL, &e) < 0) {
		fprintf(stderr, "%s: %s\n", n->path, e.text);
		s->failed = true;
	}
	n->blocks++;
	if (n->pending.len_bytes >= FLUSH_BYTES)
		synth_flush(s, n);
}

void synth_put_defs(struct synth *s, uint32_t rank)
{
	struct synth_record *r = s->ranks[rank].record;
	struct mpic_block b = {.kind = MPIC_DEFS, .process = r->index, .seq = r->defs_seq};
	if (r->defs.len_bytes == 0)
		return;
	synth_put_block(s, synth_place_of(s, rank), &b, &r->defs);
	r->defs_seq++;
	r->defs.len_bytes = 0;
}

static void put_profile(struct synth *s, uint32_t rank)
{
	static struct buf payload;
	struct synth_record *r = s->ranks[rank].record;
	payload.len_bytes = 0;
	synth_add_up(r);
	r->calls = 0;
	for (uint32_t sig = 0; sig < r->nsigs; sig++) {
		const struct segment_total *t = &r->totals[sig];
		if (t->calls > 0)
			mpic_put_total(&payload, &(struct mpic_total){sig, t->calls, t->ticks});
		r->calls += t->calls;
	}
	struct mpic_block b = {.kind = MPIC_PROFILE, .process = r->index, .seq = r->profile_seq};
	r->profile_seq++;
	if (payload.len_bytes > 0)
		synth_put_block(s, synth_place_of(s, rank), &b, &payload);
}

void synth_put_clocks(struct synth *s, struct node *n, int64_t now_ns)
{
	struct mpic_block b = {.kind = MPIC_CLOCK, .process = MPIC_NODE, .seq = n->clock_seq++};
	if (n->clocks.len_bytes > 0)
		synth_put_block(s, n, &b, &n->clocks);
	n->clocks.len_bytes = 0;
	backoff_written(&n->clocks_written, now_ns);
}

void synth_keep_clock(struct node *n, struct tick_sample t)
{
	mpic_put_clock(&n->clocks, &(struct mpic_clock){t.tick, t.monotonic_ns, t.realtime_ns});
}

/* ---- META ---- */

static void put_tick(struct buf *json, const char *name, uint64_t tick)
{
	buf_printf(json, ",\"%s\":\"%llu\"", name, (unsigned long long)tick);
}

void synth_put_node_meta(struct synth *s, uint32_t node)
{
	static struct buf json;
	const struct synth_options *o = &s->options;
	struct node *n = &s->files->nodes[node];
	json.len_bytes = 0;
	buf_printf(&json,
		   "{\"nodeid\":%u,\"nnodes\":%u,\"ntasks\":%u,\"restart\":0,\"node\":\"n%05u\",\"cluster\":\"synth\","
		   "\"job_id\":\"1\",\"step_id\":\"0\",\"nodelist\":\"n[00000-%05u]\",\"program\":\"%s\",\"switches\":"
		   "\"core.leaf%u.n%05u switch.switch.node\",\"slurm\":\"22.05.8\",\"submit\":\"/home/user/run\","
		   "\"mode\":\"events\",\"argv\":[\"%s\"],\"clock\":{\"source\":\"tsc\"},\"exits\":[]}",
		   node, o->nodes, o->ranks, node, o->nodes - 1, o->program, node / 16, node, o->program);
	synth_put_block(s, n, &(struct mpic_block){.kind = MPIC_META, .process = MPIC_NODE, .seq = n->meta_seq++},
			&json);
}

static void put_description(struct synth *s, uint32_t rank, struct buf *json)
{
	const struct synth_record *r = s->ranks[rank].record;
	buf_printf(json,
		   ",\"world\":0,\"namespace\":\"synth.1.0\",\"calls_before_init\":0,\"host\":\"n%05u\",\"exe\":"
		   "\"/home/user/bin/%s\",\"argv\":[\"%s\"],\"argv_missing_bytes\":0,\"modules_missing\":0,"
		   "\"library\":\"%s\",\"thread_level\":0,\"cpus\":\"%u\",\"cpu\":%u,\"switches\":\"\"",
		   synth_node_of(s, rank), s->options.program, s->options.program, r->running ? "Open MPI v4.1.4" : "",
		   r->index, r->index);
	put_tick(json, "init_exit_tick", r->init_exit_tick);
	buf_printf(json, ",\"overhead_ns\":%s", r->running ? "31.5" : "0");
}

void synth_put_meta(struct synth *s, uint32_t rank, bool whole)
{
	static struct buf json;
	struct synth_record *r = s->ranks[rank].record;
	json.len_bytes = 0;
	buf_printf(&json, "{\"pid\":%u,\"rank\":%d,\"size\":%d", 10000 + rank, r->running ? (int)rank : -1,
		   r->running ? (int)s->options.ranks : -1);
	put_tick(&json, "start_tick", r->start_tick);
	if (whole)
		put_description(s, rank, &json);
	buf_printf(&json, ",\"state\":\"%s\"", r->finalized ? "finalized" : "running");
	put_tick(&json, "end_tick", r->end_tick);
	put_tick(&json, "finalize_enter_tick", r->finalize_tick);
	buf_str(&json, ",\"threads\":[");
	if (r->running)
		buf_printf(&json,
			   "{\"thread\":0,\"calls\":%llu,\"events\":%llu,\"lost\":0,\"slow_calls\":%llu,"
			   "\"slow_ticks\":%llu,\"defs_missing\":0,\"lost_from_tick\":\"0\",\"lost_reason\":\"\"}",
			   (unsigned long long)r->calls, (unsigned long long)r->written,
			   (unsigned long long)r->slow_calls, (unsigned long long)r->slow_ticks);
	buf_str(&json, "]}");
	struct mpic_block b = {.kind = MPIC_META, .process = r->index, .seq = r->meta_seq++};
	synth_put_block(s, synth_place_of(s, rank), &b, &json);
}

void synth_snapshot(struct synth *s, uint32_t rank, bool whole, int64_t now_ns)
{
	put_profile(s, rank);
	synth_put_defs(s, rank);
	synth_put_meta(s, rank, whole);
	backoff_written(&s->ranks[rank].record->snapshots, now_ns);
}
