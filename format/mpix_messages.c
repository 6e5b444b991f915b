/* mpix_messages.c - writes messages by time, then their level of detail.
 * In: mpix_writer_messages.  Out: MESSAGES chunks as they come; at the end, reading those back once: TOP (the largest
 * messages of each time tile) and FLOW (sums between groups of ranks in each time tile).
 *
 *   MESSAGES, TOP: varint messages, then columns (mpix_layout.h) in order of send start; the clock starts at 0
 *   FLOW:          varint flows, then for each {varint source node, destination node, messages, bytes};
 *                  node = rank / flow_ranks; a message belongs to the tile in which its send starts */
#include "format/mpix_writer.h"
#include "format/pack.h"

#include <stdlib.h>
#include <unistd.h>

#define LEVELS_MAX 16u

static int flush_pending(struct mpix_writer *w, struct error *e)
{
	struct mpix_pending *p = &w->pending;
	struct mpix_entry entry = {.kind = MPIX_MESSAGES,
				   .seq = p->seq++,
				   .records = p->count,
				   .start_ns = p->start_ns,
				   .end_ns = p->end_ns};
	if (mpix_columns_failed(&p->columns))
		return fail(e, -ENOMEM, "%s: out of memory", w->file.path);
	buf_varint(&w->raw, p->count);
	mpix_columns_join(&p->columns, &w->raw);
	mpix_columns_clear(&p->columns);
	p->count = 0;
	p->clock = 0;
	return mpix_write_chunk(w, entry, e);
}

static void extend(struct mpix_pending *p, const struct mpix_message *x)
{
	int64_t end = x->recv_end_ns > x->send_end_ns ? x->recv_end_ns : x->send_end_ns;
	if (p->count == 0 || x->send_start_ns < p->start_ns)
		p->start_ns = x->send_start_ns;
	if (p->count == 0 || end >= p->end_ns)
		p->end_ns = end + 1;
}

int mpix_writer_messages(struct mpix_writer *w, const struct mpix_message *messages, uint64_t count, struct error *e)
{
	struct mpix_pending *p = &w->pending;
	if (w->code < 0)
		return fail(e, w->code, "%s: an earlier write failed", w->file.path);
	for (uint64_t i = 0; i < count && w->code == 0; i++) {
		if (messages[i].src >= w->info.ranks || messages[i].dst >= w->info.ranks)
			return w->code = fail(e, -EINVAL, "%s: message %llu from %u to %u: only %u ranks", w->file.path,
					      (unsigned long long)i, messages[i].src, messages[i].dst, w->info.ranks);
		extend(p, &messages[i]);
		mpix_put_message(&p->columns, &messages[i], &p->clock);
		if (++p->count == MPIX_CHUNK_RECORDS)
			w->code = flush_pending(w, e);
		w->shape.messages++;
	}
	return w->code;
}

/* ---- level of detail ---- */

struct candidate {
	struct mpix_message message;
	uint32_t tie_break; /* among equal sizes: a hash of the number, so that they come evenly from the tile */
};

struct flow {
	uint64_t messages, bytes;
};

/* The tile that is open on one level. */
struct lod {
	uint32_t level, tile;
	struct candidate *top;
	uint32_t ntop;
	struct flow *flow; /* [source node][destination node] */
	uint32_t nodes;
	uint64_t messages;
};

static int lod_init(struct lod *l, const struct mpix_writer *w, uint32_t level)
{
	l->level = level;
	l->nodes = (w->info.ranks + w->shape.flow_ranks - 1) / w->shape.flow_ranks;
	l->top = malloc(2 * MPIX_TOP_RECORDS * sizeof(*l->top));
	l->flow = calloc((size_t)l->nodes * l->nodes, sizeof(*l->flow));
	return l->top != NULL && l->flow != NULL ? 0 : -ENOMEM;
}

static void lod_done(struct lod *l)
{
	free(l->top);
	free(l->flow);
}

