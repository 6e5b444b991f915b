/* mpix_layout.c - superblock, index entries and columns of an .mpix file. See mpix_layout.h. */
#include "format/mpix_layout.h"

#include "base/crc32c.h"
#include "format/limits.h"

const uint8_t mpix_magic[8] = {0x89, 'M', 'P', 'I', 'X', '\r', '\n', 0x1a};

void mpix_put_super(struct buf *out, const struct mpix_super *s)
{
	size_t begin = out->len_bytes;
	buf_bytes(out, mpix_magic, sizeof(mpix_magic));
	buf_u32(out, s->version);
	buf_u32(out, MPIX_SUPERBLOCK_BYTES);
	buf_u64(out, s->file_bytes);
	buf_u64(out, s->index_offset);
	buf_u32(out, s->entries);
	buf_u32(out, s->index_crc);
	buf_u32(out, MPIX_ENTRY_BYTES);
	for (int i = 0; i < 4; i++)
		buf_u32(out, 0);
	if (!buf_failed(out))
		buf_u32(out, crc32c(0, out->data + begin, MPIX_SUPERBLOCK_BYTES - 4));
}

static int check_super(const uint8_t *bytes, uint32_t version, uint32_t crc, struct error *e)
{
	static const uint8_t unfinished[8];
	if (memcmp(bytes, unfinished, 8) == 0)
		return fail(e, -EBADMSG, "offset 0: never finished: its writer died; analyse again");
	if (memcmp(bytes, mpix_magic, 8) != 0)
		return fail(e, -EBADMSG, "offset 0: not an .mpix file");
	if (version < MPIX_VERSION_OLDEST || version > MPIX_VERSION)
		return fail(e, -EBADMSG, "offset 8: version %u, this program reads versions %u to %u; analyse again",
			    version, MPIX_VERSION_OLDEST, MPIX_VERSION);
	if (crc32c(0, bytes, MPIX_SUPERBLOCK_BYTES - 4) != crc)
		return fail(e, -EBADMSG, "offset 0: superblock damaged (checksum differs)");
	return 0;
}

int mpix_get_super(struct cursor c, uint64_t file_bytes, struct mpix_super *ret_super, struct error *e)
{
	struct mpix_super s;
	struct span magic, rest;
	uint32_t super_bytes, entry_bytes, crc;
	const uint8_t *bytes = c.pos;
	if (rd_bytes(&c, 8, &magic) < 0 || rd_u32(&c, &s.version) < 0 || rd_u32(&c, &super_bytes) < 0 ||
	    rd_u64(&c, &s.file_bytes) < 0 || rd_u64(&c, &s.index_offset) < 0 || rd_u32(&c, &s.entries) < 0 ||
	    rd_u32(&c, &s.index_crc) < 0 || rd_u32(&c, &entry_bytes) < 0 || rd_bytes(&c, 16, &rest) < 0 ||
	    rd_u32(&c, &crc) < 0)
		return fail(e, -EBADMSG, "not an .mpix file, or cut: %llu bytes", (unsigned long long)file_bytes);
	int rc = check_super(bytes, s.version, crc, e);
	if (rc < 0)
		return rc;
	if (s.file_bytes > file_bytes)
		return fail(e, -EBADMSG, "cut: %llu of %llu bytes are there; copy it again",
			    (unsigned long long)file_bytes, (unsigned long long)s.file_bytes);
	if (s.file_bytes < file_bytes || super_bytes != MPIX_SUPERBLOCK_BYTES || entry_bytes != MPIX_ENTRY_BYTES)
		return fail(e, -EBADMSG, "superblock contradicts the file's length of %llu bytes",
			    (unsigned long long)file_bytes);
	*ret_super = s;
	return 0;
}

void mpix_put_trailer(struct buf *out, uint64_t file_bytes, uint32_t super_crc)
{
	buf_u64(out, file_bytes);
	buf_u32(out, super_crc);
	buf_str(out, "XIPM");
}

void mpix_put_entry(struct buf *out, const struct mpix_entry *x)
{
	buf_u8(out, x->kind);
	buf_u8(out, x->level);
	buf_u16(out, x->rank_level);
	buf_u32(out, x->group);
	buf_u32(out, x->seq);
	buf_u32(out, x->records);
	buf_u64(out, (uint64_t)x->start_ns);
	buf_u64(out, (uint64_t)x->end_ns);
	buf_u64(out, x->offset);
	buf_u32(out, x->packed_bytes);
	buf_u32(out, x->raw_bytes);
	buf_u32(out, x->crc);
	buf_u32(out, 0);
}

