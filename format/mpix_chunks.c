/* mpix_chunks.c - see mpix_chunks.h. In: bytes and what they are. Out: an .mpix file, under its name once it is
 * whole. */
#include "format/mpix_chunks.h"

#include "base/crc32c.h"
#include "base/vec.h"
#include "format/pack.h"

#include <stdlib.h>
#include <unistd.h>

static int write_bytes(struct mpix_chunks *c, const struct buf *b, struct error *e)
{
	if (buf_failed(b))
		return fail(e, -ENOMEM, "%s: out of memory", c->file.path);
	errno = 0;
	if (fwrite(b->data, 1, b->len_bytes, c->file.stream) != b->len_bytes) {
		int code = errno != 0 ? -errno : -EIO;
		return fail(e, code, "%s: cannot write at offset %llu: %s; nothing was left behind", c->file.path,
			    (unsigned long long)c->offset, strerror(-code));
	}
	c->offset += b->len_bytes;
	return 0;
}

int mpix_chunks_begin(struct mpix_chunks *c, const char *path, struct error *e)
{
	if (strcmp(path, "-") == 0)
		return fail(e, -EINVAL,
			    "-: a trace is written from both ends, so it needs a file, not standard output");
	int rc = atomic_file_open_trace(&c->file, path, e);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < MPIX_SUPERBLOCK_BYTES; i++) /* its place; filled in last */
		buf_u8(&c->raw, 0);
	rc = write_bytes(c, &c->raw, e);
	c->raw.len_bytes = 0;
	return rc;
}

void mpix_chunks_done(struct mpix_chunks *c)
{
	atomic_file_abandon(&c->file);
	buf_done(&c->raw);
	buf_done(&c->packed);
	pack_done(&c->packer);
	free(c->entries);
}

int mpix_append_chunk(struct mpix_chunks *c, struct mpix_entry entry, const struct buf *bytes, struct error *e)
{
	if (vec_grow(&c->entries, &c->cap_entries, c->nentries + 1, sizeof(*c->entries)) < 0)
		return fail(e, -ENOMEM, "%s: out of memory", c->file.path);
	entry.offset = c->offset;
	int rc = write_bytes(c, bytes, e);
	if (rc == 0)
		c->entries[c->nentries++] = entry;
	return rc;
}

int mpix_write_chunk(struct mpix_chunks *c, struct mpix_entry entry, struct error *e)
{
	size_t max = entry.kind == MPIX_ANALYSIS ? MPIX_ANALYSIS_RAW_MAX : MPIX_CHUNK_RAW_MAX;
	c->packed.len_bytes = 0;
	if (c->raw.len_bytes > max)
		return fail(e, -EFBIG, "%s: a chunk of kind %u has %zu bytes: over the limit", c->file.path, entry.kind,
			    c->raw.len_bytes);
	if (buf_failed(&c->raw) ||
	    pack_deflate(&c->packer, &c->packed, c->raw.data, c->raw.len_bytes, MPIX_LOD_LEVEL, NULL) < 0)
		return fail(e, -ENOMEM, "%s: out of memory", c->file.path);
	entry.raw_bytes = (uint32_t)c->raw.len_bytes;
	entry.packed_bytes = (uint32_t)c->packed.len_bytes;
	entry.crc = crc32c(0, c->packed.data, c->packed.len_bytes);
	c->raw.len_bytes = 0;
	return mpix_append_chunk(c, entry, &c->packed, e);
}

int mpix_chunks_seal(struct mpix_chunks *c, struct error *e)
{
	struct mpix_super s = {.version = MPIX_VERSION, .index_offset = c->offset, .entries = (uint32_t)c->nentries};
	_cleanup_buf_ struct buf super = {0};
	if (c->nentries > MPIX_CHUNKS_MAX)
		return fail(e, -EFBIG, "%s: %zu chunks are over the limit", c->file.path, c->nentries);
	qsort(c->entries, c->nentries, sizeof(*c->entries), mpix_compare_entries);
	for (size_t i = 0; i < c->nentries; i++)
		mpix_put_entry(&c->raw, &c->entries[i]);
	s.index_crc = buf_failed(&c->raw) ? 0 : crc32c(0, c->raw.data, c->raw.len_bytes);
	s.file_bytes = c->offset + c->raw.len_bytes + MPIX_TRAILER_BYTES;
	mpix_put_super(&super, &s);
	if (!buf_failed(&super))
		mpix_put_trailer(&c->raw, s.file_bytes, crc32c(0, super.data, super.len_bytes));
	int rc = write_bytes(c, &c->raw, e);
	if (rc < 0)
		return rc;
	if (fseeko(c->file.stream, 0, SEEK_SET) != 0)
		return fail(e, -EIO, "%s: cannot write the superblock: %s; nothing was left behind", c->file.path,
			    strerror(errno));
	rc = write_bytes(c, &super, e);
	if (rc == 0 && fflush(c->file.stream) != 0)
		rc = fail(e, -errno, "%s: cannot write: %s; nothing was left behind", c->file.path, strerror(errno));
	return rc;
}

int mpix_chunks_unseal(struct mpix_chunks *c, uint64_t offset, struct error *e)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->nentries; i++)
		if (c->entries[i].offset < offset)
			c->entries[kept++] = c->entries[i];
	c->nentries = kept;
	c->raw.len_bytes = 0;
	c->offset = offset;
	if (fflush(c->file.stream) != 0 || ftruncate(fileno(c->file.stream), (off_t)offset) < 0 ||
	    fseeko(c->file.stream, (off_t)offset, SEEK_SET) != 0)
		return fail(e, -errno, "%s: cannot continue writing: %s; nothing was left behind", c->file.path,
			    strerror(errno));
	return 0;
}
