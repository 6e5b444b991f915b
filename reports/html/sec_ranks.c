/* sec_ranks.c - is the work even: a bar per rank, or per group of ranks when there are many.
 * In: per_rank.  Out: rows up to ROWS_MAX ranks; else columns of groups, and the extreme ranks by
 * name. */
#include "reports/html/section.h"

#include <math.h>
#include <stdlib.h>

#define ROWS_MAX 32
#define COLUMNS_MAX 128
#define EXTREMES 5
#define HEIGHT 180.0

static void write_node(struct page *p, const struct rank_row *r)
{
	put_text(p, r->node, 24);
	if (r->end == RANK_MISSING)
		put(p, " <small class=\"low\">not in the trace</small>");
	else if (r->end == RANK_EARLY)
		put(p, " <small class=\"low\">ended early</small>");
	if (r->exit_status > 0)
		put(p, " <small class=\"low\">exit code %.0f</small>", r->exit_status);
}

static void write_row(struct page *p, const struct rank_row *r, double full_s)
{
	struct place at = place_of_ranks((double)r->rank, (double)r->rank);
	put(p, "<tr><th scope=\"row\" class=\"n\">");
	bool link = begin_place(p, &at);
	put(p, "%ld", r->rank);
	end_place(p, link);
	put(p, "</th><td>");
	write_node(p, r);
	put(p, "</td><td class=\"wide\"");
	put_place_data(p, &at);
	put(p, ">");
	put_time_bar(p, r->useful_s, r->mpi_s, r->wait_s, full_s);
	put(p,
	    "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>"
	    "<td class=\"n\">%s</td>",
	    fmt_time(r->useful_s).s, fmt_time(r->mpi_s).s, p->model->waits_known ? fmt_time(r->wait_s).s : "not known",
	    fmt_time(r->tracing_s).s, fmt_bytes(r->bytes_out).s);
	if (p->model->processor_wait.seen)
		put(p, "<td class=\"n\">%s</td>", fmt_time(r->processor_wait_s).s);
	put(p, "</tr>\n");
}

static void begin_rows(struct page *p, const char *caption)
{
	put(p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><caption>%s</caption>\n<thead><tr><th scope=\"col\" "
	    "class=\"n\">rank</th>"
	    "<th scope=\"col\">node</th><td></td><th scope=\"col\" "
	    "class=\"n\">useful</th>"
	    "<th scope=\"col\" class=\"n\">MPI</th><th scope=\"col\" class=\"n\">of it waiting</th>"
	    "<th scope=\"col\" class=\"n\">tracing</th>"
	    "<th scope=\"col\" class=\"n\">sent</th>%s</tr></thead>\n<tbody>\n",
	    caption, p->model->processor_wait.seen ? "<th scope=\"col\" class=\"n\">without a processor</th>" : "");
}

static void end_rows(struct page *p)
{
	put(p, "</tbody></table></div>\n");
}

static double longest(const struct model *m)
{
	double full_s = 0;
	for (size_t i = 0; i < m->nranks; i++)
		full_s = fmax(full_s, m->rank[i].useful_s + m->rank[i].mpi_s);
	return full_s;
}

static void write_rows(struct page *p, double full_s)
{
	const struct model *m = p->model;
	begin_rows(p, "Time of each rank");
	for (size_t i = 0; i < m->nranks; i++)
		write_row(p, &m->rank[i], full_s);
	end_rows(p);
}

static void column_part(struct page *p, const char *class, double x, double width, double *bottom, double height)
{
	if (height < 0.05)
		return;
	*bottom -= height;
	put(p, "<rect class=\"%s\" x=\"%.3f%%\" y=\"%.1f\" width=\"%.3f%%\" height=\"%.1f\"/>", class, x, *bottom,
	    width, height);
}

/* One column: the mean of ranks [from, to), and a dot at the busiest of them. */
static void write_column(struct page *p, size_t from, size_t to, double x, double width, double full_s)
{
	const struct rank_row *rank = p->model->rank;
	double useful = 0, mpi = 0, wait = 0, busiest = 0, n = (double)(to - from), bottom = HEIGHT;
	for (size_t i = from; i < to; i++) {
		useful += rank[i].useful_s / n;
		mpi += rank[i].mpi_s / n;
		wait += rank[i].wait_s / n;
		busiest = fmax(busiest, rank[i].useful_s);
	}
	struct place at = place_of_ranks((double)rank[from].rank, (double)rank[to - 1].rank);
	put(p, "<g");
	put_place_data(p, &at);
	put(p, "><title>ranks %ld\xe2\x80\x93%ld: useful %s, MPI %s, waiting %s</title>", rank[from].rank,
	    rank[to - 1].rank, fmt_time(useful).s, fmt_time(mpi).s,
	    p->model->waits_known ? fmt_time(wait).s : "not known");
	column_part(p, "useful", x, width * 0.86, &bottom, useful / full_s * HEIGHT);
	column_part(p, "mpi", x, width * 0.86, &bottom, (mpi - wait) / full_s * HEIGHT);
	column_part(p, "wait", x, width * 0.86, &bottom, wait / full_s * HEIGHT);
	if (to - from > 1)
		put(p, "<circle class=\"dot\" cx=\"%.3f%%\" cy=\"%.1f\" r=\"1.6\"/>", x + width * 0.43,
		    HEIGHT - busiest / full_s * HEIGHT);
	put(p, "</g>\n");
}

