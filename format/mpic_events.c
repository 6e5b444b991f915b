/* mpic_events.c - the columns of an event block (format/SPEC.md, EVENTS).
 *
 * Times are what a trace is made of, and they are noise: repeats to be found are few, but a call site has its own
 * narrow spread. So the times of one signature stand together, gap and duration of an event in one byte where they
 * are short, and only an entropy coder works on them (pack_deflate): smaller than deflate with matches, and
 * several times cheaper. Clocks often advance in steps (10 ns on AMD Zen): times are told in steps then, and what
 * does not fit the step by itself. */
#include "format/mpic.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_MAX 15u	  /* a quotient of that or more follows among the escapes */
#define DENSE_QUANTUM 16u /* without a step: a byte of remainders for each event */
#define QUANTUM_MAX 128u
#define SAMPLE_EVENTS 512u
#define SAMPLE_MISSES_SHARE 32u /* one in so many may miss the step */
#define HEAD_BYTES 40u

/* ---- order by signature, stable ---- */

/* Words of the signature column: id << 1 | has extra words. ret_next[id] becomes where the events of that
 * signature begin; it has room for nsigs + 1. */
static void begin_groups(const uint32_t *words, uint32_t count, uint32_t nsigs, uint32_t *ret_next)
{
	memset(ret_next, 0, ((size_t)nsigs + 1) * sizeof(*ret_next));
	for (uint32_t i = 0; i < count; i++)
		ret_next[(words[i] >> 1) + 1]++;
	for (uint32_t s = 0; s < nsigs; s++)
		ret_next[s + 1] += ret_next[s];
}

static bool room(void *at, size_t *cap, size_t want, size_t size)
{
	void **p = at;
	if (want <= *cap)
		return true;
	void *more = realloc(*p, want * 2 * size);
	if (more == NULL)
		return false;
	*p = more;
	*cap = want * 2;
	return true;
}

/* ---- writing ---- */

void mpic_columns_begin(struct mpic_columns *c, uint64_t begin_tick)
{
	c->extra.len_bytes = 0;
	c->begin_tick = c->clock = begin_tick;
	c->count = c->nsigs = 0;
	c->failed = false;
}

void mpic_columns_put(struct mpic_columns *c, const struct mpic_event *event)
{
	if (c->failed || !room(&c->events, &c->cap, c->count + 1, sizeof(*c->events))) {
		c->failed = true;
		c->count++; /* who loses them can say how many */
		return;
	}
	c->events[c->count++] =
		(struct mpic_column_event){event->enter_tick - c->clock, event->exit_tick - event->enter_tick,
					   event->sig << 1 | (event->nextra > 0)};
	if (event->sig >= c->nsigs)
		c->nsigs = event->sig + 1;
	if (event->nextra > 0)
		buf_varint(&c->extra, event->nextra);
	for (uint32_t i = 0; i < event->nextra; i++)
		buf_varint(&c->extra, event->extra[i]);
	c->clock = event->exit_tick;
}

static bool is_step(const struct mpic_columns *c, uint64_t quantum, uint32_t n)
{
	uint32_t misses = 0, allowed = 2 * n / SAMPLE_MISSES_SHARE;
	for (uint32_t i = 0; i < n && misses <= allowed; i++)
		misses += (c->events[i].gap % quantum != 0) + (c->events[i].duration % quantum != 0);
	return misses <= allowed;
}

/* The step in which the clock advances, DENSE_QUANTUM if none is seen. */
static uint32_t find_quantum(const struct mpic_columns *c)
{
	uint32_t n = c->count < SAMPLE_EVENTS ? c->count : SAMPLE_EVENTS;
	for (uint32_t quantum = QUANTUM_MAX; quantum > 1; quantum--)
		if (is_step(c, quantum, n))
			return quantum;
	return DENSE_QUANTUM;
}

struct packer {
	struct buf *small, *dense, *escapes, *misfits;
	uint32_t quantum;
	bool is_dense;
	uint64_t index, last_misfit; /* of times: two an event */
};

static unsigned put_time(struct packer *p, uint64_t ticks, unsigned *ret_remainder)
{
	uint64_t quotient = ticks / p->quantum, remainder = ticks % p->quantum;
	*ret_remainder = (unsigned)remainder;
	if (!p->is_dense && remainder != 0) {
		int64_t misfit = (int64_t)remainder;
		if (remainder > p->quantum / 2) {
			quotient++;
			misfit -= p->quantum;
		}
		buf_varint(p->misfits, p->index - p->last_misfit);
		buf_varint(p->misfits, (uint64_t)(misfit * 2) ^ (uint64_t)(misfit >> 63));
		p->last_misfit = p->index;
	}
	p->index++;
	if (quotient < SMALL_MAX)
		return (unsigned)quotient;
	buf_varint(p->escapes, quotient - SMALL_MAX);
	return SMALL_MAX;
}

