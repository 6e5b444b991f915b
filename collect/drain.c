/* drain.c - from segments to blocks: records are split into columns, packed, appended.
 * In: committed bytes of ring segments and spilled segments.  Out: EVENTS, DEFS and PROFILE blocks. */
#include "base/cursor.h"
#include "collect/predecessor.h"
#include "format/mpic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEGMENT_BYTES_MAX (1u << 20)
#define SPILL_ROUND 16 /* segments drained at one go while the program runs */

static int rd_record(struct cursor *c, struct mpic_event *ev, uint64_t clock, uint64_t *extra)
{
	uint64_t head, gap, duration;
	uint32_t sig, n = 0;
	if (rd_u64(c, &head) < 0)
		return -EBADMSG;
	sig = (uint32_t)head & 0xffff;
	gap = head >> 16 & SEGREC_TICKS_MAX;
	duration = head >> 40;
	if (sig == SEGREC_LONG) {
		sig = (uint32_t)(head >> 16) & 0xffffff;
		n = (uint32_t)(head >> 40);
		if (n > SEGREC_EXTRA_MAX || rd_u64(c, &gap) < 0 || rd_u64(c, &duration) < 0)
			return -EBADMSG;
	}
	for (uint32_t i = 0; i < n; i++)
		if (rd_u64(c, &extra[i]) < 0)
			return -EBADMSG;
	*ev = (struct mpic_event){.sig = sig, .extra = extra, .nextra = n};
	/* What a reader would refuse must not stand between good records. */
	if (ev->sig >= MPIC_SIGS_MAX || __builtin_add_overflow(clock, gap, &ev->enter_tick) ||
	    __builtin_add_overflow(ev->enter_tick, duration, &ev->exit_tick))
		return -EBADMSG;
	return 0;
}

/* Polls that were still growing when the process died. */
static void put_pending(struct mpic_columns *columns, const struct thread_area *area)
{
	const struct pending_polls *polls = &area->polls;
	uint64_t extra[2] = {polls->calls, polls->ticks};
	struct mpic_event ev = {.sig = polls->sig,
				.enter_tick = polls->enter_tick,
				.exit_tick = polls->exit_tick,
				.extra = extra,
				.nextra = 2};
	if (polls->busy && polls->enter_tick >= columns->clock && polls->exit_tick >= polls->enter_tick)
		mpic_columns_put(columns, &ev);
}

/* One segment becomes one block. `last` = the stream ends here. */
static void drain_segment(struct process *p, struct output *o, const struct segment *head, const uint8_t *records,
			  uint32_t len_bytes, bool last)
{
	static struct mpic_columns columns;
	static struct buf payload;
	static uint64_t extra[SEGREC_EXTRA_MAX];
	struct cursor c = cursor_over(records, len_bytes);
	struct mpic_event ev;
	struct drained_thread *t = head->thread < p->nthreads ? &p->threads[head->thread] : NULL;

	if (t == NULL || t->area == NULL)
		return;
	mpic_columns_begin(&columns, head->begin_tick);
	while (cursor_left(&c) > 0 && rd_record(&c, &ev, columns.clock, extra) == 0)
		mpic_columns_put(&columns, &ev);
	if (last)
		put_pending(&columns, t->area);
	if (columns.count == 0)
		return;
	payload.len_bytes = 0;
	payload.failed = false;
	mpic_columns_payload(&columns, &payload);
	struct mpic_block b = {.kind = MPIC_EVENTS, .process = p->index, .thread = head->thread, .seq = head->seq};
	if (p->predecessor != NULL && predecessor_has(p->predecessor, b.kind, b.process, b.thread, b.seq))
		return;
	t->events += columns.count; /* process_lost() takes them back */
	int64_t packed = output_events(o, &b, &payload, columns.count, head->begin_tick);
	p->packed_event_bytes += packed > 0 ? (uint64_t)packed : 0;
	if (payload.failed)
		mpic_columns_done(&columns);
}

void process_lost(struct process *p, const struct queued_events *what)
{
	struct drained_thread *t = what->thread < p->nthreads ? &p->threads[what->thread] : NULL;
	if (t == NULL || t->area == NULL)
		return;
	if (t->area->dropped == 0 || what->begin_tick < t->area->dropped_from_tick)
		t->area->dropped_from_tick = what->begin_tick;
	t->events -= what->events;
	t->area->dropped += what->events;
}

