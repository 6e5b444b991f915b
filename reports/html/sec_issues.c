/* sec_issues.c - what the analysis found, one card each: what, why, what to try, and the number
 * that says so. In: issues, worst first.  Out: cards; advice never stands without its metric and
 * threshold. */
#include "format/issues.h"
#include "reports/html/section.h"
#include "reports/text/evidence.h"
#include "reports/text/gain.h"

#include <math.h>
#include <string.h>

#define CARDS_MAX 24
#define CHARTS_MAX 5 /* issues at the top, with the evidence drawn */
#define CHART_HEIGHT 52.0
#define MARK_ROOM 11.0 /* below the columns, for who was waited for */
#define FAR_FROM_THRESHOLD 1.5
#define SITES_MAX 5
#define PAIRS_MAX 6
#define RUNS_MAX 10
#define GAIN_SEEN 0.0005 /* of the run */

static void write_title(struct page *p, const cJSON *issue, size_t number)
{
	static const char *const severity[] = {"\xe2\x97\x8b for information", "\xe2\x96\xb2 worth a look",
					       "\xe2\x96\xa0 serious"};
	const char *kind = json_text(issue, "issue", "issue"), *phrase = issue_phrase(kind);
	int s = issue_severity(issue);
	put(p, "<h3><span class=\"sev s%d\">%s</span><span class=\"number\">%zu.</span> <span class=\"name\">", s,
	    severity[s], number);
	if (phrase != NULL)
		put(p, "%s", phrase);
	else
		put_words(p, kind);
	put(p, "</span></h3> ");
}

/* Whose time that is. */
static const char *time_word(const struct model *m, double of_s)
{
	return !m->threaded ? "time" : of_s == m->threads_s ? "thread time" : "ranks\xe2\x80\x99 time";
}

/* What it costs and what a run gains without it, in a few words. */
static void write_short(struct page *p, const cJSON *issue)
{
	char text[GAIN_TEXT];
	double loss_s = json_number(issue, "loss_s"), of_s = json_number_or(issue, "loss_of_s", p->model->total_s);
	size_t cause = issue_cause_of(p->model->issue, p->model->nissues, issue);
	put(p, "<span class=\"result\">");
	if (cause > 0)
		put(p, "follows from %zu", cause);
	else if (json_number(json_item(issue, "gain"), "share") < GAIN_SEEN)
		put(p, "no gain by itself");
	else if (gain_text(issue, false, text))
		put(p, "gains %s", text);
	else if (loss_s > 0 && of_s > 0)
		put(p, "%s of the %s", fmt_share(loss_s / of_s).s, time_word(p->model, of_s));
	put(p, "</span>");
}

static void write_what(struct page *p, const cJSON *issue)
{
	struct place at = place_of_issue(issue);
	const char *what = json_text(issue, "what", "");
	if (*what == '\0')
		return;
	put(p, "<p class=\"what\">");
	bool link = begin_place(p, &at);
	put_text(p, what, SENTENCE_CHARS);
	end_sentence(p, link);
	put(p, "</p>\n");
}

static void paragraph(struct page *p, const char *class, const char *lead, const char *text)
{
	if (*text == '\0')
		return;
	put(p, "<p class=\"%s\">%s", class, lead);
	put_text(p, text, SENTENCE_CHARS);
	put(p, "</p>\n");
}

/* A number that the metric's name gives a unit: ..._s seconds, ..._bytes bytes, else plain. */
static struct fmt fmt_metric(const char *name, double value)
{
	size_t n = 0;
	while (name[n] != '\0')
		n++;
	if (n > 2 && name[n - 2] == '_' && name[n - 1] == 's')
		return fmt_time(value);
	if (n > 5 && name[n - 5] == 'b' && name[n - 4] == 'y' && name[n - 1] == 's')
		return fmt_bytes(value);
	return fabs(value) >= 100 || value == floor(value) ? fmt_count(value) : fmt_ratio(value);
}

static void write_metric(struct page *p, const cJSON *issue)
{
	const cJSON *metric = json_item(issue, "metric");
	const char *name = json_text(metric, "name", "");
	if (*name == '\0')
		return;
	put(p, "<div><dt>measured</dt><dd>");
	if (strchr(name, ' ') != NULL)
		put_text(p, name, SENTENCE_CHARS);
	else
		put_words(p, name);
	put(p, ": %s", fmt_metric(name, json_number(metric, "value")).s);
	if (!isnan(json_number(metric, "threshold")))
		put(p, " (threshold %s)", fmt_metric(name, json_number(metric, "threshold")).s);
	put(p, "</dd></div>\n");
}

