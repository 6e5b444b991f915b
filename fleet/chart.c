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

static bool has_not_known(const column_list *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->at[i].s.not_known > 0)
			return true;
	return false;
}

static void put_numbers(struct fleet_page *g, const column_list *c, bool not_known)
{
	put(&g->p,
	    "<details><summary>The numbers</summary><div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th "
	    "scope=\"col\">from</th>"
	    "<th scope=\"col\" class=\"n\">jobs</th><th scope=\"col\" class=\"n\">core-hours</th>"
	    "<th scope=\"col\" class=\"n\">useful</th><th scope=\"col\" class=\"n\">waiting</th>"
	    "%s<th scope=\"col\" class=\"n\">core-hours lost</th></tr></thead><tbody>\n",
	    not_known ? "<th scope=\"col\" class=\"n\">core-hours not known</th>" : "");
	for (size_t i = 0; i < c->n; i++) {
		const struct sums *s = &c->at[i].s;
		put(&g->p, "<tr><th scope=\"row\">%s</th>", fmt_day(fmax(c->at[i].at, g->site->first_day)).s);
		put_cell(g, fmt_count(s->jobs), s->jobs);
		put_cell(g, fmt_hours(s->hours), s->hours);
		put_cell(g, fmt_share(share_of(s->useful, s)), share_of(s->useful, s));
		put_cell(g, fmt_share(share_of(s->wait, s)), share_of(s->wait, s));
		if (not_known)
			put_cell(g, fmt_hours(s->not_known), s->not_known);
		put_cell(g, fmt_hours(s->loss), s->loss);
		put(&g->p, "</tr>\n");
	}
	put(&g->p, "</tbody></table></div></details>\n");
}

void put_columns(struct fleet_page *g, const column_list *c, const char *what, int step)
{
	double most = most_of(c), first = g->site->first_day;
	bool not_known = has_not_known(c);
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
		put_part(g, "not-known", x, width, &y, s->not_known * scale);
	}
	put(&g->p, "</svg></div>\n<div class=\"axis\"><span>%s</span><span>%s</span></div></figure>\n",
	    fmt_day(first).s, fmt_day(g->site->last_day).s);
	put_hours_legend(g, not_known);
	put_numbers(g, c, not_known);
}

static double mean_of(const column_list *c)
{
	double useful = 0, hours = 0;
	for (size_t i = 0; i < c->n; i++) {
		useful += c->at[i].s.useful;
		hours += known_of(&c->at[i].s);
	}
	return hours > 0 ? useful / hours : 0;
}

/* Is there one beside it whose use is known? */
static bool is_known(const column_list *c, size_t i, int beside)
{
	size_t at = i + (size_t)beside; /* before the first: none as large */
	return at < c->n && known_of(&c->at[at].s) > 0;
}

void put_spark(struct fleet_page *g, const column_list *c, double first, double last)
{
	double span = fmax(last - first, 1), mean = mean_of(c);
	put(&g->p, "<svg class=\"spark-line\" viewBox=\"0 0 100 20\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
		   "<path class=\"half\" d=\"M0 10H100\"/><path class=\"line\" d=\"");
	for (size_t i = 0; i < c->n; i++) {
		double share = share_of(c->at[i].s.useful, &c->at[i].s);
		double off = fmax(-1, fmin(1, (share - mean) / SPARK_RANGE));
		if (isnan(share)) /* a gap */
			continue;
		put(&g->p, "%s%.1f %.1f%s", is_known(c, i, -1) ? "L" : "M",
		    fmax(0, fmin(100, (c->at[i].at - first) / span * 100)), 10 - 9 * off,
		    is_known(c, i, -1) || is_known(c, i, 1) ? "" : "h4");
	}
	put(&g->p, "\"/></svg>");
}
