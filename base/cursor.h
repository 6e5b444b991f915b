/* cursor.h - the one bounded reader over untrusted bytes. Every length is checked here and nowhere else.
 * All integers are little-endian. Every rd_* returns 0, or -EBADMSG when the bytes do not reach. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *pos;
	const uint8_t *end;
};

struct span {
	const uint8_t *data;
	size_t len_bytes;
};

static inline struct cursor cursor_over(const void *data, size_t len_bytes)
{
	return (struct cursor){.pos = data, .end = (const uint8_t *)data + len_bytes};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->pos);
}

static inline int rd_bytes(struct cursor *c, size_t len_bytes, struct span *ret_span)
{
	if (len_bytes > cursor_left(c))
		return -EBADMSG;
	*ret_span = (struct span){.data = c->pos, .len_bytes = len_bytes};
	c->pos += len_bytes;
	return 0;
}

static inline int rd_copy(struct cursor *c, void *ret_bytes, size_t len_bytes)
{
	struct span s;
	if (rd_bytes(c, len_bytes, &s) < 0)
		return -EBADMSG;
	if (len_bytes > 0)
		memcpy(ret_bytes, s.data, len_bytes);
	return 0;
}

static inline int rd_u8(struct cursor *c, uint8_t *ret_value)
{
	return rd_copy(c, ret_value, 1);
}

static inline int rd_u16(struct cursor *c, uint16_t *ret_value)
{
	return rd_copy(c, ret_value, 2);
}

static inline int rd_u32(struct cursor *c, uint32_t *ret_value)
{
	return rd_copy(c, ret_value, 4);
}

static inline int rd_u64(struct cursor *c, uint64_t *ret_value)
{
	return rd_copy(c, ret_value, 8);
}

/* Unsigned LEB128, at most 10 bytes. */
static inline int rd_varint(struct cursor *c, uint64_t *ret_value)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (c->pos == c->end)
			return -EBADMSG;
		uint8_t byte = *c->pos++;
		if (shift == 63 && byte > 1)
			return -EBADMSG;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return 0;
		}
	}
	return -EBADMSG;
}
