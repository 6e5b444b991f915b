/* stream.c - the cold half of stream.h: full segments, long records, beginnings. */
#include "pmpi/confined.h"
#include "pmpi/dictionary.h"
#include "pmpi/segfile.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older ones refuse, and pages come one by one */
#endif
#define MAIN_SEGMENT_BYTES (256u << 10)
#define OTHER_SEGMENT_BYTES (64u << 10)

void stream_set_limit(struct stream *s)
{
	bool careful = s->events_off || s->area->polls.busy != 0;
	s->limit = careful ? s->pos : (uint64_t *)(void *)((uint8_t *)s->segment + s->segment_bytes);
}

/* The pages of a slot at its first use, all at once; later uses find them there. */
static void touch_slot(struct stream *s, uint32_t slot)
{
	if (slot < s->ring_touched)
		return;
	int saved = errno;
	if (!confined)
		madvise(s->ring + (size_t)slot * s->segment_bytes, s->segment_bytes, MADV_POPULATE_WRITE);
	errno = saved;
	s->ring_touched = slot + 1;
}

static void open_segment(struct stream *s)
{
	struct segment *g = (struct segment *)(void *)(s->ring + (size_t)s->ring_at * s->segment_bytes);
	atomic_store_explicit(&g->committed, 0, memory_order_relaxed);
	g->thread = s->thread;
	g->len_bytes = s->segment_bytes;
	g->seq = atomic_fetch_add_explicit(&s->area->next_seq, 1, memory_order_relaxed);
	g->begin_tick = s->previous_exit;
	/* Partner: the agent's acquire load of state in collect/drain.c. */
	atomic_store_explicit(&g->state, SEGMENT_OPEN, memory_order_release);
	s->segment = g;
	s->pos = s->first = (uint64_t *)(void *)(g + 1);
	stream_set_limit(s);
}

static void lose(struct stream *s, uint64_t events, uint64_t tick, enum lost_reason reason)
{
	if (s->area->lost == 0) {
		s->area->lost_from_tick = tick;
		s->area->lost_reason = reason;
	}
	s->area->lost += events;
}

static void events_stop(struct stream *s)
{
	s->events_off = true;
	stream_set_limit(s);
}

void stream_control(struct stream *s, bool on)
{
	stream_flush_polls(s);
	if (!on && !s->events_off) {
		s->paused = true;
		events_stop(s);
	} else if (on && s->paused) {
		s->paused = s->events_off = false;
		stream_set_limit(s);
	}
}

/* Calls recorded in a segment. */
static uint64_t records_in(const struct segment *g)
{
	const uint64_t *p = (const uint64_t *)(const void *)(g + 1);
	const uint64_t *end = p + atomic_load_explicit(&g->committed, memory_order_relaxed) / sizeof(*p);
	uint64_t n = 0;
	for (; p < end; n++)
		p += (*p & SEGREC_LONG) == SEGREC_LONG ? 3 + (*p >> 40) : 1;
	return n;
}

/* The first slot that the agent has drained: the fewer are in use, the more of them stay in the cache. */
static bool find_free_slot(const struct stream *s, uint32_t *ret_slot)
{
	for (uint32_t i = 0; i < s->ring_segments; i++) {
		struct segment *g = (struct segment *)(void *)(s->ring + (size_t)i * s->segment_bytes);
		/* Partner: the release store in give_ring_back(), collect/drain.c. */
		if (i != s->ring_at && atomic_load_explicit(&g->state, memory_order_acquire) == SEGMENT_FREE) {
			*ret_slot = i;
			return true;
		}
	}
	return false;
}

/* The segment is full: go on in another one if the agent has drained it, else write this one out ourselves. */
static void next_segment(struct stream *s)
{
	uint32_t slot;
	uint64_t from = tick_now();
	if (atomic_load_explicit(&segfile->stop_events, memory_order_relaxed) != 0) {
		events_stop(s);
		return;
	}
	if (find_free_slot(s, &slot)) {
		touch_slot(s, slot); /* before there is a moment with no open segment */
		/* Partner: the agent's acquire load of state in collect/drain.c: all of its records are seen. */
		atomic_store_explicit(&s->segment->state, SEGMENT_FULL, memory_order_release);
		s->ring_at = slot;
	} else {
		enum lost_reason why = segfile_spill(s->segment);
		if (why != LOST_NOTHING)
			lose(s, records_in(s->segment), s->segment->begin_tick, why);
	}
	open_segment(s);
	stream_slow(s, from);
}

