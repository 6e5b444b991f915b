/* mpix_summary.c - the pyramid: which share of each interval a rank spent in which class.
 * In: calls, window by window.  Out: SUMMARY chunks, one a tile of rows × bins at each time and rank level.
 *
 *   tile: for each class 1..7, for each row, for each bin: u8, 255 = the whole bin; rows past the last rank are left
 *         out; tiles without any time in MPI are not written. Level l has bins << l bins over the runtime, rank level
 *         k has factor^k ranks a row. A share that is not 0 is at least 1, so that rare calls stay visible.
 *
 * A part's sums are of the bins that its window touches. Windows come in order, so of each rank only the last bin may
 * still grow: all before it are shares already. */
#include "format/mpix_summary.h"

#include "base/vec.h"

#include <stdlib.h>

/* rank × bin cells of the finest level, which bounds the memory: 14 bytes a cell */
#define CELLS_MAX (1u << 22)
#define BINS_MAX 65536u
#define EVENTS_PER_CELL 32u /* finer than this, the events themselves are the better picture */
#define FULL 65535.0f

static uint32_t finest_level(uint32_t ranks, uint64_t events)
{
	uint32_t level = 0;
	for (uint64_t cells = (uint64_t)ranks * MPIX_TILE_BINS; (MPIX_TILE_BINS << level) < BINS_MAX;
	     level++, cells *= 2)
		if (2 * cells > CELLS_MAX || 2 * cells * EVENTS_PER_CELL > events)
			break;
	return level;
}

int mpix_summary_init(struct mpix_summary *s, struct mpix_head *h)
{
	uint32_t level = finest_level(h->info.ranks, h->info.events_expected);
	double runtime_ns = (double)h->info.runtime_ns;
	h->shape.time_levels = level + 1;
	s->bins = MPIX_TILE_BINS << level;
	s->width_ns = (runtime_ns < 1 ? 1 : runtime_ns) / s->bins;
	s->bins_per_ns = 1 / s->width_ns;
	s->share = calloc((size_t)h->info.ranks * MPIX_PLANES * s->bins, sizeof(*s->share));
	s->open = calloc(h->info.ranks, sizeof(*s->open));
	return s->share != NULL && s->open != NULL ? 0 : -ENOMEM;
}

void mpix_summary_done(struct mpix_summary *s)
{
	free(s->share);
	free(s->open);
}

/* ---- packing ---- */

static uint32_t bin_of(const struct mpix_summary *s, double ns)
{
	double bin = ns * s->bins_per_ns;
	return bin < 0 ? 0 : bin >= s->bins ? s->bins - 1 : (uint32_t)bin;
}

int mpix_summary_begin(const struct mpix_summary *s, const struct mpix_head *h, const struct mpix_part *part,
		       struct mpix_packed *p)
{
	p->first_bin = bin_of(s, (double)part->start_ns);
	p->nbins = bin_of(s, (double)part->end_ns) - p->first_bin + 1;
	size_t cells = (size_t)h->shape.group_ranks * MPIX_PLANES * p->nbins;
	if (vec_grow(&p->busy_ns, &p->cap_busy, cells, sizeof(*p->busy_ns)) < 0)
		return -ENOMEM;
	memset(p->busy_ns, 0, cells * sizeof(*p->busy_ns));
	p->start_ns = part->start_ns;
	p->end_ns = part->end_ns;
	p->bin_from_ns = INT64_MAX;
	p->bin_to_ns = INT64_MIN;
	return 0;
}

/* What comes next is mostly in the same bin: where that ends, as far as rounding leaves no doubt. */
static void remember_bin(const struct mpix_summary *s, struct mpix_packed *p, uint32_t bin, double from)
{
	double to = (double)(bin + 1) * s->width_ns - 2;
	to = to < (double)p->end_ns ? to : (double)p->end_ns;
	if (to < from || bin_of(s, to) != bin)
		return;
	p->bin = bin - p->first_bin;
	p->bin_from_ns = (int64_t)from;
	p->bin_to_ns = (int64_t)to;
}

