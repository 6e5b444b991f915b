/* mpic_totals.c - profile totals and clock samples. */
#include "format/mpic.h"

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
