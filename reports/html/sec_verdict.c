/* sec_verdict.c - the answer first: what MPI cost, the biggest cause, what to do about it, and four
 * figures. In: totals and the worst issue.  Out: the masthead of the page. */
#include "base/path.h"
#include "format/issues.h"
#include "reports/html/section.h"
#include "reports/text/gain.h"
#include "reports/text/running.h"
#include "reports/text/without_waits.h"
#include "reports/text/waits_bound.h"

#include <math.h>
#include <string.h>

#define CORE_HOUR_S 3600.0
#define CORE_HOURS_MIN 0.01
#define UNRETURNED_SEEN 0.05 /* of the ranks' time */
#define REGION_SAID 0.95     /* of the run time: what is less is told */

static void write_kicker(struct page *p)
{
	const cJSON *job = p->model->job;
	const char *id = json_text(job, "job_id", ""), *step = json_text(job, "step_id", "");
	put(p, "<p class=\"kicker\">mpitrace report \xc2\xb7 <b>");
	put_text(p, basename_of(json_text(job, "program", "MPI program")), NAME_CHARS);
	put(p, "</b>");
	if (*id != '\0') {
		put(p, " \xc2\xb7 job ");
		put_text(p, id, 32);
	}
	if (*step != '\0') {
		put(p, ", step ");
		put_text(p, step, 32);
	}
	put(p, "</p>\n");
}

static bool is_wrong(const cJSON *issue)
{
	return issue_is_wrong(json_text(issue, "issue", ""));
}

/* The first issue worth acting on, in the order of the analysis, which puts causes before what follows from them; or
 * NULL. */
static const cJSON *main_issue(const struct model *m)
{
	for (size_t i = 0; i < m->nissues; i++)
		if (issue_severity(m->issue[i]) > 0)
			return m->issue[i];
	return NULL;
}

/* Then its first sentence is the headline. */
static bool is_end(const cJSON *issue)
{
	static const char *const ends[] = {"death", "deadlock", "unfinished"};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(json_text(issue, "issue", ""), ends[i]) == 0)
			return *json_text(issue, "what", "") != '\0';
	return false;
}

/* Of a text of ours, sentences end with a period, a blank and a capital letter or a number. */
static size_t first_sentence(const char *text)
{
	const char *end = strstr(text, ". ");
	return end != NULL ? (size_t)(end + 1 - text) : strlen(text);
}

static void write_cause(struct page *p, const cJSON *issue)
{
	const char *kind = json_text(issue, "issue", "unnamed issue");
	const char *phrase = issue_phrase(kind);
	put(p, is_wrong(issue) ? " Fix first: " : " Main cause: ");
	if (phrase != NULL)
		put(p, "%s", phrase);
	else
		put_words(p, kind);
	put(p, ".");
}

static bool is_efficient(const struct model *m)
{
	double parallel = json_number(m->efficiency, "parallel");
	return isnan(parallel) || parallel >= EFFICIENCY_MARK;
}

/* Then nobody knows whether there is something to fix. */
static bool lacks_ranks(const struct model *m)
{
	return json_number(m->coverage, "ranks_seen") < json_number(m->coverage, "ranks_expected");
}

static void write_headline(struct page *p)
{
	const struct model *m = p->model;
	const cJSON *issue = main_issue(m);
	put(p, "<h1>");
	if (is_end(issue)) {
		struct place at = place_of_issue(issue);
		bool link = begin_place(p, &at);
		put_text_part(p, json_text(issue, "what", ""), first_sentence(json_text(issue, "what", "")));
		end_sentence(p, link);
	} else if (m->total_s <= 0) {
		put(p, m->totals && m->nranks == 0 ? "The record of this step cannot be read."
						   : "No MPI time was recorded.");
	} else if (m->totals && (issue == NULL || !is_wrong(issue))) {
		put(p, "MPI took %s of the ranks\xe2\x80\x99 time.", fmt_share(m->mpi_s / m->total_s).s);
	} else if (issue == NULL && lacks_ranks(m)) {
		put(p,
		    "MPI took %s of the recorded ranks\xe2\x80\x99 time. Whether there is something to fix is not "
		    "known: "
		    "%.0f of %.0f ranks are recorded.",
		    fmt_share(m->mpi_s / m->total_s).s, json_number(m->coverage, "ranks_seen"),
		    json_number(m->coverage, "ranks_expected"));
	} else if (issue == NULL && is_efficient(m)) {
		put(p, "Nothing to fix: MPI took %s of the ranks\xe2\x80\x99 time.",
		    fmt_share(m->mpi_s / m->total_s).s);
	} else {
		put(p, "MPI took %s of the ranks\xe2\x80\x99 time.", fmt_share(m->mpi_s / m->total_s).s);
		if (issue != NULL)
			write_cause(p, issue);
		else
			put(p, " No single cause stands out.");
	}
	put(p, "</h1>\n");
}

