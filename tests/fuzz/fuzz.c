/* fuzz.c - see fuzz.h. In: bytes that a fuzzer made up.  Out: files in memory whose outside is right. */
#include "tests/fuzz/fuzz.h"

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "format/mpic.h"
#include "format/mpix_layout.h"
#include "format/pack.h"

#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ID 7u
#define LEVEL 1
#define NODE 255

const char *fuzz_file(const void *data, size_t len_bytes)
{
	static char path[64];
	static int fd = -1;
	if (fd >= 0)
		close(fd);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	fuzz_check(fd >= 0 && write(fd, data, len_bytes) == (ssize_t)len_bytes);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

/* A payload of at most 64 KiB: its length, then what there is of it. */
static struct span rd_payload(struct cursor *c)
{
	struct span s = {c->pos, 0};
	uint16_t len;
	if (rd_u16(c, &len) == 0)
		rd_bytes(c, len < cursor_left(c) ? len : cursor_left(c), &s);
	return s;
}

void fuzz_mpic(const uint8_t *data, size_t len_bytes, struct buf *out)
{
	struct cursor c = cursor_over(data, len_bytes);
	uint8_t kind, process, thread, seq;
	mpic_append_magic(out, ID);
	while (rd_u8(&c, &kind) == 0 && rd_u8(&c, &process) == 0 && rd_u8(&c, &thread) == 0 && rd_u8(&c, &seq) == 0) {
		struct span payload = rd_payload(&c);
		kind = kind % MPIC_END + 1;
		struct mpic_block b = {.kind = kind, .process = process, .thread = thread, .seq = seq};
		if (process == NODE)
			b.process = MPIC_NODE;
		if (b.kind == MPIC_END)
			b.seq = ID;
		fuzz_check(mpic_append_block(out, &b, payload.data, payload.len_bytes, LEVEL, NULL) == 0);
	}
}

struct chunk {
	struct mpix_entry entry;
	struct span payload;
};

typedef VEC(struct chunk) chunks;

static bool rd_chunk(struct cursor *c, struct chunk *ret_chunk)
{
	uint8_t kind, level, rank_level, group, seq, records;
	uint64_t start, end;
	if (rd_u8(c, &kind) < 0 || rd_u8(c, &level) < 0 || rd_u8(c, &rank_level) < 0 || rd_u8(c, &group) < 0 ||
	    rd_u8(c, &seq) < 0 || rd_u8(c, &records) < 0 || rd_u64(c, &start) < 0 || rd_u64(c, &end) < 0)
		return false;
	ret_chunk->payload = rd_payload(c);
	ret_chunk->entry = (struct mpix_entry){.kind = kind % (MPIX_KINDS - 1) + 1,
					       .level = level,
					       .rank_level = rank_level,
					       .group = group,
					       .seq = seq,
					       .records = records,
					       .start_ns = (int64_t)start,
					       .end_ns = (int64_t)end,
					       .raw_bytes = (uint32_t)ret_chunk->payload.len_bytes};
	return true;
}

static void pack_chunk(struct chunk *x, struct buf *out)
{
	static struct libdeflate_compressor *packer;
	size_t begin = out->len_bytes;
	fuzz_check(pack_deflate(&packer, out, x->payload.data, x->payload.len_bytes, LEVEL, NULL) == 0);
	x->entry.offset = begin;
	x->entry.packed_bytes = (uint32_t)(out->len_bytes - begin);
	x->entry.crc = crc32c(0, out->data + begin, x->entry.packed_bytes);
}

static int by_entry(const void *a, const void *b)
{
	return mpix_compare_entries(&((const struct chunk *)a)->entry, &((const struct chunk *)b)->entry);
}

/* The index, each chunk once, and what says where it is. */
static void seal(chunks *list, uint32_t version, struct buf *out)
{
	_cleanup_buf_ struct buf super = {0};
	struct mpix_super s = {.version = version, .index_offset = out->len_bytes};
	if (list->n > 0)
		qsort(list->at, list->n, sizeof(*list->at), by_entry);
	for (size_t i = 0; i < list->n; i++) {
		if (i > 0 && by_entry(&list->at[i - 1], &list->at[i]) == 0)
			continue;
		mpix_put_entry(out, &list->at[i].entry);
		s.entries++;
	}
	s.file_bytes = out->len_bytes + MPIX_TRAILER_BYTES;
	s.index_crc = crc32c(0, out->data + s.index_offset, out->len_bytes - s.index_offset);
	mpix_put_super(&super, &s);
	memcpy(out->data, super.data, super.len_bytes);
	mpix_put_trailer(out, s.file_bytes, crc32c(0, super.data, super.len_bytes));
}

void fuzz_mpix(const uint8_t *data, size_t len_bytes, struct buf *out)
{
	static const uint8_t superblock[MPIX_SUPERBLOCK_BYTES];
	struct cursor c = cursor_over(data, len_bytes);
	struct chunk x;
	chunks list = {0};
	uint8_t version = 0;
	rd_u8(&c, &version);
	buf_bytes(out, superblock, sizeof(superblock)); /* written at last */
	while (rd_chunk(&c, &x)) {
		pack_chunk(&x, out);
		fuzz_check(vec_push(&list, x) == 0);
	}
	seal(&list, version % MPIX_VERSION + 1, out);
	vec_done(&list);
}
