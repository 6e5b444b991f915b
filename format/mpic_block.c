/* mpic_block.c - one block: header, CRC, deflated payload. */
#include "format/mpic_block.h"

#include "base/crc32c.h"
#include "format/pack.h"

#define CODEC_DEFLATE 1

const uint8_t mpic_magic[8] = {'m', 'p', 'i', 'c', '\r', '\n', 0x1a, '\n'};
const uint8_t mpic_block_magic[4] = {'M', 'P', 'B', 'K'};

void mpic_append_magic(struct buf *out, uint32_t id)
{
	buf_bytes(out, mpic_magic, sizeof(mpic_magic));
	buf_u32(out, MPIC_VERSION);
	buf_u32(out, id);
}

int mpic_parse_head(const uint8_t *bytes, size_t len_bytes, const char *path, struct mpic_head *ret_head,
		    struct error *e)
{
	struct mpic_head head;
	struct cursor c = cursor_over(bytes, len_bytes);
	struct span magic;
	if (rd_bytes(&c, sizeof(mpic_magic), &magic) < 0 || rd_u32(&c, &head.version) < 0 || rd_u32(&c, &head.id) < 0)
		return fail(e, -EBADMSG, "%s: %zu bytes are too few for a .mpic file", path, len_bytes);
	if (memcmp(magic.data, "MPICv002", sizeof(mpic_magic)) == 0)
		return fail(e, -EBADMSG, "%s: is a trace of Pyrite, not of mpitrace", path);
	if (memcmp(magic.data, mpic_magic, sizeof(mpic_magic)) != 0)
		return fail(e, -EBADMSG, "%s: not a .mpic file (wrong first bytes)", path);
	if (head.version < MPIC_VERSION_OLDEST || head.version > MPIC_VERSION)
		return fail(e, -EBADMSG, "%s: .mpic version %u; this program reads versions %u to %u: update mpitrace",
			    path, head.version, MPIC_VERSION_OLDEST, MPIC_VERSION);
	*ret_head = head;
	return 0;
}

bool mpic_ends(struct mpic_head head, const struct mpic_block *b)
{
	return b->kind == MPIC_END && (head.version < 3 || b->seq == head.id);
}

static void put_header(struct buf *out, const struct mpic_block *b, uint32_t payload_crc)
{
	size_t start = out->len_bytes;
	buf_bytes(out, mpic_block_magic, sizeof(mpic_block_magic));
	buf_u8(out, (uint8_t)b->kind);
	buf_u8(out, CODEC_DEFLATE);
	buf_u16(out, 0);
	buf_u32(out, b->process);
	buf_u32(out, b->thread);
	buf_u64(out, b->seq);
	buf_u32(out, b->raw_len_bytes);
	buf_u32(out, b->packed_len_bytes);
	buf_u32(out, payload_crc);
	if (!buf_failed(out))
		buf_u32(out, crc32c(0, out->data + start, MPIC_HEADER_BYTES - 4));
}

int mpic_append_block(struct buf *out, const struct mpic_block *block, const void *payload, size_t len_bytes, int level,
		      struct error *e)
{
	struct mpic_block b = *block;
	_cleanup_buf_ struct buf packed = {0};

	if (len_bytes > MPIC_BLOCK_RAW_MAX)
		return fail(e, -EMSGSIZE, "block of %zu bytes is over the limit %u", len_bytes, MPIC_BLOCK_RAW_MAX);
	size_t numbers_at = len_bytes, bits_at = len_bytes;
	if (block->kind == MPIC_EVENTS)
		mpic_events_parts(payload, len_bytes, &numbers_at, &bits_at);
	int rc = pack_deflate_parts(&packed, payload, len_bytes, numbers_at, bits_at, level, e);
	if (rc < 0)
		return rc;
	b.raw_len_bytes = (uint32_t)len_bytes;
	b.packed_len_bytes = (uint32_t)packed.len_bytes;
	put_header(out, &b, crc32c(0, packed.data, packed.len_bytes));
	buf_bytes(out, packed.data, packed.len_bytes);
	return buf_failed(out) ? fail(e, -ENOMEM, "out of memory") : 0;
}

int mpic_parse_header(const uint8_t bytes[MPIC_HEADER_BYTES], struct mpic_block *ret_block, uint32_t *ret_crc)
{
	struct cursor c = cursor_over(bytes + 4, MPIC_HEADER_BYTES - 4);
	struct mpic_block b = {0};
	uint8_t kind, codec;
	uint16_t zero;
	uint32_t crc, header_crc;

	if (memcmp(bytes, mpic_block_magic, sizeof(mpic_block_magic)) != 0)
		return -EBADMSG;
	if (rd_u8(&c, &kind) < 0 || rd_u8(&c, &codec) < 0 || rd_u16(&c, &zero) < 0 || rd_u32(&c, &b.process) < 0 ||
	    rd_u32(&c, &b.thread) < 0 || rd_u64(&c, &b.seq) < 0 || rd_u32(&c, &b.raw_len_bytes) < 0 ||
	    rd_u32(&c, &b.packed_len_bytes) < 0 || rd_u32(&c, &crc) < 0 || rd_u32(&c, &header_crc) < 0)
		return -EBADMSG;
	if (header_crc != crc32c(0, bytes, MPIC_HEADER_BYTES - 4) || codec != CODEC_DEFLATE || kind < MPIC_META)
		return -EBADMSG;
	if (b.raw_len_bytes > MPIC_BLOCK_RAW_MAX || b.packed_len_bytes > MPIC_BLOCK_PACKED_MAX)
		return -EBADMSG;
	if (b.process != MPIC_NODE && (b.process >= MPIC_PROCESSES_MAX || b.thread >= MPIC_THREADS_MAX))
		return -EBADMSG;
	b.kind = kind;
	*ret_block = b;
	*ret_crc = crc;
	return 0;
}
