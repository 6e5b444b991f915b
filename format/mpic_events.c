/* mpic_events.c - columns of events; profile totals; clock samples.
 *
 * An event block: count u32, lengths of four columns u32 each, zero u32, begin tick u64, then the columns, each
 * unsigned LEB128: signature (id << 1 | has extra), gap (enter - exit of the event before), duration, extra
 * (number of words, words). Columns of like numbers deflate several times better than whole records do. */
#include "format/mpic.h"

void mpic_columns_begin(struct mpic_columns *c, uint64_t begin_tick)
{
	c->sig.len_bytes = c->gap.len_bytes = c->dur.len_bytes = c->extra.len_bytes = 0;
	c->begin_tick = c->clock = begin_tick;
	c->count = 0;
}

void mpic_columns_put(struct mpic_columns *c, const struct mpic_event *event)
{
	buf_varint(&c->sig, (uint64_t)event->sig << 1 | (event->nextra > 0));
	buf_varint(&c->gap, event->enter_tick - c->clock);
	buf_varint(&c->dur, event->exit_tick - event->enter_tick);
	if (event->nextra > 0)
		buf_varint(&c->extra, event->nextra);
	for (uint32_t i = 0; i < event->nextra; i++)
		buf_varint(&c->extra, event->extra[i]);
	c->clock = event->exit_tick;
	c->count++;
}

void mpic_columns_payload(const struct mpic_columns *c, struct buf *out)
{
	buf_u32(out, c->count);
	buf_u32(out, (uint32_t)c->sig.len_bytes);
	buf_u32(out, (uint32_t)c->gap.len_bytes);
	buf_u32(out, (uint32_t)c->dur.len_bytes);
	buf_u32(out, (uint32_t)c->extra.len_bytes);
	buf_u32(out, 0);
	buf_u64(out, c->begin_tick);
	buf_bytes(out, c->sig.data, c->sig.len_bytes);
	buf_bytes(out, c->gap.data, c->gap.len_bytes);
	buf_bytes(out, c->dur.data, c->dur.len_bytes);
	buf_bytes(out, c->extra.data, c->extra.len_bytes);
	if (buf_failed(&c->sig) || buf_failed(&c->gap) || buf_failed(&c->dur) || buf_failed(&c->extra))
		out->failed = true;
}

void mpic_columns_done(struct mpic_columns *c)
{
	buf_done(&c->sig);
	buf_done(&c->gap);
	buf_done(&c->dur);
	buf_done(&c->extra);
}

static int rd_column(struct cursor *c, uint32_t len_bytes, struct cursor *ret_column)
{
	struct span s;
	if (rd_bytes(c, len_bytes, &s) < 0)
		return -EBADMSG;
	*ret_column = cursor_over(s.data, s.len_bytes);
	return 0;
}

int mpic_events_begin(struct mpic_events *it, struct cursor payload, uint32_t *ret_count)
{
	uint32_t count, sig, gap, dur, extra, zero;
	uint64_t begin;
	if (rd_u32(&payload, &count) < 0 || rd_u32(&payload, &sig) < 0 || rd_u32(&payload, &gap) < 0 ||
	    rd_u32(&payload, &dur) < 0 || rd_u32(&payload, &extra) < 0 || rd_u32(&payload, &zero) < 0 ||
	    rd_u64(&payload, &begin) < 0 || rd_column(&payload, sig, &it->sig) < 0 ||
	    rd_column(&payload, gap, &it->gap) < 0 || rd_column(&payload, dur, &it->dur) < 0 ||
	    rd_column(&payload, extra, &it->extra) < 0 || count > sig)
		return -EBADMSG;
	it->clock = begin;
	it->left = count;
	*ret_count = count;
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
	uint64_t sig, gap, dur;
	if (it->left == 0)
		return 0;
	if (rd_varint(&it->sig, &sig) < 0 || rd_varint(&it->gap, &gap) < 0 || rd_varint(&it->dur, &dur) < 0 ||
	    sig >> 1 >= MPIC_SIGS_MAX)
		return -EBADMSG;
	if ((sig & 1) != 0 && rd_extra(it, &ev) < 0)
		return -EBADMSG;
	ev.sig = (uint32_t)(sig >> 1);
	if (__builtin_add_overflow(it->clock, gap, &ev.enter_tick) ||
	    __builtin_add_overflow(ev.enter_tick, dur, &ev.exit_tick))
		return -EBADMSG;
	it->clock = ev.exit_tick;
	it->left--;
	*ret_event = ev;
	return 1;
}

void mpic_put_total(struct buf *out, const struct mpic_total *t)
{
	buf_varint(out, t->sig);
	buf_varint(out, t->calls);
	buf_varint(out, t->ticks);
}

int mpic_next_total(struct cursor *payload, struct mpic_total *ret_total)
{
	uint64_t sig, calls, ticks;
	if (cursor_left(payload) == 0)
		return 0;
	if (rd_varint(payload, &sig) < 0 || rd_varint(payload, &calls) < 0 || rd_varint(payload, &ticks) < 0 ||
	    sig >= MPIC_SIGS_MAX)
		return -EBADMSG;
	*ret_total = (struct mpic_total){.sig = (uint32_t)sig, .calls = calls, .ticks = ticks};
	return 1;
}

void mpic_put_clock(struct buf *out, const struct mpic_clock *c)
{
	buf_u64(out, c->tick);
	buf_u64(out, (uint64_t)c->monotonic_ns);
	buf_u64(out, (uint64_t)c->realtime_ns);
}

int mpic_next_clock(struct cursor *payload, struct mpic_clock *ret_clock)
{
	uint64_t tick, monotonic, realtime;
	if (cursor_left(payload) == 0)
		return 0;
	if (rd_u64(payload, &tick) < 0 || rd_u64(payload, &monotonic) < 0 || rd_u64(payload, &realtime) < 0)
		return -EBADMSG;
	*ret_clock = (struct mpic_clock){tick, (int64_t)monotonic, (int64_t)realtime};
	return 1;
}
