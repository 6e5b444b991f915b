/* stored.c - format/pack.h for the browser, which keeps what it packs in memory only: stored blocks of deflate (RFC
 * 1951, 3.2.4), which every reader takes. */
#include "format/pack.h"

#include <errno.h>

#define BLOCK_BYTES 65535u

int pack_deflate(struct libdeflate_compressor **packer, struct buf *out, const void *data, size_t len_bytes, int level,
		 struct error *e)
{
	const uint8_t *from = data;
	(void)packer, (void)level;
	do {
		size_t n = len_bytes < BLOCK_BYTES ? len_bytes : BLOCK_BYTES;
		len_bytes -= n;
		buf_u8(out, len_bytes == 0);
		buf_u16(out, (uint16_t)n);
		buf_u16(out, (uint16_t)~n);
		buf_bytes(out, from, n);
		from += n;
	} while (len_bytes > 0);
	return buf_failed(out) ? fail(e, -ENOMEM, "out of memory for %zu bytes", len_bytes) : 0;
}

void pack_done(struct libdeflate_compressor **packer)
{
	(void)packer;
}

int pack_deflate_parts(struct buf *out, const void *data, size_t len_bytes, size_t numbers_at, size_t bits_at,
		       int level, struct error *e)
{
	(void)numbers_at, (void)bits_at;
	return pack_deflate(NULL, out, data, len_bytes, level, e);
}
