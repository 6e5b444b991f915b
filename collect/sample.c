/* sample.c - see sample.h. Samples are taken when the gap divides the time of day, so that those of all nodes are of
 * the same moment as far as their clocks agree. */
#include "collect/sample.h"
#include "collect/open.h"
#include "collect/others.h"
#include "collect/usage.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE_MIN_NS 50000000ll /* the agent looks no more often */
/* Signatures are numbered as they come, and counted at once: behind so many that were never called there is none, but
 * for one that is just being defined. The last sample looks at all. */
#define UNUSED_RUN 256u

void sampler_begin(struct sampler *s, const struct layout *layout)
{
	const char *text = layout_text(layout, LAYOUT_SAMPLE);
	char *end;
	double seconds = strtod(text, &end);
	s->every_ns = SAMPLE_GAP_NS;
	if (end != text && *end == '\0' && seconds >= 0 && seconds < 1e6)
		s->every_ns = (int64_t)(seconds * 1e9);
	if (s->every_ns > 0 && s->every_ns < SAMPLE_MIN_NS)
		s->every_ns = SAMPLE_MIN_NS;
}

void sampler_done(struct sampler *s)
{
	buf_done(&s->payload);
	memory_done(&s->memory);
}

int64_t sample_gap_ns(int64_t every_ns, int64_t age_ns)
{
	int64_t gap_ns = every_ns;
	while (gap_ns <= age_ns / SAMPLE_SHARE / 2)
		gap_ns *= 2;
	return gap_ns;
}

/* ---- one thread ---- */

/* What is known of it from the sample before; false without memory. */
static bool remember(struct drained_thread *t, size_t nsigs)
{
	if (nsigs <= t->nsampled)
		return true;
	struct segment_total *more = realloc(t->sampled, nsigs * sizeof(*more));
	if (more == NULL)
		return false;
	memset(more + t->nsampled, 0, (nsigs - t->nsampled) * sizeof(*more));
	t->sampled = more;
	t->nsampled = nsigs;
	return true;
}

struct put_totals {
	uint32_t next_sig, unused;
	uint64_t calls; /* that came */
};

/* The program may be between its two stores: what is not there yet is in the next sample. */
static bool put_region(struct buf *out, struct drained_thread *t, const struct segment_total *totals, uint32_t first,
		       size_t n, bool last, struct put_totals *put)
{
	for (size_t k = 0; k < n && first + k < MPIC_SIGS_MAX && (last || put->unused < UNUSED_RUN); k++) {
		struct segment_total now = {__atomic_load_n(&totals[k].calls, __ATOMIC_RELAXED),
					    __atomic_load_n(&totals[k].ticks, __ATOMIC_RELAXED)};
		uint32_t sig = first + (uint32_t)k;
		put->unused = now.calls == 0 ? put->unused + 1 : 0;
		if (now.calls == 0 && now.ticks == 0)
			continue;
		if (!remember(t, (size_t)sig + 1 + UNUSED_RUN))
			return false;
		struct segment_total *was = &t->sampled[sig];
		if (now.calls == was->calls && now.ticks == was->ticks)
			continue;
		mpic_put_sample_total(out, put->next_sig, sig, now.calls - was->calls, now.ticks - was->ticks);
		put->next_sig = sig + 1;
		put->calls += now.calls - was->calls;
		*was = now;
	}
	return true;
}

static bool put_totals(struct buf *out, const struct process *p, uint32_t thread, bool last, uint64_t *ret_calls)
{
	struct put_totals put = {0};
	uint32_t first = 0;
	for (uint32_t i = 0; i < p->nmaps; i++) {
		const struct region *r = &p->maps[i].row;
		const struct segment_total *totals = p->maps[i].at;
		if (r->type != REGION_TOTALS || r->thread != thread || totals == NULL)
			continue;
		size_t n = r->len_bytes / sizeof(*totals);
		if (!put_region(out, &p->threads[thread], totals, first, n, last, &put))
			return false;
		first = n < MPIC_SIGS_MAX - first ? first + (uint32_t)n : MPIC_SIGS_MAX;
	}
	*ret_calls = put.calls;
	return true;
}

/* What it may wait for, once, when it is still in the call of the sample before, or died in it: few calls last so
 * long. */
static void put_started(struct buf *out, const struct process *p, uint32_t thread, uint64_t enter_tick)
{
	struct drained_thread *t = &p->threads[thread];
	uint32_t started[THREAD_STARTED], n;
	uint64_t next_serial;
	struct open_now now;
	if (t->sampled_started)
		return;
	n = started_now(p, thread, &next_serial, started);
	if (!open_call_now(p, thread, &now) || now.enter_tick != enter_tick) /* it has gone on meanwhile */
		return;
	t->sampled_started = true;
	if (n > 0)
		mpic_put_sample_started(out, next_serial, started, n);
}

