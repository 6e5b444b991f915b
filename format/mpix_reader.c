/* mpix_reader.c - finds and reads chunks: everything is checked before it is used, nothing is guessed. In: a file from
 * anyone.  Out: the bytes of chunks, for the files that mpix_reader.h names. */
#include "format/mpix_reader.h"
#include "format/pack.h"

#include "base/crc32c.h"
#include "base/search.h"

#include <stdlib.h>
#include <unistd.h>

int mpix_read_at(const struct mpix_file *f, uint64_t offset, void *ret_bytes, size_t len_bytes)
{
	uint8_t *to = ret_bytes;
	while (len_bytes > 0) {
		ssize_t n = pread(f->fd, to, len_bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		to += n;
		offset += (uint64_t)n;
		len_bytes -= (size_t)n;
	}
	return 0;
}

/* ---- chunks ---- */

int mpix_read_chunk(const struct mpix_file *f, const struct mpix_entry *x, uint8_t **ret_raw, struct error *e)
{
	uint8_t *packed = malloc(x->packed_bytes + 1u), *raw = malloc((size_t)x->raw_bytes + 1);
	int rc = packed == NULL || raw == NULL ? -ENOMEM : mpix_read_at(f, x->offset, packed, x->packed_bytes);
	if (rc == 0 && crc32c(0, packed, x->packed_bytes) != x->crc)
		rc = -EBADMSG;
	if (rc == 0)
		rc = pack_inflate_to(raw, x->raw_bytes, (struct span){packed, x->packed_bytes}, NULL);
	free(packed);
	if (rc < 0) {
		free(raw);
		return fail(e, rc, "%s: offset %llu: chunk of kind %u: %s", f->path, (unsigned long long)x->offset,
			    x->kind, rc == -EBADMSG ? "damaged; copy the file again or analyse again" : strerror(-rc));
	}
	raw[x->raw_bytes] = 0;
	*ret_raw = raw;
	return 0;
}

int mpix_damaged(const struct mpix_file *f, const struct mpix_entry *x, struct error *e)
{
	return fail(e, -EBADMSG, "%s: offset %llu: chunk of kind %u contradicts itself", f->path,
		    (unsigned long long)x->offset, x->kind);
}

/* How many entries stand before the first that is not below key. */
static uint32_t lower_bound(const struct mpix_file *f, const struct mpix_entry *key)
{
	return (uint32_t)search_first(0, f->super.entries, i, mpix_compare_entries(&f->entries[i], key) < 0);
}

static const struct mpix_entry *find_range(const struct mpix_file *f, struct mpix_entry first, struct mpix_entry next,
					   uint32_t *ret_count)
{
	uint32_t begin = lower_bound(f, &first), end = lower_bound(f, &next);
	*ret_count = end - begin;
	return end > begin ? &f->entries[begin] : NULL;
}

const struct mpix_entry *mpix_find(const struct mpix_file *f, enum mpix_kind kind, uint32_t group, uint32_t seq)
{
	struct mpix_entry key = {.kind = (uint8_t)kind, .group = group, .seq = seq};
	uint32_t at = lower_bound(f, &key);
	return at < f->super.entries && mpix_compare_entries(&f->entries[at], &key) == 0 ? &f->entries[at] : NULL;
}

const struct mpix_entry *mpix_find_group(const struct mpix_file *f, enum mpix_kind kind, uint32_t group,
					 uint32_t *ret_count)
{
	struct mpix_entry first = {.kind = (uint8_t)kind, .group = group},
			  next = {.kind = (uint8_t)kind, .group = group + 1};
	return find_range(f, first, next, ret_count);
}

const struct mpix_entry *mpix_find_kind(const struct mpix_file *f, enum mpix_kind kind, uint32_t *ret_count)
{
	struct mpix_entry first = {.kind = (uint8_t)kind}, next = {.kind = (uint8_t)(kind + 1)};
	return find_range(f, first, next, ret_count);
}