static int drain_ring(struct process *p, struct output *o, struct drained_thread *t, bool all)
{
	int drained = 0;
	if (t->ring == NULL)
		return 0;
	uint32_t slot = ((const struct segment *)(const void *)t->ring)->len_bytes;
	if (slot < sizeof(struct segment) || slot > SEGMENT_BYTES_MAX)
		return 0;
	bool open = false;
	uint64_t next_seq = t->spilled_seq;
	for (size_t at = 0; at + slot <= t->ring_bytes; at += slot) {
		struct segment *g = (struct segment *)(void *)(t->ring + at);
		/* Partners: the release stores of state and committed in pmpi/stream.c. */
		uint32_t state = atomic_load_explicit(&g->state, memory_order_acquire);
		uint32_t len = atomic_load_explicit(&g->committed, memory_order_acquire);
		uint64_t bit = 1ull << (at / slot % 64);
		open |= state == SEGMENT_OPEN;
		if (state == SEGMENT_FULL || (state == SEGMENT_FREE && len > 0))
			next_seq = g->seq >= next_seq ? g->seq + 1 : next_seq;
		if ((t->drained_slots & bit) != 0 || len > slot - sizeof(*g) ||
		    (state != SEGMENT_FULL && !(all && state == SEGMENT_OPEN)))
			continue;
		struct segment head = *g;
		if (state == SEGMENT_OPEN && head.seq + 1 == t->spilled_seq) {
			/* It died after it had spilled this segment, before it used the slot for the next one. */
			head.seq++;
			head.begin_tick = t->area != NULL ? t->area->polls.previous_exit_tick : 0;
			len = 0;
		}
		drain_segment(p, o, &head, (const uint8_t *)(g + 1), len, state == SEGMENT_OPEN);
		t->drained_slots |= bit;
		drained++;
	}
	if (all && !open && t->area != NULL && t->area->polls.busy) {
		/* It died between two segments: the polls are behind them all. */
		struct segment last = {.thread = (uint32_t)(t - p->threads),
				       .seq = next_seq,
				       .begin_tick = t->area->polls.previous_exit_tick};
		drain_segment(p, o, &last, (const uint8_t *)"", 0, true);
	}
	uint32_t fill = (uint32_t)((uint64_t)drained * 100 * slot / t->ring_bytes);
	p->ring_fill_percent = fill > p->ring_fill_percent ? fill : p->ring_fill_percent;
	return drained;
}

static void give_ring_back(struct drained_thread *t)
{
	uint32_t slot = t->drained_slots != 0 ? ((const struct segment *)(const void *)t->ring)->len_bytes : 0;
	for (size_t at = 0; t->drained_slots != 0 && slot >= sizeof(struct segment) && at + slot <= t->ring_bytes;
	     at += slot) {
		struct segment *g = (struct segment *)(void *)(t->ring + at);
		if ((t->drained_slots & 1ull << (at / slot % 64)) != 0) /* partner: find_free_slot(), pmpi/stream.c */
			atomic_store_explicit(&g->state, SEGMENT_FREE, memory_order_release);
	}
	t->drained_slots = 0;
}

void process_give_back(struct process *p)
{
	for (uint32_t i = 0; i < p->nthreads; i++)
		give_ring_back(&p->threads[i]);
	if (p->spill_given_back == p->spill_done)
		return;
	p->spill_given_back = p->spill_done;
	/* Partner: the acquire load in pmpi/segfile.c: places are written again. */
	atomic_store_explicit(&p->file->spill_drained, p->spill_done, memory_order_release);
}

static bool read_spilled(const struct process *p, uint64_t index, struct segment *head, uint8_t *records, size_t cap)
{
	uint32_t place = p->file->spill_place[index % SPILL_SEGMENTS_MAX];
	off_t at = (off_t)place * SPILL_SLOT_BYTES;
	if (place >= SPILL_SEGMENTS_MAX || pread(p->spill_fd, head, sizeof(*head), at) != (ssize_t)sizeof(*head))
		return false;
	uint32_t len = atomic_load_explicit(&head->committed, memory_order_relaxed);
	return len <= cap && pread(p->spill_fd, records, len, at + (off_t)sizeof(*head)) == (ssize_t)len;
}

/* Behind the last segment that is whole. A program spills no further when so many of them wait for us: one that says
 * more has left none. */