static void write_partial(struct page *p)
{
	const struct model *m = p->model;
	double seen = json_number(m->coverage, "ranks_seen");
	put(p, "<p class=\"cause\">This trace is partial, %s of %s: what follows is true of what was recorded.</p>\n",
	    fmt_count(isnan(seen) ? (double)m->nranks : seen).s, fmt_many((double)model_nranks(m), "rank").s);
}

/* Where it happens, unless the sentence before has said so. */
static void write_site(struct page *p, const cJSON *issue, const char *what)
{
	const cJSON *site = model_callsite(p->model, json_first(issue, "callsites"));
	const char *file = basename_of(json_text(site, "file", ""));
	if (site == NULL || (*file != '\0' && strstr(what, file) != NULL))
		return;
	put(p, strcmp(json_text(issue, "issue", ""), "load_imbalance") == 0 ? " They wait in " : " See ");
	put_site_link(p, site);
	put(p, ".");
}

/* Too much of the time went to the tracer, and the cause named before is another. */
static void write_tracing(struct page *p, const cJSON *main)
{
	for (size_t i = 0; i < p->model->nissues; i++) {
		const cJSON *issue = p->model->issue[i];
		if (issue == main || strcmp(json_text(issue, "issue", ""), "tracing_cost") != 0)
			continue;
		put(p, "<p class=\"cause\">");
		put_text(p, json_text(issue, "what", ""), SENTENCE_CHARS);
		put(p, "</p>\n");
	}
}

/* Processors that a rank has: one, or its part of them on nodes with more ranks. */
static double processors_a_rank(const struct model *m)
{
	double ranks = 0, processors = 0;
	for (const cJSON *node = json_first(json_item(m->root, "topology"), "nodes"); node != NULL; node = node->next) {
		double on = (double)json_count(node, "ranks"), pus = json_number(node, "pus");
		ranks += on;
		processors += pus > 0 ? fmin(on, pus) : on;
	}
	return ranks > 0 ? processors / ranks : 1;
}

/* What it costs, in the unit in which computers are paid where it is much. */
static void write_lost(struct page *p, const cJSON *issue)
{
	double loss_s = json_number(issue, "loss_s"), of_s = json_number_or(issue, "loss_of_s", p->model->total_s);
	if (!(loss_s > 0) || !(of_s > 0) || is_wrong(issue))
		return;
	put(p, " This costs%s <b>%s</b> of all ranks\xe2\x80\x99 time",
	    strcmp(json_text(issue, "issue", ""), "oversubscription") == 0 ? " up to" : "", fmt_share(loss_s / of_s).s);
	double hours = loss_s / CORE_HOUR_S * processors_a_rank(p->model);
	if (hours >= CORE_HOURS_MIN)
		put(p, ", %s core-hours", fmt_ratio(hours).s);
	char gain[GAIN_TEXT];
	if (gain_text(issue, false, gain))
		put(p, "; without it the run gains <b>%s</b>, by replay", gain);
	put(p, ".");
}

#define OTHERS_MAX 2 /* so that with the first the page opens with three */

/* number: of its card. follows: from the first one. */
static void write_other(struct page *p, const cJSON *issue, size_t number, bool follows)
{
	const cJSON *site = model_callsite(p->model, json_first(issue, "callsites"));
	const char *kind = json_text(issue, "issue", "unnamed issue"), *phrase = issue_phrase(kind);
	double loss_s = json_number(issue, "loss_s"), of_s = json_number_or(issue, "loss_of_s", p->model->total_s);
	double gain = json_number(json_item(issue, "gain"), "share");
	put(p, "<li><a href=\"#issue-%zu\">", number);
	if (phrase != NULL)
		put(p, "%s", phrase);
	else
		put_words(p, kind);
	put(p, "</a>");
	if (loss_s > 0 && of_s > 0 && !is_wrong(issue))
		put(p, ", <b>%s</b>", fmt_share(loss_s / of_s).s);
	if (follows)
		put(p, ", which follows from it");
	else if (gain > 0)
		put(p, ", gains %s", fmt_share(gain).s);
	if (site != NULL) {
		put(p, ", ");
		put_site_link(p, site);
	}
	put(p, "</li>\n");
}

