/* mpix_read_clock.c - how ticks of a clock become times. In: CLOCK chunks of version 2, believed in nothing.
 * Out: struct mpix_knots, kept by the file. */
#include "format/mpix_reader.h"

#include <math.h>
#include <stdlib.h>

static int rd_f64(struct cursor *c, double *ret_value)
{
	uint64_t bits;
	if (rd_u64(c, &bits) < 0)
		return -EBADMSG;
	memcpy(ret_value, &bits, sizeof(bits));
	return 0;
}

int mpix_knots_decode(struct cursor c, struct mpix_knots *to)
{
	uint32_t n, zero;
	uint64_t base;
	int rc = 0;
	if (rd_u32(&c, &n) < 0 || rd_u32(&c, &zero) < 0 || rd_u64(&c, &base) < 0 || n < 1 || n > MPIX_KNOTS_MAX ||
	    cursor_left(&c) != (size_t)n * 24)
		return -EBADMSG;
	to->knots = malloc(n * sizeof(*to->knots));
	if (to->knots == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		rc |= rd_u64(&c, &to->knots[i].tick);
	for (uint32_t i = 0; i < n; i++)
		rc |= rd_f64(&c, &to->knots[i].ns);
	for (uint32_t i = 0; i < n; i++)
		rc |= rd_f64(&c, &to->knots[i].ns_per_tick);
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		const struct mpix_clock_knot *k = &to->knots[i];
		if (k->tick >= MPIX_TICKS_MAX || !isfinite(k->ns) || !isfinite(k->ns_per_tick) || k->ns_per_tick <= 0 ||
		    (i > 0 && k->tick <= k[-1].tick))
			return -EBADMSG;
	}
	to->n = n;
	return rc < 0 ? -EBADMSG : 0;
}

double mpix_knots_tick_ns(const struct mpix_knots *k)
{
	const struct mpix_clock_knot *first = &k->knots[0], *last = &k->knots[k->n - 1];
	double mean = k->n > 1 ? (last->ns - first->ns) / (double)(last->tick - first->tick) : 0;
	return mean > 0 ? mean : first->ns_per_tick;
}

int mpix_clock_get(struct mpix_file *f, uint32_t lane, const struct mpix_knots **ret_clock, struct error *e)
{
	uint32_t clock = f->info.clock_of_lane != NULL ? f->info.clock_of_lane[lane] : 0;
	struct mpix_knots *to = &f->clocks[clock];
	const struct mpix_entry *x = mpix_find(f, MPIX_CLOCK, clock, 0);
	uint8_t *raw;
	*ret_clock = to;
	if (to->n > 0)
		return 0;
	if (x == NULL)
		return fail(e, -EBADMSG, "%s: clock %u is missing", f->path, clock);
	int rc = mpix_read_chunk(f, x, &raw, e);
	if (rc < 0)
		return rc;
	rc = mpix_knots_decode(cursor_over(raw, x->raw_bytes), to);
	free(raw);
	if (rc == 0)
		return 0;
	free(to->knots);
	*to = (struct mpix_knots){0};
	return rc == -ENOMEM ? fail(e, rc, "%s: out of memory", f->path) : mpix_damaged(f, x, e);
}
