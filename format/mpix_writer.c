/* mpix_writer.c - begins and seals an .mpix file, and appends what was packed; the parts in between are in the files
 * mpix_writer.h names. */
#include "format/mpix_writer.h"
#include "format/pack.h"

#include "base/crc32c.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

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

/* The bytes of a chunk whose entry is complete but for its place. */
static int append(struct mpix_writer *w, struct mpix_entry entry, const struct buf *bytes, struct error *e)
{
	if (vec_grow(&w->entries, &w->cap_entries, w->nentries + 1, sizeof(*w->entries)) < 0)
		return fail(e, -ENOMEM, "%s: out of memory", w->file.path);
	entry.offset = w->offset;
	int rc = write_bytes(w, bytes, e);
	if (rc == 0)
		w->entries[w->nentries++] = entry;
	return rc;
}

int mpix_write_chunk(struct mpix_writer *w, struct mpix_entry entry, struct error *e)
{
	size_t max = entry.kind == MPIX_ANALYSIS ? MPIX_ANALYSIS_RAW_MAX : MPIX_CHUNK_RAW_MAX;
	w->packed.len_bytes = 0;
	if (w->raw.len_bytes > max)
		return fail(e, -EFBIG, "%s: a chunk of kind %u has %zu bytes: over the limit", w->file.path, entry.kind,
			    w->raw.len_bytes);
	if (buf_failed(&w->raw) ||
	    pack_deflate(&w->packer, &w->packed, w->raw.data, w->raw.len_bytes, MPIX_LOD_LEVEL, NULL) < 0)
		return fail(e, -ENOMEM, "%s: out of memory", w->file.path);
	entry.raw_bytes = (uint32_t)w->raw.len_bytes;
	entry.packed_bytes = (uint32_t)w->packed.len_bytes;
	entry.crc = crc32c(0, w->packed.data, w->packed.len_bytes);
	w->raw.len_bytes = 0;
	return append(w, entry, &w->packed, e);
}

/* ---- beginning ---- */

static int copy_list(const uint32_t **list, uint32_t n)
{
	if (*list == NULL)
		return 0;
	uint32_t *copy = malloc((n + 1u) * sizeof(*copy));
	if (copy != NULL)
		memcpy(copy, *list, n * sizeof(*copy));
	*list = copy;
	return copy != NULL ? 0 : -ENOMEM;
}

static int copy_names(struct mpix_writer *w, const struct mpix_info *info)
{
	w->ops = calloc(info->nops + 1u, sizeof(*w->ops));
	for (uint32_t i = 0; w->ops != NULL && i < info->nops; i++)
		if ((w->ops[i] = strdup(info->ops[i])) == NULL)
			return -ENOMEM;
	w->info.ops = (const char *const *)w->ops;
	return w->ops != NULL ? 0 : -ENOMEM;
}

static int copy_clocks(struct mpix_writer *w, const struct mpix_info *info)
{
	struct mpix_clock *clocks = calloc(info->nclocks, sizeof(*clocks));
	w->info.clocks = clocks;
	for (uint32_t i = 0; clocks != NULL && i < info->nclocks; i++) {
		size_t bytes = info->clocks[i].nknots * sizeof(struct mpix_clock_knot);
		struct mpix_clock_knot *knots = malloc(bytes);
		if (knots == NULL)
			return -ENOMEM;
		memcpy(knots, info->clocks[i].knots, bytes);
		clocks[i] = (struct mpix_clock){info->clocks[i].base_tick, knots, info->clocks[i].nknots};
	}
	return clocks != NULL ? 0 : -ENOMEM;
}

/* What w->info points to becomes its own, or NULL. */
static int copy_info(struct mpix_writer *w, const struct mpix_info *info)
{
	w->info = *info;
	w->info.ops = NULL;
	w->info.clocks = NULL;
	w->info.lanes = w->lanes.n;
	w->info.places = info->places > 0 ? info->places : 1;
	int rc = copy_list(&w->info.threads, info->ranks);
	if (copy_list(&w->info.clock_of_lane, w->lanes.n) < 0)
		rc = -ENOMEM;
	if (copy_list(&w->info.place_of_rank, info->ranks) < 0)
		rc = -ENOMEM;
	if (rc == 0)
		rc = copy_names(w, info);
	return rc == 0 ? copy_clocks(w, info) : rc;
}