static int larger_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->message.bytes != y->message.bytes)
		return x->message.bytes > y->message.bytes ? -1 : 1;
	return x->tie_break < y->tie_break ? -1 : x->tie_break > y->tie_break;
}

static int earlier_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->message.send_start_ns != y->message.send_start_ns)
		return x->message.send_start_ns < y->message.send_start_ns ? -1 : 1;
	return x->tie_break < y->tie_break ? -1 : x->tie_break > y->tie_break;
}

static void keep_largest(struct lod *l)
{
	if (l->ntop <= MPIX_TOP_RECORDS)
		return;
	qsort(l->top, l->ntop, sizeof(*l->top), larger_first);
	l->ntop = MPIX_TOP_RECORDS;
}

static void lod_add(struct lod *l, const struct mpix_writer *w, const struct mpix_message *x, uint64_t number)
{
	uint32_t src = x->src / w->shape.flow_ranks, dst = x->dst / w->shape.flow_ranks;
	struct flow *f = &l->flow[(size_t)src * l->nodes + dst];
	uint64_t hash = (number + 1) * 0x9e3779b97f4a7c15ull;
	f->messages++;
	f->bytes += x->bytes;
	l->messages++;
	if (l->ntop == 2 * MPIX_TOP_RECORDS)
		keep_largest(l);
	l->top[l->ntop++] = (struct candidate){*x, (uint32_t)(hash >> 32)};
}

static struct mpix_entry tile_entry(const struct mpix_writer *w, const struct lod *l, enum mpix_kind kind)
{
	double width = (double)w->info.runtime_ns / (1u << l->level);
	return (struct mpix_entry){.kind = (uint8_t)kind,
				   .level = (uint8_t)l->level,
				   .seq = l->tile,
				   .start_ns = (int64_t)(width * l->tile),
				   .end_ns = (int64_t)(width * (l->tile + 1))};
}

static int write_top(struct mpix_writer *w, struct lod *l, struct error *e)
{
	struct mpix_entry entry = tile_entry(w, l, MPIX_TOP);
	struct mpix_columns columns = {0};
	int64_t clock = 0;
	keep_largest(l);
	qsort(l->top, l->ntop, sizeof(*l->top), earlier_first);
	for (uint32_t i = 0; i < l->ntop; i++)
		mpix_put_message(&columns, &l->top[i].message, &clock);
	buf_varint(&w->raw, l->ntop);
	mpix_columns_join(&columns, &w->raw);
	w->raw.failed = w->raw.failed || mpix_columns_failed(&columns);
	mpix_columns_done(&columns);
	entry.records = l->messages > UINT32_MAX ? UINT32_MAX : (uint32_t)l->messages;
	return mpix_write_chunk(w, entry, e);
}

static int write_flow(struct mpix_writer *w, struct lod *l, struct error *e)
{
	struct mpix_entry entry = tile_entry(w, l, MPIX_FLOW);
	size_t links = (size_t)l->nodes * l->nodes;
	for (size_t i = 0; i < links; i++)
		entry.records += l->flow[i].messages > 0;
	buf_varint(&w->raw, entry.records);
	for (size_t i = 0; i < links; i++) {
		if (l->flow[i].messages == 0)
			continue;
		buf_varint(&w->raw, i / l->nodes);
		buf_varint(&w->raw, i % l->nodes);
		buf_varint(&w->raw, l->flow[i].messages);
		buf_varint(&w->raw, l->flow[i].bytes);
	}
	memset(l->flow, 0, links * sizeof(*l->flow));
	return mpix_write_chunk(w, entry, e);
}

static int lod_flush(struct mpix_writer *w, struct lod *l, struct error *e)
{
	if (l->messages == 0)
		return 0;
	int rc = write_top(w, l, e);
	if (rc == 0)
		rc = write_flow(w, l, e);
	l->ntop = 0;
	l->messages = 0;
	return rc;
}

