/* out.h - buffered output of text and bytes, faster than stdio. The first failure sticks: see out_close(). */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define OUT_ROOM (1u << 18)
#define OUT_ITEM_MAX 64u /* bytes that one number takes at most */

struct out {
	char *at; /* OUT_ROOM bytes */
	size_t n;
	uint64_t written; /* before those */
	int fd;
	int code; /* the first failure */
	char *path;
};

/* A new file. 0 or -errno with text. */
int out_open(struct out *o, const char *path, struct error *e);
/* Over a descriptor that stays the caller's. */
int out_over(struct out *o, int fd, const char *path, struct error *e);
/* Write what is left. The text says what failed, of all that was written; then o is empty. */
int out_close(struct out *o, bool own, struct error *e);
/* Give up; harmless on a zeroed struct. */
void out_abandon(struct out *o, bool own);
void out_flush(struct out *o);
void out_long(struct out *o, const void *data, size_t len_bytes);

/* Room for len_bytes <= OUT_ROOM. */
static inline char *out_room(struct out *o, size_t len_bytes)
{
	if (o->n + len_bytes > OUT_ROOM)
		out_flush(o);
	return o->at + o->n;
}

static inline void out_char(struct out *o, char c)
{
	*out_room(o, 1) = c;
	o->n++;
}

static inline void out_bytes(struct out *o, const void *data, size_t len_bytes)
{
	if (len_bytes > OUT_ROOM / 4) {
		out_long(o, data, len_bytes);
		return;
	}
	memcpy(out_room(o, len_bytes), data, len_bytes);
	o->n += len_bytes;
}

static inline void out_text(struct out *o, const char *text)
{
	out_bytes(o, text, strlen(text));
}

void out_u64(struct out *o, uint64_t value);
void out_i64(struct out *o, int64_t value);
/* Nanoseconds as microseconds with three digits. */
void out_us(struct out *o, int64_t ns);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A field as RFC 4180 wants it. */
void out_field(struct out *o, const char *text);
/* A JSON text with its quotes; text is UTF-8 or becomes it. */
void out_json(struct out *o, const char *text);
