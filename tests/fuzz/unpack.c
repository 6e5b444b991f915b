/* unpack.c FILE - a .mpic or .mpix in the form of fuzz.h, for a corpus: payloads in the clear, cut after 64 KiB. */
#include "base/buf_file.h"
#include "base/cursor.h"
#include "format/mpic.h"
#include "format/mpix_layout.h"
#include "format/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_payload(struct buf *out, const uint8_t *data, size_t len_bytes)
{
	uint16_t len = (uint16_t)(len_bytes < UINT16_MAX ? len_bytes : UINT16_MAX);
	buf_u16(out, len);
	buf_bytes(out, data, len);
}

static int unpack_mpic(const char *path, struct buf *out, struct error *e)
{
	_cleanup_buf_ struct buf payload = {0};
	struct mpic_file f;
	int rc = mpic_open(path, &f, e);
	for (size_t i = 0; rc == 0 && i < f.nblocks; i++) {
		const struct mpic_block *b = &f.blocks[i];
		rc = mpic_read(&f, b, &payload, e);
		buf_u8(out, (uint8_t)(b->kind - 1));
		buf_u8(out, (uint8_t)b->process);
		buf_u8(out, (uint8_t)b->thread);
		buf_u8(out, (uint8_t)b->seq);
		put_payload(out, payload.data, payload.len_bytes);
	}
	return rc;
}

static int put_chunk(const struct buf *file, const struct mpix_entry *x, struct buf *out, struct error *e)
{
	_cleanup_buf_ struct buf raw = {0};
	if (x->offset > file->len_bytes || x->packed_bytes > file->len_bytes - x->offset)
		return fail(e, -EBADMSG, "a chunk lies outside of the file");
	int rc = pack_inflate(&raw, file->data + x->offset, x->packed_bytes, x->raw_bytes, e);
	buf_u8(out, (uint8_t)(x->kind - 1));
	buf_u8(out, x->level);
	buf_u8(out, (uint8_t)x->rank_level);
	buf_u8(out, (uint8_t)x->group);
	buf_u8(out, (uint8_t)x->seq);
	buf_u8(out, (uint8_t)x->records);
	buf_u64(out, (uint64_t)x->start_ns);
	buf_u64(out, (uint64_t)x->end_ns);
	put_payload(out, raw.data, raw.len_bytes);
	return rc;
}

static int unpack_mpix(const char *path, struct buf *out, struct error *e)
{
	_cleanup_buf_ struct buf file = {0};
	struct mpix_super s;
	struct mpix_entry x;
	int rc = buf_file(&file, path, SIZE_MAX);
	if (rc == 0)
		rc = mpix_get_super(cursor_over(file.data, file.len_bytes), file.len_bytes, &s, e);
	if (rc < 0)
		return rc;
	struct cursor c = cursor_over(file.data + s.index_offset, file.len_bytes - s.index_offset);
	buf_u8(out, (uint8_t)(s.version - 1));
	for (uint32_t i = 0; i < s.entries && rc == 0; i++)
		if ((rc = mpix_get_entry(&c, &x)) == 0)
			rc = put_chunk(&file, &x, out, e);
	return rc;
}

int main(int argc, char **argv)
{
	_cleanup_buf_ struct buf out = {0};
	struct error e = {"cannot read it"};
	size_t n = argc == 2 ? strlen(argv[1]) : 0;
	if (n < 5) {
		fprintf(stderr, "usage: unpack FILE.mpic|FILE.mpix > INPUT\n");
		return 2;
	}
	int rc =
		strcmp(argv[1] + n - 5, ".mpix") == 0 ? unpack_mpix(argv[1], &out, &e) : unpack_mpic(argv[1], &out, &e);
	if (rc < 0 || buf_failed(&out) || fwrite(out.data, 1, out.len_bytes, stdout) != out.len_bytes) {
		fprintf(stderr, "unpack: %s: %s\n", argv[1], e.text);
		return 1;
	}
	return 0;
}
