/* mpix_records.c - one message as twelve columns of varints: TOP, and MESSAGES of version 1. See mpix_layout.h. */
#include "format/mpix_layout.h"

void mpix_put_message(struct buf columns[MPIX_MESSAGE_COLUMNS], const struct mpix_message *x, int64_t *clock)
{
	const uint64_t values[MPIX_MESSAGE_COLUMNS] = {
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
		mpix_site_out(x->send_callsite),
		mpix_site_out(x->recv_callsite),
	};
	for (int i = 0; i < MPIX_MESSAGE_COLUMNS; i++)
		buf_varint(&columns[i], values[i]);
	*clock = x->send_start_ns;
}

int mpix_get_message(struct cursor columns[MPIX_MESSAGE_COLUMNS], struct mpix_message *ret_message, int64_t *clock)
{
	uint64_t v[MPIX_MESSAGE_COLUMNS];
	int64_t start, times[4];
	for (int i = 0; i < MPIX_MESSAGE_COLUMNS; i++)
		if (rd_varint(&columns[i], &v[i]) < 0)
			return -EBADMSG;
	if (v[6] >= RANKS_MAX || v[7] >= RANKS_MAX || __builtin_add_overflow(*clock, mpix_unzigzag(v[0]), &start))
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
		.send_callsite = mpix_site_in(v[10]),
		.recv_callsite = mpix_site_in(v[11]),
	};
	*clock = start;
	return 0;
}
