/* sec_timeline.c - how the activity changed over the run: one small chart per kind of activity, one
 * time axis. In: time_windows.  Out: rows of columns; neighbouring windows are added up when there
 * are many. */
#include "reports/html/section.h"

#include <math.h>
#include <stdlib.h>

#define COLUMNS_MAX 160
#define HEIGHT 44.0

static const struct {
	const char *key, *name;
	bool bytes;
} metrics[] = {
	{"events", "MPI calls", false},	       {"bytes", "data sent", true},	{"transfers", "messages", false},
	{"collectives", "collectives", false}, {"barriers", "barriers", false},
};

struct columns {
	double value[COLUMNS_MAX];
	size_t count;
	double max, sum;
};

static struct columns gather(const cJSON **window, size_t n, const char *key)
{
	struct columns c = {.count = n < COLUMNS_MAX ? n : COLUMNS_MAX};
	for (size_t i = 0; i < n; i++) {
		double v = json_number(window[i], key);
		c.value[i * c.count / n] += v > 0 ? v : 0;
	}
	for (size_t i = 0; i < c.count; i++) {
		c.max = fmax(c.max, c.value[i]);
		c.sum += c.value[i];
	}
	return c;
}

static void write_columns(struct page *p, const struct columns *c, const char *name)
{
	double width = 100.0 / (double)c->count;
	put(p,
	    "<svg class=\"columns\" width=\"100%%\" height=\"%.0f\" role=\"img\"><title>%s over "
	    "time</title>",
	    HEIGHT, name);
	for (size_t i = 0; i < c->count; i++) {
		double height = c->value[i] / c->max * HEIGHT;
		if (height > 0)
			put(p,
			    "<rect class=\"mpi\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" "
			    "height=\"%.1f\"/>",
			    (double)i * width, HEIGHT - fmax(height, 0.6), width * 0.9, fmax(height, 0.6));
	}
	put(p, "</svg>");
}

/* A run of tests in vain is one event of many calls. */
static bool are_all_single(const struct model *m)
{
	double calls = 0;
	for (const cJSON *row = json_first(m->root, "per_rank"); row != NULL; row = row->next)
		calls += fmax(json_number(row, "calls"), 0);
	return !(calls > json_number(m->coverage, "events"));
}

static void write_metric(struct page *p, const cJSON **window, size_t n, size_t metric)
{
	struct columns c = gather(window, n, metrics[metric].key);
	const char *name = metric == 0 && !are_all_single(p->model) ? "single events" : metrics[metric].name;
	if (c.max <= 0)
		return;
	struct fmt sum = metrics[metric].bytes ? fmt_bytes(c.sum) : fmt_count(c.sum);
	struct fmt max = metrics[metric].bytes ? fmt_bytes(c.max) : fmt_count(c.max);
	put(p, "<div>%s<small>%s in all<br>at most %s a column</small></div>\n<div>", name, sum.s, max.s);
	write_columns(p, &c, name);
	put(p, "</div>\n");
}

static void stack(struct page *p, const char *class, size_t i, double width, double value, double max, double *top)
{
	double height = value / max * HEIGHT;
	if (height < 0.05)
		return;
	*top -= height;
	put(p, "<rect class=\"%s\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\"/>", class,
	    (double)i * width, *top, width * 0.9, height);
}

#define STACKS \
	"<svg class=\"columns\" width=\"100%%\" height=\"%.0f\" role=\"img\"><title>useful, MPI and waiting over " \
	"time</title>"

/* How computing, MPI and waiting shared the time. It is drawn once: with the headline. */
static void write_stacks(struct page *p, const cJSON **window, size_t n)
{
	struct columns useful = gather(window, n, "useful_s"), mpi = gather(window, n, "mpi_s");
	struct columns wait = gather(window, n, "wait_s");
	double max = 0, width = 100.0 / (double)useful.count;
	for (size_t i = 0; i < useful.count; i++)
		max = fmax(max, useful.value[i] + mpi.value[i]);
	if (max <= 0)
		return;
	put(p, STACKS "<g id=\"shared-time\"", HEIGHT);
	if (p->model->carried != NULL && p->model->runtime_s > 0)
		put(p, " data-ns=\"%.0f\" data-columns=\"%zu\"", p->model->runtime_s * 1e9, useful.count);
	put(p, ">");
	for (size_t i = 0; i < useful.count; i++) {
		double top = HEIGHT, waiting = fmin(wait.value[i], mpi.value[i]);
		stack(p, "useful", i, width, useful.value[i], max, &top);
		stack(p, "mpi", i, width, mpi.value[i] - waiting, max, &top);
		stack(p, "wait", i, width, waiting, max, &top);
	}
	put(p, "</g></svg>");
}

static void write_axis(struct page *p)
{
	put(p, "<div class=\"axis\"><span>0 s</span><span>%s</span><span>%s</span></div>",
	    fmt_time(p->model->runtime_s / 2).s, fmt_time(p->model->runtime_s).s);
}

static bool has_timeline(const struct model *m)
{
	return json_count(m->root, "time_windows") > 1;
}

void put_time_strip(struct page *p)
{
	size_t n;
	const cJSON **window = has_timeline(p->model) ? json_objects(p->model->root, "time_windows", &n) : NULL;
	if (window == NULL)
		return;
	put(p, "<div class=\"strip-of-run\">");
	write_stacks(p, window, n);
	write_axis(p);
	put_time_legend(p);
	put(p, "</div>\n");
	free(window);
}

static void write_timeline(struct page *p)
{
	size_t n;
	const cJSON **window = json_objects(p->model->root, "time_windows", &n);
	if (window == NULL)
		return;
	put(p, "<div class=\"spark\">\n");
	put(p, "<div>time<small>useful below, MPI and waiting above</small></div>\n<div>");
	put(p, STACKS "<use href=\"#shared-time\"/></svg></div>\n", HEIGHT);
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		write_metric(p, window, n, i);
	put(p, "<div></div>");
	write_axis(p);
	put(p, "</div>\n");
	free(window);
}

/* From the least to the most of a part of the run. */
static void result(struct page *p)
{
	double least = 1, most = 0;
	for (const cJSON *w = json_first(p->model->root, "time_windows"); w != NULL; w = w->next) {
		double mpi = fmax(json_number(w, "mpi_s"), 0), all = mpi + fmax(json_number(w, "useful_s"), 0);
		if (!(all > 0))
			continue;
		least = fmin(least, mpi / all);
		most = fmax(most, mpi / all);
	}
	put(p, "in MPI from %s to %s of the time", fmt_share(fmin(least, most)).s, fmt_share(most).s);
}

const struct section section_timeline = {
	.id = "timeline",
	.title = "Over time",
	.how = "Total over ranks, from the start of the traced region to its end. Each row has its own scale.",
	.has = has_timeline,
	.result = result,
	.write = write_timeline,
};
