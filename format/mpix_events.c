/* mpix_events.c - collects the events of one group of ranks and writes them as chunks in time order.
 * In: mpix_writer_events, rank by rank.  Out: EVENTS chunks.
 *
 * The time axis has a grid of MPIX_GRID intervals. A segment is a run of one rank's events that start in one interval;
 * a chunk is the segments of all ranks of the group for some intervals in a row. A call that began in an earlier chunk
 * and is still open when this one starts is repeated in it, in segments marked CARRIED, so that a reader of [from, to)
 * needs only the chunks whose interval overlaps it.
 *
 *   chunk: varint segments; a segment {varint row, varint flags, varint interval, varint events};
 *          then the columns of all segments joined (mpix_layout.h); a segment's clock starts at its interval */
#include "format/mpix_writer.h"

#include "base/vec.h"

#include <stdlib.h>

#define CARRIED 1u

static uint32_t bin_of(const struct mpix_writer *w, int64_t time_ns)
{
	uint64_t bin = time_ns < 0 ? 0 : (uint64_t)time_ns / w->shape.segment_ns;
	return bin < MPIX_GRID ? (uint32_t)bin : MPIX_GRID - 1;
}

static int64_t bin_start(const struct mpix_writer *w, uint32_t bin)
{
	return (int64_t)(bin * w->shape.segment_ns);
}

int mpix_group_init(struct mpix_writer *w)
{
	w->group.rows = calloc(w->shape.group_ranks, sizeof(*w->group.rows));
	return w->group.rows != NULL ? 0 : -ENOMEM;
}

void mpix_group_done(struct mpix_writer *w)
{
	struct mpix_group *g = &w->group;
	for (uint32_t i = 0; g->rows != NULL && i < w->shape.group_ranks; i++) {
		mpix_columns_done(&g->rows[i].columns);
		free(g->rows[i].crossing);
	}
	free(g->rows);
	free(g->segments);
}

static void group_clear(struct mpix_writer *w, uint32_t next)
{
	struct mpix_group *g = &w->group;
	for (uint32_t i = 0; i < w->shape.group_ranks; i++) {
		mpix_columns_clear(&g->rows[i].columns);
		g->rows[i].ncrossing = 0;
	}
	g->nsegments = 0;
	g->events = 0;
	g->seq = 0;
	g->index = next;
}

static void mark_columns(const struct mpix_columns *c, size_t ret_lengths[MPIX_COLUMNS])
{
	for (int i = 0; i < MPIX_COLUMNS; i++)
		ret_lengths[i] = c->column[i].len_bytes;
}

static struct mpix_segment *segment_begin(struct mpix_group *g, uint32_t row, uint32_t bin)
{
	if (vec_grow(&g->segments, &g->cap_segments, g->nsegments + 1, sizeof(*g->segments)) < 0)
		return NULL;
	struct mpix_segment *s = &g->segments[g->nsegments];
	*s = (struct mpix_segment){.row = row, .bin = bin, .order = (uint32_t)g->nsegments++};
	mark_columns(&g->rows[row].columns, s->begin);
	return s;
}

static int note_crossing(struct mpix_row *row, const struct mpix_event *event)
{
	if (vec_grow(&row->crossing, &row->cap_crossing, row->ncrossing + 1, sizeof(*event)) < 0)
		return -ENOMEM;
	row->crossing[row->ncrossing++] = *event;
	return 0;
}

static void note_extent(struct mpix_writer *w, const struct mpix_event *x)
{
	struct mpix_group *g = &w->group;
	if (g->events == 0 || x->start_ns < g->start_ns)
		g->start_ns = x->start_ns;
	if (g->events == 0 || x->end_ns > g->end_ns)
		g->end_ns = x->end_ns;
	g->events++;
	if (x->thread < 4096 && x->thread + 1 > w->shape.threads)
		w->shape.threads = x->thread + 1;
}

int mpix_group_add(struct mpix_writer *w, uint32_t rank, const struct mpix_event *events, uint64_t count)
{
	struct mpix_group *g = &w->group;
	uint32_t r = rank % w->shape.group_ranks;
	struct mpix_row *row = &g->rows[r];
	struct mpix_segment *s = NULL;
	int64_t clock = 0;
	for (uint64_t i = 0; i < count; i++) {
		const struct mpix_event *x = &events[i];
		uint32_t bin = bin_of(w, x->start_ns);
		if (s == NULL || s->bin != bin || s->count == MPIX_SEGMENT_RECORDS) {
			if ((s = segment_begin(g, r, bin)) == NULL)
				return -ENOMEM;
			clock = bin_start(w, bin);
		}
		mpix_put_event(&row->columns, x, &clock);
		s->count++;
		mark_columns(&row->columns, s->end);
		note_extent(w, x);
		if (bin_of(w, x->end_ns) != bin && note_crossing(row, x) < 0)
			return -ENOMEM;
	}
	return mpix_columns_failed(&row->columns) ? -ENOMEM : 0;
}

/* ---- writing ---- */

