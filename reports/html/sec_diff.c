/* sec_diff.c - what changed since other runs, when the page was asked to compare. In: the object of
 * postproc/compare/, beside
 * the analysis.  Out: the run as a whole, what lies in the way of comparing, call sites and waiting that changed
 * most, scaling. */
#include "format/issues.h"
#include "reports/html/section.h"
#include "reports/text/changed.h"

#include <math.h>
#include <string.h>

#define ROWS_MAX 12
#define CHANGE_SHARE_MIN 1e-3 /* of the run, a rank: smaller changes are left out */

static const cJSON *side(const struct page *p, const char *name)
{
	return json_item(p->model->diff, name);
}

static bool is_a_rank(const struct page *p)
{
	return json_number(side(p, "a"), "ranks") != json_number(side(p, "b"), "ranks");
}

static void put_change(struct page *p, double change_s)
{
	put(p, "<td class=\"n\">%s%s</td>", change_s > 0 ? "+" : "", fmt_time(change_s).s);
}

static void put_judgement(struct page *p, const cJSON *row)
{
	const cJSON *significant = json_item(row, "significant");
	put(p, "<td class=\"keep\">%s</td></tr>\n",
	    cJSON_IsTrue(significant)	 ? "<b>beyond noise</b>"
	    : cJSON_IsFalse(significant) ? "within noise"
					 : "");
}

/* Sums over ranks; a rank's mean where the sides have different numbers of ranks. */
static void put_times(struct page *p, const cJSON *row, bool sum)
{
	bool a_rank = sum && is_a_rank(p);
	double a = json_number(row, a_rank ? "a_per_rank_s" : "a_s"),
	       b = json_number(row, a_rank ? "b_per_rank_s" : "b_s");
	put(p, "<td class=\"n\">%s</td><td class=\"n\">%s</td>", fmt_time(a).s, fmt_time(b).s);
	put_change(p, b - a);
	put_judgement(p, row);
}

static void open_table(struct page *p, const char *title, const char *first)
{
	put(p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><caption>%s</caption>\n<thead><tr><th scope=\"col\">%s</th>"
	    "<th scope=\"col\" class=\"n\">before</th><th scope=\"col\" class=\"n\">after</th>"
	    "<th scope=\"col\" class=\"n\">change</th><td></td></tr></thead>\n<tbody>\n",
	    title, first);
}

static void close_table(struct page *p)
{
	put(p, "</tbody></table></div>\n");
}

/* What these runs could have shown, and how many would show what they do not. */
static void put_smallest(struct page *p, const cJSON *region)
{
	double smallest = json_number(region, "smallest_s"), runs = json_number(region, "runs_needed");
	if (isnan(smallest))
		return;
	put(p, " These runs would have shown a change of the traced region of %s or more, four times of five",
	    fmt_time(smallest).s);
	if (!cJSON_IsTrue(json_item(region, "significant")) && !isnan(runs))
		put(p, "; the change that there is would take %.0f runs on each side", runs);
	put(p, ".");
}

static void write_files(struct page *p)
{
	put(p, "<p>Compared with ");
	size_t n = 0;
	for (const cJSON *v = json_first(side(p, "a"), "files"); v != NULL; v = v->next) {
		if (n++ == ROWS_MAX)
			break;
		put(p, "%s<code>", n > 1 ? ", " : "");
		put_text(p, json_text(v, "path", "?"), TITLE_CHARS);
		put(p, "</code>");
	}
	put(p, " on %s", fmt_many(json_number_or(side(p, "a"), "ranks", 0), "rank").s);
	size_t after = json_count(side(p, "b"), "files");
	if (after > 1)
		put(p, "; after is the mean of %s runs, of which this page shows the last", fmt_count((double)after).s);
	put(p, ".</p>\n<p class=\"note\">Noise: ");
	put_text(p, json_text(json_item(p->model->diff, "noise"), "method", "not known"), SENTENCE_CHARS);
	put(p, ".");
	put_smallest(p, json_first(p->model->diff, "time"));
	put(p, "</p>\n");
}

static void put_share_name(struct page *p, const char *member, const cJSON *row)
{
	if (strcmp(member, "ranks") == 0) {
		put(p, "<tr><th scope=\"row\">%.0f</th>", json_number_or(row, "rank", 0));
		return;
	}
	double from = json_number_or(row, "from", 0);
	put(p, "<tr><th scope=\"row\">%.0f to %.0f</th>", from, from + json_number_or(row, "iterations", 1) - 1);
}

