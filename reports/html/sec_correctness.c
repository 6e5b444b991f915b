/* sec_correctness.c - what the program does wrong with MPI, whatever time it costs.
 * In: correctness, the worst first.  Out: a table: what, how often, where, and the first case. */
#include "reports/html/section.h"

#include <math.h>
#include <string.h>

#define ROWS_MAX 24
#define EXAMPLES_MAX 2
#define RUNS_MAX 8

static void write_severity(struct page *p, const cJSON *row)
{
	const char *severity = json_text(row, "severity", "low");
	int s = strcmp(severity, "high") == 0 ? 2 : strcmp(severity, "medium") == 0 ? 1 : 0;
	static const char *const words[] = {"\xe2\x97\x8b for information", "\xe2\x96\xb2 worth a look",
					    "\xe2\x96\xa0 serious"};
	put(p, "<span class=\"sev s%d\">%s</span> ", s, words[s]);
}

static void write_sites(struct page *p, const cJSON *row)
{
	bool first = true;
	for (const cJSON *v = json_first(row, "callsites"); v != NULL; v = v->next) {
		const cJSON *site = model_callsite(p->model, v);
		if (site == NULL)
			continue;
		put(p, first ? "" : "<br>");
		put_site_link(p, site);
		first = false;
	}
	if (first)
		put(p, "\xe2\x80\x93");
}

static void write_examples(struct page *p, const cJSON *row)
{
	size_t n = 0;
	for (const cJSON *v = json_first(row, "examples"); v != NULL && n < EXAMPLES_MAX; v = v->next, n++) {
		double time_s = json_number(v, "time_s");
		struct place at = place_of_moment(p->model, time_s);
		place_add_list(&at, json_item(v, "ranks"));
		put(p, "<br><small class=\"soft\">");
		bool link = begin_place(p, &at);
		if (!isnan(time_s))
			put(p, "%s: ", fmt_time(time_s).s);
		put_text(p, json_text(v, "what", ""), SENTENCE_CHARS);
		end_place(p, link);
		put(p, "</small>");
	}
}

static void write_row(struct page *p, const cJSON *row)
{
	put(p, "<tr><th scope=\"row\">");
	write_severity(p, row);
	put_words(p, json_text(row, "kind", "unnamed"));
	put(p, "</th><td class=\"n\">%s</td><td>", fmt_count(json_number(row, "count")).s);
	put_text(p, json_text(row, "what", ""), SENTENCE_CHARS);
	write_examples(p, row);
	put(p, "</td><td class=\"keep\">");
	put_ranks(p, json_item(row, "ranks"), RUNS_MAX);
	put(p, "%s</td><td class=\"keep\">", json_bool(row, "more_ranks", false) ? " and more" : "");
	write_sites(p, row);
	put(p, "</td></tr>\n");
}

static void write_correctness(struct page *p)
{
	size_t n = json_count(p->model->root, "correctness"), shown = 0;
	put(p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><caption>What is wrong, the worst first</caption>\n<thead><tr>"
	    "<th scope=\"col\">kind</th><th scope=\"col\" class=\"n\">count</th><th scope=\"col\">what</th>"
	    "<th scope=\"col\">ranks</th><th scope=\"col\">call sites</th></tr></thead>\n<tbody>\n");
	for (const cJSON *v = json_first(p->model->root, "correctness"); v != NULL && shown < ROWS_MAX; v = v->next) {
		write_row(p, v);
		shown++;
	}
	put(p, "</tbody></table></div>\n");
	put_left_out(p, n - shown, "more row");
	put_not_kept(p, json_number(p->model->root, "correctness_left_out"), "case");
}

static void result(struct page *p)
{
	put_words(p, json_text(json_first(p->model->root, "correctness"), "kind", "?"));
	if (json_count(p->model->root, "correctness") > 1)
		put(p, " and %s more", fmt_count((double)json_count(p->model->root, "correctness") - 1).s);
}

static bool has_correctness(const struct model *m)
{
	return json_count(m->root, "correctness") > 0;
}

const struct section section_correctness = {
	.id = "correctness",
	.title = "Correctness",
	.how = "Where the program violates the MPI standard. It may still run, with this library and these sizes.",
	.has = has_correctness,
	.result = result,
	.write = write_correctness,
};
