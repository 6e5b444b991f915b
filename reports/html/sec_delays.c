/* sec_delays.c - who makes others wait, and with what. In: delays.callsites.  Out: a table with the place, the rank,
 * and what others waited for it, directly and through others. */
#include "reports/html/section.h"
#include "reports/text/shares.h"

#include <math.h>
#include <string.h>

#define ROWS_MAX 12

static void write_row(struct page *p, const cJSON *row, double most_s)
{
	const cJSON *site = model_callsite(p->model, json_item(row, "callsite")), *rank = json_item(row, "rank");
	bool computing = strcmp(json_text(row, "kind", ""), "computing_before") == 0;
	double all = delay_cost(row), indirect = fmax(json_number(row, "indirect_s"), 0);
	put(p, "<tr><th scope=\"row\">%s ", computing ? "computing before" : "in");
	if (site != NULL) {
		put_site_of_rank(p, site, cJSON_IsNumber(rank) ? rank->valuedouble : NAN);
		put(p, "<br><small class=\"soft\">");
		put_text(p, json_text(site, "op", "?"), NAME_CHARS);
		put(p, "</small>");
	} else {
		put(p, "a call at an unknown place");
	}
	put(p, "</th><td class=\"n\">");
	if (cJSON_IsNumber(rank))
		put_rank_link(p, "", rank->valuedouble);
	put(p, "</td><td class=\"wide\">");
	put_time_bar(p, 0, all, all, most_s);
	put(p, "</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n", fmt_time(all).s,
	    indirect > 0 ? fmt_time(indirect).s : "");
}

static void write_delays(struct page *p)
{
	const cJSON *delays = json_item(p->model->root, "delays"), *first = json_first(delays, "callsites");
	double waits_s = fmax(json_number(delays, "waits_s"), 0), most_s = delay_cost(first);
	size_t shown = 0, n = json_count(delays, "callsites");
	put(p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><caption>What others waited for, %s in "
	    "all</caption>\n<thead><tr>"
	    "<th scope=\"col\">where</th><th scope=\"col\" class=\"n\">mostly rank</th><td></td>"
	    "<th scope=\"col\" class=\"n\">others waited</th><th scope=\"col\" class=\"n\">of it indirectly</th>"
	    "</tr></thead>\n<tbody>\n",
	    fmt_time(waits_s).s);
	for (const cJSON *row = first; row != NULL && shown < ROWS_MAX && delay_cost(row) >= DELAY_SHARE_MIN * waits_s;
	     row = row->next, shown++)
		write_row(p, row, most_s);
	put(p, "</tbody></table></div>\n");
	put_left_out(p, n - shown + (size_t)fmax(json_number(delays, "callsites_left_out"), 0), "smaller delay");
}

static void result(struct page *p)
{
	const cJSON *first = json_first(json_item(p->model->root, "delays"), "callsites"),
		    *rank = json_item(first, "rank");
	if (cJSON_IsNumber(rank))
		put(p, "mostly rank %.0f: ", rank->valuedouble);
	put(p, "others waited %s for it", fmt_time(delay_cost(first)).s);
}

static bool has_delays(const struct model *m)
{
	const cJSON *delays = json_item(m->root, "delays"), *first = json_first(delays, "callsites");
	return first != NULL && delay_cost(first) > 0 &&
	       delay_cost(first) >= DELAY_SHARE_MIN * json_number(delays, "waits_s");
}

const struct section section_delays = {
	.id = "delays",
	.title = "Who makes others wait",
	.how = "The rank that waits is seldom the slow one. A wait is charged to what the other rank spent more time "
	       "on since their last exchange; if that rank had waited itself, indirectly to the rank that it waited "
	       "for.",
	.has = has_delays,
	.result = result,
	.write = write_delays,
};
