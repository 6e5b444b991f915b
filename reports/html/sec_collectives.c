/* sec_collectives.c - collectives by operation and call site: how far apart their members come, and who is last.
 * In: collective_arrivals, callsites.  Out: a table, and the ranks that are last most often. */
#include "reports/html/section.h"

#include <math.h>

#define ROWS_MAX 12
#define LAST_MAX 8

static void write_row(struct page *p, const cJSON *row, double most_s)
{
	const cJSON *site = model_callsite(p->model, json_item(row, "callsite"));
	double apart_s = fmax(json_number(row, "mean_s") * json_number(row, "operations"), 0);
	struct part part = {"wait", apart_s};
	put(p, "<tr><th scope=\"row\"><code>");
	put_text(p, json_text(site, "op", "?"), NAME_CHARS);
	put(p, "</code><br>");
	if (site != NULL)
		put_site_link(p, site);
	put(p, "</th><td class=\"wide\">");
	put_bar(p, &part, 1, most_s);
	put(p,
	    "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>"
	    "<td class=\"n\">%.0f</td></tr>\n",
	    fmt_count(json_number(row, "operations")).s, fmt_time(json_number(row, "mean_s")).s,
	    fmt_time(json_number(row, "max_s")).s,
	    site == NULL ? "\xe2\x80\x93" : fmt_time(json_number(site, "wait_s")).s,
	    fmax(json_number(row, "last_rank"), 0));
}

static void write_last(struct page *p, const cJSON *arrivals)
{
	size_t n = json_count(arrivals, "last_ranks"), shown = 0;
	if (n == 0)
		return;
	put(p, "<p>Last most often: ");
	for (const cJSON *v = json_first(arrivals, "last_ranks"); v != NULL && shown < LAST_MAX; v = v->next) {
		put(p, shown++ > 0 ? ", " : "");
		put_rank_link(p, "rank ", json_number(v, "rank"));
		put(p, " (%s)", fmt_count(json_number(v, "times")).s);
	}
	double more = (double)(n - shown) + fmax(json_number(arrivals, "last_ranks_left_out"), 0);
	if (more > 0)
		put(p, " and %s more ranks", fmt_count(more).s);
	put(p, ".</p>\n");
}

static void write_collectives(struct page *p)
{
	const cJSON *arrivals = json_item(p->model->root, "collective_arrivals"),
		    *first = json_first(arrivals, "callsites");
	size_t n = json_count(arrivals, "callsites"), shown = 0;
	double most_s = json_number(first, "mean_s") * json_number(first, "operations");
	put(p, "<div class=\"scroll\" tabindex=\"0\"><table><caption>Collectives by call site, where the last one "
	       "costs most "
	       "first</caption>\n<thead><tr><th scope=\"col\">operation and place</th><td></td>"
	       "<th scope=\"col\" class=\"n\">operations</th><th scope=\"col\" class=\"n\">apart, mean</th>"
	       "<th scope=\"col\" class=\"n\">at most</th><th scope=\"col\" class=\"n\">waited there</th>"
	       "<th scope=\"col\" class=\"n\">last: mostly rank</th></tr></thead>\n<tbody>\n");
	for (const cJSON *row = first; row != NULL && shown < ROWS_MAX; row = row->next, shown++)
		write_row(p, row, most_s);
	put(p, "</tbody></table></div>\n");
	put_left_out(p, n - shown + (size_t)fmax(json_number(arrivals, "callsites_left_out"), 0), "more call site");
	write_last(p, arrivals);
}

static void result(struct page *p)
{
	const cJSON *first = json_first(json_item(p->model->root, "collective_arrivals"), "callsites");
	const cJSON *site = model_callsite(p->model, json_item(first, "callsite"));
	put(p, "<code>");
	put_text(p, json_text(site, "op", "?"), NAME_CHARS);
	put(p, "</code>: its members come %s apart, rank %.0f last", fmt_time(json_number(first, "mean_s")).s,
	    fmax(json_number(first, "last_rank"), 0));
}

static bool has_collectives(const struct model *m)
{
	return json_count(json_item(m->root, "collective_arrivals"), "callsites") > 0;
}

const struct section section_collectives = {
	.id = "collectives",
	.title = "Collectives",
	.how = "Apart is the time from the first to the last member that enters. All wait for the last one, so look at "
	       "what that rank does before.",
	.has = has_collectives,
	.result = result,
	.write = write_collectives,
};
