/* lateness.c - see lateness.h. Open steps stand in a hash table by step and site; those that are over become sums. */
#include "postproc/stream/lateness.h"

#include "base/index.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 131072u /* a power of two */
#define OPEN_MAX (SLOTS / 2)

/* Calls of one site at one step. Times of their ends. */
struct group {
	uint32_t step, site, calls, last_rank; /* no calls: the slot is free */
	int64_t first_ns, last_ns;
	int64_t sum_ns; /* of what they are after any one of them, base_ns */
	int64_t base_ns;
};

struct lateness {
	struct group *slots, *kept;
	struct late_site *sites;
	uint32_t nsites, open, closed; /* steps before `closed` are */
	uint64_t left_out;
};

struct lateness *lateness_create(uint32_t nsites)
{
	struct lateness *l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	l->nsites = nsites;
	l->slots = calloc(SLOTS, sizeof(*l->slots));
	l->kept = calloc(OPEN_MAX + 1, sizeof(*l->kept));
	l->sites = calloc(nsites + 1u, sizeof(*l->sites));
	if (l->slots != NULL && l->kept != NULL && l->sites != NULL)
		return l;
	lateness_destroy(l);
	return NULL;
}

void lateness_destroy(struct lateness *l)
{
	if (l == NULL)
		return;
	free(l->slots);
	free(l->kept);
	free(l->sites);
	free(l);
}

#define SLOTS_A_STEP 4u

/* Ranks are at steps that lie near each other, and so do these in memory; where that place is taken, anywhere. */
static struct group *slot_of(struct lateness *l, uint32_t step, uint32_t site)
{
	size_t at = ((size_t)step * SLOTS_A_STEP + site % SLOTS_A_STEP) & (SLOTS - 1), stride = 0;
	while (l->slots[at].calls > 0 && (l->slots[at].step != step || l->slots[at].site != site)) {
		stride = stride == 0 ? index_mix(step, site) | 1 : stride; /* odd: it comes by all */
		at = (at + stride) & (SLOTS - 1);
	}
	return &l->slots[at];
}

int lateness_add(struct lateness *l, uint32_t step, uint32_t site, uint32_t rank, int64_t end_ns)
{
	if (site >= l->nsites)
		return 0;
	if (step < l->closed) {
		l->left_out++;
		return 0;
	}
	struct group *g = slot_of(l, step, site);
	if (g->calls == 0) {
		*g = (struct group){step, site, 0, rank, end_ns, end_ns, 0, end_ns};
		l->open++;
	}
	g->calls++;
	g->sum_ns += end_ns - g->base_ns;
	if (end_ns < g->first_ns)
		g->first_ns = end_ns;
	if (end_ns > g->last_ns) {
		g->last_ns = end_ns;
		g->last_rank = rank;
	}
	return l->open >= OPEN_MAX;
}

static void close_group(struct lateness *l, const struct group *g)
{
	struct late_site *s = &l->sites[g->site];
	int64_t most_ns = g->last_ns - g->first_ns;
	if (g->calls < 2)
		return;
	s->calls += g->calls;
	s->total_ns += g->sum_ns - (g->first_ns - g->base_ns) * (int64_t)g->calls;
	if (most_ns > s->max_ns) {
		s->max_ns = most_ns;
		s->max_rank = g->last_rank;
	}
}

static void close_before(struct lateness *l, uint32_t step)
{
	uint32_t kept = 0;
	for (size_t i = 0; i < SLOTS; i++) {
		if (l->slots[i].calls > 0 && l->slots[i].step >= step)
			l->kept[kept++] = l->slots[i];
		else if (l->slots[i].calls > 0)
			close_group(l, &l->slots[i]);
	}
	memset(l->slots, 0, SLOTS * sizeof(*l->slots));
	for (uint32_t i = 0; i < kept; i++)
		*slot_of(l, l->kept[i].step, l->kept[i].site) = l->kept[i];
	l->open = kept;
	l->closed = step > l->closed ? step : l->closed;
}

/* In the middle of those that are open. */
static uint32_t middle(const struct lateness *l)
{
	uint32_t first = UINT32_MAX, last = 0;
	for (size_t i = 0; i < SLOTS; i++) {
		if (l->slots[i].calls == 0)
			continue;
		first = l->slots[i].step < first ? l->slots[i].step : first;
		last = l->slots[i].step > last ? l->slots[i].step : last;
	}
	return first + (last - first) / 2 + 1;
}

void lateness_close(struct lateness *l, uint32_t step)
{
	close_before(l, step);
	while (l->open > OPEN_MAX / 2)
		close_before(l, middle(l));
}

struct late_site *lateness_result(struct lateness *l, uint64_t *ret_left_out)
{
	struct late_site *sites = l->sites;
	close_before(l, UINT32_MAX);
	*ret_left_out = l->left_out;
	l->sites = NULL;
	return sites;
}
