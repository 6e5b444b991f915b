/* shape.h - the shape of the communication, recovered from who sent how much to whom
 * (SEMANTICS.md, section 6). A pattern is a function `void pattern_<name>(const struct shape *s, struct
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

/* A kind of traffic: messages with one-sided calls, which name who gets what, and collectives by their meaning. */
enum traffic_kind { MESSAGES = 1, COLLECTIVES = 2, ANY_KIND = MESSAGES | COLLECTIVES };

/* With less than both, sent and received, ranks that take part exchange almost nothing, and the shape is chance. */
#define PATTERN_MESSAGES_MIN 10
#define PATTERN_BYTES_MIN (64 * 1024)
/* A kind with less than this share of all bytes is not what the program's traffic looks like. */
#define PATTERN_SHARE_MIN 0.10

/* Traffic of one kind between different ranks. */
struct shape {
	const struct analysis *a;
	enum traffic_kind kind;
	double share; /* of all bytes */
	uint32_t n;
	struct link *links; /* ascending (src, dst), without src == dst */
	size_t nlinks;
	double bytes, count; /* in all; never 0 if nlinks > 0 */
	struct grid grid;    /* ndims 0: none fits */
};

/* patterns/grid.c */
void shape_find_grid(struct shape *s);
/* Is there traffic from src to dst? */
static inline bool shape_has(const struct shape *s, uint32_t src, uint32_t dst)
{
	return links_have(s->links, s->nlinks, src, dst);
}

/* Pattern, and in which kinds of traffic it is looked for. */
#define PATTERNS(ROW) \
	ROW(halo, ANY_KIND) \
	ROW(sweep, MESSAGES) \
	ROW(ring, ANY_KIND) \
	ROW(master_worker, MESSAGES) \
	ROW(all_to_all, ANY_KIND) \
	ROW(ping_pong, MESSAGES) \
	ROW(butterfly, MESSAGES) \
	ROW(tree, MESSAGES) \
	ROW(rooted_collective, COLLECTIVES)

#define DECLARE_PATTERN(name, kinds) void pattern_##name(const struct shape *s, struct pattern *p);
PATTERNS(DECLARE_PATTERN)
#undef DECLARE_PATTERN
