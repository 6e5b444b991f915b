/* mpic_events.c - the columns of an event block (format/SPEC.md, EVENTS).
 *
 * Which call it was stays in order of time: there repeats are found. Times of one signature are put together,
 * since a call site has its own narrow spread, and coded by mpic_times.c. */
#include "base/vec.h"
#include "format/mpic.h"

#include "format/limits.h"
#include "format/mpic_words.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE_EVENTS 512u /* where steps of the clock are looked for */
#define PART_EVENTS 1024u  /* so many are worth tables of their own */
#define HEAD_BYTES 40u
#define FORM_V2 0u    /* of the head */
#define FORM_PLAIN 1u /* words of events are varints */
#define FORM 2u	      /* they are columns */

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

/* ---- writing ---- */

void mpic_columns_begin(struct mpic_columns *c, uint64_t begin_tick)
{
	c->nextra = 0;
	c->begin_tick = c->clock = begin_tick;
	c->count = c->nsigs = 0;
	c->failed = false;
}

void mpic_columns_resume(struct mpic_columns *c, uint64_t tick)
{
	c->clock = tick;
}

void mpic_columns_put(struct mpic_columns *c, const struct mpic_event *event)
{
	uint32_t n = event->nextra;
	if (c->failed || vec_grow(&c->events, &c->cap, c->count + 1, sizeof(*c->events)) < 0 ||
	    vec_grow(&c->extra, &c->cap_extra, c->nextra + n + 1, sizeof(*c->extra)) < 0) {
		c->failed = true;
		c->count++; /* who loses them can say how many */
		return;
	}
	c->events[c->count++] = (struct mpic_column_event){
		event->enter_tick - c->clock, event->exit_tick - event->enter_tick, event->sig << 1 | (n > 0)};
	if (event->sig >= c->nsigs)
		c->nsigs = event->sig + 1;
	if (n > 0) {
		c->extra[c->nextra] = n;
		memcpy(c->extra + c->nextra + 1, event->extra, n * sizeof(*c->extra));
		c->nextra += n + 1;
	}
	c->clock = event->exit_tick;
}

bool mpic_columns_room(struct mpic_columns *c, uint32_t n)
{
	c->failed |= vec_grow(&c->events, &c->cap, (size_t)c->count + n, sizeof(*c->events)) < 0;
	return !c->failed;
}

/* Indices of events, group by group; NULL without memory. */
static uint32_t *sort_events(struct mpic_columns *c)
{
	if (vec_grow(&c->order, &c->cap_order, (size_t)c->count + c->nsigs + 1, sizeof(*c->order)) < 0)
		return NULL;
	uint32_t *order = c->order, *next = c->order + c->count;
	for (uint32_t i = 0; i < c->count; i++)
		order[i] = c->events[i].word;
	begin_groups(order, c->count, c->nsigs, next);
	for (uint32_t i = 0; i < c->count; i++)
		order[next[c->events[i].word >> 1]++] = i;
	return order;
}

/* Times from some of the events, spread over all. */
static uint32_t sample_times(const struct mpic_columns *c, uint64_t ret_sample[2 * SAMPLE_EVENTS])
{
	uint32_t n = 0, stride = c->count / SAMPLE_EVENTS + 1;
	for (uint32_t i = 0; i < c->count; i += stride) {
		ret_sample[n++] = c->events[i].gap;
		ret_sample[n++] = c->events[i].duration;
	}
	return n;
}

/* How many events from the first on share tables: signatures as they follow each other, until they are worth it. */
static uint32_t part_of(const struct mpic_columns *c, const uint32_t *ends, uint32_t first)
{
	uint32_t sig = c->events[c->order[first]].word >> 1;
	while (ends[sig] - first < PART_EVENTS && ends[sig] < c->count)
		sig++;
	return c->count - ends[sig] < PART_EVENTS ? c->count - first : ends[sig] - first;
}