/* Ranks that compute, and iterations that take, more or less than they did against the mean of their run. */
static void write_shares(struct page *p, const char *member, const char *title, const char *first)
{
	size_t n = 0;
	for (const cJSON *v = json_first(p->model->diff, member); v != NULL && n < ROWS_MAX; v = v->next) {
		if (!cJSON_IsTrue(json_item(v, "significant")))
			continue;
		if (n++ == 0)
			open_table(p, title, first);
		put_share_name(p, member, v);
		put(p, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%+.3f</td>",
		    fmt_ratio(json_number(v, "a")).s, fmt_ratio(json_number(v, "b")).s, json_number_or(v, "change", 0));
		put_judgement(p, v);
	}
	if (n > 0)
		close_table(p);
}

static void write_notes(struct page *p)
{
	size_t n = 0;
	for (const cJSON *v = json_first(p->model->diff, "notes"); v != NULL && n < ROWS_MAX; v = v->next, n++) {
		put(p, "<p class=\"note\">");
		put_text(p, cJSON_IsString(v) ? v->valuestring : "", SENTENCE_CHARS);
		put(p, "</p>\n");
	}
}

static void write_whole(struct page *p)
{
	char changed[CHANGED_TEXT];
	changed_text(p->model->diff, fmt_words, changed);
	put(p, "<p>");
	put_text(p, changed, SENTENCE_CHARS);
	put(p, "</p>\n");
	open_table(p, is_a_rank(p) ? "The whole run, mean of ranks" : "The whole run, total over ranks", "time");
	for (const cJSON *v = json_first(p->model->diff, "time"); v != NULL; v = v->next) {
		const char *metric = json_text(v, "metric", "?");
		bool region = strcmp(metric, "region") == 0, iteration = strcmp(metric, "iteration") == 0;
		if (iteration && isnan(json_number(v, "change_s")))
			continue;
		put(p, "<tr><th scope=\"row\">");
		put_words(p, region ? "traced region, once" : iteration ? "an iteration, once" : metric);
		put(p, "</th>");
		put_times(p, v, !region && !iteration);
	}
	for (const cJSON *v = json_first(p->model->diff, "efficiency"); v != NULL; v = v->next) {
		double change = json_number(v, "change");
		put(p, "<tr><th scope=\"row\">");
		put_words(p, json_text(v, "metric", "?"));
		put(p, "</th><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">",
		    fmt_ratio(json_number(v, "a")).s, fmt_ratio(json_number(v, "b")).s);
		if (!isnan(change))
			put(p, "%+.3f", change);
		put(p, "</td>");
		put_judgement(p, v);
	}
	close_table(p);
}

static bool is_shown(const struct page *p, const cJSON *row)
{
	const cJSON *region = json_first(p->model->diff, "time");
	double longer_s = fmax(json_number_or(region, "a_s", 0), json_number_or(region, "b_s", 0));
	return fabs(json_number_or(row, "change_per_rank_s", 0)) > CHANGE_SHARE_MIN * longer_s;
}

static const cJSON *site_of(const struct page *p, double id)
{
	for (const cJSON *v = json_first(p->model->diff, "callsites"); v != NULL; v = v->next)
		if (json_number(v, "id") == id)
			return v;
	return NULL;
}

static void put_site(struct page *p, const cJSON *site, const cJSON *row, bool waits)
{
	double line = json_number(site, "line"), before = json_number(site, "a_line");
	const char *matched = json_text(site, "matched", "");
	put_callsite(p, site);
	put(p, "<br><small class=\"soft\">");
	if (waits)
		put_words(p, json_text(row, "state", "?"));
	else
		put_text(p, json_text(row, "op", "?"), NAME_CHARS);
	if (strcmp(matched, "only_a") == 0 || strcmp(matched, "only_b") == 0)
		put(p, ", %s", matched[5] == 'a' ? "gone" : "new");
	else if (strcmp(matched, "together") == 0)
		put(p, "; as one: %.0f call sites, before %.0f", json_number_or(site, "b_sites", 0),
		    json_number_or(site, "a_sites", 0));
	else if (!isnan(before) && before != line)
		put(p, ", was line %.0f", before);
	put(p, "</small>");
}

