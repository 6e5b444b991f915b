/* mpix_writer.c - begins and seals an .mpix file; the parts in between are in the files
 * mpix_writer.h names. */
#include "format/mpix_writer.h"
#include "format/pack.h"

#include "base/crc32c.h"
#include "base/vec.h"

#include <stdlib.h>

#define PACK_LEVEL 6

static int write_bytes(struct mpix_writer *w, const struct buf *b, struct error *e)
{
	if (buf_failed(b))
		return fail(e, -ENOMEM, "%s: out of memory", w->file.path);
	errno = 0;
	if (fwrite(b->data, 1, b->len_bytes, w->file.stream) != b->len_bytes) {
		int code = errno != 0 ? -errno : -EIO;
		return fail(e, code, "%s: cannot write at offset %llu: %s; nothing was left behind", w->file.path,
			    (unsigned long long)w->offset, strerror(-code));
	}
	w->offset += b->len_bytes;
	return 0;
}

int mpix_write_chunk(struct mpix_writer *w, struct mpix_entry entry, struct error *e)
{
	w->packed.len_bytes = 0;
	if (buf_failed(&w->raw) || pack_deflate(&w->packed, w->raw.data, w->raw.len_bytes, PACK_LEVEL, NULL) < 0 ||
	    vec_grow(&w->entries, &w->cap_entries, w->nentries + 1, sizeof(*w->entries)) < 0)
		return fail(e, -ENOMEM, "%s: out of memory", w->file.path);
	entry.offset = w->offset;
	entry.raw_bytes = (uint32_t)w->raw.len_bytes;
	entry.packed_bytes = (uint32_t)w->packed.len_bytes;
	entry.crc = crc32c(0, w->packed.data, w->packed.len_bytes);
	int rc = write_bytes(w, &w->packed, e);
	if (rc == 0)
		w->entries[w->nentries++] = entry;
	w->raw.len_bytes = 0;
	return rc;
}

static int copy_info(struct mpix_writer *w, const struct mpix_info *info)
{
	w->ops = calloc(info->nops + 1u, sizeof(*w->ops));
	if (w->ops == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < info->nops; i++)
		if ((w->ops[i] = strdup(info->ops[i])) == NULL)
			return -ENOMEM;
	w->info = *info;
	w->info.ops = (const char *const *)w->ops;
	return 0;
}

static uint32_t rank_levels(uint32_t ranks)
{
	uint32_t levels = 1;
	for (uint64_t rows = ranks; rows > MPIX_TILE_ROWS; rows = (rows + MPIX_ROW_FACTOR - 1) / MPIX_ROW_FACTOR)
		levels++;
	return levels;
}

static void choose_shape(struct mpix_writer *w)
{
	w->shape = (struct mpix_shape){
		.group_ranks = MPIX_GROUP_RANKS,
		.rows = MPIX_TILE_ROWS,
		.bins = MPIX_TILE_BINS,
		.row_factor = MPIX_ROW_FACTOR,
		.rank_levels = rank_levels(w->info.ranks),
		.flow_ranks = (w->info.ranks + MPIX_FLOW_NODES - 1) / MPIX_FLOW_NODES,
		.threads = 1,
		.segment_ns = (uint64_t)w->info.runtime_ns / MPIX_GRID + 1,
	};
}

static void writer_free(struct mpix_writer *w)
{
	atomic_file_abandon(&w->file);
	mpix_group_done(w);
	mpix_summary_done(w);
	mpix_columns_done(&w->pending.columns);
	buf_done(&w->raw);
	buf_done(&w->packed);
	for (uint32_t i = 0; w->ops != NULL && w->ops[i] != NULL; i++)
		free(w->ops[i]);
	free(w->ops);
	free(w->entries);
	free(w);
}

static int begin_file(struct mpix_writer *w, const char *path, const struct mpix_info *info, struct error *e)
{
	if (copy_info(w, info) < 0)
		return fail(e, -ENOMEM, "%s: out of memory", path);
	choose_shape(w);
	if (mpix_group_init(w) < 0 || mpix_summary_init(w) < 0)
		return fail(e, -ENOMEM, "%s: out of memory", path);
	int rc = atomic_file_open(&w->file, path, e);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < MPIX_SUPERBLOCK_BYTES; i++) /* its place; filled in last */
		buf_u8(&w->raw, 0);
	rc = write_bytes(w, &w->raw, e);
	w->raw.len_bytes = 0;
	return rc;
}

