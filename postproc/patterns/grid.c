/* grid.c - halo exchange, sweep and ring: all three are neighbours of a process grid of one
 * to three dimensions. Every factorisation of the number of ranks is tried; the grid explains the
 * traffic best if most bytes go to neighbours and most neighbours exchange something. */
#include "postproc/patterns/shape.h"
#include "base/units.h"

#include <stdio.h>

static void coordinates(const struct grid *g, uint32_t rank, uint32_t *ret)
{
	for (unsigned d = g->ndims; d-- > 0;) {
		ret[d] = rank % g->size[d];
		rank /= g->size[d];
	}
}

/* What one pair is in the grid: dimensions in which the two are neighbours, and around which end.
 */
struct step_kind {
	bool neighbour;
	unsigned moved; /* how many coordinates differ */
	unsigned dim;	/* the last that does */
	bool around;	/* over the periodic border */
};

static struct step_kind kind_of(const struct grid *g, uint32_t src, uint32_t dst)
{
	uint32_t a[GRID_DIMS_MAX], b[GRID_DIMS_MAX];
	struct step_kind k = {.neighbour = true};
	coordinates(g, src, a);
	coordinates(g, dst, b);
	for (unsigned d = 0; d < g->ndims; d++) {
		uint32_t gap = a[d] > b[d] ? a[d] - b[d] : b[d] - a[d];
		if (gap == 0)
			continue;
		bool around = g->size[d] > 2 && gap == g->size[d] - 1;
		k.moved++;
		k.dim = d;
		k.around |= around;
		k.neighbour &= gap == 1 || around;
	}
	return k;
}

struct face_count {
	double bytes;		      /* to neighbours, diagonal ones too */
	double inner[GRID_DIMS_MAX];  /* pairs that use a face inside */
	double around[GRID_DIMS_MAX]; /* and over the border */
	double both_ways;
};

static void count_links(const struct shape *s, const struct grid *g, struct face_count *t)
{
	for (size_t i = 0; i < s->nlinks; i++) {
		const struct link *c = &s->links[i];
		struct step_kind k = kind_of(g, c->src, c->dst);
		if (!k.neighbour)
			continue;
		t->bytes += (double)c->bytes;
		if (k.moved != 1)
			continue;
		*(k.around ? &t->around[k.dim] : &t->inner[k.dim]) += 1;
		t->both_ways += shape_has(s, c->dst, c->src);
	}
}

/* Does this grid explain the traffic better than the best so far? A face between two ranks counts
 * once, whatever the direction: of a one-way sweep all faces are used. */
static void try_grid(const struct shape *s, struct grid *g, struct grid *best)
{
	struct face_count t = {0};
	double expected = 0, used = 0, pairs = 0;
	count_links(s, g, &t);
	for (unsigned d = 0; d < g->ndims; d++)
		pairs += t.inner[d] + t.around[d];
	g->share = t.bytes / s->bytes;
	g->two_way = pairs > 0 ? t.both_ways / pairs : 0;
	for (unsigned d = 0; d < g->ndims; d++) {
		double lines = (double)s->n / g->size[d];
		g->periodic[d] = t.around[d] > 0;
		expected += lines * (g->size[d] - 1 + (g->periodic[d] ? 1 : 0));
		used += (t.inner[d] + t.around[d]) / (1 + g->two_way);
	}
	g->coverage = expected > 0 ? used / expected : 0;
	if (g->coverage > 1)
		g->coverage = 1;
	if (best->ndims == 0 || g->share * g->coverage > 1.001 * best->share * best->coverage)
		*best = *g;
}

static void try_factors(const struct shape *s, struct grid *g, uint32_t left, struct grid *best)
{
	for (uint32_t f = 2; f <= left; f++) {
		if (left % f != 0)
			continue;
		g->size[g->ndims++] = f;
		if (f == left)
			try_grid(s, g, best);
		else if (g->ndims < GRID_DIMS_MAX)
			try_factors(s, g, left / f, best);
		g->ndims--;
	}
}

/* a grid has at most 26 neighbours a rank; denser traffic is none */
#define GRID_LINKS_MAX 200000

void shape_find_grid(struct shape *s)
{
	struct grid g = {0}, best = {0};
	if (s->n < 3 || s->nlinks == 0 || s->nlinks > GRID_LINKS_MAX || s->nlinks > 26.0 * s->n)
		return;
	try_factors(s, &g, s->n, &best);
	s->grid = best;
}

static void copy_grid(const struct grid *g, struct pattern *p)
{
	p->ndims = g->ndims;
	memcpy(p->grid, g->size, sizeof(p->grid));
	memcpy(p->periodic, g->periodic, sizeof(p->periodic));
}

static void describe(const struct grid *g, const char *what, struct pattern *p)
{
	char shape[64];
	int n = 0;
	for (unsigned d = 0; d < g->ndims; d++)
		n += snprintf(shape + n, sizeof(shape) - (size_t)n, "%s%u", d > 0 ? " x " : "", g->size[d]);
	if (g->ndims == 1)
		snprintf(shape, sizeof(shape), "%s ranks in a %s", fmt_count(g->size[0]).s,
			 g->periodic[0] ? "ring" : "line");
	else
		snprintf(shape + n, sizeof(shape) - (size_t)n, " grid");
	snprintf(p->evidence, sizeof(p->evidence),
		 "%s: %.0f %% of the bytes go to neighbours, %.0f %% of the neighbours %s", shape, 100 * g->share,
		 100 * g->coverage, what);
	copy_grid(g, p);
}

void pattern_halo(const struct shape *s, struct pattern *p)
{
	const struct grid *g = &s->grid;
	double density = (double)s->nlinks / ((double)s->n * (s->n - 1));
	if (g->ndims < 2 || g->two_way < 0.8 || density > 0.8) /* in a tiny grid all are neighbours of all */
		return;
	p->score = g->share * g->coverage;
	describe(g, "exchange both ways", p);
}

void pattern_sweep(const struct shape *s, struct pattern *p)
{
	const struct grid *g = &s->grid;
	if (g->ndims < 1 || g->two_way > 0.2 || (g->ndims == 1 && g->periodic[0]))
		return;
	p->score = g->share * g->coverage;
	describe(g, "exchange in one direction only", p);
}

void pattern_ring(const struct shape *s, struct pattern *p)
{
	const struct grid *g = &s->grid;
	if (g->ndims != 1 || s->n < 3 || (g->two_way <= 0.2 && !g->periodic[0]))
		return;
	p->score = g->share * g->coverage;
	describe(g, g->periodic[0] ? "exchange, the last with the first too" : "exchange", p);
}
