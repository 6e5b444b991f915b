/* buf.c - see buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

bool buf_failed(const struct buf *b)
{
	return b->failed;
}

uint8_t *buf_reserve(struct buf *b, size_t len_bytes)
{
	size_t need, cap;
	if (b->failed || __builtin_add_overflow(b->len_bytes, len_bytes, &need))
		goto failed;
	if (need > b->cap_bytes || b->data == NULL) {
		cap = b->cap_bytes < 256 ? 256 : b->cap_bytes;
		while (cap < need)
			if (__builtin_mul_overflow(cap, (size_t)2, &cap))
				goto failed;
		uint8_t *data = realloc(b->data, cap);
		if (data == NULL)
			goto failed;
		b->data = data;
		b->cap_bytes = cap;
	}
	return b->data + b->len_bytes;
failed:
	b->failed = true;
	return NULL;
}

void buf_bytes(struct buf *b, const void *data, size_t len_bytes)
{
	uint8_t *to = buf_reserve(b, len_bytes);
	if (to == NULL || len_bytes == 0)
		return;
	memcpy(to, data, len_bytes);
	b->len_bytes += len_bytes;
}

void buf_str(struct buf *b, const char *text)
{
	buf_bytes(b, text, strlen(text));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	uint8_t *to = n < 0 ? NULL : buf_reserve(b, (size_t)n + 1);
	if (to != NULL) {
		vsnprintf((char *)to, (size_t)n + 1, fmt, again);
		b->len_bytes += (size_t)n;
	} else {
		b->failed = true;
	}
	va_end(again);
}

void buf_u8(struct buf *b, uint8_t value)
{
	buf_bytes(b, &value, sizeof(value));
}

void buf_u16(struct buf *b, uint16_t value)
{
	buf_bytes(b, &value, sizeof(value));
}

void buf_u32(struct buf *b, uint32_t value)
{
	buf_bytes(b, &value, sizeof(value));
}

void buf_u64(struct buf *b, uint64_t value)
{
	buf_bytes(b, &value, sizeof(value));
}

void buf_varint(struct buf *b, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;
	do {
		bytes[n] = (uint8_t)(value & 0x7f);
		value >>= 7;
		if (value != 0)
			bytes[n] |= 0x80;
		n++;
	} while (value != 0);
	buf_bytes(b, bytes, n);
}