static void put_event(struct packer *p, const struct mpic_column_event *ev)
{
	unsigned gap_rest, duration_rest;
	unsigned gap = put_time(p, ev->gap, &gap_rest);
	unsigned duration = put_time(p, ev->duration, &duration_rest);
	buf_u8(p->small, (uint8_t)(gap | duration << 4));
	if (p->is_dense)
		buf_u8(p->dense, (uint8_t)(gap_rest | duration_rest << 4));
}

/* Indices of events, group by group; NULL without memory. */
static uint32_t *sort_events(struct mpic_columns *c)
{
	if (!room(&c->order, &c->cap_order, (size_t)c->count + c->nsigs + 1, sizeof(*c->order)))
		return NULL;
	uint32_t *order = c->order, *next = c->order + c->count;
	for (uint32_t i = 0; i < c->count; i++)
		order[i] = c->events[i].word;
	begin_groups(order, c->count, c->nsigs, next);
	for (uint32_t i = 0; i < c->count; i++)
		order[next[c->events[i].word >> 1]++] = i;
	return order;
}

void mpic_columns_payload(struct mpic_columns *c, struct buf *out)
{
	_cleanup_buf_ struct buf sig = {0}, small = {0}, dense = {0}, escapes = {0}, misfits = {0};
	const uint32_t *order = c->failed ? NULL : sort_events(c);
	if (order == NULL || buf_failed(&c->extra)) {
		out->failed = true;
		return;
	}
	struct packer p = {&small, &dense, &escapes, &misfits, find_quantum(c), false, 0, 0};
	p.is_dense = p.quantum == DENSE_QUANTUM;
	for (uint32_t i = 0; i < c->count; i++) {
		buf_varint(&sig, c->events[i].word);
		put_event(&p, &c->events[order[i]]);
	}
	buf_u32(out, c->count);
	buf_u32(out, p.quantum);
	buf_u32(out, (uint32_t)sig.len_bytes);
	buf_u32(out, (uint32_t)c->extra.len_bytes);
	buf_u32(out, (uint32_t)dense.len_bytes);
	buf_u32(out, (uint32_t)escapes.len_bytes);
	buf_u32(out, (uint32_t)misfits.len_bytes);
	buf_u32(out, 0);
	buf_u64(out, c->begin_tick);
	const struct buf *const columns[] = {&sig, &c->extra, &small, &dense, &escapes, &misfits};
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		buf_bytes(out, columns[i]->data, columns[i]->len_bytes);
		out->failed |= buf_failed(columns[i]);
	}
}

void mpic_columns_done(struct mpic_columns *c)
{
	free(c->events);
	free(c->order);
	buf_done(&c->extra);
	*c = (struct mpic_columns){0};
}

/* ---- reading ---- */

struct head {
	uint32_t count, quantum, sig, extra, dense, escapes, misfits;
	uint64_t begin_tick;
};

static int rd_head(struct cursor *c, struct head *h)
{
	uint32_t zero;
	if (rd_u32(c, &h->count) < 0 || rd_u32(c, &h->quantum) < 0 || rd_u32(c, &h->sig) < 0 ||
	    rd_u32(c, &h->extra) < 0 || rd_u32(c, &h->dense) < 0 || rd_u32(c, &h->escapes) < 0 ||
	    rd_u32(c, &h->misfits) < 0 || rd_u32(c, &zero) < 0 || rd_u64(c, &h->begin_tick) < 0)
		return -EBADMSG;
	bool fits = h->count <= h->sig && h->quantum >= 1 && h->quantum <= QUANTUM_MAX &&
		    (h->dense == 0 || (h->dense == h->count && h->quantum == DENSE_QUANTUM));
	return fits ? 0 : -EBADMSG;
}

size_t mpic_events_times_at(const void *payload, size_t len_bytes)
{
	struct cursor c = cursor_over(payload, len_bytes);
	struct head h;
	if (rd_head(&c, &h) < 0)
		return len_bytes;
	uint64_t at = (uint64_t)HEAD_BYTES + h.sig + h.extra;
	return at < len_bytes ? (size_t)at : len_bytes;
}

static int rd_column(struct cursor *c, uint32_t len_bytes, struct cursor *ret_column)
{
	struct span s;
	if (rd_bytes(c, len_bytes, &s) < 0)
		return -EBADMSG;
	*ret_column = cursor_over(s.data, s.len_bytes);
	return 0;
}

