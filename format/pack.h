/* pack.h - raw deflate (RFC 1951) with bounds on both sides: what packs an .mpic and an .mpix. */
#pragma once

#include "base/buf.h"
#include "base/cursor.h"
#include "base/error.h"

/* Deflate data and append it to out; level 1..9. *packer: NULL at first, kept for the next time by who calls; of one
 * level and one thread. 0, or -errno with text. */
struct libdeflate_compressor;
int pack_deflate(struct libdeflate_compressor **packer, struct buf *out, const void *data, size_t len_bytes, int level,
		 struct error *e);
void pack_done(struct libdeflate_compressor **packer);
/* The same in parts. From numbers_at on (len_bytes = nowhere) no repeats are looked for: bytes are entropy coded,
 * every few thousand by a table of their own. From bits_at on they are stored as they are. */
int pack_deflate_parts(struct buf *out, const void *data, size_t len_bytes, size_t numbers_at, size_t bits_at,
		       int level, struct error *e);
/* Inflate exactly raw_len_bytes from packed and append them to out. -EBADMSG if the stream is damaged, longer or
 * shorter than claimed, or claims a ratio deflate cannot reach. */
int pack_inflate(struct buf *out, const void *packed, size_t packed_len_bytes, size_t raw_len_bytes, struct error *e);
/* The same into memory of the caller, not NULL. */
int pack_inflate_to(uint8_t *ret_raw, size_t raw_len_bytes, struct span packed, struct error *e);
/* The first len_bytes of what packed begins with (which may be cut): 0, -EBADMSG, -ENOMEM. */
int pack_inflate_head(uint8_t *ret_raw, size_t len_bytes, struct span packed);