static uint64_t spill_end(const struct process *p)
{
	/* Partner: the release store in segfile_spill(), pmpi/segfile.c. What lies behind is still in its ring. */
	uint64_t end = atomic_load_explicit(&p->file->spilled, memory_order_acquire);
	return end > p->spill_done && end - p->spill_done > SPILL_SEGMENTS_MAX ? p->spill_done : end;
}

static int drain_spill(struct process *p, struct output *o, bool all)
{
	static uint8_t bytes[SEGMENT_BYTES_MAX];
	char path[4096];
	int drained = 0;
	if (p->spill_fd < 0) {
		snprintf(path, sizeof(path), "%s" SPILL_SUFFIX, p->path);
		p->spill_fd = process_open_own(path);
	}
	uint64_t end = spill_end(p);
	if (p->spill_fd == -ENOENT) /* the program, or its user, removed it: nobody will ever read them */
		p->spill_done = end;
	p->refused |= p->spill_fd < 0 && end > p->spill_done;
	if (p->spill_fd < 0)
		return 0;
	while (p->spill_done < end && (all || drained < SPILL_ROUND)) {
		struct segment head;
		if (!read_spilled(p, p->spill_done, &head, bytes, sizeof(bytes)))
			break;
		drain_segment(p, o, &head, bytes, atomic_load_explicit(&head.committed, memory_order_relaxed), false);
		if (head.thread < p->nthreads)
			p->threads[head.thread].spilled_seq = head.seq + 1;
		p->spill_done++;
		drained++;
	}
	p->refused |= all && p->spill_done < end;
	return drained;
}

void process_defs(struct process *p, struct output *o)
{
	for (uint32_t i = 0; i < p->nmaps; i++) {
		struct mapped_region *m = &p->maps[i];
		const struct region *r = &m->row;
		if (r->type != REGION_DEFS || m->at == NULL || r->thread >= p->nthreads ||
		    r->len_bytes < sizeof(struct defs_area))
			continue;
		struct defs_area *d = m->at;
		uint32_t len = atomic_load_explicit(&d->committed, memory_order_acquire);
		if (len <= m->done_bytes || len > r->len_bytes - sizeof(*d))
			continue;
		struct mpic_block b = {.kind = MPIC_DEFS,
				       .process = p->index,
				       .thread = r->thread,
				       .seq = p->threads[r->thread].defs_seq++};
		if (output_block(o, &b, (const uint8_t *)(d + 1) + m->done_bytes, len - m->done_bytes) == -ENOMEM) {
			p->threads[r->thread].defs_seq--; /* without them events mean nothing: once more */
			p->refused = true;
			continue;
		}
		m->done_bytes = len;
	}
}

int process_drain(struct process *p, struct output *o, bool all)
{
	int drained = 0;
	p->refused = false;
	process_refresh(p);
	if (p->refused) /* without all of its parts nothing of it can be understood */
		return 0;
	drained += drain_spill(p, o, all);
	p->ring_fill_percent = drained > 0 ? 100 : 0;
	for (uint32_t i = 0; i < p->nthreads; i++)
		drained += drain_ring(p, o, &p->threads[i], all);
	if (drained > 0 || all)
		process_defs(p, o);
	return drained;
}

int process_profile(struct process *p, struct output *o)
{
	int rc = 0;
	for (uint32_t thread = 0; thread < p->nthreads; thread++) {
		_cleanup_buf_ struct buf payload = {0};
		struct drained_thread *t = &p->threads[thread];
		uint32_t sig = 0;
		t->calls = 0;
		for (uint32_t i = 0; i < p->nmaps; i++) {
			const struct region *r = &p->maps[i].row;
			const struct segment_total *totals = p->maps[i].at;
			if (r->type != REGION_TOTALS || r->thread != thread || totals == NULL)
				continue;
			for (size_t k = 0; k < r->len_bytes / sizeof(*totals) && sig < MPIC_SIGS_MAX; k++, sig++) {
				if (totals[k].calls == 0)
					continue;
				mpic_put_total(&payload, &(struct mpic_total){sig, totals[k].calls, totals[k].ticks});
				t->calls += totals[k].calls;
			}
		}
		struct mpic_block b = {
			.kind = MPIC_PROFILE, .process = p->index, .thread = thread, .seq = t->profile_seq++};
		int64_t packed = buf_failed(&payload)	 ? -ENOMEM
				 : payload.len_bytes > 0 ? output_block(o, &b, payload.data, payload.len_bytes)
							 : 0;
		rc = packed < 0 ? (int)packed : rc;
	}
	return rc;
}