/* A line each: what else costs most, how much, and where. What follows from the first says least, and stands behind. */
static void write_others(struct page *p, const cJSON *main)
{
	size_t shown = 0;
	for (int follows = 0; follows <= 1; follows++)
		for (size_t i = 0; i < p->model->nissues && shown < OTHERS_MAX; i++) {
			const cJSON *issue = p->model->issue[i];
			size_t cause = issue_cause_of(p->model->issue, p->model->nissues, issue);
			if (issue == main || (main != NULL && issue_severity(issue) == 0) || (cause > 0) != follows ||
			    (cause > 0 && p->model->issue[cause - 1] != main))
				continue;
			put(p, "%s", shown++ == 0 ? "<ul class=\"others\">\n" : "");
			write_other(p, issue, i + 1, follows);
		}
	if (shown > 0)
		put(p, "</ul>\n");
}

static void write_advice(struct page *p)
{
	const struct model *m = p->model;
	const cJSON *issue = main_issue(m);
	const char *what = json_text(issue, "what", ""), *next = json_text(issue, "next", "");
	bool end = is_end(issue);
	if (end)
		what += first_sentence(what);
	if (*what != '\0') {
		struct place at = place_of_issue(issue);
		put(p, "<p class=\"cause\">");
		bool link = !end && begin_place(p, &at); /* else the headline has it */
		put_text(p, what, SENTENCE_CHARS);
		end_sentence(p, link);
		if (!end)
			write_site(p, issue, what);
		write_lost(p, issue);
		put(p, "</p>\n");
	}
	if (m->partial && !end && m->nranks > 0)
		write_partial(p);
	if (m->unreturned_s >= UNRETURNED_SEEN * m->total_s && m->unreturned_s > 0)
		put(p,
		    "<p class=\"cause\">Calls that %s took %s of the ranks\xe2\x80\x99 time; it counts as "
		    "waiting only where it is known for whom.</p>\n",
		    unreturned_phrase(m->root), fmt_share(fmin(m->unreturned_s, m->mpi_s) / m->total_s).s);
	write_tracing(p, issue);
	if (*next != '\0') {
		put(p, "<p class=\"first\"><b>Do first</b>");
		put_text(p, next, SENTENCE_CHARS);
		put(p, "</p>\n");
	}
	write_others(p, issue);
	if (m->nissues > 1)
		put(p, "<p class=\"more\"><a href=\"#issues\">See all %s issues</a></p>\n",
		    fmt_count((double)m->nissues).s);
}

static void write_figures(struct page *p)
{
	const struct model *m = p->model;
	bool any = m->total_s > 0;
	double region_s = json_number(m->efficiency, "region_s");
	double hung_s = json_number_or(m->job, "hung_s", 0);
	double without_waits = without_waits_of(m->root);
	put(p, "<dl class=\"figures\">\n<div><dt>run time, %s rank%s", fmt_count((double)model_nranks(m)).s,
	    model_nranks(m) == 1 ? "" : "s");
	if (hung_s > 0)
		put(p, "; no rank advanced in the last %s", fmt_time(hung_s).s);
	if (region_s < REGION_SAID * m->runtime_s)
		put(p, "; shares are of the %s between MPI_Init and MPI_Finalize", fmt_time(region_s).s);
	put(p, "</dt><dd>%s</dd></div>\n", fmt_time(m->runtime_s).s);
	put(p, "<div><dt>of the ranks\xe2\x80\x99 time in MPI</dt><dd>%s</dd></div>\n",
	    fmt_share(any ? m->mpi_s / m->total_s : NAN).s);
	put(p, "<div><dt>of the ranks\xe2\x80\x99 time waiting for others");
	if (m->waits_known && without_waits > 0)
		put(p, "; %s of the time in MPI is in calls whose waiting is not analysed", fmt_share(without_waits).s);
	put(p, "</dt><dd>%s%s</dd></div>\n", waits_bound_text(any && m->waits_at_least),
	    any && !m->waits_known ? "not known" : fmt_share(any ? m->wait_s / m->total_s : NAN).s);
	put(p, "<div><dt>parallel efficiency, 0.80 is good</dt><dd>%s</dd></div>\n</dl>\n",
	    fmt_ratio(json_number(m->efficiency, "parallel")).s);
}

static void write_verdict(struct page *p)
{
	put(p, "<div class=\"masthead\">\n");
	write_kicker(p);
	write_headline(p);
	write_advice(p);
	write_figures(p);
	put_time_strip(p);
	put(p, "</div>\n");
}

const struct section section_verdict = {.id = "verdict", .write = write_verdict};
