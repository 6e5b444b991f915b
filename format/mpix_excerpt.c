/* mpix_excerpt.c - see mpix_excerpt.h. In: the index.  Out: some of its chunks. */
#include "format/mpix_excerpt.h"
#include "format/mpix_reader.h"

#include <errno.h>
#include <stdlib.h>

#define SUMS_SHARE 4 /* one part of so many stays free of sums over time, for what happens in windows */

struct mpix_excerpt {
	const struct mpix_file *f;
	uint8_t *chosen;	    /* by entry */
	int64_t *start_ns, *end_ns; /* by window; nothing is in it: end before start */
	uint64_t bytes, max_bytes;
};

static bool is_of_window(const struct mpix_entry *e)
{
	return e->kind == MPIX_EVENTS || e->kind == MPIX_MESSAGES || e->kind == MPIX_WAITS;
}

/* What a reader can do without, and says so. */
static bool is_sum(const struct mpix_entry *e)
{
	return e->kind == MPIX_SUMMARY || e->kind == MPIX_TOP || e->kind == MPIX_FLOW || e->kind == MPIX_SAMPLES;
}

static void find_windows(struct mpix_excerpt *x)
{
	uint32_t n, windows = x->f->shape.windows;
	const struct mpix_entry *e = mpix_find_kind(x->f, MPIX_EVENTS, &n);
	for (uint32_t w = 0; w < windows; w++) {
		x->start_ns[w] = INT64_MAX;
		x->end_ns[w] = INT64_MIN;
	}
	for (; n > 0; n--, e++)
		if (e->seq < windows) {
			x->start_ns[e->seq] = e->start_ns < x->start_ns[e->seq] ? e->start_ns : x->start_ns[e->seq];
			x->end_ns[e->seq] = e->end_ns > x->end_ns[e->seq] ? e->end_ns : x->end_ns[e->seq];
		}
}

/* ---- what is always in it ---- */

static void choose(struct mpix_excerpt *x, const struct mpix_entry *e)
{
	uint8_t *chosen = &x->chosen[e - x->f->entries];
	x->bytes += *chosen ? 0 : e->packed_bytes;
	*chosen = 1;
}

static void choose_fixed(struct mpix_excerpt *x)
{
	x->bytes = MPIX_SUPERBLOCK_BYTES + (uint64_t)x->f->super.entries * MPIX_ENTRY_BYTES + MPIX_TRAILER_BYTES;
	for (uint32_t i = 0; i < x->f->super.entries; i++)
		if (!is_of_window(&x->f->entries[i]) && !is_sum(&x->f->entries[i]))
			choose(x, &x->f->entries[i]);
}

static uint64_t sums_bytes(const struct mpix_excerpt *x, unsigned level)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < x->f->super.entries; i++)
		if (is_sum(&x->f->entries[i]) && x->f->entries[i].level == level)
			bytes += x->f->entries[i].packed_bytes;
	return bytes;
}

/* The coarsest level first, each of them whole. */
static void choose_sums(struct mpix_excerpt *x)
{
	uint64_t most = x->max_bytes - x->max_bytes / SUMS_SHARE;
	for (unsigned level = 0; level <= UINT8_MAX && x->bytes + sums_bytes(x, level) <= most; level++)
		for (uint32_t i = 0; i < x->f->super.entries; i++)
			if (is_sum(&x->f->entries[i]) && x->f->entries[i].level == level)
				choose(x, &x->f->entries[i]);
}

int mpix_excerpt_new(const struct mpix_file *f, uint64_t max_bytes, struct mpix_excerpt **ret_excerpt)
{
	if (f->super.version == 1)
		return -EINVAL;
	struct mpix_excerpt *x = calloc(1, sizeof(*x));
	if (x == NULL)
		return -ENOMEM;
	*x = (struct mpix_excerpt){.f = f,
				   .chosen = calloc((size_t)f->super.entries + 1, 1),
				   .start_ns = calloc((size_t)f->shape.windows + 1, sizeof(int64_t)),
				   .end_ns = calloc((size_t)f->shape.windows + 1, sizeof(int64_t)),
				   .max_bytes = max_bytes};
	int rc = x->chosen == NULL || x->start_ns == NULL || x->end_ns == NULL ? -ENOMEM : 0;
	if (rc == 0) {
		find_windows(x);
		choose_fixed(x);
		rc = x->bytes > max_bytes ? -E2BIG : 0;
	}
	if (rc < 0) {
		mpix_excerpt_free(x);
		return rc;
	}
	choose_sums(x);
	*ret_excerpt = x;
	return 0;
}

void mpix_excerpt_free(struct mpix_excerpt *x)
{
	if (x == NULL)
		return;
	free(x->chosen);
	free(x->start_ns);
	free(x->end_ns);
	free(x);
}

/* ---- windows ---- */

struct cells {
	uint32_t first_window, end_window, first_group, end_group;
	int64_t from_ns, to_ns;
};

