/* graph.c - shapes that are recognised by counting links: all-to-all, ping-pong, butterfly, tree.
 */
#include "postproc/patterns/shape.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>

void pattern_all_to_all(const struct shape *s, struct pattern *p)
{
	double possible = (double)s->n * (s->n - 1), smallest = INFINITY;
	if (s->n < 4 || s->nlinks == 0)
		return;
	for (size_t i = 0; i < s->nlinks; i++)
		smallest = fmin(smallest, (double)s->links[i].bytes);
	double density = (double)s->nlinks / possible, mean = s->bytes / (double)s->nlinks;
	double even = fmin(1, 2 * smallest / mean); /* nobody gets less than half of the mean */
	p->score = density * (0.7 + 0.3 * even);
	snprintf(p->evidence, sizeof(p->evidence), "%s of %s possible pairs exchange, the least %.0f %% of the mean",
		 fmt_count((double)s->nlinks).s, fmt_count(possible).s, 100 * smallest / mean);
}

static uint32_t partners_of(const struct shape *s, uint32_t rank)
{
	uint32_t n = 0;
	for (size_t i = 0; i < s->nlinks; i++)
		n += s->links[i].src == rank || (s->links[i].dst == rank && !shape_has(s, rank, s->links[i].src));
	return n;
}

static double reverse_count(const struct shape *s, const struct link *c)
{
	for (size_t i = 0; i < s->nlinks; i++)
		if (s->links[i].src == c->dst && s->links[i].dst == c->src)
			return (double)s->links[i].count;
	return 0;
}

#define PING_PONG_PAIRS_MAX 8

/* Few pairs, each rank with one partner, as many messages there as back, and each an answer to the one before: in an
 * exchange both send before they receive. */
void pattern_ping_pong(const struct shape *s, struct pattern *p)
{
	double balance = 1, turns = alternation_share(&s->a->alternation);
	if (s->nlinks == 0 || s->nlinks > 2 * PING_PONG_PAIRS_MAX || (s->n > 2 && s->nlinks > s->n))
		return;
	for (size_t i = 0; i < s->nlinks; i++) {
		const struct link *c = &s->links[i];
		double there = (double)c->count, back = reverse_count(s, c);
		if (partners_of(s, c->src) != 1)
			return;
		balance = fmin(balance, fmin(there, back) / fmax(there, back));
		p->ranks[p->nranks++] = c->src;
	}
	if (s->count < 20 || isnan(turns))
		return;
	p->score = balance * turns;
	snprintf(p->evidence, sizeof(p->evidence),
		 "%s, %s, as many there as back within %.0f %%; %.0f %% answer the one before",
		 fmt_many((double)(s->nlinks / 2), "pair").s, fmt_many((double)s->count, "message").s,
		 100 * (1 - balance), 100 * turns);
}

static bool is_power_of_two(uint32_t x)
{
	return x != 0 && (x & (x - 1)) == 0;
}

void pattern_butterfly(const struct shape *s, struct pattern *p)
{
	double bytes = 0, pairs = 0, stages = log2(s->n);
	if (s->n < 8 || !is_power_of_two(s->n))
		return;
	for (size_t i = 0; i < s->nlinks; i++) {
		if (!is_power_of_two(s->links[i].src ^ s->links[i].dst))
			continue;
		bytes += (double)s->links[i].bytes;
		pairs++;
	}
	if (s->nlinks == 0)
		return;
	p->score = bytes / s->bytes * pairs / (s->n * stages);
	snprintf(p->evidence, sizeof(p->evidence),
		 "%.0f %% of the bytes go between ranks that differ in one bit, in %.0f stages", 100 * bytes / s->bytes,
		 stages);
}

static uint32_t root_of(uint32_t *parent, uint32_t x)
{
	while (parent[x] != x)
		x = parent[x] = parent[parent[x]];
	return x;
}

/* All ranks connected by n - 1 pairs without a circle; neither a star nor a chain. */
void pattern_tree(const struct shape *s, struct pattern *p)
{
	uint32_t *parent = s->n < 4 || s->nlinks > 2ull * s->n ? NULL : malloc(2 * s->n * sizeof(*parent));
	uint32_t edges = 0, widest = 0;
	if (parent == NULL)
		return;
	uint32_t *degree = parent + s->n;
	for (uint32_t r = 0; r < s->n; r++) {
		parent[r] = r;
		degree[r] = 0;
	}
	for (size_t i = 0; i < s->nlinks; i++) {
		uint32_t a = root_of(parent, s->links[i].src), b = root_of(parent, s->links[i].dst);
		if (a == b)
			continue;
		parent[a] = b;
		edges++;
		degree[s->links[i].src]++;
		degree[s->links[i].dst]++;
	}
	uint32_t pairs = 0;
	for (size_t i = 0; i < s->nlinks; i++)
		pairs += s->links[i].src < s->links[i].dst || !shape_has(s, s->links[i].dst, s->links[i].src);
	for (uint32_t r = 0; r < s->n; r++)
		widest = degree[r] > widest ? degree[r] : widest;
	if (edges == s->n - 1 && pairs == edges && widest > 2 && widest < s->n - 1) {
		p->score = 0.9;
		snprintf(p->evidence, sizeof(p->evidence), "%s pairs connect all %s ranks without a cycle",
			 fmt_count(pairs).s, fmt_count(s->n).s);
	}
	free(parent);
}
