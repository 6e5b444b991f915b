/* chart.c - pictures of a fleet: SVG whose places are percentages, with the numbers beside it. */
#include "fleet/page.h"

#define CHART_PX 150.0
#define GAP 0.12   /* of a column's room */
#define WIDEST 6.0 /* of the picture, in percent: a week is not a wall */

static void put_part(struct fleet_page *g, const char *class, double x, double width, double *y, double height)
{
	if (height < 0.2)
		return;
	*y -= height;
	put(&g->p, "<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"%.1f\" height=\"%.1f\"/>", class, x, width, *y,
	    height);
}

static double most_of(const column_list *c)
{
	double most = 1e-9;
	for (size_t i = 0; i < c->n; i++)
		most = fmax(most, c->at[i].s.hours);
	return most;
}

static void put_numbers(struct fleet_page *g, const column_list *c)
{
	put(&g->p, "<details><summary>The numbers</summary><div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th "
		   "scope=\"col\">from</th>"
		   "<th scope=\"col\" class=\"n\">jobs</th><th scope=\"col\" class=\"n\">core-hours</th>"
		   "<th scope=\"col\" class=\"n\">useful</th><th scope=\"col\" class=\"n\">waiting</th>"
		   "<th scope=\"col\" class=\"n\">core-hours lost</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < c->n; i++) {
		const struct sums *s = &c->at[i].s;
		double hours = fmax(s->hours, 1e-12);
		put(&g->p, "<tr><th scope=\"row\">%s</th>", fmt_day(fmax(c->at[i].at, g->site->first_day)).s);
		put_cell(g, fmt_count(s->jobs), s->jobs);
		put_cell(g, fmt_hours(s->hours), s->hours);
		put_cell(g, fmt_share(s->useful / hours), s->useful / hours);
		put_cell(g, fmt_share(s->wait / hours), s->wait / hours);
		put_cell(g, fmt_hours(s->loss), s->loss);
		put(&g->p, "</tr>\n");
	}
	put(&g->p, "</tbody></table></div></details>\n");
}

void put_columns(struct fleet_page *g, const column_list *c, const char *what, int step)
{
	double most = most_of(c), first = g->site->first_day;
	double rooms = floor((g->site->last_day - first) / step) + 1;
	if (c->n == 0) {
		put(&g->p, "<p>No jobs yet.</p>\n");
		return;
	}
	put(&g->p,
	    "<figure><figcaption><b>%s</b> the highest is %s</figcaption>\n<div class=\"chart-box\">"
	    "<svg class=\"chart\" aria-hidden=\"true\">",
	    what, fmt_hours(most).s);
	for (size_t i = 0; i < c->n; i++) {
		const struct sums *s = &c->at[i].s;
		double room = 100.0 / rooms, y = CHART_PX, at = fmax(0, floor((c->at[i].at - first) / step));
		double width = fmin(room * (1 - GAP), WIDEST), x = room * (at + GAP / 2), scale = CHART_PX / most;
		put_part(g, "useful", x, width, &y, s->useful * scale);
		put_part(g, "mpi", x, width, &y, s->mpi * scale);
		put_part(g, "wait", x, width, &y, s->wait * scale);
	}
	put(&g->p, "</svg></div>\n<div class=\"axis\"><span>%s</span><span>%s</span></div></figure>\n",
	    fmt_day(first).s, fmt_day(g->site->last_day).s);
	put_time_legend(&g->p);
	put_numbers(g, c);
}

static double mean_of(const column_list *c)
{
	double useful = 0, hours = 0;
	for (size_t i = 0; i < c->n; i++) {
		useful += c->at[i].s.useful;
		hours += c->at[i].s.hours;
	}
	return hours > 0 ? useful / hours : 0;
}

void put_spark(struct fleet_page *g, const column_list *c, double first, double last)
{
	double span = fmax(last - first, 1), mean = mean_of(c);
	put(&g->p, "<svg class=\"spark-line\" viewBox=\"0 0 100 20\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
		   "<path class=\"half\" d=\"M0 10H100\"/><path class=\"line\" d=\"");
	for (size_t i = 0; i < c->n; i++) {
		double share = c->at[i].s.hours > 0 ? c->at[i].s.useful / c->at[i].s.hours : mean;
		double off = fmax(-1, fmin(1, (share - mean) / SPARK_RANGE));
		put(&g->p, "%c%.1f %.1f", i == 0 ? 'M' : 'L', fmax(0, fmin(100, (c->at[i].at - first) / span * 100)),
		    10 - 9 * off);
	}
	put(&g->p, "%s\"/></svg>", c->n == 1 ? "h4" : "");
}