void mpix_summary_spread(const struct mpix_summary *s, struct mpix_packed *p, uint32_t row, unsigned class,
			 int64_t from_ns, int64_t to_ns)
{
	double width = s->width_ns, from = (double)(from_ns < p->start_ns ? p->start_ns : from_ns),
	       to = (double)(to_ns > p->end_ns ? p->end_ns : to_ns), limit = width * s->bins;
	from = from < 0 ? 0 : from;
	to = to > limit ? limit : to;
	if (from >= to)
		return;
	float *plane = p->busy_ns + ((size_t)row * MPIX_PLANES + class - 1) * p->nbins;
	uint32_t first = bin_of(s, from), last = bin_of(s, to);
	if (first == last) {
		plane[first - p->first_bin] += (float)(to - from);
		remember_bin(s, p, first, from);
		return;
	}
	for (uint32_t b = first; b <= last; b++) {
		double begin = b * width, end = begin + width;
		begin = begin < from ? from : begin;
		end = end > to ? to : end;
		if (end > begin)
			plane[b - p->first_bin] += (float)(end - begin);
	}
}

/* ---- adding up ---- */

/* Shares of the bin that is open; several threads may add up to more than the bin, which is then scaled to it. */
static void close_bin(struct mpix_summary *s, uint32_t rank)
{
	struct mpix_open_bin *open = &s->open[rank];
	uint16_t *share = s->share + (size_t)rank * MPIX_PLANES * s->bins + open->bin;
	float width = (float)s->width_ns, sum = 0;
	for (unsigned c = 0; c < MPIX_PLANES; c++)
		sum += open->busy_ns[c];
	float unit = FULL / (sum > width ? sum : width);
	for (unsigned c = 0; c < MPIX_PLANES && sum > 0; c++) {
		float ns = open->busy_ns[c], value = ns * unit;
		share[(size_t)c * s->bins] = ns > 0 && value < 1 ? 1 : (uint16_t)value;
	}
}

static void put_rank(struct mpix_summary *s, uint32_t rank, const float *busy_ns, uint32_t first_bin, uint32_t nbins)
{
	struct mpix_open_bin *open = &s->open[rank];
	for (uint32_t b = 0; b < nbins; b++) {
		if (first_bin + b > open->bin) {
			close_bin(s, rank);
			*open = (struct mpix_open_bin){.bin = first_bin + b};
		}
		for (unsigned c = 0; c < MPIX_PLANES; c++)
			open->busy_ns[c] += busy_ns[(size_t)c * nbins + b];
	}
}

void mpix_summary_put(struct mpix_summary *s, const struct mpix_head *h, const struct mpix_packed *p)
{
	uint32_t first = p->group * h->shape.group_ranks;
	for (uint32_t row = 0; row < h->shape.group_ranks && first + row < h->info.ranks; row++)
		put_rank(s, first + row, p->busy_ns + (size_t)row * MPIX_PLANES * p->nbins, p->first_bin, p->nbins);
}

/* ---- writing: share[row][plane][bin] of one level at a time ---- */

/* Twice as wide bins, in place. Each line keeps its stride of s->bins. */
static void halve_bins(const struct mpix_summary *s, uint16_t *share, uint32_t rows, uint32_t bins)
{
	for (size_t line = 0; line < (size_t)rows * MPIX_PLANES; line++) {
		uint16_t *at = share + line * s->bins;
		for (uint32_t b = 0; b < bins / 2; b++)
			at[b] = (uint16_t)((at[2 * b] + at[2 * b + 1] + 1u) / 2);
	}
}

/* Join row_factor rows into one, in place; returns the number of rows left. The last may have
 * fewer. */