int mpix_writer_create(const char *path, const struct mpix_info *info, struct mpix_writer **ret_writer, struct error *e)
{
	if (info->ranks < 1 || info->ranks > RANKS_MAX || info->nops > MPIX_OPS_MAX || info->runtime_ns < 0 ||
	    info->runtime_ns > MPIX_RUNTIME_MAX_NS)
		return fail(e, -EINVAL, "%s: %u ranks, %u operations, %lld ns: outside the format's limits", path,
			    info->ranks, info->nops, (long long)info->runtime_ns);
	struct mpix_writer *w = calloc(1, sizeof(*w));
	if (w == NULL)
		return fail(e, -ENOMEM, "%s: out of memory", path);
	int rc = begin_file(w, path, info, e);
	if (rc < 0) {
		writer_free(w);
		return rc;
	}
	*ret_writer = w;
	return 0;
}

int mpix_writer_events(struct mpix_writer *w, uint32_t rank, const struct mpix_event *events, uint64_t count,
		       struct error *e)
{
	if (w->code < 0)
		return fail(e, w->code, "%s: an earlier write failed", w->file.path);
	if (rank >= w->info.ranks || rank < w->next_rank)
		return fail(e, -EINVAL, "%s: rank %u out of order or beyond %u ranks", w->file.path, rank,
			    w->info.ranks);
	uint32_t group = rank / w->shape.group_ranks;
	if (group != w->group.index)
		w->code = mpix_group_flush(w, group, e);
	if (w->code == 0 && mpix_group_add(w, rank, events, count) < 0)
		w->code = fail(e, -ENOMEM, "%s: out of memory", w->file.path);
	if (w->code == 0)
		mpix_summary_add(w, rank, events, count);
	w->shape.events += count;
	w->next_rank = rank + 1;
	return w->code;
}

static int by_key(const void *a, const void *b)
{
	const struct mpix_entry *x = a, *y = b;
	uint64_t left[] = {x->kind, x->rank_level, x->level, x->group, x->seq};
	uint64_t right[] = {y->kind, y->rank_level, y->level, y->group, y->seq};
	for (int i = 0; i < 5; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static int write_texts(struct mpix_writer *w, const char *analysis_json, struct error *e)
{
	size_t len = strlen(analysis_json);
	if (len > MPIX_ANALYSIS_RAW_MAX)
		return fail(e, -EFBIG, "%s: analysis of %zu bytes is over the limit of %u", w->file.path, len,
			    MPIX_ANALYSIS_RAW_MAX);
	buf_bytes(&w->raw, analysis_json, len);
	int rc = mpix_write_chunk(w, (struct mpix_entry){.kind = MPIX_ANALYSIS}, e);
	if (rc < 0)
		return rc;
	mpix_put_meta(&w->raw, &w->info, &w->shape);
	return mpix_write_chunk(w, (struct mpix_entry){.kind = MPIX_META}, e);
}

/* Index, trailer, and at last the superblock that makes the file whole. */
static int seal(struct mpix_writer *w, struct error *e)
{
	struct mpix_super s = {.index_offset = w->offset, .entries = (uint32_t)w->nentries};
	_cleanup_buf_ struct buf super = {0};
	if (w->nentries > MPIX_CHUNKS_MAX)
		return fail(e, -EFBIG, "%s: %zu chunks are over the limit", w->file.path, w->nentries);
	qsort(w->entries, w->nentries, sizeof(*w->entries), by_key);
	for (size_t i = 0; i < w->nentries; i++)
		mpix_put_entry(&w->raw, &w->entries[i]);
	s.index_crc = buf_failed(&w->raw) ? 0 : crc32c(0, w->raw.data, w->raw.len_bytes);
	s.file_bytes = w->offset + w->raw.len_bytes + MPIX_TRAILER_BYTES;
	mpix_put_super(&super, &s);
	if (!buf_failed(&super))
		mpix_put_trailer(&w->raw, s.file_bytes, crc32c(0, super.data, super.len_bytes));
	int rc = write_bytes(w, &w->raw, e);
	if (rc < 0)
		return rc;
	if (fseeko(w->file.stream, 0, SEEK_SET) != 0)
		return fail(e, -EIO, "%s: cannot write the superblock: %s; nothing was left behind", w->file.path,
			    strerror(errno));
	return write_bytes(w, &super, e);
}

int mpix_writer_finish(struct mpix_writer *w, const char *analysis_json, struct error *e)
{
	int rc = w->code;
	if (rc < 0)
		fail(e, rc, "%s: an earlier write failed; nothing was left behind", w->file.path);
	if (rc == 0)
		rc = mpix_group_flush(w, 0, e);
	if (rc == 0)
		rc = mpix_summary_write(w, e);
	if (rc == 0)
		rc = mpix_messages_finish(w, e);
	if (rc == 0)
		rc = write_texts(w, analysis_json, e);
	if (rc == 0)
		rc = seal(w, e);
	if (rc == 0)
		rc = atomic_file_commit(&w->file, e);
	writer_free(w);
	return rc;
}

void mpix_writer_abandon(struct mpix_writer *w)
{
	if (w != NULL)
		writer_free(w);
}