static int by_time(const void *a, const void *b)
{
	const struct mpix_segment *x = a, *y = b;
	if (x->bin != y->bin)
		return x->bin < y->bin ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_row(const void *a, const void *b)
{
	const struct mpix_segment *x = a, *y = b;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* A chunk under construction: heads of segments, and their columns. */
struct parts {
	struct buf heads;
	struct mpix_columns columns;
	uint32_t segments, records;
};

static void parts_done(struct parts *p)
{
	buf_done(&p->heads);
	mpix_columns_done(&p->columns);
}

static void put_head(struct parts *p, uint32_t row, uint32_t flags, uint32_t bin, uint32_t count)
{
	buf_varint(&p->heads, row);
	buf_varint(&p->heads, flags);
	buf_varint(&p->heads, bin);
	buf_varint(&p->heads, count);
	p->segments++;
	p->records += count;
}

/* Repeat the calls of one rank that are open when interval bin begins. */
static void put_carried(struct mpix_writer *w, struct parts *p, uint32_t r, uint32_t bin)
{
	const struct mpix_row *row = &w->group.rows[r];
	int64_t clock = bin_start(w, bin);
	uint32_t count = 0;
	for (size_t i = 0; i < row->ncrossing; i++) {
		const struct mpix_event *x = &row->crossing[i];
		if (bin_of(w, x->start_ns) >= bin)
			break;
		if (x->end_ns <= bin_start(w, bin))
			continue;
		mpix_put_event(&p->columns, x, &clock);
		count++;
	}
	if (count > 0)
		put_head(p, r, CARRIED, bin, count);
}

static void put_segment(struct mpix_writer *w, struct parts *p, const struct mpix_segment *s)
{
	const struct mpix_columns *from = &w->group.rows[s->row].columns;
	put_head(p, s->row, 0, s->bin, s->count);
	for (int i = 0; i < MPIX_COLUMNS; i++)
		buf_bytes(&p->columns.column[i], from->column[i].data + s->begin[i], s->end[i] - s->begin[i]);
}

static int write_parts(struct mpix_writer *w, const struct parts *p, int64_t start_ns, int64_t end_ns, struct error *e)
{
	struct mpix_entry entry = {.kind = MPIX_EVENTS,
				   .group = w->group.index,
				   .seq = w->group.seq++,
				   .records = p->records,
				   .start_ns = start_ns,
				   .end_ns = end_ns};
	buf_varint(&w->raw, p->segments);
	buf_bytes(&w->raw, p->heads.data, p->heads.len_bytes);
	mpix_columns_join(&p->columns, &w->raw);
	if (buf_failed(&p->heads) || mpix_columns_failed(&p->columns))
		return fail(e, -ENOMEM, "%s: out of memory", w->file.path);
	return mpix_write_chunk(w, entry, e);
}

/* Segments [first, last) become one chunk; fresh: no earlier chunk has events of its first
 * interval. */
static int write_segments(struct mpix_writer *w, size_t first, size_t last, bool fresh, struct error *e)
{
	struct mpix_group *g = &w->group;
	struct parts p = {0};
	uint32_t bin = g->segments[first].bin, last_bin = g->segments[last - 1].bin;
	int64_t start_ns = bin_start(w, bin), end_ns = bin_start(w, last_bin + 1);
	if (last < g->nsegments && g->segments[last].bin != last_bin)
		end_ns = bin_start(w, g->segments[last].bin);
	if (first == 0)
		start_ns = g->start_ns < 0 ? g->start_ns : 0;
	if (last == g->nsegments || last_bin == MPIX_GRID - 1) {
		int64_t end = g->end_ns > w->info.runtime_ns ? g->end_ns : w->info.runtime_ns;
		end_ns = end + 1;
	}
	qsort(g->segments + first, last - first, sizeof(*g->segments), by_row);
	size_t i = first;
	for (uint32_t row = 0; row < w->shape.group_ranks; row++) {
		if (fresh)
			put_carried(w, &p, row, bin);
		for (; i < last && g->segments[i].row == row; i++)
			put_segment(w, &p, &g->segments[i]);
	}
	int rc = write_parts(w, &p, start_ns, end_ns, e);
	parts_done(&p);
	return rc;
}

/* Where the chunk that begins at segment first ends. A chunk that begins inside an interval ends
 * with it. */
static size_t chunk_end(const struct mpix_group *g, size_t first, bool fresh)
{
	uint64_t count = 0;
	for (size_t i = first; i < g->nsegments; i++) {
		bool new_bin = i > first && g->segments[i].bin != g->segments[i - 1].bin;
		if (new_bin && (!fresh || count >= MPIX_CHUNK_RECORDS))
			return i;
		if (count >= 4 * MPIX_CHUNK_RECORDS)
			return i;
		count += g->segments[i].count;
	}
	return g->nsegments;
}

int mpix_group_flush(struct mpix_writer *w, uint32_t next, struct error *e)
{
	struct mpix_group *g = &w->group;
	bool fresh = true;
	int rc = 0;
	if (g->nsegments > 0)
		qsort(g->segments, g->nsegments, sizeof(*g->segments), by_time);
	for (size_t first = 0; first < g->nsegments && rc == 0;) {
		size_t last = chunk_end(g, first, fresh);
		uint32_t last_bin = g->segments[last - 1].bin;
		bool next_fresh = last == g->nsegments || g->segments[last].bin != last_bin;
		rc = write_segments(w, first, last, fresh, e);
		first = last;
		fresh = next_fresh;
	}
	group_clear(w, next);
	return rc;
}
