/* heatmap.h - who talks to whom, as a grid of at most HEATMAP_SIDE x HEATMAP_SIDE cells. */
#pragma once

#include "reports/html/page.h"

#define HEATMAP_SIDE 64

struct heatmap {
	size_t nranks;				   /* 0: nothing to draw */
	size_t group;				   /* ranks per cell side */
	size_t side;				   /* cells per side */
	double bytes[HEATMAP_SIDE * HEATMAP_SIDE]; /* row = sender */
	double count[HEATMAP_SIDE * HEATMAP_SIDE];
};

/* Add up entries {src, dst, bytes, count_key} of an array. Entries that name impossible ranks are
 * skipped. */
void heatmap_fill(struct heatmap *h, const cJSON *entries, const char *count_key, size_t nranks);
/* Draw it as SVG with a title; values are shown on a logarithmic viridis scale. unit = what count
 * counts. */
void heatmap_draw(struct page *p, const struct heatmap *h, const char *title, const char *unit);