/* Where each event has its words, in order of time; NULL without memory. */
static uint32_t *find_words(const struct mpic_columns *c)
{
	uint32_t *at = malloc((size_t)c->count * sizeof(*at)), next = 0;
	for (uint32_t i = 0; at != NULL && i < c->count; i++) {
		at[i] = next;
		next += (c->events[i].word & 1) != 0 ? 1 + (uint32_t)c->extra[next] : 0;
	}
	return at;
}

/* Signature by signature, in their order. group has room for all. */
static int put_groups(struct mpic_columns *c, const uint32_t *at, uint32_t *group, struct mpic_time_columns *out)
{
	int rc = 0;
	for (uint32_t i = 0, n = 0; rc == 0 && i < c->count; i++) {
		uint32_t word = c->events[c->order[i]].word;
		if ((word & 1) != 0)
			group[n++] = at[c->order[i]];
		bool last = i + 1 == c->count || c->events[c->order[i + 1]].word >> 1 != word >> 1;
		if (!last || n == 0)
			continue;
		rc = mpic_words_put(&c->coder, c->extra, group, n, out);
		n = 0;
	}
	return rc;
}

static int put_words(struct mpic_columns *c, struct mpic_time_columns *out)
{
	uint32_t *at = find_words(c), *group = malloc((size_t)c->count * sizeof(*group));
	int rc = at != NULL && group != NULL ? put_groups(c, at, group, out) : -ENOMEM;
	free(at);
	free(group);
	return rc;
}

static int put_times(struct mpic_columns *c, struct mpic_time_columns *out)
{
	uint64_t sample[2 * SAMPLE_EVENTS];
	const uint32_t *order = c->order;
	if (vec_grow(&c->times, &c->cap_times, 2 * (size_t)c->count, sizeof(*c->times)) < 0)
		return -ENOMEM;
	c->coder = mpic_times_begin(c->coder, sample, sample_times(c, sample), out);
	int rc = c->coder != NULL ? 0 : -ENOMEM;
	for (uint32_t first = 0, n; rc == 0 && first < c->count; first += n) {
		n = part_of(c, order + c->count, first);
		uint64_t *gaps = c->times, *durations = c->times + n;
		for (uint32_t i = 0; i < n; i++) {
			gaps[i] = c->events[order[first + i]].gap;
			durations[i] = c->events[order[first + i]].duration;
		}
		rc = mpic_times_put(c->coder, gaps, durations, n, out);
	}
	if (rc == 0)
		mpic_times_end(c->coder, out);
	return rc;
}

static void put_payload(const struct mpic_columns *c, uint32_t form, const struct buf *sig, const struct buf *extra,
			const struct mpic_time_columns *times, struct buf *out)
{
	const struct buf *const columns[] = {sig, extra, &times->tables, &times->symbols, &times->others, &times->bits};
	buf_u32(out, c->count);
	buf_u32(out, times->period);
	for (size_t i = 0; i < 5; i++)
		buf_u32(out, (uint32_t)columns[i]->len_bytes);
	buf_u32(out, form);
	buf_u64(out, c->begin_tick);
	for (size_t i = 0; i < 6; i++) {
		buf_bytes(out, columns[i]->data, columns[i]->len_bytes);
		out->failed |= buf_failed(columns[i]);
	}
}

static void put_sigs(const struct mpic_columns *c, struct buf *out)
{
	uint8_t *to = c->failed ? NULL : buf_reserve(out, c->count);
	uint32_t i = 0;
	for (; to != NULL && i < c->count && c->events[i].word < 0x80; i++)
		to[i] = (uint8_t)c->events[i].word; /* mostly all: one byte each */
	out->len_bytes += i;
	for (; to != NULL && i < c->count; i++)
		buf_varint(out, c->events[i].word);
}

/* Into out->tables, which become the column of extra words: then those of times begin. */
static int put_extra(struct mpic_columns *c, uint32_t form, struct mpic_time_columns *out)
{
	for (size_t i = 0; form == FORM_PLAIN && i < c->nextra; i++)
		buf_varint(&out->tables, c->extra[i]);
	return form == FORM_PLAIN ? 0 : put_words(c, out);
}

