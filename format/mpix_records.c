/* mpix_records.c - one event and one message as columns of varints. See mpix_layout.h. */
#include "format/mpix_layout.h"

void mpix_columns_done(struct mpix_columns *c)
{
	for (int i = 0; i < MPIX_COLUMNS; i++)
		buf_done(&c->column[i]);
}

void mpix_columns_clear(struct mpix_columns *c)
{
	for (int i = 0; i < MPIX_COLUMNS; i++)
		c->column[i].len_bytes = 0;
}

bool mpix_columns_failed(const struct mpix_columns *c)
{
	for (int i = 0; i < MPIX_COLUMNS; i++)
		if (buf_failed(&c->column[i]))
			return true;
	return false;
}

void mpix_columns_join(const struct mpix_columns *c, struct buf *out)
{
	for (int i = 0; i < MPIX_COLUMNS; i++)
		buf_varint(out, c->column[i].len_bytes);
	for (int i = 0; i < MPIX_COLUMNS; i++)
		buf_bytes(out, c->column[i].data, c->column[i].len_bytes);
}

int mpix_columns_split(struct cursor *payload, struct cursor ret_columns[MPIX_COLUMNS])
{
	uint64_t lengths[MPIX_COLUMNS];
	struct span s;
	for (int i = 0; i < MPIX_COLUMNS; i++)
		if (rd_varint(payload, &lengths[i]) < 0)
			return -EBADMSG;
	for (int i = 0; i < MPIX_COLUMNS; i++) {
		if (lengths[i] > cursor_left(payload) || rd_bytes(payload, (size_t)lengths[i], &s) < 0)
			return -EBADMSG;
		ret_columns[i] = cursor_over(s.data, s.len_bytes);
	}
	return 0;
}

static uint64_t after(int64_t from, int64_t to)
{
	return to > from ? (uint64_t)(to - from) : 0;
}

static uint64_t site_out(uint32_t callsite)
{
	return callsite == MPIX_NO_CALLSITE ? 0 : (uint64_t)callsite + 1;
}

static uint32_t site_in(uint64_t value)
{
	return value == 0 || value > UINT32_MAX ? MPIX_NO_CALLSITE : (uint32_t)(value - 1);
}

static int get_columns(struct cursor columns[MPIX_COLUMNS], uint64_t ret_values[MPIX_COLUMNS])
{
	for (int i = 0; i < MPIX_COLUMNS; i++)
		if (rd_varint(&columns[i], &ret_values[i]) < 0)
			return -EBADMSG;
	return 0;
}

void mpix_put_event(struct mpix_columns *c, const struct mpix_event *x, int64_t *clock)
{
	const uint64_t values[MPIX_COLUMNS] = {
		mpix_zigzag(x->start_ns - *clock),
		after(x->start_ns, x->end_ns),
		x->op,
		x->class,
		site_out(x->callsite),
		x->comm,
		x->thread,
		mpix_zigzag(x->peer),
		mpix_zigzag(x->tag),
		x->bytes,
		x->calls,
		after(0, x->wait_ns),
	};
	for (int i = 0; i < MPIX_COLUMNS; i++)
		buf_varint(&c->column[i], values[i]);
	*clock = x->start_ns + (int64_t)values[1];
}

int mpix_get_event(struct cursor columns[MPIX_COLUMNS], struct mpix_event *ret_event, int64_t *clock)
{
	uint64_t v[MPIX_COLUMNS];
	int64_t start, end;
	if (get_columns(columns, v) < 0 || v[1] > INT64_MAX || v[3] >= MPIX_CLASSES ||
	    __builtin_add_overflow(*clock, mpix_unzigzag(v[0]), &start) ||
	    __builtin_add_overflow(start, (int64_t)v[1], &end))
		return -EBADMSG;
	*ret_event = (struct mpix_event){
		.start_ns = start,
		.end_ns = end,
		.op = (uint32_t)v[2],
		.class = (uint8_t)v[3],
		.callsite = site_in(v[4]),
		.comm = (uint32_t)v[5],
		.thread = (uint32_t)v[6],
		.peer = (int32_t)mpix_unzigzag(v[7]),
		.tag = (int32_t)mpix_unzigzag(v[8]),
		.bytes = v[9],
		.calls = v[10],
		.wait_ns = (int64_t)v[11],
	};
	*clock = end;
	return 0;
}

void mpix_put_message(struct mpix_columns *c, const struct mpix_message *x, int64_t *clock)
{
	const uint64_t values[MPIX_COLUMNS] = {
		mpix_zigzag(x->send_start_ns - *clock),
		mpix_zigzag(x->send_end_ns - x->send_start_ns),
		mpix_zigzag(x->recv_start_ns - x->send_start_ns),
		mpix_zigzag(x->completion_start_ns - x->send_start_ns),
		mpix_zigzag(x->recv_end_ns - x->send_start_ns),
		x->bytes,
		x->src,
		x->dst,
		mpix_zigzag(x->tag),
		x->comm,
		site_out(x->send_callsite),
		site_out(x->recv_callsite),
	};
	for (int i = 0; i < MPIX_COLUMNS; i++)
		buf_varint(&c->column[i], values[i]);
	*clock = x->send_start_ns;
}

int mpix_get_message(struct cursor columns[MPIX_COLUMNS], struct mpix_message *ret_message, int64_t *clock)
{
	uint64_t v[MPIX_COLUMNS];
	int64_t start, times[4];
	if (get_columns(columns, v) < 0 || v[6] >= RANKS_MAX || v[7] >= RANKS_MAX ||
	    __builtin_add_overflow(*clock, mpix_unzigzag(v[0]), &start))
		return -EBADMSG;
	for (int i = 0; i < 4; i++)
		if (__builtin_add_overflow(start, mpix_unzigzag(v[1 + i]), &times[i]))
			return -EBADMSG;
	*ret_message = (struct mpix_message){
		.send_start_ns = start,
		.send_end_ns = times[0],
		.recv_start_ns = times[1],
		.completion_start_ns = times[2],
		.recv_end_ns = times[3],
		.bytes = v[5],
		.src = (uint32_t)v[6],
		.dst = (uint32_t)v[7],
		.tag = (int32_t)mpix_unzigzag(v[8]),
		.comm = (uint32_t)v[9],
		.send_callsite = site_in(v[10]),
		.recv_callsite = site_in(v[11]),
	};
	*clock = start;
	return 0;
}
