/* mpix_layout.c - superblock, index entries and META of an .mpix file. See mpix_layout.h. */
#include "format/mpix_layout.h"

#include "base/crc32c.h"

#include <stdlib.h>

const uint8_t mpix_magic[8] = {0x89, 'M', 'P', 'I', 'X', '\r', '\n', 0x1a};

void mpix_put_super(struct buf *out, const struct mpix_super *s)
{
	size_t begin = out->len_bytes;
	buf_bytes(out, mpix_magic, sizeof(mpix_magic));
	buf_u32(out, MPIX_VERSION);
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
	if (version != MPIX_VERSION)
		return fail(e, -EBADMSG, "offset 8: version %u, this program reads version %u; analyse again", version,
			    MPIX_VERSION);
	if (crc32c(0, bytes, MPIX_SUPERBLOCK_BYTES - 4) != crc)
		return fail(e, -EBADMSG, "offset 0: superblock damaged (checksum differs)");
	return 0;
}

int mpix_get_super(struct cursor c, uint64_t file_bytes, struct mpix_super *ret_super, struct error *e)
{
	struct mpix_super s;
	struct span magic, rest;
	uint32_t version, super_bytes, entry_bytes, crc;
	const uint8_t *bytes = c.pos;
	if (rd_bytes(&c, 8, &magic) < 0 || rd_u32(&c, &version) < 0 || rd_u32(&c, &super_bytes) < 0 ||
	    rd_u64(&c, &s.file_bytes) < 0 || rd_u64(&c, &s.index_offset) < 0 || rd_u32(&c, &s.entries) < 0 ||
	    rd_u32(&c, &s.index_crc) < 0 || rd_u32(&c, &entry_bytes) < 0 || rd_bytes(&c, 16, &rest) < 0 ||
	    rd_u32(&c, &crc) < 0)
		return fail(e, -EBADMSG, "not an .mpix file, or cut: %llu bytes", (unsigned long long)file_bytes);
	int rc = check_super(bytes, version, crc, e);
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

void mpix_put_meta(struct buf *out, const struct mpix_info *info, const struct mpix_shape *s)
{
	const uint32_t words[] = {s->group_ranks, s->rows,	     s->bins,	    s->row_factor, s->time_levels,
				  s->rank_levels, s->message_levels, s->flow_ranks, s->threads};
	buf_u32(out, info->ranks);
	buf_u64(out, (uint64_t)info->runtime_ns);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		buf_u32(out, words[i]);
	buf_u64(out, s->segment_ns);
	buf_u64(out, s->events);
	buf_u64(out, s->messages);
	buf_u32(out, info->nops);
	for (uint32_t i = 0; i < info->nops; i++) {
		size_t len = strlen(info->ops[i]);
		len = len > MPIX_OP_NAME_MAX ? MPIX_OP_NAME_MAX : len;
		buf_u8(out, (uint8_t)len);
		buf_bytes(out, info->ops[i], len);
	}
}

static bool is_printable(const char *text, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return true;
}

/* One block: the pointers, then the names. Names are words of printable ASCII. */
static int get_names(struct cursor *c, uint32_t nops, const char ***ret_names)
{
	size_t text_bytes = cursor_left(c) + 1; /* each name's length byte becomes its NUL */
	const char **names = malloc(nops * sizeof(*names) + text_bytes);
	if (names == NULL)
		return -ENOMEM;
	char *text = (char *)(names + nops);
	for (uint32_t i = 0; i < nops; i++) {
		uint8_t len;
		if (rd_u8(c, &len) < 0 || rd_copy(c, text, len) < 0 || !is_printable(text, len)) {
			free(names);
			return -EBADMSG;
		}
		names[i] = text;
		text[len] = 0;
		text += len + 1;
	}
	*ret_names = names;
	return 0;
}

static bool shape_is_sane(const struct mpix_info *info, const struct mpix_shape *s)
{
	return info->ranks >= 1 && info->ranks <= RANKS_MAX && info->runtime_ns >= 0 &&
	       info->runtime_ns <= MPIX_RUNTIME_MAX_NS && info->nops <= MPIX_OPS_MAX && s->group_ranks >= 1 &&
	       s->group_ranks <= RANKS_MAX && s->rows >= 1 && s->rows <= 4096 && s->bins >= 1 && s->bins <= 4096 &&
	       s->row_factor >= 2 && s->row_factor <= 64 && s->time_levels <= 32 && s->rank_levels <= 32 &&
	       s->message_levels <= 32 && s->flow_ranks >= 1 && s->flow_ranks <= RANKS_MAX && s->segment_ns >= 1 &&
	       s->segment_ns <= (uint64_t)MPIX_RUNTIME_MAX_NS;
}

int mpix_get_meta(struct cursor c, struct mpix_info *ret_info, struct mpix_shape *ret_shape, const char ***ret_names)
{
	struct mpix_info info = {0};
	struct mpix_shape s = {0};
	uint32_t *words[] = {&s.group_ranks, &s.rows,		&s.bins,       &s.row_factor, &s.time_levels,
			     &s.rank_levels, &s.message_levels, &s.flow_ranks, &s.threads};
	uint64_t runtime;
	if (rd_u32(&c, &info.ranks) < 0 || rd_u64(&c, &runtime) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (rd_u32(&c, words[i]) < 0)
			return -EBADMSG;
	if (rd_u64(&c, &s.segment_ns) < 0 || rd_u64(&c, &s.events) < 0 || rd_u64(&c, &s.messages) < 0 ||
	    rd_u32(&c, &info.nops) < 0)
		return -EBADMSG;
	info.runtime_ns = (int64_t)runtime;
	if (!shape_is_sane(&info, &s))
		return -EBADMSG;
	int rc = get_names(&c, info.nops, ret_names);
	if (rc < 0)
		return rc;
	info.ops = *ret_names;
	*ret_info = info;
	*ret_shape = s;
	return 0;
}