static void write_loss(struct page *p, const cJSON *issue)
{
	double loss_s = json_number(issue, "loss_s"), of_s = json_number(issue, "loss_of_s");
	if (isnan(of_s))
		of_s = p->model->total_s;
	if (!(loss_s > 0))
		return;
	put(p, "<div><dt>lost, total over ranks</dt><dd>%s", fmt_time(loss_s).s);
	if (of_s > 0)
		put(p, ", %s of the %s", fmt_share(loss_s / of_s).s, time_word(p->model, of_s));
	put(p, "</dd></div>\n");
}

/* With a script the reader chooses how much is repaired (open.js). */
static void write_parts(struct page *p, const cJSON *gain)
{
	static const char *const words[] = {"a quarter", "half", "three quarters"};
	const cJSON *part = json_first(gain, "parts");
	double run_s = json_number(json_item(p->model->root, "replay"), "recorded_s");
	if (part == NULL || !(run_s > 0))
		return;
	put(p, "<div class=\"all\"><dt>gained if a part of it is repaired</dt><dd data-run=\"%.6g\" data-gains=\"0",
	    run_s);
	for (const cJSON *x = part; x != NULL; x = x->next)
		put(p, " %.4f", json_number_of(x));
	put(p, " %.4f\">", json_number(gain, "share"));
	for (size_t i = 0; part != NULL && i < sizeof(words) / sizeof(words[0]); part = part->next, i++)
		put(p, "%s%s: %s", i > 0 ? ", " : "", words[i], fmt_share(fmax(0, json_number_of(part))).s);
	put(p, "</dd></div>\n");
}

static void write_gain(struct page *p, const cJSON *issue)
{
	char text[GAIN_TEXT];
	if (gain_text(issue, false, text))
		put(p, "<div><dt>gained without it, by replay</dt><dd>%s</dd></div>\n", text);
	write_parts(p, json_item(issue, "gain"));
}

/* Its interval, without ranks. */
static struct place window_of(const cJSON *issue)
{
	const cJSON *from = json_first(issue, "window_s");
	struct place at = PLACE_ANYWHERE;
	at.from_s = from != NULL ? json_number_of(from) : NAN;
	at.to_s = from != NULL && from->next != NULL ? json_number_of(from->next) : NAN;
	return at;
}

static void write_window(struct page *p, const cJSON *issue)
{
	struct place at = window_of(issue);
	if (isnan(at.from_s) || isnan(at.to_s))
		return;
	put(p, "<div><dt>when</dt><dd>");
	place_add_list(&at, json_item(issue, "ranks"));
	bool link = begin_place(p, &at);
	put(p, "%s to %s", fmt_time(at.from_s).s, fmt_time(at.to_s).s);
	end_place(p, link);
	put(p, "</dd></div>\n");
}

static void write_pair(struct page *p, const cJSON *pair)
{
	const cJSON *from = cJSON_IsArray(pair) ? pair->child : NULL;
	put(p, "%.0f \xe2\x86\x92 %.0f", json_number_of(from), json_number_of(from != NULL ? from->next : NULL));
}

/* Of those about waiting the rank that was waited for stands first. */
static const char *pairs_word(const cJSON *issue)
{
	const struct issue_row *row = issue_row(json_text(issue, "issue", ""));
	if (row != NULL && row->pairs_are_traffic)
		return "from \xe2\x86\x92 to";
	return "late \xe2\x86\x92 waiting";
}

static void write_pairs(struct page *p, const cJSON *issue)
{
	size_t n = json_count(issue, "pairs"), shown = 0;
	if (n == 0)
		return;
	put(p, "<div><dt>%s</dt><dd>", pairs_word(issue));
	for (const cJSON *v = json_first(issue, "pairs"); v != NULL && shown < PAIRS_MAX; v = v->next) {
		put(p, shown++ > 0 ? ", " : "");
		write_pair(p, v);
	}
	if (n > shown)
		put(p, " and %s more", fmt_count((double)(n - shown)).s);
	put(p, "</dd></div>\n");
}