void mpic_columns_payload(struct mpic_columns *c, struct buf *out)
{
	_cleanup_buf_ struct buf sig = {0}, extra = {0};
	struct mpic_time_columns columns = {0};
	bool plain = c->plain_words || c->nextra == 0 || c->nextra > MPIC_BLOCK_WORDS_MAX;
	uint32_t form = plain ? FORM_PLAIN : FORM;
	put_sigs(c, &sig);
	int rc = c->failed || sort_events(c) == NULL ? -ENOMEM : put_extra(c, form, &columns);
	extra = columns.tables;
	columns.tables = (struct buf){0};
	if (rc < 0 || put_times(c, &columns) < 0)
		out->failed = true;
	else
		put_payload(c, form, &sig, &extra, &columns, out);
	buf_done(&columns.tables);
	buf_done(&columns.symbols);
	buf_done(&columns.others);
	buf_done(&columns.bits);
}

void mpic_columns_done(struct mpic_columns *c)
{
	free(c->events);
	free(c->order);
	free(c->times);
	mpic_times_done(c->coder);
	free(c->extra);
	*c = (struct mpic_columns){0};
}

/* ---- reading ---- */

struct head {
	uint32_t count, period, sig, extra, tables, symbols, others, form;
	uint64_t begin_tick;
};

static int rd_head(struct cursor *c, struct head *h)
{
	if (rd_u32(c, &h->count) < 0 || rd_u32(c, &h->period) < 0 || rd_u32(c, &h->sig) < 0 ||
	    rd_u32(c, &h->extra) < 0 || rd_u32(c, &h->tables) < 0 || rd_u32(c, &h->symbols) < 0 ||
	    rd_u32(c, &h->others) < 0 || rd_u32(c, &h->form) < 0 || rd_u64(c, &h->begin_tick) < 0)
		return -EBADMSG;
	return h->count <= h->sig && h->form <= FORM ? 0 : -EBADMSG;
}

void mpic_events_parts(const void *payload, size_t len_bytes, size_t *ret_numbers_at, size_t *ret_bits_at)
{
	struct cursor c = cursor_over(payload, len_bytes);
	struct head h;
	*ret_numbers_at = *ret_bits_at = len_bytes;
	if (rd_head(&c, &h) < 0)
		return;
	uint64_t numbers_at = (uint64_t)HEAD_BYTES + h.sig + h.extra + (h.form != FORM_V2 ? h.tables : 0);
	uint64_t bits_at = numbers_at + h.symbols + h.others;
	if (numbers_at < len_bytes)
		*ret_numbers_at = (size_t)numbers_at;
	if (h.form != FORM_V2 && bits_at < len_bytes)
		*ret_bits_at = (size_t)bits_at;
}

