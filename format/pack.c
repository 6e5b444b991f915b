/* pack.c - see pack.h. */
#include "format/pack.h"

#include "format/limits.h"

#include <errno.h>
#include <zlib.h>

#define RAW_WINDOW_BITS (-15)

int pack_deflate(struct buf *out, const void *data, size_t len_bytes, int level, struct error *e)
{
	z_stream z = {0};
	if (deflateInit2(&z, level, Z_DEFLATED, RAW_WINDOW_BITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return fail(e, -ENOMEM, "out of memory for compression");
	size_t bound = deflateBound(&z, len_bytes);
	uint8_t *to = buf_reserve(out, bound);
	if (to == NULL) {
		deflateEnd(&z);
		return fail(e, -ENOMEM, "out of memory for %zu bytes", bound);
	}
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)len_bytes;
	z.next_out = to;
	z.avail_out = (uInt)bound;
	int rc = deflate(&z, Z_FINISH);
	out->len_bytes += z.total_out;
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : fail(e, -EIO, "compression failed: zlib says %d", rc);
}

int pack_inflate(struct buf *out, const void *packed, size_t packed_len_bytes, size_t raw_len_bytes,
		 struct error *e)
{
	z_stream z = {0};
	if (raw_len_bytes / MPIC_INFLATE_RATIO_MAX > packed_len_bytes)
		return fail(e, -EBADMSG, "claims %zu bytes in %zu: more than deflate can", raw_len_bytes,
			    packed_len_bytes);
	uint8_t *to = buf_reserve(out, raw_len_bytes + 1); /* one more, to notice a stream that is longer */
	if (to == NULL || inflateInit2(&z, RAW_WINDOW_BITS) != Z_OK)
		return fail(e, -ENOMEM, "out of memory for %zu bytes", raw_len_bytes);
	z.next_in = (Bytef *)(uintptr_t)packed;
	z.avail_in = (uInt)packed_len_bytes;
	z.next_out = to;
	z.avail_out = (uInt)raw_len_bytes + 1;
	int rc = inflate(&z, Z_FINISH);
	size_t got = z.total_out;
	inflateEnd(&z);
	if (rc != Z_STREAM_END || got != raw_len_bytes)
		return fail(e, -EBADMSG, "compressed data is damaged (zlib %d, %zu of %zu bytes)", rc, got,
			    raw_len_bytes);
	out->len_bytes += got;
	return 0;
}