static uint32_t join_rows(const struct mpix_summary *s, uint32_t factor, uint16_t *share, uint32_t rows)
{
	uint32_t joined = (rows + factor - 1) / factor;
	size_t stride = (size_t)MPIX_PLANES * s->bins;
	for (uint32_t r = 0; r < joined; r++) {
		uint32_t n = rows - r * factor < factor ? rows - r * factor : factor;
		for (size_t i = 0; i < stride; i++) {
			uint32_t sum = 0;
			for (uint32_t k = 0; k < n; k++)
				sum += share[((size_t)r * factor + k) * stride + i];
			share[(size_t)r * stride + i] = (uint16_t)((sum + n - 1) / n);
		}
	}
	return joined;
}

struct writing {
	const struct mpix_summary *s;
	const struct mpix_head *h;
	struct mpix_chunks *out;
};

static int write_tile(const struct writing *w, const uint16_t *share, uint32_t rows, struct mpix_entry at,
		      struct error *e)
{
	uint32_t first = at.group * w->h->shape.rows, bins = w->h->shape.bins;
	uint32_t n = rows - first < w->h->shape.rows ? rows - first : w->h->shape.rows;
	bool any = false;
	for (unsigned c = 0; c < MPIX_PLANES; c++)
		for (uint32_t r = first; r < first + n; r++) {
			const uint16_t *line =
				share + ((size_t)r * MPIX_PLANES + c) * w->s->bins + (size_t)at.seq * bins;
			for (uint32_t b = 0; b < bins; b++) {
				buf_u8(&w->out->raw, (uint8_t)((line[b] + 256u) / 257u));
				any = any || line[b] != 0;
			}
		}
	at.records = n;
	if (any)
		return mpix_write_chunk(w->out, at, e);
	w->out->raw.len_bytes = 0;
	return 0;
}

static int write_level(const struct writing *w, const uint16_t *share, uint32_t rows, uint32_t rank_level,
		       uint32_t level, struct error *e)
{
	uint32_t row_tiles = (rows + w->h->shape.rows - 1) / w->h->shape.rows;
	int64_t runtime_ns = w->h->info.runtime_ns;
	for (uint32_t g = 0; g < row_tiles; g++)
		for (uint32_t t = 0; t < 1u << level; t++) {
			struct mpix_entry at = {.kind = MPIX_SUMMARY,
						.level = (uint8_t)level,
						.rank_level = (uint16_t)rank_level,
						.group = g,
						.seq = t,
						.start_ns = (int64_t)((double)runtime_ns * t / (1u << level)),
						.end_ns = (int64_t)((double)runtime_ns * (t + 1) / (1u << level))};
			int rc = write_tile(w, share, rows, at, e);
			if (rc < 0)
				return rc;
		}
	return 0;
}

/* All time levels of one rank level; destroys share. */
static int write_levels(const struct writing *w, uint16_t *share, uint32_t rows, uint32_t rank_level, struct error *e)
{
	uint32_t bins = w->s->bins;
	for (uint32_t level = w->h->shape.time_levels; level-- > 0; bins /= 2) {
		int rc = write_level(w, share, rows, rank_level, level, e);
		if (rc < 0)
			return rc;
		halve_bins(w->s, share, rows, bins);
	}
	return 0;
}

int mpix_summary_write(struct mpix_summary *s, const struct mpix_head *h, struct mpix_chunks *out, struct error *e)
{
	const struct writing w = {s, h, out};
	uint32_t rows = h->info.ranks;
	int rc = 0;
	for (uint32_t r = 0; r < h->info.ranks; r++)
		close_bin(s, r);
	for (uint32_t k = 0; k < h->shape.rank_levels && rc == 0; k++) {
		size_t cells = (size_t)rows * MPIX_PLANES * s->bins;
		bool last = k + 1 == h->shape.rank_levels; /* which may be destroyed */
		uint16_t *copy = last ? s->share : malloc(cells * sizeof(*copy));
		if (copy == NULL)
			return fail(e, -ENOMEM, "%s: out of memory", out->file.path);
		if (!last)
			memcpy(copy, s->share, cells * sizeof(*copy));
		rc = write_levels(&w, copy, rows, k, e);
		if (last)
			break;
		free(copy);
		rows = join_rows(s, h->shape.row_factor, s->share, rows);
	}
	return rc;
}
