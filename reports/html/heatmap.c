/* heatmap.c - the communication matrix as SVG: cells of one colour are one path, so 4,096 cells
 * take few bytes. In: matrix entries in world ranks.  Out: a square with rank labels, and tooltips
 * when the ranks are few. */
#include "reports/html/heatmap.h"

#include <math.h>
#include <string.h>

#define STEPS HEAT_STEPS
#define LEFT 40
#define TOP 20
#define SQUARE 436.0
#define TOOLTIP_SIDE_MAX 32
#define RANK_MAX (1u << 20)

/* viridis (Smith, van der Walt; CC0), every 17th of 256. */
const char *const heat_colours[STEPS] = {"#440154", "#481a6c", "#472f7d", "#414487", "#39568c", "#31688e",
					 "#2a788e", "#23888e", "#1f988b", "#22a884", "#35b779", "#54c568",
					 "#7ad151", "#a5db36", "#d2e21b", "#fde725"};

static bool read_rank(const cJSON *entry, const char *key, size_t nranks, size_t *ret_rank)
{
	double v = json_number(entry, key);
	if (!(v >= 0 && v < (double)nranks))
		return false;
	*ret_rank = (size_t)v;
	return true;
}

void heatmap_fill(struct heatmap *h, const cJSON *entries, const char *count_key, size_t nranks)
{
	*h = (struct heatmap){.nranks = nranks < RANK_MAX ? nranks : RANK_MAX};
	h->group = (h->nranks + HEATMAP_SIDE - 1) / HEATMAP_SIDE;
	h->side = h->group > 0 ? (h->nranks + h->group - 1) / h->group : 0;
	for (const cJSON *v = cJSON_IsArray(entries) ? entries->child : NULL; v != NULL; v = v->next) {
		size_t src, dst;
		if (!read_rank(v, "src", h->nranks, &src) || !read_rank(v, "dst", h->nranks, &dst))
			continue;
		size_t cell = src / h->group * h->side + dst / h->group;
		h->bytes[cell] += fmax(json_number(v, "bytes"), 0);
		h->count[cell] += fmax(json_number(v, count_key), 0);
	}
}

void heatmap_fill_groups(struct heatmap *h, const cJSON *level, const char *kind)
{
	const cJSON *groups = json_item(level, "groups"), *first = json_first(level, "groups");
	bool ranks = strcmp(json_text(level, "level", ""), "ranks") == 0;
	size_t n = json_count(level, "groups");
	heatmap_fill(h, json_item(level, kind), "count", n < HEATMAP_SIDE ? n : HEATMAP_SIDE);
	h->names = ranks ? NULL : groups;
	h->things = ranks ? NULL : strcmp(json_text(level, "level", ""), "switches") == 0 ? "switches" : "nodes";
	double members = json_number(first, "members");
	if (!ranks || !(members >= 1 && members < RANK_MAX))
		return;
	h->group = (size_t)members; /* all but the last are as large */
	h->nranks = 0;
	for (const cJSON *g = first; g != NULL; g = g->next)
		h->nranks += (size_t)fmin(fmax(json_number(g, "ranks"), 0), RANK_MAX);
	h->nranks = h->nranks <= h->group * h->side ? h->nranks : h->group * h->side;
}

static void find_range(const double *value, size_t n, double *ret_min, double *ret_max)
{
	*ret_min = INFINITY;
	*ret_max = 0;
	for (size_t i = 0; i < n; i++) {
		if (value[i] > 0)
			*ret_min = fmin(*ret_min, value[i]);
		*ret_max = fmax(*ret_max, value[i]);
	}
}

static int step_of(double value, double min, double max)
{
	if (!(value > 0))
		return -1;
	if (max <= min)
		return STEPS / 2;
	int step = (int)(log(value / min) / log(max / min) * (STEPS - 1) + 0.5);
	return step < 0 ? 0 : step >= STEPS ? STEPS - 1 : step;
}

static void draw_step(struct page *p, const struct heatmap *h, const double *value, int step, double min, double max)
{
	bool any = false;
	for (size_t i = 0; i < h->side * h->side; i++) {
		if (step_of(value[i], min, max) != step)
			continue;
		if (!any)
			put(p, "<path fill=\"%s\" d=\"", heat_colours[step]);
		put(p, "M%zu %zuh1v1h-1z", i % h->side, i / h->side);
		any = true;
	}
	if (any)
		put(p, "\"/>");
}

static void put_place(struct page *p, const struct heatmap *h, size_t at)
{
	const cJSON *group = cJSON_IsArray(h->names) ? cJSON_GetArrayItem(h->names, (int)at) : NULL;
	if (group == NULL)
		put(p, "%zu", at);
	else
		put_text(p, json_text(group, "name", "?"), NAME_CHARS);
	if (json_number(group, "members") > 1)
		put(p, " and %s more", fmt_count(json_number(group, "members") - 1).s);
}

