/* mpix_summary.c - the pyramid: which share of each interval a rank spent in which class.
 * In: every rank's events, once.  Out: SUMMARY chunks, one a tile of rows × bins at each time and rank level.
 *
 *   tile: for each class 1..7, for each row, for each bin: u8, 255 = the whole bin; rows past the last rank are left
 *         out; tiles without any time in MPI are not written. Level l has bins << l bins over the runtime, rank level
 *         k has factor^k ranks a row. A share that is not 0 is at least 1, so that rare calls stay visible. */
#include "format/mpix_writer.h"

#include <stdlib.h>

/* rank × bin cells of the finest level, which bounds the memory: 14 bytes a cell */
#define CELLS_MAX (1u << 22)
#define BINS_MAX 65536u
#define EVENTS_PER_CELL 1u /* finer than this, the events themselves are the better picture */
#define PLANES (MPIX_CLASSES - 1)
#define FULL 65535.0f

static uint32_t finest_bins(uint32_t ranks)
{
	uint32_t bins = BINS_MAX;
	while (bins > MPIX_TILE_BINS * 2 && (uint64_t)bins * ranks > CELLS_MAX)
		bins /= 2;
	return bins;
}

int mpix_summary_init(struct mpix_writer *w)
{
	struct mpix_summary *s = &w->summary;
	s->bins = finest_bins(w->info.ranks);
	s->share = calloc((size_t)w->info.ranks * PLANES * s->bins, sizeof(*s->share));
	s->busy_ns = calloc((size_t)PLANES * s->bins, sizeof(*s->busy_ns));
	return s->share != NULL && s->busy_ns != NULL ? 0 : -ENOMEM;
}

void mpix_summary_done(struct mpix_writer *w)
{
	free(w->summary.share);
	free(w->summary.busy_ns);
}

static double bin_width_ns(const struct mpix_writer *w)
{
	double runtime_ns = (double)w->info.runtime_ns;
	return (runtime_ns < 1 ? 1 : runtime_ns) / w->summary.bins;
}

static void add_span(float *plane, uint32_t bins, double width_ns, double from_ns, double to_ns)
{
	double limit_ns = width_ns * bins;
	from_ns = from_ns < 0 ? 0 : from_ns;
	to_ns = to_ns > limit_ns ? limit_ns : to_ns;
	if (from_ns >= to_ns)
		return;
	uint32_t first = (uint32_t)(from_ns / width_ns), last = (uint32_t)(to_ns / width_ns);
	for (uint32_t b = first; b <= last && b < bins; b++) {
		double begin = b * width_ns, end = begin + width_ns;
		begin = begin < from_ns ? from_ns : begin;
		end = end > to_ns ? to_ns : end;
		if (end > begin)
			plane[b] += (float)(end - begin);
	}
}

/* Shares of one bin; several threads may add up to more than the bin, which is then scaled to it.
 */
static void quantise(struct mpix_writer *w, uint16_t *share, uint32_t bin)
{
	struct mpix_summary *s = &w->summary;
	float width = (float)bin_width_ns(w), sum = 0;
	for (unsigned c = 0; c < PLANES; c++)
		sum += s->busy_ns[(size_t)c * s->bins + bin];
	float unit = FULL / (sum > width ? sum : width);
	for (unsigned c = 0; c < PLANES; c++) {
		float ns = s->busy_ns[(size_t)c * s->bins + bin];
		float value = ns * unit;
		share[(size_t)c * s->bins + bin] = ns > 0 && value < 1 ? 1 : (uint16_t)value;
	}
}

void mpix_summary_add(struct mpix_writer *w, uint32_t rank, const struct mpix_event *events, uint64_t count)
{
	struct mpix_summary *s = &w->summary;
	double width = bin_width_ns(w);
	memset(s->busy_ns, 0, (size_t)PLANES * s->bins * sizeof(*s->busy_ns));
	for (uint64_t i = 0; i < count; i++) {
		const struct mpix_event *x = &events[i];
		if (x->class > 0 && x->class < MPIX_CLASSES)
			add_span(s->busy_ns + (size_t)(x->class - 1) * s->bins, s->bins, width, (double)x->start_ns,
				 (double)x->end_ns);
	}
	for (uint32_t bin = 0; bin < s->bins; bin++)
		quantise(w, s->share + (size_t)rank * PLANES * s->bins, bin);
}