static uint32_t rank_levels(uint32_t ranks)
{
	uint32_t levels = 1;
	for (uint64_t rows = ranks; rows > MPIX_TILE_ROWS; rows = (rows + MPIX_ROW_FACTOR - 1) / MPIX_ROW_FACTOR)
		levels++;
	return levels;
}

static void writer_free(struct mpix_writer *w)
{
	atomic_file_abandon(&w->file);
	mpix_summary_done(w);
	mpix_lod_done(w);
	buf_done(&w->raw);
	buf_done(&w->packed);
	pack_done(&w->packer);
	for (uint32_t i = 0; w->ops != NULL && w->ops[i] != NULL; i++)
		free(w->ops[i]);
	free(w->ops);
	for (uint32_t i = 0; w->info.clocks != NULL && i < w->info.nclocks; i++)
		free((void *)(uintptr_t)w->info.clocks[i].knots);
	free((void *)(uintptr_t)w->info.clocks);
	free((void *)(uintptr_t)w->info.threads);
	free((void *)(uintptr_t)w->info.clock_of_lane);
	free((void *)(uintptr_t)w->info.place_of_rank);
	for (uint32_t r = 0; w->sigs != NULL && r < w->info.ranks; r++)
		free(w->sigs[r].at);
	free(w->sigs);
	free(w->syncs.at);
	free(w->syncs.runs);
	mpix_samples_done(w);
	mpix_lanes_done(&w->lanes);
	free(w->entries);
	free(w);
}

static int prepare(struct mpix_writer *w, const struct mpix_info *info)
{
	if (copy_info(w, info) < 0 || (w->sigs = calloc(info->ranks, sizeof(*w->sigs))) == NULL)
		return -ENOMEM;
	w->shape = (struct mpix_shape){
		.group_ranks = MPIX_GROUP_RANKS,
		.rows = MPIX_TILE_ROWS,
		.bins = MPIX_TILE_BINS,
		.row_factor = MPIX_ROW_FACTOR,
		.rank_levels = rank_levels(w->info.ranks),
	};
	w->samples_max_bytes = MPIX_SAMPLES_BYTES_MAX;
	return mpix_summary_init(w) < 0 || mpix_lod_init(w) < 0 ? -ENOMEM : 0;
}

static int begin_file(struct mpix_writer *w, const char *path, struct error *e)
{
	if (strcmp(path, "-") == 0)
		return fail(e, -EINVAL,
			    "-: a trace is written from both ends, so it needs a file, not standard output");
	int rc = atomic_file_open(&w->file, path, e);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < MPIX_SUPERBLOCK_BYTES; i++) /* its place; filled in last */
		buf_u8(&w->raw, 0);
	rc = write_bytes(w, &w->raw, e);
	w->raw.len_bytes = 0;
	return rc;
}

static bool clock_is_sane(const struct mpix_clock *c)
{
	if (c->nknots < 1 || c->nknots > MPIX_KNOTS_MAX)
		return false;
	for (uint32_t i = 0; i < c->nknots; i++) {
		const struct mpix_clock_knot *k = &c->knots[i];
		if (k->tick - c->base_tick >= MPIX_TICKS_MAX || !isfinite(k->ns) || !isfinite(k->ns_per_tick) ||
		    k->ns_per_tick <= 0 || (i > 0 && k->tick <= c->knots[i - 1].tick))
			return false;
	}
	return true;
}

/* Everything but the threads, which are checked with the lanes. */
static bool info_is_sane(const struct mpix_info *info, uint32_t lanes)
{
	uint32_t places = info->places > 0 ? info->places : 1;
	if (info->nclocks < 1 || info->nclocks > MPIX_LANES_MAX || places > RANKS_MAX)
		return false;
	for (uint32_t i = 0; i < info->nclocks; i++)
		if (!clock_is_sane(&info->clocks[i]))
			return false;
	for (uint32_t i = 0; info->clock_of_lane != NULL && i < lanes; i++)
		if (info->clock_of_lane[i] >= info->nclocks)
			return false;
	for (uint32_t i = 0; info->place_of_rank != NULL && i < info->ranks; i++)
		if (info->place_of_rank[i] >= places)
			return false;
	return true;
}

