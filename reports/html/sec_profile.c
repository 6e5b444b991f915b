/* sec_profile.c - the ranks' useful time in order, who is out of line, and the same by node.
 * In: profile.h.  Out: a curve of bars, a sentence, and a table of nodes with the slow ones marked. */
#include "reports/text/profile.h"
#include "reports/html/section.h"

#include <math.h>
#include <stdlib.h>

#define COLUMNS_MAX 160
#define HEIGHT 96.0
#define NODES_MAX 12

static int most_first(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x < *y) - (*x > *y);
}

/* Each column is one rank, or the busiest of some. */
static void write_curve(struct page *p, const struct profile *of)
{
	const struct model *m = p->model;
	double *sorted = calloc(m->nranks + 1, sizeof(*sorted));
	size_t columns = m->nranks < COLUMNS_MAX ? m->nranks : COLUMNS_MAX;
	if (sorted == NULL || of->most_s <= 0) {
		free(sorted);
		return;
	}
	for (size_t i = 0; i < m->nranks; i++)
		sorted[i] = m->rank[i].useful_s;
	qsort(sorted, m->nranks, sizeof(*sorted), most_first);
	put(p,
	    "<figure><figcaption><b>Useful time, the busiest rank first</b></figcaption><svg class=\"columns\" "
	    "width=\"100%%\" height=\"%.0f\" role=\"img\"><title>Useful time of the ranks in order</title>",
	    HEIGHT);
	for (size_t i = 0; i < columns; i++) {
		double height = sorted[i * m->nranks / columns] / of->most_s * HEIGHT;
		put(p, "<rect class=\"useful\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\"/>",
		    100.0 * (double)i / (double)columns, HEIGHT - height, 88.0 / (double)columns, height);
	}
	double median = HEIGHT - of->median_s / of->most_s * HEIGHT;
	put(p, "<line class=\"mark\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/></svg>", median, median);
	put(p,
	    "<div class=\"axis\"><span>%s, rank %ld</span><span>dashed: median %s</span><span>%s, rank "
	    "%ld</span></div>",
	    fmt_time(of->most_s).s, of->most_rank, fmt_time(of->median_s).s, fmt_time(of->least_s).s, of->least_rank);
	put(p, "</figure>\n");
	free(sorted);
}

static void write_outliers(struct page *p, const struct profile *of)
{
	if (of->nranks >= QUARTILE_RANKS)
		put(p, "<p>Half of the ranks are between %s and %s", fmt_time(of->lower_s).s, fmt_time(of->upper_s).s);
	else
		put(p, "<p>All are between %s and %s", fmt_time(of->least_s).s, fmt_time(of->most_s).s);
	for (size_t i = 0; i < of->noutliers && i < OUTLIERS_MAX; i++)
		put(p, "%s%ld", i > 0 ? ", " : "; outliers: rank ", of->outlier[i]);
	if (of->noutliers > OUTLIERS_MAX)
		put(p, " and %s more", fmt_count((double)(of->noutliers - OUTLIERS_MAX)).s);
	put(p, of->noutliers > 0 ? ".</p>\n" : "; no outliers.</p>\n");
}

static void write_node(struct page *p, const struct node_row *node, double full_s)
{
	put(p, "<tr><th scope=\"row\">");
	put_text(p, *node->name != '\0' ? node->name : "not known", NAME_CHARS);
	put(p, "%s</th><td class=\"n\">%s</td><td class=\"wide\">",
	    node->slow ? " <small class=\"low\">\xe2\x96\xb2 slower</small>" : "", fmt_count((double)node->ranks).s);
	put_time_bar(p, node->useful_s, node->mpi_s, fmin(node->wait_s, node->mpi_s), full_s);
	put(p,
	    "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
	    fmt_time(node->useful_s).s, fmt_time(node->longest_s).s, fmt_time(node->mpi_s).s,
	    p->model->waits_known ? fmt_time(node->wait_s).s : "not known");
}

static void write_nodes(struct page *p, const struct profile *of)
{
	size_t shown = of->nnodes < NODES_MAX ? of->nnodes : NODES_MAX;
	double full_s = 0;
	for (size_t i = 0; i < of->nnodes; i++)
		full_s = fmax(full_s, of->node[i].useful_s + of->node[i].mpi_s);
	put(p, "<div class=\"scroll\" tabindex=\"0\"><table><caption>Nodes, most useful time first; means of their "
	       "ranks</caption>\n"
	       "<thead><tr><th scope=\"col\">node</th><th scope=\"col\" class=\"n\">ranks</th><td></td>"
	       "<th scope=\"col\" class=\"n\">useful</th><th scope=\"col\" class=\"n\">busiest rank</th>"
	       "<th scope=\"col\" class=\"n\">MPI</th><th scope=\"col\" class=\"n\">of it waiting</th></tr></thead>\n"
	       "<tbody>\n");
	for (size_t i = 0; i < shown; i++)
		write_node(p, &of->node[i], full_s);
	put(p, "</tbody></table></div>\n");
	put_left_out(p, of->nnodes - shown, "more node");
	if (of->nslow > 0)
		put(p,
		    "<p>Ranks of %s compute more than %s times as long as those of the median node. If their work is "
		    "the "
		    "same, look at the node: its clock rate, another job on it, its memory, its cooling.</p>\n",
		    of->nslow == 1 ? "one node" : "some nodes", fmt_ratio(NODE_SLOW).s);
}

static void write_profile(struct page *p)
{
	struct profile of;
	if (profile_create(p->model->root, &of) < 0)
		return;
	if (of.nranks > 1) {
		write_curve(p, &of);
		write_outliers(p, &of);
	}
	if (of.nnodes > 0)
		write_nodes(p, &of);
	profile_done(&of);
}

static void result(struct page *p)
{
	struct profile of;
	if (profile_create(p->model->root, &of) < 0)
		return;
	put(p, "rank %ld: %s, the median %s", of.most_rank, fmt_time(of.most_s).s, fmt_time(of.median_s).s);
	if (of.nslow > 0)
		put(p, "; %s slower than others", fmt_many((double)of.nslow, "node").s);
	else if (of.noutliers > 0)
		put(p, "; %s", fmt_many((double)of.noutliers, "outlier").s);
	profile_done(&of);
}

static bool has_profile(const struct model *m)
{
	return m->nranks > 1 && m->total_s > 0;
}

const struct section section_profile = {
	.id = "profile",
	.title = "Who computes longest",
	.how = "An outlier is further from the middle half than 1.5 times its width. If a whole node is an outlier, "
	       "the cause is more likely the hardware than the program.",
	.has = has_profile,
	.result = result,
	.write = write_profile,
};
