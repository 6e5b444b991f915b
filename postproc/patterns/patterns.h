/* patterns.h - the shape of the communication, recovered from who sent how much to whom
 * (SEMANTICS.md 5). A pattern is a function `void pattern_<name>(const struct shape *s, struct
 * pattern *p)` that sets p->score, and one row in PATTERNS. Scores are 0..1; below
 * PATTERN_SCORE_MIN a pattern does not hold. */
#pragma once

#include "postproc/analysis.h"

#define PATTERN_SCORE_MIN 0.8
#define GRID_DIMS_MAX 3

struct pattern {
	const char *name;
	double score;
	char evidence[240];
	uint32_t ranks[16];
	unsigned nranks; /* 0: all */
	unsigned ndims;	 /* 0: no grid */
	uint32_t grid[GRID_DIMS_MAX];
	bool periodic[GRID_DIMS_MAX];
};

/* The best process grid: ranks in row-major order, the last dimension fastest, as MPI_Cart_create
 * numbers them. */
struct grid {
	unsigned ndims;
	uint32_t size[GRID_DIMS_MAX];
	bool periodic[GRID_DIMS_MAX];
	double share;	 /* of the bytes between different ranks: to neighbours of the grid */
	double coverage; /* of the grid's neighbours: that do exchange something */
	double two_way;	 /* of the neighbours that exchange: in both directions */
};

/* Point-to-point traffic between different ranks. */
struct shape {
	const struct analysis *a;
	uint32_t n;
	struct link *links; /* ascending (src, dst), without src == dst */
	size_t nlinks;
	double bytes, count; /* in all; never 0 if nlinks > 0 */
	struct grid grid;    /* ndims 0: none fits */
};

/* patterns/grid.c */
void shape_find_grid(struct shape *s);
/* Is there traffic from src to dst? */
bool shape_has(const struct shape *s, uint32_t src, uint32_t dst);

#define PATTERNS(ROW) \
	ROW(halo) \
	ROW(sweep) \
	ROW(ring) \
	ROW(master_worker) \
	ROW(all_to_all) \
	ROW(ping_pong) \
	ROW(butterfly) \
	ROW(tree) \
	ROW(rooted_collective)

#define DECLARE_PATTERN(name) void pattern_##name(const struct shape *s, struct pattern *p);
PATTERNS(DECLARE_PATTERN)
#undef DECLARE_PATTERN
