/* pack.c - see pack.h. */
#include "format/pack.h"

#include "format/limits.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <zlib.h>

#define RAW_WINDOW_BITS (-15)
#define PART_BYTES_MAX (UINT32_MAX / 2) /* with what deflate may add still an uInt */
#define SYMBOLS_PER_TABLE_LEVEL 5 /* zlib's memLevel: Huffman tables are renewed every 1 << (memLevel + 6) symbols */
#define STORED_BYTES 64		  /* that changes of strategy and the heads of stored blocks may add, */
#define STORED_BYTES_SHARE 1024	  /* and one in so many of what is stored */

/* Deflate the next part, which is coded differently from what was before. */
static int deflate_part(z_stream *z, const uint8_t *data, size_t len_bytes, int level, int strategy)
{
	int rc = deflateParams(z, level, strategy);
	z->next_in = (Bytef *)(uintptr_t)data;
	z->avail_in = (uInt)len_bytes;
	if (rc == Z_OK && len_bytes > 0)
		rc = deflate(z, Z_NO_FLUSH);
	return rc;
}

static int deflate_parts(struct buf *out, struct span data, size_t numbers_at, size_t bits_at, int level,
			 int memory_level, struct error *e)
{
	z_stream z = {0};
	if (data.len_bytes > PART_BYTES_MAX)
		return fail(e, -EFBIG, "%zu bytes are too many to compress at once", data.len_bytes);
	if (deflateInit2(&z, level, Z_DEFLATED, RAW_WINDOW_BITS, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
		return fail(e, -ENOMEM, "out of memory for compression");
	size_t bound = deflateBound(&z, data.len_bytes) + STORED_BYTES + data.len_bytes / STORED_BYTES_SHARE;
	uint8_t *to = buf_reserve(out, bound);
	if (to == NULL) {
		deflateEnd(&z);
		return fail(e, -ENOMEM, "out of memory for %zu bytes", bound);
	}
	z.next_out = to;
	z.avail_out = (uInt)bound;
	int rc = deflate_part(&z, data.data, numbers_at, level, Z_DEFAULT_STRATEGY);
	if (rc == Z_OK && numbers_at < bits_at)
		rc = deflate_part(&z, data.data + numbers_at, bits_at - numbers_at, level, Z_HUFFMAN_ONLY);
	if (rc == Z_OK && bits_at < data.len_bytes)
		rc = deflate_part(&z, data.data + bits_at, data.len_bytes - bits_at, Z_NO_COMPRESSION,
				  Z_DEFAULT_STRATEGY);
	if (rc == Z_OK)
		rc = deflate(&z, Z_FINISH);
	out->len_bytes += z.total_out;
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : fail(e, -EIO, "compression failed: zlib says %d", rc);
}

int pack_deflate(struct libdeflate_compressor **packer, struct buf *out, const void *data, size_t len_bytes, int level,
		 struct error *e)
{
	if (*packer == NULL)
		*packer = libdeflate_alloc_compressor(level);
	size_t bound = *packer != NULL ? libdeflate_deflate_compress_bound(*packer, len_bytes) : 0;
	uint8_t *to = bound > 0 ? buf_reserve(out, bound) : NULL;
	if (to == NULL)
		return fail(e, -ENOMEM, "out of memory for %zu bytes", len_bytes);
	size_t n = libdeflate_deflate_compress(*packer, data, len_bytes, to, bound);
	out->len_bytes += n;
	return n > 0 ? 0 : fail(e, -EIO, "compression failed");
}

void pack_done(struct libdeflate_compressor **packer)
{
	if (*packer != NULL)
		libdeflate_free_compressor(*packer);
	*packer = NULL;
}

int pack_deflate_parts(struct buf *out, const void *data, size_t len_bytes, size_t numbers_at, size_t bits_at,
		       int level, struct error *e)
{
	int memory_level = numbers_at < len_bytes ? SYMBOLS_PER_TABLE_LEVEL : MAX_MEM_LEVEL;
	return deflate_parts(out, (struct span){data, len_bytes}, numbers_at, bits_at, level, memory_level, e);
}

/* Before memory is taken for it. */
static int check_claim(size_t raw_len_bytes, size_t packed_len_bytes, struct error *e)
{
	if (raw_len_bytes / MPIC_INFLATE_RATIO_MAX > packed_len_bytes)
		return fail(e, -EBADMSG, "claims %zu bytes in %zu: more than deflate can", raw_len_bytes,
			    packed_len_bytes);
	if (packed_len_bytes > UINT32_MAX || raw_len_bytes > UINT32_MAX)
		return fail(e, -EFBIG, "%zu bytes are too many to unpack at once", raw_len_bytes);
	return 0;
}

static int inflate_exactly(uint8_t *ret_raw, size_t raw_len_bytes, struct span packed, struct error *e)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	size_t read = 0, made = 0;
	if (d == NULL)
		return fail(e, -ENOMEM, "out of memory for %zu bytes", raw_len_bytes);
	enum libdeflate_result rc = libdeflate_deflate_decompress_ex(d, packed.data, packed.len_bytes, ret_raw,
								     raw_len_bytes, &read, &made);
	libdeflate_free_decompressor(d);
	if (rc == LIBDEFLATE_SUCCESS && read == packed.len_bytes && made == raw_len_bytes)
		return 0;
	return fail(e, -EBADMSG, "compressed data is damaged (libdeflate %d, %zu of %zu bytes)", (int)rc, made,
		    raw_len_bytes);
}

int pack_inflate_to(uint8_t *ret_raw, size_t raw_len_bytes, struct span packed, struct error *e)
{
	int rc = check_claim(raw_len_bytes, packed.len_bytes, e);
	return rc < 0 ? rc : inflate_exactly(ret_raw, raw_len_bytes, packed, e);
}

int pack_inflate(struct buf *out, const void *packed, size_t packed_len_bytes, size_t raw_len_bytes, struct error *e)
{
	int rc = check_claim(raw_len_bytes, packed_len_bytes, e);
	if (rc < 0)
		return rc;
	uint8_t *to = buf_reserve(out, raw_len_bytes + 1); /* NULL is out of memory, also of no bytes */
	if (to == NULL)
		return fail(e, -ENOMEM, "out of memory for %zu bytes", raw_len_bytes);
	rc = inflate_exactly(to, raw_len_bytes, (struct span){packed, packed_len_bytes}, e);
	if (rc == 0)
		out->len_bytes += raw_len_bytes;
	return rc;
}

int pack_inflate_head(uint8_t *ret_raw, size_t len_bytes, struct span packed)
{
	z_stream z = {0};
	if (inflateInit2(&z, RAW_WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	z.next_in = (Bytef *)(uintptr_t)packed.data;
	z.avail_in = (uInt)packed.len_bytes;
	z.next_out = ret_raw;
	z.avail_out = (uInt)len_bytes;
	inflate(&z, Z_SYNC_FLUSH);
	inflateEnd(&z);
	return z.avail_out == 0 ? 0 : -EBADMSG;
}