/* `came`: calls that ended since the sample before. Who is in the call of then has not ended it. True: it is still in
 * the call of the sample before. */
static bool put_open(struct buf *out, const struct process *p, uint32_t thread, uint64_t now_tick, bool whole,
		     uint64_t came)
{
	struct drained_thread *t = &p->threads[thread];
	struct open_now now;
	uint64_t before = t->sampled_enter;
	t->sampled_enter = 0;
	if (!open_call_now(p, thread, &now) || (now.enter_tick == before && came > 0))
		return false;
	t->sampled_enter = now.enter_tick;
	if (!whole && now.enter_tick == before) {
		mpic_put_sample_still(out);
		put_started(out, p, thread, now.enter_tick);
		return true;
	}
	t->sampled_started = false;
	uint64_t age = now_tick > now.enter_tick ? now_tick - now.enter_tick : 0;
	mpic_put_sample_open(out, age, now.sig, now.words, now.nwords);
	if (p->gone) /* there is no sample behind this one */
		put_started(out, p, thread, now.enter_tick);
	return now.enter_tick == before;
}

static struct mpic_system since(const struct mpic_system *now, const struct mpic_system *then)
{
	return (struct mpic_system){
		.cpu_ns = now->cpu_ns - then->cpu_ns,
		.wait_ns = now->wait_ns - then->wait_ns,
		.slices = now->slices - then->slices,
		.minor_faults = now->minor_faults - then->minor_faults,
		.major_faults = now->major_faults - then->major_faults,
		.cpu = now->cpu,
		.run_state = now->run_state,
		.involuntary = now->involuntary - then->involuntary,
	};
}

/* Of all threads that had the area: another one may have it now. */
static bool usage_of_area(const struct process *p, struct drained_thread *t, bool all, struct mpic_system *ret_system,
			  uint64_t *ret_resident_bytes)
{
	const struct mpic_system last = t->usage.system;
	uint32_t tid = t->area->tid;
	struct mpic_system *b = &t->before;
	if (t->usage.tid != 0 && t->usage.tid != tid) {
		b->cpu_ns += last.cpu_ns;
		b->wait_ns += last.wait_ns;
		b->slices += last.slices;
		b->minor_faults += last.minor_faults;
		b->major_faults += last.major_faults;
		b->involuntary += last.involuntary;
	}
	if (!usage_of_thread(&t->usage, p->file->pid, tid, all, ret_system, ret_resident_bytes))
		return false;
	ret_system->cpu_ns += b->cpu_ns;
	ret_system->wait_ns += b->wait_ns;
	ret_system->slices += b->slices;
	ret_system->minor_faults += b->minor_faults;
	ret_system->major_faults += b->major_faults;
	ret_system->involuntary += b->involuntary;
	return true;
}

static void put_system(struct buf *out, struct drained_thread *t, const struct mpic_system *now)
{
	struct mpic_system more = since(now, &t->system);
	t->system = *now;
	mpic_put_sample_system(out, &more);
}

/* Not each time: it would cost as much as all else. Early more often, so that short runs have it as well. */
static bool counts_now(uint32_t samples, bool last)
{
	return last || samples % USAGE_STATUS_EVERY == 0 || (samples & (samples - 1)) == 0;
}

static void put_counters(struct buf *out, struct drained_thread *t, bool last)
{
	struct mpic_counters since;
	if (counts_now(t->usage.samples, last) && counters_begin(&t->counters, t->usage.tid, NULL) &&
	    counters_read(&t->counters, t->usage.user_ns, &since))
		mpic_put_sample_counters(out, &since);
}

/* ---- one process ---- */

static enum mpic_sample_state state_of(const struct process *p)
{
	uint32_t state = atomic_load_explicit(&p->file->state, memory_order_acquire);
	if (state == SEGFILE_FINALIZED)
		return SAMPLE_FINALIZED;
	if (state == SEGFILE_ABORTED)
		return SAMPLE_ABORTED;
	if (p->lost)
		return SAMPLE_LOST;
	return p->file->init_exit_tick == 0 ? SAMPLE_STARTING : SAMPLE_RUNNING;
}

/* As long as one of its threads stands in a call: who is outside may start more. */
static void put_others(struct buf *out, struct process *p)
{
	uint64_t others;
	if (!others_now(p, &others) || p->sampled_others == others + 1)
		return;
	mpic_put_sample_others(out, others);
	p->sampled_others = others + 1;
}