static void draw_tooltips(struct page *p, const struct heatmap *h, const char *unit)
{
	if (h->group > 1 || h->side > TOOLTIP_SIDE_MAX)
		return;
	put(p, "<g fill-opacity=\"0\">");
	for (size_t i = 0; i < h->side * h->side; i++) {
		if (!(h->count[i] > 0 || h->bytes[i] > 0))
			continue;
		struct place at = PLACE_ANYWHERE;
		if (h->names == NULL) {
			place_add_ranks(&at, (double)(i / h->side), (double)(i / h->side));
			place_add_ranks(&at, (double)(i % h->side), (double)(i % h->side));
		}
		put(p, "<rect x=\"%zu\" y=\"%zu\" width=\"1\" height=\"1\"", i % h->side, i / h->side);
		put_place_data(p, &at);
		put(p, "><title>");
		put_place(p, h, i / h->side);
		put(p, " \xe2\x86\x92 ");
		put_place(p, h, i % h->side);
		put(p, ": %s, %s</title></rect>", fmt_bytes(h->bytes[i]).s, fmt_many(h->count[i], unit).s);
	}
	put(p, "</g>");
}

/* About eight labels a side, at round steps. */
static void draw_labels(struct page *p, const struct heatmap *h)
{
	size_t step = 1;
	while ((h->nranks + step - 1) / step > 9)
		step *= 2;
	double scale = SQUARE / (double)(h->side * h->group);
	put(p, "<g class=\"tick\">");
	for (size_t r = 0; r < h->nranks; r += step) {
		double at = ((double)r + (h->group == 1 ? 0.5 : 0)) * scale;
		put(p, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%zu</text>", LEFT + at, TOP - 6, r);
		put(p, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%zu</text>", LEFT - 6, TOP + at + 4, r);
	}
	put(p, "</g>");
}

/* Of values that look alike a scale would tell of differences that are none. */
static bool print_alike(double min, double max, bool bytes)
{
	struct fmt least = bytes ? fmt_bytes(min) : fmt_count(min), most = bytes ? fmt_bytes(max) : fmt_count(max);
	return strcmp(least.s, most.s) == 0;
}

static void draw_equal(struct page *p, double value, bool bytes)
{
	put(p,
	    "<div class=\"scale\"><div class=\"axis\"><span><svg width=\"14\" height=\"12\" aria-hidden=\"true\"><rect "
	    "width=\"14\" height=\"12\" fill=\"%s\"/></svg> all equal: %s</span><span>blank: none</span></div></div>\n",
	    heat_colours[STEPS / 2], bytes ? fmt_bytes(value).s : fmt_count(value).s);
}

void put_ramp(struct page *p, const char *least, const char *between, const char *most)
{
	put(p,
	    "<div class=\"scale\"><svg class=\"ramp\" viewBox=\"0 0 %d 1\" "
	    "preserveAspectRatio=\"none\" "
	    "aria-hidden=\"true\">",
	    STEPS);
	for (int i = 0; i < STEPS; i++)
		put(p, "<rect x=\"%d\" width=\"1.02\" height=\"1\" fill=\"%s\"/>", i, heat_colours[i]);
	put(p, "</svg><div class=\"axis\"><span>%s</span><span>%s</span><span>%s</span></div></div>\n", least, between,
	    most);
}

static void draw_ramp(struct page *p, double min, double max, bool bytes)
{
	if (max <= min) {
		draw_equal(p, min, bytes);
		return;
	}
	put_ramp(p, bytes ? fmt_bytes(min).s : fmt_count(min).s, "blank: none \xc2\xb7 logarithmic",
		 bytes ? fmt_bytes(max).s : fmt_count(max).s);
}

void heatmap_draw(struct page *p, const struct heatmap *h, const char *title, const char *unit)
{
	double min, max;
	size_t cells = h->side * h->side;
	bool bytes = true;
	find_range(h->bytes, cells, &min, &max);
	if (max <= 0) {
		bytes = false;
		find_range(h->count, cells, &min, &max);
	}
	if (max <= 0)
		return;
	if (print_alike(min, max, bytes))
		max = min;
	const double *value = bytes ? h->bytes : h->count;
	put(p,
	    "<figure><figcaption><b>%s</b>%ss between sender (row) and receiver "
	    "(column), %s</figcaption>\n",
	    title, bytes ? "byte" : unit,
	    h->things != NULL ? h->things
	    : h->group > 1    ? "groups of ranks"
			      : "ranks");
	put(p,
	    "<svg class=\"map\" viewBox=\"0 0 480 460\" role=\"img\"><title>%s: from sender (row) to "
	    "receiver (column)</title>",
	    title);
	draw_labels(p, h);
	put(p, "<g%s transform=\"translate(%d %d) scale(%.4f)\" shape-rendering=\"crispEdges\">",
	    h->side <= TOOLTIP_SIDE_MAX ? " class=\"cells\"" : "", LEFT, TOP, SQUARE / (double)h->side);
	for (int step = 0; step < STEPS; step++)
		draw_step(p, h, value, step, min, max);
	draw_tooltips(p, h, unit);
	put(p, "</g><rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"%.0f\"/></svg>\n", LEFT, TOP,
	    SQUARE, SQUARE);
	draw_ramp(p, min, max, bytes);
	put(p, "</figure>\n");
}