/* In all of the runs that are compared. */
static bool knows_waits(const struct page *p)
{
	for (const cJSON *v = json_first(p->model->diff, "time"); v != NULL; v = v->next)
		if (strcmp(json_text(v, "metric", ""), "wait") == 0)
			return !isnan(json_number(v, "a_s")) && !isnan(json_number(v, "b_s"));
	return false;
}

/* The rows come with the largest change first. */
static void write_rows(struct page *p, const char *member, const char *title, bool waits)
{
	size_t shown = 0;
	for (const cJSON *v = json_first(p->model->diff, member); v != NULL && shown < ROWS_MAX; v = v->next) {
		const cJSON *site = waits ? site_of(p, json_number(v, "callsite")) : v;
		if (!is_shown(p, v) || site == NULL)
			continue;
		if (shown++ == 0)
			open_table(p, title, "where");
		put(p, "<tr><th scope=\"row\">");
		put_site(p, site, v, waits);
		put(p, "</th>");
		put_times(p, v, true);
	}
	if (shown > 0)
		close_table(p);
	else
		put(p, "<p class=\"note\">%s: %s.</p>\n", title,
		    waits && !knows_waits(p) ? "not known of all runs" : "none by a thousandth of the run");
}

static void write_issue_list(struct page *p, const char *member, const char *phrase)
{
	size_t n = 0;
	for (const cJSON *v = json_first(json_item(p->model->diff, "issues"), member); v != NULL && n < ROWS_MAX;
	     v = v->next) {
		put(p, "%s%s", n == 0 ? "<p>" : ", ", n == 0 ? phrase : "");
		n++;
		const char *kind = json_text(v, "issue", "?"), *name = issue_phrase(kind);
		put_words(p, name != NULL ? name : kind);
	}
	if (n > 0)
		put(p, ".</p>\n");
}

static void write_reading(struct page *p, const char *reading, const char *title)
{
	const cJSON *rows = json_first(json_item(p->model->diff, "scaling"), "rows");
	if (!cJSON_IsObject(json_item(rows, reading)))
		return;
	put(p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><caption>%s</caption>\n<thead><tr><th scope=\"col\" "
	    "class=\"n\">ranks</th>"
	    "<th scope=\"col\" class=\"n\">traced region</th><th scope=\"col\" class=\"n\">speedup</th>"
	    "<th scope=\"col\" class=\"n\">ideal</th><th scope=\"col\" class=\"n\">computation scaling</th>"
	    "<th scope=\"col\" class=\"n\">parallel efficiency</th>"
	    "<th scope=\"col\" class=\"n\">global efficiency</th></tr></thead>\n<tbody>\n",
	    title);
	for (const cJSON *v = rows; v != NULL; v = v->next) {
		const cJSON *r = json_item(v, reading);
		put(p, "<tr><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>",
		    fmt_count(json_number(v, "ranks")).s, fmt_time(json_number(v, "region_s")).s,
		    fmt_ratio(json_number(r, "speedup")).s);
		put(p,
		    "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td "
		    "class=\"n\">%s</td></tr>\n",
		    fmt_ratio(json_number(r, "ideal_speedup")).s, fmt_ratio(json_number(r, "computation_scaling")).s,
		    fmt_ratio(json_number(v, "parallel")).s, fmt_ratio(json_number(r, "global_efficiency")).s);
	}
	close_table(p);
}

static void write_diff(struct page *p)
{
	write_files(p);
	write_notes(p);
	write_whole(p);
	write_shares(p, "ranks", "Computation of a rank; the mean of its run is 1", "rank");
	write_shares(p, "iterations", "Time of an iteration; the mean of its run is 1", "iterations");
	write_rows(p, "callsites", "Calls in the source that changed most", false);
	write_rows(p, "wait_sites", "Waiting that changed most", true);
	write_issue_list(p, "new", "New issues: ");
	write_issue_list(p, "gone", "Issues that are gone: ");
	write_issue_list(p, "unknown", "Issues that only one side can show (the other has no single calls): ");
	write_reading(p, "strong", "Scaling, if the problem stays as large (strong)");
	write_reading(p, "weak", "Scaling, if the problem grows with the ranks (weak)");
}

static bool has_diff(const struct model *m)
{
	return cJSON_IsObject(m->diff);
}

const struct section section_diff = {
	.id = "diff",
	.title = "What changed",
	.how = "Beyond noise: runs that do not differ would seldom be so far apart. It takes several runs on a side to "
	       "tell. "
	       "Call sites are found again by function, also when lines have moved.",
	.has = has_diff,
	.write = write_diff,
};