int mpic_events_peek(const uint8_t *head, size_t len_bytes, uint32_t *ret_count, uint64_t *ret_begin_tick)
{
	struct cursor c = cursor_over(head, HEAD_BYTES);
	struct head h;
	if (rd_head(&c, &h) < 0)
		return -EBADMSG;
	if ((uint64_t)HEAD_BYTES + h.sig + h.extra + h.tables + h.symbols + h.others > len_bytes)
		return -EBADMSG;
	*ret_count = h.count;
	*ret_begin_tick = h.begin_tick;
	return 0;
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
	if (vec_grow(&it->words, &it->cap_words, count, sizeof(*it->words)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (rd_varint(&column, &word) < 0 || word >> 1 >= MPIX_GROUP_SIGS_MAX)
			return -EBADMSG;
		it->words[i] = (uint32_t)word;
		if (word >> 1 >= it->nsigs)
			it->nsigs = (uint32_t)(word >> 1) + 1;
	}
	if (cursor_left(&column) > 0)
		return -EBADMSG;
	if (vec_grow(&it->next, &it->cap_next, (size_t)it->nsigs + 1, sizeof(*it->next)) < 0)
		return -ENOMEM;
	begin_groups(it->words, count, it->nsigs, it->next);
	return 0;
}

/* All extra words, group by group. */
static int rd_words(struct mpic_events *it, uint32_t count, struct mpic_time_cursors *in)
{
	struct mpic_words words = {it->extra_words, 0, it->cap_extra};
	int rc = vec_grow(&it->next_extra, &it->cap_next_extra, (size_t)it->nsigs + 1, sizeof(*it->next_extra));
	if (rc == 0)
		memset(it->next_extra, 0, (size_t)it->nsigs * sizeof(*it->next_extra));
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		it->next_extra[it->words[i] >> 1] += it->words[i] & 1;
	for (uint32_t sig = 0; rc == 0 && sig < it->nsigs; sig++) {
		uint32_t n = it->next_extra[sig];
		it->next_extra[sig] = (uint32_t)words.n;
		if (n > 0)
			rc = mpic_words_read(in, n, &words);
	}
	it->extra_words = words.at;
	it->cap_extra = words.cap;
	return rc == 0 && cursor_left(&in->tables) > 0 ? -EBADMSG : rc;
}

static int rd_times(struct mpic_events *it, const struct head *h, struct cursor *c)
{
	struct mpic_time_cursors in = {.tables = it->extra};
	struct cursor tables;
	if (rd_column(c, h->tables, &tables) < 0 || rd_column(c, h->symbols, &in.symbols) < 0 ||
	    rd_column(c, h->others, &in.others) < 0)
		return -EBADMSG;
	in.bits = *c;
	int rc = it->has_columns ? rd_words(it, h->count, &in) : 0;
	if (rc < 0)
		return rc;
	in.tables = tables;
	in.period = h->period;
	return mpic_times_read(&in, h->count, it->times);
}

/* Version 2 had other columns in the same places. */
static int rd_times_v2(struct mpic_events *it, const struct head *h, struct cursor *c)
{
	struct mpic_time_cursors_v2 in = {.quantum = h->period};
	if (rd_column(c, h->count, &in.small) < 0 || rd_column(c, h->tables, &in.dense) < 0 ||
	    rd_column(c, h->symbols, &in.escapes) < 0 || rd_column(c, h->others, &in.misfits) < 0 || cursor_left(c) > 0)
		return -EBADMSG;
	return mpic_times_read_v2(&in, h->count, it->times);
}

int mpic_events_begin(struct mpic_events *it, struct cursor payload, uint32_t *ret_count)
{
	struct head h;
	struct cursor sig;
	int rc = rd_head(&payload, &h);
	if (rc < 0 || rd_column(&payload, h.sig, &sig) < 0 || rd_column(&payload, h.extra, &it->extra) < 0)
		return -EBADMSG;
	if (vec_grow(&it->times, &it->cap_times, 2 * (size_t)h.count, sizeof(*it->times)) < 0)
		return -ENOMEM;
	it->has_columns = h.form == FORM;
	rc = rd_sigs(it, sig, h.count);
	if (rc == 0)
		rc = h.form == FORM_V2 ? rd_times_v2(it, &h, &payload) : rd_times(it, &h, &payload);
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
	if (vec_grow(&it->extra_words, &it->cap_extra, n, sizeof(*it->extra_words)) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++)
		if (rd_varint(&it->extra, &it->extra_words[i]) < 0)
			return -EBADMSG;
	ev->extra = it->extra_words;
	ev->nextra = (uint32_t)n;
	return 0;
}

static int take_extra(struct mpic_events *it, struct mpic_event *ev)
{
	uint32_t *next = &it->next_extra[ev->sig];
	ev->nextra = (uint32_t)it->extra_words[*next];
	ev->extra = it->extra_words + *next + 1;
	*next += 1 + ev->nextra;
	return 0;
}

int mpic_events_words(struct mpic_events *it, struct mpic_event *ret_event)
{
	int rc = it->has_columns ? take_extra(it, ret_event) : rd_extra(it, ret_event);
	return rc < 0 ? rc : 1;
}

void mpic_events_done(struct mpic_events *it)
{
	free(it->words);
	free(it->times);
	free(it->next);
	free(it->extra_words);
	free(it->next_extra);
	it->words = it->next = it->next_extra = NULL;
	it->times = it->extra_words = NULL;
	it->cap_words = it->cap_times = it->cap_next = it->cap_extra = it->cap_next_extra = 0;
}