static int rd_sigs(struct mpic_events *it, struct cursor column, uint32_t count)
{
	uint64_t word;
	it->nsigs = 0;
	if (!room(&it->words, &it->cap_words, count, sizeof(*it->words)))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (rd_varint(&column, &word) < 0 || word >> 1 >= MPIC_SIGS_MAX)
			return -EBADMSG;
		it->words[i] = (uint32_t)word;
		if (word >> 1 >= it->nsigs)
			it->nsigs = (uint32_t)(word >> 1) + 1;
	}
	if (cursor_left(&column) > 0)
		return -EBADMSG;
	if (!room(&it->next, &it->cap_next, (size_t)it->nsigs + 1, sizeof(*it->next)))
		return -ENOMEM;
	begin_groups(it->words, count, it->nsigs, it->next);
	return 0;
}

static int rd_time(unsigned small, unsigned rest, uint32_t quantum, struct cursor *escapes, uint64_t *ret_ticks)
{
	uint64_t quotient = small;
	if (small == SMALL_MAX &&
	    (rd_varint(escapes, &quotient) < 0 || __builtin_add_overflow(quotient, SMALL_MAX, &quotient)))
		return -EBADMSG;
	if (__builtin_mul_overflow(quotient, quantum, ret_ticks) || __builtin_add_overflow(*ret_ticks, rest, ret_ticks))
		return -EBADMSG;
	return 0;
}

static int rd_times(struct mpic_events *it, const struct head *h, struct cursor *columns)
{
	struct cursor misfits, small, dense, escapes;
	uint8_t pair, rest = 0;
	if (rd_column(columns, h->count, &small) < 0 || rd_column(columns, h->dense, &dense) < 0 ||
	    rd_column(columns, h->escapes, &escapes) < 0 || rd_column(columns, h->misfits, &misfits) < 0 ||
	    cursor_left(columns) > 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < h->count; i++) {
		if (rd_u8(&small, &pair) < 0 || (h->dense > 0 && rd_u8(&dense, &rest) < 0) ||
		    rd_time(pair & 15, rest & 15, h->quantum, &escapes, &it->times[2 * i]) < 0 ||
		    rd_time(pair >> 4, rest >> 4, h->quantum, &escapes, &it->times[2 * i + 1]) < 0)
			return -EBADMSG;
	}
	uint64_t index = 0, skip, misfit;
	while (cursor_left(&misfits) > 0) {
		if (rd_varint(&misfits, &skip) < 0 || rd_varint(&misfits, &misfit) < 0 ||
		    __builtin_add_overflow(index, skip, &index) || index >= 2ull * h->count || misfit > 2 * QUANTUM_MAX)
			return -EBADMSG;
		it->times[index] += (misfit >> 1) ^ -(misfit & 1); /* below zero: noticed when the clock overflows */
	}
	return cursor_left(&escapes) > 0 ? -EBADMSG : 0;
}

int mpic_events_begin(struct mpic_events *it, struct cursor payload, uint32_t *ret_count)
{
	struct head h;
	struct cursor sig;
	int rc = rd_head(&payload, &h);
	if (rc < 0 || rd_column(&payload, h.sig, &sig) < 0 || rd_column(&payload, h.extra, &it->extra) < 0)
		return -EBADMSG;
	if (!room(&it->times, &it->cap_times, 2 * (size_t)h.count, sizeof(*it->times)))
		return -ENOMEM;
	rc = rd_sigs(it, sig, h.count);
	if (rc == 0)
		rc = rd_times(it, &h, &payload);
	if (rc < 0)
		return rc;
	it->clock = h.begin_tick;
	it->at = 0;
	it->count = h.count;
	*ret_count = h.count;
	return 0;
}

static int rd_extra(struct mpic_events *it, struct mpic_event *ev)
{
	uint64_t n;
	if (rd_varint(&it->extra, &n) < 0 || n > MPIC_EXTRA_MAX)
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i++)
		if (rd_varint(&it->extra, &it->extra_words[i]) < 0)
			return -EBADMSG;
	ev->extra = it->extra_words;
	ev->nextra = (uint32_t)n;
	return 0;
}

int mpic_events_next(struct mpic_events *it, struct mpic_event *ret_event)
{
	struct mpic_event ev = {0};
	if (it->at == it->count)
		return 0;
	uint32_t word = it->words[it->at++];
	const uint64_t *times = &it->times[2 * (size_t)it->next[word >> 1]++];
	if ((word & 1) != 0 && rd_extra(it, &ev) < 0)
		return -EBADMSG;
	ev.sig = word >> 1;
	if (__builtin_add_overflow(it->clock, times[0], &ev.enter_tick) ||
	    __builtin_add_overflow(ev.enter_tick, times[1], &ev.exit_tick))
		return -EBADMSG;
	it->clock = ev.exit_tick;
	*ret_event = ev;
	return 1;
}

void mpic_events_done(struct mpic_events *it)
{
	free(it->words);
	free(it->times);
	free(it->next);
	it->words = it->next = NULL;
	it->times = NULL;
	it->cap_words = it->cap_times = it->cap_next = 0;
}