static void forget(struct process *p)
{
	p->sampled_others = 0;
	for (uint32_t i = 0; i < p->nthreads; i++) {
		struct drained_thread *t = &p->threads[i];
		if (t->sampled != NULL)
			memset(t->sampled, 0, t->nsampled * sizeof(*t->sampled));
		t->system = (struct mpic_system){0};
	}
}

static bool put_process(struct sampler *s, struct process *p, uint64_t now_tick, bool whole, bool last)
{
	bool seen[SEGFILE_THREADS_MAX] = {false};
	struct mpic_system *systems = calloc(p->nthreads + 1, sizeof(*systems));
	uint64_t resident_bytes = 0, came = 0;
	bool good = systems != NULL, stands = false, here = !p->gone && usage_same_namespace(p->file->pid_namespace);
	for (uint32_t i = 0; good && here && i < p->nthreads; i++)
		if (p->threads[i].area != NULL)
			seen[i] = usage_of_area(p, &p->threads[i], last, &systems[i], &resident_bytes);
	mpic_put_sample_process(&s->payload, p->index, state_of(p), resident_bytes);
	for (uint32_t i = 0; good && i < p->nthreads; i++) {
		if (p->threads[i].area == NULL)
			continue;
		mpic_put_sample_thread(&s->payload, i);
		good = put_totals(&s->payload, p, i, last || p->gone, &came);
		stands |= put_open(&s->payload, p, i, now_tick, whole, came);
		if (!seen[i])
			continue;
		put_system(&s->payload, &p->threads[i], &systems[i]);
		put_counters(&s->payload, &p->threads[i], last);
	}
	if (here && stands)
		put_others(&s->payload, p);
	free(systems);
	return good;
}

/* ---- all ---- */

static void put_memory(struct sampler *s, const struct process *processes, uint32_t n)
{
	uint64_t used;
	for (uint32_t i = 0; i < n && !s->memory.probed; i++)
		if (!processes[i].closed && !processes[i].gone &&
		    usage_same_namespace(processes[i].file->pid_namespace))
			memory_begin(&s->memory, processes[i].file->pid);
	if (memory_now(&s->memory, &used))
		mpic_put_sample_memory(&s->payload, used, s->memory.limit_bytes);
}

static void take_sample(struct sampler *s, struct output *o, struct process *processes, uint32_t n, int64_t gap_ns,
			bool last)
{
	struct tick_sample now = tick_sample(); /* the round began long before, if it drained much */
	struct mpic_sample head = {now.tick, now.monotonic_ns, now.realtime_ns, (uint64_t)gap_ns, !s->partial};
	uint64_t failed = o->failed_blocks;
	bool good = true;
	s->payload.len_bytes = 0;
	s->payload.failed = false;
	mpic_put_sample(&s->payload, &head);
	put_memory(s, processes, n);
	for (uint32_t i = 0; i < n && good; i++) {
		struct process *p = &processes[i];
		if (p->closed)
			continue;
		process_refresh(p);
		if (head.whole)
			forget(p);
		good = put_process(s, p, now.tick, head.whole, last);
		process_defs(p, o); /* behind the totals: all that they count is defined */
	}
	struct mpic_block b = {.kind = MPIC_SAMPLE, .process = MPIC_NODE, .seq = s->seq};
	good = good && !buf_failed(&s->payload) && output_block(o, &b, s->payload.data, s->payload.len_bytes) >= 0 &&
	       output_flush(o) == 0;
	s->seq++;
	s->partial = good && o->failed_blocks == failed;
}

/* Of the job on this node, from its first process on: an agent that follows another goes on in its pace. */
static int64_t age_ns(const struct process *processes, uint32_t n, int64_t now_ns)
{
	int64_t first = now_ns;
	for (uint32_t i = 0; i < n; i++)
		if (processes[i].file->clock_start.monotonic_ns > 0 &&
		    processes[i].file->clock_start.monotonic_ns < first)
			first = processes[i].file->clock_start.monotonic_ns;
	return now_ns - first;
}

void sampler_round(struct sampler *s, struct output *o, struct process *processes, uint32_t n,
		   const struct tick_sample *now)
{
	if (s->every_ns == 0 || n == 0)
		return;
	int64_t gap_ns = sample_gap_ns(s->every_ns, age_ns(processes, n, now->monotonic_ns));
	while (s->most_ns > 0 && gap_ns > s->most_ns && gap_ns > s->every_ns)
		gap_ns /= 2; /* so that each divides the next all the same */
	if (s->last_ns / gap_ns == now->realtime_ns / gap_ns)
		return;
	s->last_ns = now->realtime_ns;
	take_sample(s, o, processes, n, gap_ns, false);
}

void sampler_end(struct sampler *s, struct output *o, struct process *processes, uint32_t n)
{
	if (s->every_ns > 0 && n > 0)
		take_sample(s, o, processes, n, 0, true);
}