static void write_ranks(struct page *p, const cJSON *issue)
{
	if (json_count(issue, "ranks") == 0)
		return;
	struct place at = window_of(issue);
	place_add_list(&at, json_item(issue, "ranks"));
	put(p, "<div><dt>ranks</dt><dd>");
	bool link = begin_place(p, &at);
	put_ranks(p, json_item(issue, "ranks"), RUNS_MAX);
	end_place(p, link);
	put(p, "%s</dd></div>\n", json_bool(issue, "more_ranks", false) ? " and more" : "");
}

static void write_sites(struct page *p, const cJSON *issue)
{
	size_t n = json_count(issue, "callsites"), shown = 0;
	if (n == 0)
		return;
	put(p, "<div class=\"places\"><dt>in the source</dt><dd>");
	for (const cJSON *v = json_first(issue, "callsites"); v != NULL && shown < SITES_MAX; v = v->next) {
		const cJSON *site = model_callsite(p->model, v);
		put(p, shown++ > 0 ? "<br>" : "");
		if (site != NULL)
			put_site_link(p, site);
	}
	if (n > shown)
		put(p, "<br>and %s more", fmt_count((double)(n - shown)).s);
	put(p, "</dd></div>\n");
}

/* Its ranks, in the interval of the issue. */
static void put_column_place(struct page *p, const cJSON *issue, const struct evidence *e, size_t i)
{
	struct place at = window_of(issue);
	if (e->group == 0)
		return;
	place_add_ranks(&at, (double)(i * e->group), (double)((i + 1) * e->group - 1));
	put_place_data(p, &at);
}

static void write_column(struct page *p, const cJSON *issue, const struct evidence *e, size_t i, double most)
{
	double height = e->value[i] > 0 ? fmax(e->value[i] / most * CHART_HEIGHT, 1) : 0;
	double x = 100.0 * (double)i / (double)e->n, width = 88.0 / (double)e->n;
	if (height > 0) {
		put(p, "<rect class=\"%s\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\"",
		    e->waiting	   ? "wait"
		    : e->marked[i] ? "named"
				   : "other",
		    x, CHART_HEIGHT - height, width, height);
		put_column_place(p, issue, e, i);
		put(p, "/>");
	}
	if (e->waiting && e->marked[i])
		put(p, "<text class=\"who\" x=\"%.2f%%\" y=\"%.1f\">\xe2\x96\xb2</text>", x + width / 2,
		    CHART_HEIGHT + MARK_ROOM - 1);
}

static void write_evidence(struct page *p, const cJSON *issue)
{
	struct evidence e;
	char text[EVIDENCE_TEXT];
	double most = 0;
	if (!evidence_find(p->model->root, issue, &e))
		return;
	for (size_t i = 0; i < e.n; i++)
		most = fmax(most, e.value[i]);
	evidence_text(&e, false, text);
	put(p,
	    "<figure class=\"evidence\"><figcaption>%s<span>%s</span></figcaption><svg class=\"columns\" "
	    "width=\"100%%\" height=\"%.0f\" role=\"img\"><title>%s</title>",
	    text,
	    !e.any_marked ? ""
	    : e.waiting	  ? ". \xe2\x96\xb2: who was waited for"
			  : ". Strong: ranks of this issue",
	    CHART_HEIGHT + (e.waiting && e.any_marked ? MARK_ROOM : 0), e.title);
	for (size_t i = 0; i < e.n; i++)
		write_column(p, issue, &e, i, most);
	put(p, "</svg></figure>\n");
}

/* The call that waited longest, and the command that shows it. */
static void write_worst(struct page *p, const cJSON *issue)
{
	size_t before = evidence_worst_before(p->model->issue, p->model->nissues, issue);
	const cJSON *worst = json_item(issue, "worst");
	double rank = json_number(worst, "rank"), from = json_number(worst, "from_s"), to = json_number(worst, "to_s");
	if (!(rank >= 0) || !(to > from))
		return;
	if (before > 0) {
		put(p, "<div><dt>longest wait</dt><dd>that of <a href=\"#issue-%zu\">issue %zu</a></dd></div>\n",
		    before, before);
		return;
	}
	struct place at = place_of_issue(issue);
	put(p, "<div class=\"all\"><dt>longest wait: ");
	bool link = begin_place(p, &at);
	put(p, "%s on rank %.0f", fmt_time(json_number(worst, "waited_s")).s, rank);
	end_place(p, link);
	put(p, ", in the viewer</dt><dd><code>");
	put_command(p, "view ", "");
	put(p, " --rank %.0f --from %.6f --to %.6f</code></dd></div>\n", rank, from, to);
}

