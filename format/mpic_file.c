/* mpic_file.c - open a .mpic, find its blocks, skip damage. The file is read, never mapped: its owner may still
 * write. */
#include "base/crc32c.h"
#include "base/vec.h"
#include "format/mpic_block.h"
#include "format/pack.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCAN_BYTES (1u << 20)
#define SCAN_FIRST_BYTES 512u /* of a search: what looks like a block may be followed closely by the next that does */
/* What may be read of blocks that turn out to be none. Damage costs each block once; headers that somebody set closely,
 * each claiming much of what follows, would cost the square of the length. */
#define IN_VAIN_SHARE 16u
#define IN_VAIN_BYTES (256ull << 20)

int mpic_read_at(int fd, uint64_t offset, void *to, size_t len_bytes)
{
	size_t done = 0;
	while (done < len_bytes) {
		ssize_t n = pread(fd, (char *)to + done, len_bytes - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		done += (size_t)n;
	}
	return 0;
}

static bool is_passed(const struct mpic_file *f, const struct mpic_block *b)
{
	return f->totals && (b->kind == MPIC_EVENTS || b->kind == MPIC_SAMPLE);
}

/* A whole valid block at offset? What was read and is none is added to *in_vain_bytes. */
static bool block_at(const struct mpic_file *f, uint64_t offset, struct buf *scratch, struct mpic_block *ret_block,
		     uint64_t *in_vain_bytes)
{
	uint8_t header[MPIC_HEADER_BYTES];
	struct mpic_block b;
	uint32_t crc;
	uint64_t left = f->len_bytes - offset;

	if (left < sizeof(header) || mpic_read_at(f->fd, offset, header, sizeof(header)) < 0 ||
	    mpic_parse_header(header, &b, &crc) < 0 || b.packed_len_bytes > left - sizeof(header))
		return false;
	b.payload_offset = offset + sizeof(header);
	*ret_block = b;
	if (is_passed(f, &b))
		return true;
	scratch->len_bytes = 0;
	uint8_t *payload = buf_reserve(scratch, b.packed_len_bytes);
	if (payload == NULL || mpic_read_at(f->fd, b.payload_offset, payload, b.packed_len_bytes) < 0 ||
	    crc32c(0, payload, b.packed_len_bytes) != crc) {
		*in_vain_bytes += b.packed_len_bytes;
		return false;
	}
	return true;
}

/* The first byte at or after offset that is not in a hole: a TiB of nothing is not read. */
static uint64_t next_data(const struct mpic_file *f, uint64_t offset)
{
	off_t at = lseek(f->fd, (off_t)offset, SEEK_DATA);
	if (at < 0)
		return errno == ENXIO ? f->len_bytes : offset;
	return (uint64_t)at > offset ? (uint64_t)at : offset;
}

/* Offset of the next block magic at or after offset, or the end of the file. */
static uint64_t next_magic(const struct mpic_file *f, uint64_t offset, struct buf *scratch)
{
	size_t step = SCAN_FIRST_BYTES;
	while (offset + MPIC_HEADER_BYTES <= f->len_bytes) {
		uint64_t left = f->len_bytes - offset;
		size_t len = left < step ? (size_t)left : step;
		scratch->len_bytes = 0;
		uint8_t *bytes = buf_reserve(scratch, len);
		if (bytes == NULL || mpic_read_at(f->fd, offset, bytes, len) < 0)
			break;
		const uint8_t *hit = memmem(bytes, len, mpic_block_magic, sizeof(mpic_block_magic));
		if (hit != NULL)
			return offset + (uint64_t)(hit - bytes);
		offset += len - (sizeof(mpic_block_magic) - 1);
		if (step < SCAN_BYTES)
			step *= 2;
		else
			offset = next_data(f, offset);
	}
	return f->len_bytes;
}

static int add_block(struct mpic_file *f, const struct mpic_block *b, size_t *cap)
{
	if (is_passed(f, b)) {
		f->passed_bytes += b->kind == MPIC_EVENTS ? MPIC_HEADER_BYTES + b->packed_len_bytes : 0;
		return 0;
	}
	if (f->nblocks >= MPIC_BLOCKS_MAX || vec_grow(&f->blocks, cap, f->nblocks + 1, sizeof(*f->blocks)) < 0)
		return -ENOMEM;
	f->blocks[f->nblocks++] = *b;
	f->finished |= mpic_ends((struct mpic_head){f->version, f->id}, b);
	return 0;
}

int mpic_compare_blocks(const void *left, const void *right)
{
	const struct mpic_block *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int scan(struct mpic_file *f, struct error *e)
{
	_cleanup_buf_ struct buf scratch = {0};
	uint64_t offset = f->known_bytes, in_vain_bytes = 0;
	size_t cap = f->nblocks;

	f->damaged_bytes = f->known_damaged_bytes;
	while (offset < f->len_bytes) {
		struct mpic_block b;
		if (!block_at(f, offset, &scratch, &b, &in_vain_bytes)) {
			bool hostile = in_vain_bytes / IN_VAIN_SHARE > f->len_bytes && in_vain_bytes > IN_VAIN_BYTES;
			uint64_t next = hostile ? f->len_bytes : next_magic(f, offset + 1, &scratch);
			f->damaged_bytes += next - offset;
			offset = next;
			continue;
		}
		if (add_block(f, &b, &cap) < 0)
			return fail(e, -ENOMEM, "%s: too many blocks (limit %u)", f->path, MPIC_BLOCKS_MAX);
		offset = f->known_bytes = b.payload_offset + b.packed_len_bytes;
		f->known_damaged_bytes = f->damaged_bytes;
	}
	if (f->nblocks == 0)
		return fail(e, -EBADMSG, "%s: no intact block in %llu bytes; nothing to recover", f->path,
			    (unsigned long long)f->len_bytes);
	qsort(f->blocks, f->nblocks, sizeof(*f->blocks), mpic_compare_blocks);
	return 0;
}

static int read_head(struct mpic_file *f, struct error *e)
{
	uint8_t bytes[MPIC_MAGIC_BYTES];
	struct mpic_head head;
	size_t len = f->len_bytes < sizeof(bytes) ? (size_t)f->len_bytes : sizeof(bytes);
	int rc = mpic_read_at(f->fd, 0, bytes, len);
	if (rc < 0)
		return fail(e, rc, "%s: cannot read: %s", f->path, strerror(-rc));
	rc = mpic_parse_head(bytes, len, f->path, &head, e);
	if (rc < 0)
		return rc;
	f->version = head.version;
	f->id = head.id;
	f->known_bytes = MPIC_MAGIC_BYTES;
	return 0;
}

static int open_file(const char *path, bool totals, struct mpic_file *ret_file, struct error *e)
{
	struct mpic_file f = {.fd = -1, .totals = totals};
	struct stat st;
	int rc;

	f.path = strdup(path);
	f.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f.path == NULL || f.fd < 0 || fstat(f.fd, &st) != 0)
		rc = fail(e, -errno, "%s: cannot open: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rc = fail(e, -EBADMSG, "%s: not a regular file", path);
	else {
		f.len_bytes = (uint64_t)st.st_size;
		rc = read_head(&f, e);
		if (rc == 0)
			rc = scan(&f, e);
	}
	if (rc < 0)
		mpic_close(&f);
	else
		*ret_file = f;
	return rc;
}

int mpic_open(const char *path, struct mpic_file *ret_file, struct error *e)
{
	return open_file(path, false, ret_file, e);
}

int mpic_open_totals(const char *path, struct mpic_file *ret_file, struct error *e)
{
	return open_file(path, true, ret_file, e);
}

/* The same file by its name, of the same id, and not cut back into what is known of it? */
static bool is_longer(const struct mpic_file *f, uint64_t *ret_len_bytes)
{
	struct stat open, named;
	uint8_t bytes[MPIC_MAGIC_BYTES];
	struct mpic_head head;
	if (fstat(f->fd, &open) != 0 || stat(f->path, &named) != 0 || open.st_dev != named.st_dev ||
	    open.st_ino != named.st_ino || (uint64_t)open.st_size < f->known_bytes)
		return false;
	if (mpic_read_at(f->fd, 0, bytes, sizeof(bytes)) < 0 ||
	    mpic_parse_head(bytes, sizeof(bytes), f->path, &head, NULL) < 0 || head.id != f->id)
		return false;
	*ret_len_bytes = (uint64_t)open.st_size;
	return true;
}

int mpic_update(struct mpic_file *f, struct error *e)
{
	size_t before = f->nblocks;
	uint64_t len_bytes;
	if (!is_longer(f, &len_bytes))
		return fail(e, -ESTALE, "%s: it is another file than before", f->path);
	if (len_bytes == f->len_bytes && f->known_bytes == len_bytes)
		return 0;
	f->len_bytes = len_bytes;
	int code = scan(f, e);
	return code < 0 ? code : f->nblocks > before;
}

void mpic_close(struct mpic_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->blocks);
	free(f->path);
	*f = (struct mpic_file){.fd = -1};
}

int mpic_read(const struct mpic_file *f, const struct mpic_block *b, struct buf *out, struct error *e)
{
	_cleanup_buf_ struct buf packed = {0};
	struct error why;

	out->len_bytes = 0;
	uint8_t *bytes = buf_reserve(&packed, b->packed_len_bytes);
	if (bytes == NULL)
		return fail(e, -ENOMEM, "%s: out of memory", f->path);
	int rc = mpic_read_at(f->fd, b->payload_offset, bytes, b->packed_len_bytes);
	if (rc < 0)
		return fail(e, rc, "%s: offset %llu: cannot read: %s", f->path, (unsigned long long)b->payload_offset,
			    strerror(-rc));
	rc = pack_inflate(out, bytes, b->packed_len_bytes, b->raw_len_bytes, &why);
	if (rc < 0)
		return fail(e, rc, "%s: offset %llu: %s", f->path, (unsigned long long)b->payload_offset, why.text);
	return 0;
}

#define HEAD_PACKED_BYTES 1024u /* of which a head can be inflated: the tables of the first deflate block are shorter */

int mpic_read_head(const struct mpic_file *f, const struct mpic_block *b, uint8_t *ret_bytes, size_t len_bytes)
{
	uint8_t packed[HEAD_PACKED_BYTES];
	size_t n = b->packed_len_bytes < sizeof(packed) ? b->packed_len_bytes : sizeof(packed);
	if (b->raw_len_bytes / MPIC_INFLATE_RATIO_MAX > b->packed_len_bytes)
		return -EBADMSG;
	int rc = mpic_read_at(f->fd, b->payload_offset, packed, n);
	return rc < 0 ? rc : pack_inflate_head(ret_bytes, len_bytes, (struct span){packed, n});
}
