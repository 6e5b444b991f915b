/* snapshot.c - see snapshot.h. The time is an argument, so that a day passes as fast as it is counted. */
#include "collect/snapshot.h"

#include <math.h>

void snapshot_clock(struct snapshots *s, const struct tick_sample *now, bool always)
{
	if (!always && !backoff_is_due(&s->clocks_sampled, CLOCK_SAMPLE_SHARE, now->monotonic_ns))
		return;
	backoff_written(&s->clocks_sampled, now->monotonic_ns);
	mpic_put_clock(&s->clocks, &(struct mpic_clock){now->tick, now->monotonic_ns, now->realtime_ns});
}

/* Any values: whose file it is, may have written there. */
static bool is_apart(const struct tick_sample *a, const struct tick_sample *b)
{
	double x = (double)a->realtime_ns - (double)a->monotonic_ns,
	       y = (double)b->realtime_ns - (double)b->monotonic_ns;
	return fabs(x - y) > CLOCK_APART_NS;
}

void snapshot_clocks_of(struct snapshots *s, const struct tick_sample *now, const struct process *processes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct segfile *f = processes[i].file;
		const struct tick_sample *both[2] = {&f->clock_start, &f->clock_end};
		for (int k = 0; k < 2; k++)
			if (both[k]->tick != 0 && !is_apart(both[k], now))
				mpic_put_clock(&s->clocks, &(struct mpic_clock){both[k]->tick, both[k]->monotonic_ns,
										both[k]->realtime_ns});
	}
}

static void put_clocks(struct snapshots *s, struct output *o, int64_t now_ns)
{
	struct mpic_block b = {.kind = MPIC_CLOCK, .process = MPIC_NODE, .seq = s->clock_seq++};
	if (s->clocks.len_bytes > 0)
		output_block(o, &b, s->clocks.data, s->clocks.len_bytes);
	s->clocks.len_bytes = 0;
	backoff_written(&s->clocks_written, now_ns);
}

int snapshot_process(struct output *o, struct process *p, bool whole, int64_t now_ns)
{
	p->described = p->file->size > 0;
	p->last_described = p->gone;
	backoff_written(&p->snapshots, now_ns);
	int profile = process_profile(p, o);
	process_defs(p, o); /* behind the totals: all that they count is defined, whether events were drained or not */
	int meta = meta_process(o, p, whole);
	return profile < 0 ? profile : meta;
}

/* A process that is gone does not change. */
static bool is_due(const struct process *p, int64_t now_ns)
{
	if (p->gone)
		return !p->last_described;
	return (p->file->size > 0 && !p->described) || backoff_is_due(&p->snapshots, SNAPSHOT_SHARE, now_ns);
}

/* What did not reach the file may have been what is written only once. */
static void repeat_after_failure(struct snapshots *s, const struct output *o, struct process *processes, uint32_t n)
{
	if (o->failed_blocks == s->failed_blocks)
		return;
	s->failed_blocks = o->failed_blocks;
	s->node.written = false;
	for (uint32_t i = 0; i < n; i++)
		processes[i].description_crc = 0;
}

/* The first look at the hardware takes the agent a while: not beside MPI_Init, whose processes and daemons need the
 * processors themselves, unless that takes very long. */
static bool node_is_due(struct snapshots *s, const struct process *processes, uint32_t n, int64_t now_ns)
{
	bool begun = s->node.written;
	if (s->first_round_ns == 0)
		s->first_round_ns = now_ns;
	for (uint32_t i = 0; i < n && !begun; i++)
		begun = processes[i].file->size > 0 || processes[i].gone;
	return (begun || now_ns - s->first_round_ns >= NODE_PATIENCE_NS) &&
	       backoff_is_due(&s->node_written, SNAPSHOT_SHARE, now_ns);
}

void snapshot_round(struct snapshots *s, struct output *o, struct process *processes, uint32_t n, int64_t now_ns)
{
	bool written = false;
	if (n == 0)
		return;
	repeat_after_failure(s, o, processes, n);
	if (node_is_due(s, processes, n, now_ns)) {
		backoff_written(&s->node_written, now_ns);
		meta_node(o, &s->node, false);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!is_due(&processes[i], now_ns))
			continue;
		snapshot_process(o, &processes[i], false, now_ns);
		written = true;
	}
	if (backoff_is_due(&s->clocks_written, CLOCK_SHARE, now_ns)) {
		put_clocks(s, o, now_ns);
		written = true;
	}
	if (written)
		output_flush(o);
}

int snapshot_end(struct snapshots *s, struct output *o, struct process *processes, uint32_t n, int64_t now_ns)
{
	int rc = meta_node(o, &s->node, true);
	for (uint32_t i = 0; i < n; i++) {
		int one = snapshot_process(o, &processes[i], true, now_ns);
		rc = one < 0 ? one : rc;
	}
	put_clocks(s, o, now_ns);
	return rc;
}

void snapshots_done(struct snapshots *s)
{
	meta_node_done(&s->node);
	buf_done(&s->clocks);
}
