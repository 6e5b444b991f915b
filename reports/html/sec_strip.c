/* sec_strip.c - ranks x time: who was in MPI when, and who waited. A rank is late where others wait and it does not.
 * In: rank_time.  Out: two strips of at most 32 x 100 cells; cells of one colour are one path. */
#include "reports/html/heatmap.h"
#include "reports/html/section.h"

#include <math.h>
#include <stdlib.h>

#define ROWS_MAX 32
#define COLUMNS_MAX 100
#define ROW_PIXELS 18u /* of few rows */
#define PIXELS_MAX 224u

struct strip {
	double share[ROWS_MAX][COLUMNS_MAX]; /* NAN: nobody was there */
	double most;
	size_t rows, columns;
};

static double next_number(const cJSON **v)
{
	double number = *v != NULL ? json_number_of(*v) : NAN;
	*v = *v != NULL ? (*v)->next : NULL;
	return number > 0 ? number : 0;
}

static void read_row(struct strip *s, const cJSON *row, const char *key)
{
	const cJSON *useful = json_first(row, "useful_s"), *mpi = json_first(row, "mpi_s"),
		    *part = json_first(row, key);
	size_t at = 0;
	for (; at < COLUMNS_MAX && (useful != NULL || mpi != NULL); at++) {
		double mpi_s = next_number(&mpi), all = next_number(&useful) + mpi_s, of = next_number(&part);
		s->share[s->rows][at] = all > 0 ? fmin(of / all, 1) : NAN;
		s->most = all > 0 ? fmax(s->most, fmin(of / all, 1)) : s->most;
	}
	for (size_t i = at; i < COLUMNS_MAX; i++)
		s->share[s->rows][i] = NAN;
	s->columns = at > s->columns ? at : s->columns;
	s->rows++;
}

static void draw_step(struct page *p, const struct strip *s, int step)
{
	bool any = false;
	for (size_t row = 0; row < s->rows; row++)
		for (size_t i = 0; i < s->columns; i++) {
			double share = s->share[row][i];
			if (isnan(share) || (int)(share / s->most * (HEAT_STEPS - 1) + 0.5) != step)
				continue;
			if (!any)
				put(p, "<path fill=\"%s\" d=\"", heat_colours[step]);
			put(p, "M%zu %zuh1v1h-1z", i, row);
			any = true;
		}
	if (any)
		put(p, "\"/>");
}

/* For the pointer: whose row is where, and how long all of it is. */
static void put_cells(struct page *p, const struct strip *s)
{
	const cJSON *row = json_first(p->model->root, "rank_time");
	if (p->model->carried == NULL || !(p->model->runtime_s > 0))
		return;
	put(p, " data-ns=\"%.0f\" data-columns=\"%zu\" data-ranks=\"", p->model->runtime_s * 1e9, s->columns);
	for (size_t i = 0; i < s->rows && row != NULL; i++, row = row->next)
		put(p, "%s%.0f-%.0f", i > 0 ? " " : "", json_number_or(row, "first_rank", 0),
		    json_number_or(row, "last_rank", 0));
	put(p, "\"");
}

static void write_strip(struct page *p, const char *key, const char *title)
{
	struct strip *s = calloc(1, sizeof(*s));
	const cJSON *first = json_first(p->model->root, "rank_time"), *last = NULL;
	for (const cJSON *row = first; row != NULL && s != NULL && s->rows < ROWS_MAX; last = row, row = row->next)
		read_row(s, row, key);
	if (s == NULL || !(s->most > 0)) {
		free(s);
		return;
	}
	put(p,
	    "<figure class=\"strip\"><figcaption><b>%s</b></figcaption>\n<div class=\"sides\"><span>rank %.0f</span>"
	    "<span>rank %.0f</span></div><svg viewBox=\"0 0 %zu %zu\" preserveAspectRatio=\"none\" "
	    "height=\"%zu\" shape-rendering=\"crispEdges\" role=\"img\"",
	    title, json_number_or(first, "first_rank", 0), json_number_or(last, "last_rank", 0), s->columns, s->rows,
	    s->rows * ROW_PIXELS < PIXELS_MAX ? s->rows * ROW_PIXELS : PIXELS_MAX);
	put_cells(p, s);
	put(p, "><title>%s, by rank and time</title>", title);
	for (int step = 0; step < HEAT_STEPS; step++)
		draw_step(p, s, step);
	put(p, "</svg><div class=\"axis\"><span>0 s</span><span>%s</span><span>%s</span></div>\n",
	    fmt_time(p->model->runtime_s / 2).s, fmt_time(p->model->runtime_s).s);
	put_ramp(p, "0 %", "of the time there", fmt_share(s->most).s);
	put(p, "</figure>\n");
	free(s);
}

static void write_strips(struct page *p)
{
	const cJSON *first = json_first(p->model->root, "rank_time");
	double each = json_number(first, "last_rank") - json_number(first, "first_rank") + 1;
	write_strip(p, "mpi_s", "In MPI");
	if (p->model->waits_known)
		write_strip(p, "wait_s", "Waiting for others");
	if (each > 1)
		put(p, "<p class=\"note\">A row is about %s ranks.</p>\n", fmt_count(each).s);
}

static double sum_of(const cJSON *row, const char *key)
{
	double sum = 0;
	for (const cJSON *v = json_first(row, key); v != NULL; v = v->next)
		sum += fmax(json_number_of(v), 0);
	return sum;
}

/* Who waits most, or is in MPI most. */
static void result(struct page *p)
{
	const char *key = p->model->waits_known ? "wait_s" : "mpi_s";
	const cJSON *most = NULL;
	double largest = 0;
	for (const cJSON *row = json_first(p->model->root, "rank_time"); row != NULL; row = row->next) {
		double all = sum_of(row, "useful_s") + sum_of(row, "mpi_s"),
		       share = all > 0 ? sum_of(row, key) / all : 0;
		largest = share > largest ? (most = row, share) : largest;
	}
	if (most == NULL) {
		put(p, "nobody %s", p->model->waits_known ? "waited" : "was in MPI");
		return;
	}
	double first = json_number(most, "first_rank"), last = json_number(most, "last_rank");
	put(p, last > first ? "ranks %.0f\xe2\x80\x93%.0f " : "rank %.0f ", first, last);
	put(p, "%s most: %s of %s time", p->model->waits_known ? "waits" : "is in MPI", fmt_share(largest).s,
	    last > first ? "their" : "its");
}

static bool has_strips(const struct model *m)
{
	return json_count(m->root, "rank_time") > 1;
}

const struct section section_strip = {
	.id = "strip",
	.title = "Ranks over time",
	.how = "A row for each group of ranks, time from left to right. Under \"Waiting for others\" a bright row "
	       "waits, a dark one among bright ones is who they wait for, and a bright column is when all wait.",
	.has = has_strips,
	.result = result,
	.write = write_strips,
};
