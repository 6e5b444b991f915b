/* mpic_times_v2.c - the times of event blocks as version 2 wrote them: read, never written (format/SPEC.md, EVENTS). */
#include "format/mpic_times.h"

#include <stdbool.h>

#define SMALL_MAX 15u	  /* a quotient of that or more follows among the escapes */
#define DENSE_QUANTUM 16u /* the quantum with a byte of remainders for each event */
#define QUANTUM_MAX 128u

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

int mpic_times_read_v2(struct mpic_time_cursors_v2 *in, uint32_t count, uint64_t *ret_times)
{
	bool dense = cursor_left(&in->dense) > 0;
	uint8_t pair, rest = 0;
	if (in->quantum < 1 || in->quantum > QUANTUM_MAX || (dense && in->quantum != DENSE_QUANTUM))
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t *times = &ret_times[2 * (size_t)i];
		if (rd_u8(&in->small, &pair) < 0 || (dense && rd_u8(&in->dense, &rest) < 0) ||
		    rd_time(pair & 15, rest & 15, in->quantum, &in->escapes, &times[0]) < 0 ||
		    rd_time(pair >> 4, rest >> 4, in->quantum, &in->escapes, &times[1]) < 0)
			return -EBADMSG;
	}
	uint64_t index = 0, skip, misfit;
	while (cursor_left(&in->misfits) > 0) {
		if (rd_varint(&in->misfits, &skip) < 0 || rd_varint(&in->misfits, &misfit) < 0 ||
		    __builtin_add_overflow(index, skip, &index) || index >= 2ull * count || misfit > 2 * QUANTUM_MAX)
			return -EBADMSG;
		ret_times[index] += (misfit >> 1) ^ -(misfit & 1); /* below zero: noticed when the clock overflows */
	}
	bool all = cursor_left(&in->small) == 0 && cursor_left(&in->dense) == 0 && cursor_left(&in->escapes) == 0;
	return all ? 0 : -EBADMSG;
}
