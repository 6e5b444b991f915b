/* heatmap.h - who talks to whom, as a grid of at most HEATMAP_SIDE x HEATMAP_SIDE cells. */
#pragma once

#include "reports/html/page.h"

#define HEATMAP_SIDE 64
#define HEAT_STEPS 16

/* From little to much. */
extern const char *const heat_colours[HEAT_STEPS];
/* A ramp of them with what its ends stand for, and a word between. */
void put_ramp(struct page *p, const char *least, const char *between, const char *most);

struct heatmap {
	size_t nranks;				   /* or nodes, or switches; 0: nothing to draw */
	size_t group;				   /* ranks per cell side */
	const char *things;			   /* what they are; NULL: ranks */
	const cJSON *names;			   /* groups with their names, for tooltips, or NULL */
	size_t side;				   /* cells per side */
	double bytes[HEATMAP_SIDE * HEATMAP_SIDE]; /* row = sender */
	double count[HEATMAP_SIDE * HEATMAP_SIDE];
};

/* Add up entries {src, dst, bytes, count_key} of an array. Entries that name impossible ranks are
 * skipped. */
void heatmap_fill(struct heatmap *h, const cJSON *entries, const char *count_key, size_t nranks);
/* The same of entries whose src and dst are rows of `groups` (traffic_levels): groups of ranks, nodes or switches. */
void heatmap_fill_groups(struct heatmap *h, const cJSON *level, const char *kind);
/* Draw it as SVG with a title; values are shown on a logarithmic viridis scale. unit = what count
 * counts. */
void heatmap_draw(struct page *p, const struct heatmap *h, const char *title, const char *unit);