/* Messages and waits may become known in later windows than their calls are of. */
static bool is_in(const struct mpix_entry *e, const struct cells *c)
{
	bool overlaps = e->kind != MPIX_EVENTS && e->start_ns <= c->to_ns && e->end_ns >= c->from_ns;
	return overlaps || (e->seq >= c->first_window && e->seq < c->end_window);
}

/* Bytes of them that are not chosen yet; and choose them. */
static uint64_t walk_cells(struct mpix_excerpt *x, const struct cells *c, bool chooses)
{
	static const enum mpix_kind kinds[] = {MPIX_EVENTS, MPIX_MESSAGES, MPIX_WAITS};
	uint64_t bytes = 0;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (uint32_t g = c->first_group; g < c->end_group; g++) {
			uint32_t n;
			const struct mpix_entry *e = mpix_find_group(x->f, kinds[k], g, &n);
			for (; n > 0; n--, e++) {
				if (!is_in(e, c))
					continue;
				bytes += x->chosen[e - x->f->entries] ? 0 : e->packed_bytes;
				if (chooses)
					choose(x, e);
			}
		}
	return bytes;
}

static bool add_cells(struct mpix_excerpt *x, struct cells c)
{
	if (x->bytes + walk_cells(x, &c, false) > x->max_bytes)
		return false;
	walk_cells(x, &c, true);
	return true;
}

static bool has_calls(const struct mpix_excerpt *x, uint32_t window)
{
	return x->end_ns[window] > x->start_ns[window];
}

bool mpix_excerpt_add(struct mpix_excerpt *x, int64_t from_ns, int64_t to_ns, uint32_t first_rank, uint32_t last_rank)
{
	uint32_t windows = x->f->shape.windows, ranks = x->f->info.ranks;
	uint32_t last = last_rank < ranks ? last_rank : ranks - 1;
	struct cells c = {.first_group = first_rank / x->f->shape.group_ranks,
			  .end_group = last / x->f->shape.group_ranks + 1,
			  .from_ns = from_ns,
			  .to_ns = to_ns};
	while (c.first_window < windows && x->end_ns[c.first_window] <= from_ns)
		c.first_window++;
	c.end_window = c.first_window;
	c.first_window -= c.first_window > 0; /* whose sends may be received in it */
	while (c.end_window < windows && (!has_calls(x, c.end_window) || x->start_ns[c.end_window] < to_ns))
		c.end_window++;
	return add_cells(x, c);
}

static bool add_window(struct mpix_excerpt *x, int64_t window)
{
	if (window < 0 || window >= x->f->shape.windows)
		return false;
	return add_cells(x, (struct cells){(uint32_t)window, (uint32_t)window + 1, 0, mpix_groups(x->f),
					   x->start_ns[window], x->end_ns[window]});
}

void mpix_excerpt_fill(struct mpix_excerpt *x, int64_t around_ns)
{
	int64_t at = 0;
	while (at + 1 < x->f->shape.windows && x->end_ns[at] <= around_ns)
		at++;
	bool before = true, after = add_window(x, at);
	for (int64_t i = 1; before || after; i++) {
		after = after && add_window(x, at + i);
		before = before && add_window(x, at - i);
	}
}

/* ---- bytes ---- */

static int by_offset(const void *a, const void *b)
{
	const struct mpix_bytes *x = a, *y = b;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static size_t join(struct mpix_bytes *list, size_t n)
{
	size_t joined = 0;
	qsort(list, n, sizeof(*list), by_offset);
	for (size_t i = 0; i < n; i++)
		if (joined > 0 && list[joined - 1].offset + list[joined - 1].bytes == list[i].offset)
			list[joined - 1].bytes += list[i].bytes;
		else
			list[joined++] = list[i];
	return joined;
}

int mpix_excerpt_read(const struct mpix_excerpt *x, struct buf *out, struct mpix_bytes **ret_ranges,
		      size_t *ret_nranges)
{
	const struct mpix_super *s = &x->f->super;
	struct mpix_bytes *list = calloc((size_t)s->entries + 2, sizeof(*list));
	size_t n = 0;
	int rc = list == NULL ? -ENOMEM : 0;
	if (rc == 0) {
		list[n++] = (struct mpix_bytes){0, MPIX_SUPERBLOCK_BYTES};
		list[n++] = (struct mpix_bytes){s->index_offset, s->file_bytes - s->index_offset};
		for (uint32_t i = 0; i < s->entries; i++)
			if (x->chosen[i])
				list[n++] = (struct mpix_bytes){x->f->entries[i].offset, x->f->entries[i].packed_bytes};
		n = join(list, n);
	}
	for (size_t i = 0; i < n && rc == 0; i++) {
		uint8_t *at = buf_reserve(out, list[i].bytes);
		rc = at == NULL ? -ENOMEM : mpix_read_at(x->f, list[i].offset, at, list[i].bytes);
		out->len_bytes += rc == 0 ? list[i].bytes : 0;
	}
	if (rc < 0) {
		free(list);
		return rc;
	}
	*ret_ranges = list;
	*ret_nranges = n;
	return 0;
}