/* Where the links would lead that the page has no room for. */
static void write_command(struct page *p, const cJSON *issue)
{
	struct place at = window_of(issue);
	double rank = json_first(issue, "ranks") != NULL ? json_number_of(json_first(issue, "ranks")) : NAN;
	if (json_number(json_item(issue, "worst"), "rank") >= 0 || p->model->carried != NULL || p->model->totals)
		return;
	if (!(rank >= 0) && !(at.to_s > at.from_s))
		return;
	put(p, "<div class=\"all\"><dt>in the viewer</dt><dd><code>");
	put_command(p, "view ", "");
	if (rank >= 0)
		put(p, " --rank %.0f", rank);
	if (at.to_s > at.from_s)
		put(p, " --from %.6f --to %.6f", at.from_s, at.to_s);
	put(p, "</code></dd></div>\n");
}

/* How sure it is: how far the number is from the threshold, and whether all of the record is there. */
static void write_confidence(struct page *p, const cJSON *issue)
{
	const cJSON *metric = json_item(issue, "metric");
	double value = json_number(metric, "value"), threshold = json_number(metric, "threshold");
	if (!(threshold > 0) || !(value > 0))
		return;
	bool far = issue_is_wrong(json_text(issue, "issue", "")) || /* one is enough */
		   fmax(value / threshold, threshold / value) >= FAR_FROM_THRESHOLD;
	put(p, "<div><dt>confidence</dt><dd>%s%s</dd></div>\n", far ? "high" : "moderate, near the threshold",
	    p->model->partial ? "; of a partial record" : "");
}

static void write_card(struct page *p, const cJSON *issue, size_t number, bool chart)
{
	put(p, "<article class=\"card\"><details>\n<summary>");
	write_title(p, issue, number);
	write_short(p, issue);
	put(p, "</summary>\n<div id=\"issue-%zu\">\n", number);
	write_what(p, issue);
	paragraph(p, "why soft", "", json_text(issue, "why", ""));
	paragraph(p, "do", "<b>Try:</b> ", json_text(issue, "next", ""));
	if (chart)
		write_evidence(p, issue);
	put(p, "<dl>\n");
	write_gain(p, issue);
	write_loss(p, issue);
	write_metric(p, issue);
	write_confidence(p, issue);
	write_ranks(p, issue);
	write_pairs(p, issue);
	write_window(p, issue);
	write_sites(p, issue);
	write_worst(p, issue);
	write_command(p, issue);
	put(p, "</dl>\n</div>\n</details></article>\n");
}

static void write_issues(struct page *p)
{
	const struct model *m = p->model;
	size_t shown = m->nissues < CARDS_MAX ? m->nissues : CARDS_MAX;
	if (m->totals)
		put(p,
		    "<p>Most rules need the events, which are not analysed yet; of those that need totals only "
		    "%s.</p>\n",
		    m->nissues > 0 ? "these fired" : "none fired");
	else if (m->nissues == 0) {
		put(p, "<p>No rule of the analysis fired: ");
		put_text(p, json_text(m->root, "verdict", "nothing to fix"), 200);
		put(p, ".</p>\n");
	}
	put(p, "<div>\n");
	for (size_t i = 0; i < shown; i++)
		write_card(p, m->issue[i], i + 1, i < CHARTS_MAX);
	put(p, "</div>\n");
	put_left_out(p, m->nissues - shown, "more issue");
}

/* Without a record there is nothing to judge. */
static bool has_issues(const struct model *m)
{
	return !m->totals || m->nranks > 0;
}

const struct section section_issues = {
	.id = "issues",
	.title = "Issues",
	.how = "Causes stand before their consequences, otherwise the most costly issue first; the same lost time can "
	       "count in several, so gains do not add up. Each card gives the measured value and the threshold it "
	       "crossed.",
	.has = has_issues,
	.write = write_issues,
};