int mpix_get_entry(struct cursor *c, struct mpix_entry *ret_entry)
{
	struct mpix_entry x;
	uint64_t start, end;
	uint32_t zero;
	if (rd_u8(c, &x.kind) < 0 || rd_u8(c, &x.level) < 0 || rd_u16(c, &x.rank_level) < 0 ||
	    rd_u32(c, &x.group) < 0 || rd_u32(c, &x.seq) < 0 || rd_u32(c, &x.records) < 0 || rd_u64(c, &start) < 0 ||
	    rd_u64(c, &end) < 0 || rd_u64(c, &x.offset) < 0 || rd_u32(c, &x.packed_bytes) < 0 ||
	    rd_u32(c, &x.raw_bytes) < 0 || rd_u32(c, &x.crc) < 0 || rd_u32(c, &zero) < 0)
		return -EBADMSG;
	x.start_ns = (int64_t)start;
	x.end_ns = (int64_t)end;
	*ret_entry = x;
	return 0;
}

int mpix_compare_entries(const void *left, const void *right)
{
	const struct mpix_entry *x = left, *y = right;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->rank_level != y->rank_level)
		return x->rank_level < y->rank_level ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

int mpix_check_place(const struct mpix_super *s, struct error *e)
{
	uint64_t end;
	if (s->entries > MPIX_CHUNKS_MAX)
		return fail(e, -EBADMSG, "%u chunks: over the limit of %u", s->entries, MPIX_CHUNKS_MAX);
	if (__builtin_add_overflow(s->index_offset, (uint64_t)s->entries * MPIX_ENTRY_BYTES, &end) ||
	    __builtin_add_overflow(end, (uint64_t)MPIX_TRAILER_BYTES, &end) || end != s->file_bytes ||
	    s->index_offset < MPIX_SUPERBLOCK_BYTES)
		return fail(e, -EBADMSG, "index at %llu with %u chunks does not end the file",
			    (unsigned long long)s->index_offset, s->entries);
	return 0;
}

static bool entry_is_sane(const struct mpix_super *s, const struct mpix_entry *x)
{
	uint32_t raw_max = x->kind == MPIX_ANALYSIS ? MPIX_ANALYSIS_RAW_MAX : MPIX_CHUNK_RAW_MAX;
	uint8_t last = s->version == 1 ? MPIX_FLOW : UINT8_MAX;
	uint64_t end;
	return x->kind >= MPIX_META && x->kind <= last && x->raw_bytes <= raw_max &&
	       x->offset >= MPIX_SUPERBLOCK_BYTES &&
	       !__builtin_add_overflow(x->offset, (uint64_t)x->packed_bytes, &end) && end <= s->index_offset &&
	       x->raw_bytes <= (uint64_t)x->packed_bytes * MPIC_INFLATE_RATIO_MAX + 64;
}

int mpix_get_index(const struct mpix_super *s, const uint8_t *bytes, struct mpix_entry *ret_entries, struct error *e)
{
	size_t len_bytes = (size_t)s->entries * MPIX_ENTRY_BYTES;
	struct cursor c = cursor_over(bytes, len_bytes);
	if (crc32c(0, bytes, len_bytes) != s->index_crc)
		return fail(e, -EBADMSG, "offset %llu: index damaged (checksum differs)",
			    (unsigned long long)s->index_offset);
	for (uint32_t i = 0; i < s->entries; i++) {
		struct mpix_entry *x = &ret_entries[i];
		/* each chunk is named once, or searching would miss some */
		if (mpix_get_entry(&c, x) < 0 || !entry_is_sane(s, x) || (i > 0 && mpix_compare_entries(x - 1, x) >= 0))
			return fail(e, -EBADMSG, "offset %llu: entry %u of the index is impossible",
				    (unsigned long long)s->index_offset, i);
	}
	return 0;
}

void mpix_join_columns(const struct buf *columns, unsigned n, struct buf *out)
{
	for (unsigned i = 0; i < n; i++) {
		buf_varint(out, columns[i].len_bytes);
		out->failed |= buf_failed(&columns[i]);
	}
	for (unsigned i = 0; i < n; i++)
		buf_bytes(out, columns[i].data, columns[i].len_bytes);
}

int mpix_split_columns(struct cursor *payload, struct cursor *ret_columns, unsigned n)
{
	uint64_t lengths[MPIX_COLUMNS_MAX];
	struct span s;
	for (unsigned i = 0; i < n; i++)
		if (rd_varint(payload, &lengths[i]) < 0)
			return -EBADMSG;
	for (unsigned i = 0; i < n; i++) {
		if (lengths[i] > cursor_left(payload) || rd_bytes(payload, (size_t)lengths[i], &s) < 0)
			return -EBADMSG;
		ret_columns[i] = cursor_over(s.data, s.len_bytes);
	}
	return cursor_left(payload) == 0 ? 0 : -EBADMSG;
}