static void write_columns(struct page *p, double full_s)
{
	const struct model *m = p->model;
	size_t group = (m->nranks + COLUMNS_MAX - 1) / COLUMNS_MAX, columns = (m->nranks + group - 1) / group;
	double width = 100.0 / (double)columns;
	put(p,
	    "<div><svg class=\"columns\" width=\"100%%\" height=\"%.0f\" role=\"img\"><title>Time "
	    "by rank</title>",
	    HEIGHT);
	for (size_t i = 0; i < columns; i++) {
		size_t to = (i + 1) * group < m->nranks ? (i + 1) * group : m->nranks;
		write_column(p, i * group, to, (double)i * width, width, full_s);
	}
	put(p,
	    "</svg><div class=\"axis\"><span>rank %ld</span><span>full height: %s</span><span>rank "
	    "%ld</span></div></div>\n",
	    m->rank[0].rank, fmt_time(full_s).s, m->rank[m->nranks - 1].rank);
	if (group > 1)
		put(p,
		    "<p class=\"note\">Each column is the mean of %s ranks; the dot is the busiest "
		    "rank\xe2\x80\x99s "
		    "useful time.</p>\n",
		    fmt_count((double)group).s);
}

static int by_useful(const void *a, const void *b)
{
	const struct rank_row *x = a, *y = b;
	return (x->useful_s < y->useful_s) - (x->useful_s > y->useful_s);
}

static int by_wait(const void *a, const void *b)
{
	const struct rank_row *x = a, *y = b;
	return (x->wait_s < y->wait_s) - (x->wait_s > y->wait_s);
}

static void write_extremes(struct page *p, struct rank_row *copy, const char *caption, double full_s,
			   int (*order)(const void *, const void *))
{
	qsort(copy, p->model->nranks, sizeof(*copy), order);
	begin_rows(p, caption);
	for (size_t i = 0; i < EXTREMES; i++)
		write_row(p, &copy[i], full_s);
	end_rows(p);
}

static void write_many(struct page *p, double full_s)
{
	const struct model *m = p->model;
	struct rank_row *copy = malloc(m->nranks * sizeof(*copy));
	write_columns(p, full_s);
	if (copy == NULL)
		return;
	for (size_t i = 0; i < m->nranks; i++)
		copy[i] = m->rank[i];
	write_extremes(p, copy, "The ranks that compute most", full_s, by_useful);
	if (m->waits_known)
		write_extremes(p, copy, "The ranks that wait most", full_s, by_wait);
	free(copy);
	put(p, "<p class=\"more\">All %s ranks are in the columns above; ", fmt_count((double)m->nranks).s);
	put_all_of_it(p);
	put(p, ", a row each.</p>\n");
}

static void write_processor_wait(struct page *p)
{
	const struct processor_wait *w = &p->model->processor_wait;
	if (w->seen)
		put(p,
		    "<p>Ranks waited %s for a free core (total over ranks), rank %.0f longest: %s. They were ready to "
		    "run, in MPI or outside, while others held the cores.</p>\n",
		    fmt_time(w->all_s).s, w->most_rank, fmt_time(w->most_s).s);
}

static void write_ranks(struct page *p)
{
	double full_s = longest(p->model);
	if (p->model->nranks <= ROWS_MAX)
		write_rows(p, full_s);
	else
		write_many(p, full_s);
	put_time_legend(p);
	write_processor_wait(p);
}

static void result(struct page *p)
{
	const struct rank_row *most = NULL, *least = NULL;
	for (size_t i = 0; i < p->model->nranks; i++) {
		const struct rank_row *r = &p->model->rank[i];
		if (r->end == RANK_MISSING)
			continue;
		most = most == NULL || r->useful_s > most->useful_s ? r : most;
		least = least == NULL || r->useful_s < least->useful_s ? r : least;
	}
	if (most == NULL)
		put(p, "none is in the record");
	else
		put(p, "useful from %s (rank %ld) to %s (rank %ld)", fmt_time(least->useful_s).s, least->rank,
		    fmt_time(most->useful_s).s, most->rank);
}

static bool has_ranks(const struct model *m)
{
	return m->nranks > 0 && m->total_s > 0;
}

const struct section section_ranks = {
	.id = "ranks",
	.title = "Rank by rank",
	.how = "Even work shows as grey bars of one length. A rank whose grey bar is longest is "
	       "the one the others "
	       "wait for.",
	.has = has_ranks,
	.result = result,
	.write = write_ranks,
};
