/* mpic_end.c - is a file finished? Asked again and again of files that still grow and may be huge, so nothing but
 * the first and the last bytes is read: the END block is the last one, and short. */
#include "base/crc32c.h"
#include "format/mpic_block.h"
#include "format/pack.h"

#include <sys/stat.h>

/* A whole block that ends where the bytes end, and ends the file? */
static bool is_end(struct mpic_head head, const uint8_t *bytes, size_t len_bytes, struct mpic_block *ret_block)
{
	uint32_t crc;
	return len_bytes >= MPIC_HEADER_BYTES && mpic_parse_header(bytes, ret_block, &crc) == 0 &&
	       mpic_ends(head, ret_block) && ret_block->packed_len_bytes == len_bytes - MPIC_HEADER_BYTES &&
	       crc32c(0, bytes + MPIC_HEADER_BYTES, ret_block->packed_len_bytes) == crc;
}

static int find_end(struct mpic_head head, const uint8_t *tail, size_t len_bytes, struct buf *ret_json, struct error *e)
{
	const uint8_t *end = tail + len_bytes, *hit = tail;
	struct mpic_block b;
	while ((hit = memmem(hit, (size_t)(end - hit), mpic_block_magic, sizeof(mpic_block_magic))) != NULL) {
		if (is_end(head, hit, (size_t)(end - hit), &b)) {
			ret_json->len_bytes = 0;
			int rc =
				pack_inflate(ret_json, hit + MPIC_HEADER_BYTES, b.packed_len_bytes, b.raw_len_bytes, e);
			return rc < 0 ? rc : 1;
		}
		hit++;
	}
	return 0;
}

int mpic_read_end(int fd, struct buf *ret_json, struct error *e)
{
	uint8_t first[MPIC_MAGIC_BYTES], tail[MPIC_TAIL_BYTES - MPIC_MAGIC_BYTES];
	struct mpic_head head;
	struct stat st;
	int rc = fstat(fd, &st) == 0 ? 0 : -errno;
	if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_size < MPIC_MAGIC_BYTES))
		return fail(e, -EBADMSG, "not a .mpic file, or none yet");
	if (rc == 0)
		rc = mpic_read_at(fd, 0, first, sizeof(first));
	if (rc == 0)
		rc = mpic_parse_head(first, sizeof(first), "file", &head, e);
	if (rc < 0)
		return rc;
	if (head.version < 3)
		return fail(e, -ENOTSUP, "version %u has to be read whole", head.version);
	uint64_t blocks_bytes = (uint64_t)st.st_size - MPIC_MAGIC_BYTES;
	size_t len = blocks_bytes < sizeof(tail) ? (size_t)blocks_bytes : sizeof(tail);
	rc = mpic_read_at(fd, (uint64_t)st.st_size - len, tail, len);
	return rc < 0 ? fail(e, rc, "cannot read: %s", strerror(-rc)) : find_end(head, tail, len, ret_json, e);
}
