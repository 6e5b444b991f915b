/* buf.h - a growing byte buffer. An allocation failure sticks: check buf_failed() once at the end.
 * Integers are written little-endian. buf_done() frees; a zeroed struct is an empty buffer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len_bytes;
	size_t cap_bytes;
	bool failed;
};

void buf_done(struct buf *b);
bool buf_failed(const struct buf *b);
/* Room for len_bytes more at the end, or NULL (then the buffer has failed). Does not change the length. */
uint8_t *buf_reserve(struct buf *b, size_t len_bytes);
void buf_bytes(struct buf *b, const void *data, size_t len_bytes);
void buf_str(struct buf *b, const char *text);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_u8(struct buf *b, uint8_t value);
void buf_u16(struct buf *b, uint16_t value);
void buf_u32(struct buf *b, uint32_t value);
void buf_u64(struct buf *b, uint64_t value);
void buf_varint(struct buf *b, uint64_t value);

/* Cleanup attribute for a buffer that a scope owns. */
#define _cleanup_buf_ __attribute__((cleanup(buf_done)))