int mpix_writer_create(const char *path, const struct mpix_info *info, struct mpix_writer **ret_writer, struct error *e)
{
	struct mpix_lanes lanes;
	if (info->ranks < 1 || info->ranks > RANKS_MAX || info->nops > MPIX_OPS_MAX || info->runtime_ns < 0 ||
	    info->runtime_ns > MPIX_RUNTIME_MAX_NS)
		return fail(e, -EINVAL, "%s: %u ranks, %u operations, %lld ns: outside the format's limits", path,
			    info->ranks, info->nops, (long long)info->runtime_ns);
	int rc = mpix_lanes_make(&lanes, info->ranks, info->threads);
	struct mpix_writer *w = rc == 0 ? calloc(1, sizeof(*w)) : NULL;
	if (rc == -EINVAL)
		return fail(e, rc, "%s: threads of its ranks are outside the format's limits", path);
	if (w == NULL) {
		if (rc == 0)
			mpix_lanes_done(&lanes);
		return fail(e, -ENOMEM, "%s: out of memory", path);
	}
	w->lanes = lanes;
	if (!info_is_sane(info, lanes.n))
		rc = fail(e, -EINVAL, "%s: clocks or places of its ranks are outside the format's limits", path);
	if (rc == 0 && prepare(w, info) < 0)
		rc = fail(e, -ENOMEM, "%s: out of memory", path);
	if (rc == 0)
		rc = begin_file(w, path, e);
	if (rc < 0) {
		writer_free(w);
		return rc;
	}
	*ret_writer = w;
	return 0;
}

/* ---- what comes in between ---- */

int mpix_writer_signatures(struct mpix_writer *w, uint32_t rank, const struct mpix_signature *sigs, uint32_t n,
			   struct error *e)
{
	if (w->code < 0)
		return fail(e, w->code, "%s: an earlier write failed", w->file.path);
	if (rank >= w->info.ranks)
		return w->code = fail(e, -EINVAL, "%s: rank %u: only %u ranks", w->file.path, rank, w->info.ranks);
	struct mpix_sigs *to = &w->sigs[rank];
	if (n > MPIX_GROUP_SIGS_MAX - to->n)
		return w->code = fail(e, -EFBIG, "%s: rank %u has too many signatures", w->file.path, rank);
	for (uint32_t i = 0; i < n; i++)
		if (sigs[i].class >= MPIX_CLASSES || sigs[i].op >= w->info.nops)
			return w->code = fail(e, -EINVAL, "%s: rank %u, signature %u: no such operation or class",
					      w->file.path, rank, to->n + i);
	if (vec_grow(&to->at, &to->cap, (size_t)to->n + n, sizeof(*to->at)) < 0)
		return w->code = fail(e, -ENOMEM, "%s: out of memory", w->file.path);
	if (n > 0)
		memcpy(to->at + to->n, sigs, n * sizeof(*sigs));
	to->n += n;
	return 0;
}

int mpix_writer_put(struct mpix_writer *w, const struct mpix_packed *p, struct error *e)
{
	if (w->code < 0)
		return fail(e, w->code, "%s: an earlier write failed", w->file.path);
	if (p->window < w->next_window || (p->window == w->next_window && p->group < w->next_group))
		return w->code = fail(e, -EINVAL, "%s: window %u of group %u comes out of order", w->file.path,
				      p->window, p->group);
	for (uint32_t i = 0; i < p->nchunks && w->code == 0; i++)
		w->code = append(w, p->chunks[i].entry, &p->chunks[i].bytes, e);
	if (w->code < 0)
		return w->code;
	mpix_summary_put(w, p);
	if (mpix_lod_put(w, p) < 0)
		return w->code = fail(e, -ENOMEM, "%s: out of memory", w->file.path);
	w->shape.events += p->events;
	w->shape.messages += p->messages;
	w->shape.waits += p->waits;
	w->shape.windows = p->window + 1;
	w->next_window = p->window;
	w->next_group = p->group + 1;
	return 0;
}

/* ---- the end ---- */

#define SIG_COLUMNS 9