/* ---- writing: share[row][plane][bin] of one level at a time ---- */

/* Twice as wide bins, in place. Each line keeps its stride of w->summary.bins. */
static void halve_bins(const struct mpix_writer *w, uint16_t *share, uint32_t rows, uint32_t bins)
{
	for (size_t line = 0; line < (size_t)rows * PLANES; line++) {
		uint16_t *at = share + line * w->summary.bins;
		for (uint32_t b = 0; b < bins / 2; b++)
			at[b] = (uint16_t)((at[2 * b] + at[2 * b + 1] + 1u) / 2);
	}
}

/* Join row_factor rows into one, in place; returns the number of rows left. The last may have
 * fewer. */
static uint32_t join_rows(const struct mpix_writer *w, uint16_t *share, uint32_t rows)
{
	uint32_t factor = w->shape.row_factor, joined = (rows + factor - 1) / factor;
	size_t stride = (size_t)PLANES * w->summary.bins;
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

static int write_tile(struct mpix_writer *w, const uint16_t *share, uint32_t rows, struct mpix_entry at,
		      struct error *e)
{
	uint32_t first = at.group * w->shape.rows, bins = w->shape.bins;
	uint32_t n = rows - first < w->shape.rows ? rows - first : w->shape.rows;
	bool any = false;
	for (unsigned c = 0; c < PLANES; c++)
		for (uint32_t r = first; r < first + n; r++) {
			const uint16_t *line =
				share + ((size_t)r * PLANES + c) * w->summary.bins + (size_t)at.seq * bins;
			for (uint32_t b = 0; b < bins; b++) {
				buf_u8(&w->raw, (uint8_t)((line[b] + 256u) / 257u));
				any = any || line[b] != 0;
			}
		}
	at.records = n;
	if (any)
		return mpix_write_chunk(w, at, e);
	w->raw.len_bytes = 0;
	return 0;
}

static int write_level(struct mpix_writer *w, const uint16_t *share, uint32_t rows, uint32_t rank_level, uint32_t level,
		       struct error *e)
{
	uint32_t row_tiles = (rows + w->shape.rows - 1) / w->shape.rows;
	int64_t runtime_ns = w->info.runtime_ns;
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
static int write_levels(struct mpix_writer *w, uint16_t *share, uint32_t rows, uint32_t rank_level, struct error *e)
{
	uint32_t bins = w->summary.bins;
	for (; bins > w->shape.bins << (w->shape.time_levels - 1); bins /= 2)
		halve_bins(w, share, rows, bins);
	for (uint32_t level = w->shape.time_levels; level-- > 0; bins /= 2) {
		int rc = write_level(w, share, rows, rank_level, level, e);
		if (rc < 0)
			return rc;
		halve_bins(w, share, rows, bins);
	}
	return 0;
}

static uint32_t time_levels(const struct mpix_writer *w)
{
	uint32_t levels = 1;
	uint64_t cells = (uint64_t)w->shape.bins * w->info.ranks;
	for (uint32_t bins = w->shape.bins; bins < w->summary.bins; bins *= 2, cells *= 2) {
		if (cells * 2 * EVENTS_PER_CELL > w->shape.events)
			break;
		levels++;
	}
	return levels;
}

int mpix_summary_write(struct mpix_writer *w, struct error *e)
{
	uint32_t rows = w->info.ranks;
	int rc = 0;
	w->shape.time_levels = time_levels(w);
	for (uint32_t k = 0; k < w->shape.rank_levels && rc == 0; k++) {
		size_t cells = (size_t)rows * PLANES * w->summary.bins;
		uint16_t *copy = malloc(cells * sizeof(*copy));
		if (copy == NULL)
			return fail(e, -ENOMEM, "%s: out of memory", w->file.path);
		memcpy(copy, w->summary.share, cells * sizeof(*copy));
		rc = write_levels(w, copy, rows, k, e);
		free(copy);
		rows = join_rows(w, w->summary.share, rows);
	}
	return rc;
}