static uint32_t tile_of(const struct mpix_writer *w, int64_t time_ns, uint32_t level)
{
	double share = w->info.runtime_ns > 0 ? (double)time_ns / (double)w->info.runtime_ns : 0;
	uint32_t tiles = 1u << level;
	if (share <= 0)
		return 0;
	return share >= 1 ? tiles - 1 : (uint32_t)(share * tiles);
}

static int feed(struct mpix_writer *w, struct lod *l, const struct mpix_message *x, uint64_t number, struct error *e)
{
	uint32_t tile = tile_of(w, x->send_start_ns, l->level);
	if (tile > l->tile) {
		int rc = lod_flush(w, l, e);
		if (rc < 0)
			return rc;
		l->tile = tile;
	}
	lod_add(l, w, x, number);
	return 0;
}

/* Read one of our own chunks back from the file being written. */
static int read_back(struct mpix_writer *w, const struct mpix_entry *entry, struct buf *out)
{
	uint8_t *packed = malloc(entry->packed_bytes + 1u), *raw;
	int rc = -EIO;
	out->len_bytes = 0;
	if (packed != NULL && (raw = buf_reserve(out, entry->raw_bytes)) != NULL && fflush(w->file.stream) == 0 &&
	    pread(fileno(w->file.stream), packed, entry->packed_bytes, (off_t)entry->offset) ==
		    (ssize_t)entry->packed_bytes) {
		rc = pack_inflate_to(raw, entry->raw_bytes, (struct span){packed, entry->packed_bytes}, NULL);
		out->len_bytes = entry->raw_bytes;
	}
	free(packed);
	return rc;
}

static int feed_chunk(struct mpix_writer *w, struct lod *lods, const struct buf *raw, uint64_t *number, struct error *e)
{
	struct cursor c = cursor_over(raw->data, raw->len_bytes), columns[MPIX_COLUMNS];
	struct mpix_message x;
	uint64_t count;
	int64_t clock = 0;
	int rc = rd_varint(&c, &count) < 0 || mpix_columns_split(&c, columns) < 0 ? -EIO : 0;
	for (uint64_t i = 0; i < count && rc == 0; i++) {
		rc = mpix_get_message(columns, &x, &clock);
		for (uint32_t level = 0; level < w->shape.message_levels && rc == 0; level++)
			rc = feed(w, &lods[level], &x, *number, e);
		(*number)++;
	}
	return rc;
}

static int feed_all(struct mpix_writer *w, struct lod *lods, struct error *e)
{
	_cleanup_buf_ struct buf raw = {0};
	uint64_t number = 0;
	size_t n = w->nentries; /* grows while tiles are written */
	for (size_t i = 0; i < n; i++) {
		struct mpix_entry entry = w->entries[i];
		if (entry.kind != MPIX_MESSAGES)
			continue;
		int rc = read_back(w, &entry, &raw);
		if (rc < 0)
			return fail(e, rc, "%s: cannot read back offset %llu", w->file.path,
				    (unsigned long long)entry.offset);
		rc = feed_chunk(w, lods, &raw, &number, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static uint32_t message_levels(uint64_t messages)
{
	uint32_t levels = 1;
	while (levels < LEVELS_MAX && ((uint64_t)4 * MPIX_TOP_RECORDS << levels) < messages)
		levels++;
	return levels;
}

int mpix_messages_finish(struct mpix_writer *w, struct error *e)
{
	struct lod lods[LEVELS_MAX] = {{0}};
	int rc = w->pending.count > 0 ? flush_pending(w, e) : 0;
	if (rc < 0)
		return rc;
	w->shape.message_levels = message_levels(w->shape.messages);
	for (uint32_t i = 0; i < w->shape.message_levels && rc == 0; i++)
		if ((rc = lod_init(&lods[i], w, i)) < 0)
			fail(e, rc, "%s: out of memory", w->file.path);
	if (rc == 0)
		rc = feed_all(w, lods, e);
	for (uint32_t i = 0; i < w->shape.message_levels; i++) {
		if (rc == 0)
			rc = lod_flush(w, &lods[i], e);
		lod_done(&lods[i]);
	}
	return rc;
}