static void put_signature(struct buf columns[SIG_COLUMNS], uint32_t rank, const struct mpix_signature *x)
{
	const uint64_t values[SIG_COLUMNS] = {
		x->op,
		x->class,
		mpix_site_out(x->callsite),
		x->comm,
		x->peer >= 0 ? mpix_zigzag((int64_t)x->peer - rank) + 2 : x->peer == -2,
		mpix_zigzag(x->tag),
		x->bytes,
		x->message_bytes,
		x->flags,
	};
	for (unsigned i = 0; i < SIG_COLUMNS; i++)
		buf_varint(&columns[i], values[i]);
}

static int write_signatures(struct mpix_writer *w, uint32_t group, struct error *e)
{
	struct mpix_entry entry = {.kind = MPIX_SIGNATURES, .group = group, .end_ns = w->info.runtime_ns};
	uint64_t first = (uint64_t)group * w->shape.group_ranks, records = 0;
	struct buf columns[SIG_COLUMNS] = {{0}};
	for (uint64_t r = first; r < first + w->shape.group_ranks && r < w->info.ranks; r++) {
		buf_varint(&w->raw, w->sigs[r].n);
		for (uint32_t i = 0; i < w->sigs[r].n; i++)
			put_signature(columns, (uint32_t)r, &w->sigs[r].at[i]);
		records += w->sigs[r].n;
	}
	mpix_join_columns(columns, SIG_COLUMNS, &w->raw);
	for (unsigned i = 0; i < SIG_COLUMNS; i++)
		buf_done(&columns[i]);
	entry.records = (uint32_t)records;
	if (records > MPIX_GROUP_SIGS_MAX)
		return fail(e, -EFBIG, "%s: group %u has too many signatures", w->file.path, group);
	if (records > 0)
		return mpix_write_chunk(w, entry, e);
	w->raw.len_bytes = 0;
	return 0;
}

/* Most programs have none. */
static int write_objects(struct mpix_writer *w, uint32_t group, struct error *e)
{
	struct mpix_entry entry = {.kind = MPIX_OBJECTS, .group = group, .end_ns = w->info.runtime_ns};
	uint64_t first = (uint64_t)group * w->shape.group_ranks;
	bool any = false;
	for (uint64_t r = first; r < first + w->shape.group_ranks && r < w->info.ranks; r++) {
		for (uint32_t i = 0; i < w->sigs[r].n; i++) {
			const struct mpix_signature *x = &w->sigs[r].at[i];
			buf_varint(&w->raw, x->object);
			buf_varint(&w->raw, x->came_bytes);
			any |= x->object != 0 || x->came_bytes != 0;
		}
		entry.records += w->sigs[r].n;
	}
	if (any)
		return mpix_write_chunk(w, entry, e);
	w->raw.len_bytes = 0;
	return 0;
}

/* Only where callers were recorded. */
static int write_stacks(struct mpix_writer *w, uint32_t group, struct error *e)
{
	struct mpix_entry entry = {.kind = MPIX_STACKS, .group = group, .end_ns = w->info.runtime_ns};
	uint64_t first = (uint64_t)group * w->shape.group_ranks;
	bool any = false;
	for (uint64_t r = first; r < first + w->shape.group_ranks && r < w->info.ranks; r++) {
		for (uint32_t i = 0; i < w->sigs[r].n; i++) {
			buf_varint(&w->raw, w->sigs[r].at[i].stack);
			any |= w->sigs[r].at[i].stack != 0;
		}
		entry.records += w->sigs[r].n;
	}
	if (any)
		return mpix_write_chunk(w, entry, e);
	w->raw.len_bytes = 0;
	return 0;
}

static void put_f64(struct buf *out, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	buf_u64(out, bits);
}

static int write_clock(struct mpix_writer *w, uint32_t at, struct error *e)
{
	const struct mpix_clock *c = &w->info.clocks[at];
	struct mpix_entry entry = {.kind = MPIX_CLOCK, .group = at, .records = c->nknots, .end_ns = w->info.runtime_ns};
	buf_u32(&w->raw, c->nknots);
	buf_u32(&w->raw, 0);
	buf_u64(&w->raw, c->base_tick);
	for (uint32_t i = 0; i < c->nknots; i++)
		buf_u64(&w->raw, c->knots[i].tick - c->base_tick);
	for (uint32_t i = 0; i < c->nknots; i++)
		put_f64(&w->raw, c->knots[i].ns);
	for (uint32_t i = 0; i < c->nknots; i++)
		put_f64(&w->raw, c->knots[i].ns_per_tick);
	return mpix_write_chunk(w, entry, e);
}