static enum lost_reason why_off(const struct stream *s)
{
	if (s->paused)
		return LOST_PAUSED;
	return atomic_load_explicit(&segfile->stop_events, memory_order_relaxed) == 2 ? LOST_MODE : LOST_BUDGET;
}

static void record_any(struct stream *s, uint32_t sig, uint64_t enter, uint64_t exit, const uint64_t *extra,
		       uint32_t nextra)
{
	size_t need = 8 * (3 + (size_t)nextra);
	uint64_t gap, duration = exit - enter;

	if (s->events_off) {
		lose(s, 1, enter, why_off(s));
		s->unrecorded_exit = exit;
		return;
	}
	if (nextra > STREAM_WORDS_MAX) { /* the call is recorded, its details are not */
		lose(s, 1, enter, LOST_DICTIONARY_FULL);
		nextra = 0;
		need = 8 * 3;
	}
	if ((uint8_t *)s->pos + need > (uint8_t *)s->segment + s->segment_bytes) {
		next_segment(s);
		if (s->events_off) {
			record_any(s, sig, enter, exit, extra, nextra);
			return;
		}
	}
	gap = enter - s->previous_exit;
	uint64_t *p = s->pos;
	if (nextra == 0 && (gap | duration) <= SEGREC_TICKS_MAX) {
		*p++ = segrec_short(sig, gap, duration);
	} else {
		*p++ = segrec_long(sig, nextra);
		*p++ = gap;
		*p++ = duration;
		for (uint32_t i = 0; i < nextra; i++)
			*p++ = extra[i];
	}
	s->pos = p;
	s->previous_exit = exit;
	stream_commit(s);
}

void stream_flush_polls(struct stream *s)
{
	struct pending_polls *polls = &s->area->polls;
	if (!polls->busy)
		return;
	uint64_t extra[2] = {polls->calls, polls->ticks};
	record_any(s, polls->sig, polls->enter_tick, polls->exit_tick, extra, 2);
	/* Last: who is killed in between leaves both, and the agent knows by the time that they are the same. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	polls->busy = 0;
	stream_set_limit(s);
}

void stream_record_slow(struct stream *s, uint32_t sig, uint64_t enter, uint64_t exit, const uint64_t *extra,
			uint32_t nextra)
{
	if (s->events_off && s->area->lost != 0 && !s->area->polls.busy) { /* each call of a profile */
		s->area->lost++;
		s->unrecorded_exit = exit;
		return;
	}
	stream_flush_polls(s);
	record_any(s, sig, enter, exit, extra, nextra);
}

void stream_stock(struct stream *s)
{
	for (uint32_t slot = 0; slot < s->ring_segments; slot++)
		touch_slot(s, slot);
	dictionary_stock(s);
}

void stream_slow(struct stream *s, uint64_t from)
{
	stream_slow_until(s, from, tick_now());
}

uint64_t *stream_scratch(struct stream *s, enum scratch_use use, size_t words)
{
	struct scratch *have = &s->scratch[use];
	if (words > have->len_words) {
		size_t want = (words + 8191) / 8192 * 8192;
		uint64_t *p = memory_reserve(want * 8);
		if (p == NULL)
			return NULL;
		if (have->words != NULL)
			munmap(have->words, have->len_words * 8);
		*have = (struct scratch){p, want};
	}
	return have->words;
}

/* ---- beginning one ---- */

/* A shorter one where there is little room: two segments will do. */
static void allocate_ring(struct stream *s)
{
	uint32_t n = s->thread == 0 ? RING_SEGMENTS : 2;
	s->segment_bytes = s->thread == 0 ? MAIN_SEGMENT_BYTES : OTHER_SEGMENT_BYTES;
	for (; n >= 2 && s->ring == NULL; n /= 2) {
		s->ring_segments = n;
		s->ring = segfile_add_region(REGION_RING, s->thread, (size_t)n * s->segment_bytes, NULL, false);
	}
}

bool stream_begin(struct stream *s)
{
	if (s->ring == NULL)
		allocate_ring(s);
	if (s->ring == NULL || !dictionary_begin(s))
		return false;
	s->previous_exit = tick_now();
	touch_slot(s, 0);
	for (uint32_t i = 0; i < s->ring_segments; i++) /* the agent takes the size of a slot from the first */
		((struct segment *)(void *)(s->ring + (size_t)i * s->segment_bytes))->len_bytes = s->segment_bytes;
	open_segment(s);
	if (atomic_load_explicit(&segfile->stop_events, memory_order_relaxed) != 0)
		events_stop(s);
	return true;
}
