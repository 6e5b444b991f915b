/* mpix_head.c - see mpix_head.h. In: what the caller says of the run, not trusted. Out: a copy with its own lists. */
#include "format/mpix_head.h"

#include <math.h>
#include <stdlib.h>

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

static int copy_names(struct mpix_head *h, const struct mpix_info *info)
{
	h->ops = calloc(info->nops + 1u, sizeof(*h->ops));
	for (uint32_t i = 0; h->ops != NULL && i < info->nops; i++)
		if ((h->ops[i] = strdup(info->ops[i])) == NULL)
			return -ENOMEM;
	h->info.ops = (const char *const *)h->ops;
	return h->ops != NULL ? 0 : -ENOMEM;
}

static int copy_clocks(struct mpix_head *h, const struct mpix_info *info)
{
	struct mpix_clock *clocks = calloc(info->nclocks, sizeof(*clocks));
	h->info.clocks = clocks;
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

/* What h->info points to becomes its own, or NULL. */
static int copy_info(struct mpix_head *h, const struct mpix_info *info)
{
	h->info = *info;
	h->info.ops = NULL;
	h->info.clocks = NULL;
	h->info.lanes = h->lanes.n;
	h->info.places = info->places > 0 ? info->places : 1;
	int rc = copy_list(&h->info.threads, info->ranks);
	if (copy_list(&h->info.clock_of_lane, h->lanes.n) < 0)
		rc = -ENOMEM;
	if (copy_list(&h->info.place_of_rank, info->ranks) < 0)
		rc = -ENOMEM;
	if (rc == 0)
		rc = copy_names(h, info);
	return rc == 0 ? copy_clocks(h, info) : rc;
}

static uint32_t rank_levels(uint32_t ranks)
{
	uint32_t levels = 1;
	for (uint64_t rows = ranks; rows > MPIX_TILE_ROWS; rows = (rows + MPIX_ROW_FACTOR - 1) / MPIX_ROW_FACTOR)
		levels++;
	return levels;
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

static int prepare(struct mpix_head *h, const struct mpix_info *info)
{
	if (copy_info(h, info) < 0 || (h->sigs = calloc(info->ranks, sizeof(*h->sigs))) == NULL)
		return -ENOMEM;
	h->shape = (struct mpix_shape){
		.group_ranks = MPIX_GROUP_RANKS,
		.rows = MPIX_TILE_ROWS,
		.bins = MPIX_TILE_BINS,
		.row_factor = MPIX_ROW_FACTOR,
		.rank_levels = rank_levels(h->info.ranks),
	};
	return 0;
}

int mpix_head_begin(struct mpix_head *h, const char *path, const struct mpix_info *info, struct error *e)
{
	if (info->ranks < 1 || info->ranks > RANKS_MAX || info->nops > MPIX_OPS_MAX || info->runtime_ns < 0 ||
	    info->runtime_ns > MPIX_RUNTIME_MAX_NS)
		return fail(e, -EINVAL, "%s: %u ranks, %u operations, %lld ns: outside the format's limits", path,
			    info->ranks, info->nops, (long long)info->runtime_ns);
	int rc = mpix_lanes_make(&h->lanes, info->ranks, info->threads);
	if (rc == -EINVAL)
		return fail(e, rc, "%s: threads of its ranks are outside the format's limits", path);
	if (rc == 0 && !info_is_sane(info, h->lanes.n))
		return fail(e, -EINVAL, "%s: clocks or places of its ranks are outside the format's limits", path);
	return rc < 0 || prepare(h, info) < 0 ? fail(e, -ENOMEM, "%s: out of memory", path) : 0;
}

void mpix_head_done(struct mpix_head *h)
{
	for (uint32_t i = 0; h->ops != NULL && h->ops[i] != NULL; i++)
		free(h->ops[i]);
	free(h->ops);
	for (uint32_t i = 0; h->info.clocks != NULL && i < h->info.nclocks; i++)
		free((void *)(uintptr_t)h->info.clocks[i].knots);
	free((void *)(uintptr_t)h->info.clocks);
	free((void *)(uintptr_t)h->info.threads);
	free((void *)(uintptr_t)h->info.clock_of_lane);
	free((void *)(uintptr_t)h->info.place_of_rank);
	for (uint32_t r = 0; h->sigs != NULL && r < h->info.ranks; r++)
		free(h->sigs[r].at);
	free(h->sigs);
	mpix_lanes_done(&h->lanes);
}