static int write_tables(struct mpix_writer *w, struct error *e)
{
	uint32_t groups = (w->info.ranks + w->shape.group_ranks - 1) / w->shape.group_ranks;
	int rc = 0;
	for (uint32_t g = 0; g < groups && rc == 0; g++)
		rc = write_signatures(w, g, e);
	for (uint32_t g = 0; g < groups && rc == 0; g++)
		rc = write_objects(w, g, e);
	for (uint32_t g = 0; g < groups && rc == 0; g++)
		rc = write_stacks(w, g, e);
	if (rc == 0)
		rc = mpix_syncs_write(w, e);
	if (rc == 0)
		rc = mpix_samples_write(w, e);
	for (uint32_t i = 0; i < w->info.nclocks && rc == 0; i++)
		rc = write_clock(w, i, e);
	return rc;
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
	struct mpix_super s = {.version = MPIX_VERSION, .index_offset = w->offset, .entries = (uint32_t)w->nentries};
	_cleanup_buf_ struct buf super = {0};
	if (w->nentries > MPIX_CHUNKS_MAX)
		return fail(e, -EFBIG, "%s: %zu chunks are over the limit", w->file.path, w->nentries);
	qsort(w->entries, w->nentries, sizeof(*w->entries), mpix_compare_entries);
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

/* ---- a look before the end ---- */

/* What a reader of events, messages and waits asks for. */
static int write_draft(struct mpix_writer *w, struct error *e)
{
	uint32_t groups = (w->info.ranks + w->shape.group_ranks - 1) / w->shape.group_ranks;
	int rc = 0;
	for (uint32_t g = 0; g < groups && rc == 0; g++)
		rc = write_signatures(w, g, e);
	for (uint32_t i = 0; i < w->info.nclocks && rc == 0; i++)
		rc = write_clock(w, i, e);
	if (rc == 0)
		rc = write_texts(w, "{}", e);
	if (rc == 0)
		rc = seal(w, e);
	if (rc == 0 && fflush(w->file.stream) != 0)
		rc = fail(e, -errno, "%s: cannot write: %s; nothing was left behind", w->file.path, strerror(errno));
	return rc;
}

/* Back to where chunks ended before the draft. */
static int drop_draft(struct mpix_writer *w, uint64_t offset, struct error *e)
{
	size_t kept = 0;
	for (size_t i = 0; i < w->nentries; i++)
		if (w->entries[i].offset < offset)
			w->entries[kept++] = w->entries[i];
	w->nentries = kept;
	w->raw.len_bytes = 0;
	w->offset = offset;
	if (fflush(w->file.stream) != 0 || ftruncate(fileno(w->file.stream), (off_t)offset) < 0 ||
	    fseeko(w->file.stream, (off_t)offset, SEEK_SET) != 0)
		return fail(e, -errno, "%s: cannot go on writing: %s; nothing was left behind", w->file.path,
			    strerror(errno));
	return 0;
}

int mpix_writer_look(struct mpix_writer *w, int (*look)(void *context, struct mpix_file *f), void *context,
		     struct error *e)
{
	uint64_t offset = w->offset;
	struct mpix_file *f = NULL;
	if (w->code < 0)
		return fail(e, w->code, "%s: an earlier write failed", w->file.path);
	if (w->file.temporary == NULL)
		return fail(e, -ENOTSUP, "%s: not a regular file", w->file.path);
	int rc = write_draft(w, e);
	if (rc == 0)
		rc = mpix_open(w->file.temporary, &f, e);
	if (rc == 0)
		rc = look(context, f);
	mpix_close(f);
	w->code = drop_draft(w, offset, e);
	return w->code < 0 ? w->code : rc;
}

int mpix_writer_finish(struct mpix_writer *w, const char *analysis_json, struct error *e)
{
	int rc = w->code;
	if (rc < 0)
		fail(e, rc, "%s: an earlier write failed; nothing was left behind", w->file.path);
	if (rc == 0)
		rc = mpix_summary_write(w, e);
	if (rc == 0)
		rc = mpix_lod_write(w, e);
	if (rc == 0)
		rc = write_tables(w, e);
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
