/* job.c - see job.h. */
#include "base/path.h"
#include "format/issues.h"
#include "reports/html/html.h"
#include "reports/html/job.h"
#include "reports/html/page.h"
#include "reports/text/waits_bound.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_SHOWN 1000

/* ---- steps ---- */

static void read_analysis(struct job_step *x, const struct model *m)
{
	x->known = true;
	x->partial = m->partial;
	x->waits_known = m->waits_known;
	x->waits_at_least = m->waits_at_least;
	x->program = strdup(basename_of(json_text(m->job, "program", "MPI program")));
	x->ranks = (double)model_nranks(m);
	x->runtime_s = m->runtime_s;
	x->total_s = m->total_s;
	x->useful_s = m->useful_s;
	x->mpi_s = m->mpi_s;
	x->wait_s = m->wait_s;
	x->parallel = json_number(m->efficiency, "parallel");
	for (size_t i = 0; i < m->nissues && x->issue == NULL; i++) {
		if (issue_severity(m->issue[i]) == 0)
			continue;
		x->severity = issue_severity(m->issue[i]);
		x->issue = strdup(json_text(m->issue[i], "issue", "issue"));
		x->loss_s = fmax(0, json_number_or(m->issue[i], "loss_s", 0));
	}
}

int job_add(struct job_steps *all, const char *name, const char *link, const char *analysis_json)
{
	struct job_step x = {.name = strdup(name), .runtime_s = NAN, .parallel = NAN, .ranks = NAN};
	struct model m;
	int code = all->list.n < JOB_STEPS_MAX ? 0 : -E2BIG;
	x.link = link != NULL ? strdup(link) : NULL;
	if (code == 0 && analysis_json != NULL && (code = model_create(analysis_json, &m)) == 0) {
		read_analysis(&x, &m);
		model_done(&m);
	}
	if (code == -EBADMSG) /* as one without a trace */
		code = 0;
	if (code == 0 && (x.name == NULL || vec_push(&all->list, x) < 0))
		code = -ENOMEM;
	if (code < 0) {
		struct job_steps one = {0};
		if (vec_push(&one.list, x) == 0)
			job_done(&one);
	}
	return code;
}

void job_done(struct job_steps *all)
{
	for (size_t i = 0; i < all->list.n; i++) {
		struct job_step *x = &all->list.at[i];
		free(x->name);
		free(x->program);
		free(x->issue);
		free(x->link);
	}
	vec_done(&all->list);
}

static bool went_wrong(const struct job_step *x)
{
	return x->issue != NULL && issue_is_wrong(x->issue);
}

/* What went wrong first, then what lost most, then the dearest; those without a trace last; else by name. */
static int by_cost(const void *a, const void *b)
{
	const struct job_step *x = a, *y = b;
	if (x->known != y->known)
		return x->known ? -1 : 1;
	if (went_wrong(x) != went_wrong(y))
		return went_wrong(x) ? -1 : 1;
	if (x->loss_s != y->loss_s)
		return x->loss_s > y->loss_s ? -1 : 1;
	if (x->total_s != y->total_s)
		return x->total_s > y->total_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* ---- the page ---- */

static void put_issue(struct page *p, const char *issue)
{
	const char *phrase = issue_phrase(issue);
	if (phrase != NULL)
		put(p, "%s", phrase);
	else
		put_words(p, issue);
}

/* The issue that loses most in all steps of which it is the first. */
static const char *dearest_issue(const struct job_steps *all, double *ret_loss_s, size_t *ret_steps)
{
	const char *best = NULL;
	*ret_loss_s = 0;
	for (size_t i = 0; i < all->list.n; i++) {
		const char *issue = all->list.at[i].issue;
		double loss_s = 0;
		size_t steps = 0;
		bool seen = issue == NULL;
		for (size_t k = 0; k < i && !seen; k++)
			seen = all->list.at[k].issue != NULL && strcmp(all->list.at[k].issue, issue) == 0;
		for (size_t k = i; k < all->list.n && !seen; k++)
			if (all->list.at[k].issue != NULL && strcmp(all->list.at[k].issue, issue) == 0) {
				loss_s += all->list.at[k].loss_s;
				steps++;
			}
		if (!seen && (best == NULL || loss_s > *ret_loss_s)) {
			best = issue;
			*ret_loss_s = loss_s;
			*ret_steps = steps;
		}
	}
	return best;
}

struct sums {
	double total_s, useful_s, mpi_s, wait_s;
	size_t steps, known, partial, wrong;
	double most_s; /* of one step */
};

static struct sums add_up(const struct job_steps *all)
{
	struct sums s = {.steps = all->list.n};
	for (size_t i = 0; i < all->list.n; i++) {
		const struct job_step *x = &all->list.at[i];
		s.known += x->known;
		s.partial += x->known && x->partial;
		s.wrong += went_wrong(x);
		s.most_s = fmax(s.most_s, x->total_s);
		s.total_s += x->total_s;
		s.useful_s += x->useful_s;
		s.mpi_s += x->mpi_s;
		s.wait_s += x->wait_s;
	}
	return s;
}

static void write_masthead(struct page *p, const struct job_steps *all, const char *title)
{
	struct sums s = add_up(all);
	double loss_s;
	size_t steps = 0;
	const char *issue = dearest_issue(all, &loss_s, &steps);
	put(p, "<div class=\"masthead\">\n<p class=\"kicker\">mpitrace report \xc2\xb7 <b>");
	put_text(p, title, NAME_CHARS);
	put(p, "</b> \xc2\xb7 all steps</p>\n<h1>");
	if (s.total_s <= 0)
		put(p, "No MPI time was recorded.");
	else
		put(p, "MPI took %s of the ranks\xe2\x80\x99 time in %s step%s.", fmt_share(s.mpi_s / s.total_s).s,
		    fmt_count((double)s.known).s, s.known == 1 ? "" : "s");
	if (issue != NULL && s.total_s > 0) {
		put(p, " Main cause: ");
		put_issue(p, issue);
		put(p, ".");
	} else if (s.total_s > 0) {
		put(p, " Nothing to fix.");
	}
	put(p, "</h1>\n");
	if (issue != NULL && loss_s > 0)
		put(p, "<p class=\"cause\">In %s step%s it costs %s of all ranks\xe2\x80\x99 time, %s of it all.</p>\n",
		    fmt_count((double)steps).s, steps == 1 ? "" : "s", fmt_time(loss_s).s,
		    fmt_share(fmin(1, loss_s / s.total_s)).s);
	if (s.wrong > 0)
		put(p, "<p class=\"cause\">%s step%s did not go as %s should: %s below.</p>\n",
		    fmt_count((double)s.wrong).s, s.wrong == 1 ? "" : "s", s.wrong == 1 ? "it" : "they",
		    s.wrong == 1 ? "the first" : "the first ones");
	put(p, "<dl class=\"figures\">\n<div><dt>steps, %s without a trace, %s partial</dt><dd>%s</dd></div>\n",
	    fmt_count((double)(s.steps - s.known)).s, fmt_count((double)s.partial).s, fmt_count((double)s.steps).s);
	put(p, "<div><dt>of all ranks together</dt><dd>%s</dd></div>\n", fmt_time(s.total_s).s);
	put(p, "<div><dt>of the ranks\xe2\x80\x99 time in MPI</dt><dd>%s</dd></div>\n",
	    fmt_share(s.total_s > 0 ? s.mpi_s / s.total_s : NAN).s);
	put(p, "<div><dt>of the ranks\xe2\x80\x99 time waiting for others</dt><dd>%s</dd></div>\n</dl>\n</div>\n",
	    fmt_share(s.total_s > 0 ? s.wait_s / s.total_s : NAN).s);
}

/* A link is a path of ours with a step's name in it: what could end or leave it is written as %XX. */
static void put_link(struct page *p, const char *link)
{
	for (const unsigned char *c = (const unsigned char *)link; *c != '\0'; c++)
		if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
		    strchr("-_./", *c) != NULL)
			fputc(*c, p->out);
		else
			fprintf(p->out, "%%%02X", *c);
}

static void write_step(struct page *p, const struct job_step *x, double most_s)
{
	static const char *const marks[] = {"", "\xe2\x96\xb2 ", "\xe2\x96\xa0 "};
	put(p, "<tr><th scope=\"row\">");
	if (x->link != NULL) {
		put(p, "<a href=\"");
		put_link(p, x->link);
		put(p, "\">");
	}
	put_text(p, x->name, NAME_CHARS);
	put(p, x->link != NULL ? "</a>" : "");
	if (!x->known) {
		put(p, "</th><td colspan=\"7\">no trace that can be read</td></tr>\n");
		return;
	}
	put(p, "<br><small class=\"soft\">");
	put_text(p, x->program, NAME_CHARS);
	put(p, "%s</small></th><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"wide\">",
	    x->partial ? " \xc2\xb7 partial" : "", fmt_count(x->ranks).s, fmt_time(x->runtime_s).s);
	put_time_bar(p, x->useful_s, x->mpi_s, x->wait_s, most_s);
	put(p, "</td><td class=\"n\">%s</td><td class=\"n\">%s%s</td><td class=\"n\">%s</td><td>",
	    fmt_share(x->total_s > 0 ? x->mpi_s / x->total_s : NAN).s, waits_bound_text(x->waits_at_least),
	    !x->waits_known ? "not known" : fmt_share(x->total_s > 0 ? x->wait_s / x->total_s : NAN).s,
	    fmt_ratio(x->parallel).s);
	if (x->issue != NULL) {
		put(p, "%s", marks[x->severity]);
		put_issue(p, x->issue);
		if (x->loss_s > 0)
			put(p, ", %s", fmt_time(x->loss_s).s);
	}
	put(p, "</td></tr>\n");
}

static void write_steps(struct page *p, const struct job_steps *all)
{
	size_t n = all->list.n, shown = n < STEPS_SHOWN ? n : STEPS_SHOWN;
	double most_s = fmax(add_up(all).most_s, 1e-9);
	put(p, "<section id=\"steps\" aria-labelledby=\"steps-h\">\n<h2 id=\"steps-h\">Steps</h2>\n"
	       "<div class=\"body\">\n<p class=\"how\">What went wrong first, then what lost most to its first issue. "
	       "Bars are the time of all ranks; each "
	       "step has its own page.</p>"
	       "\n<div class=\"scroll\" tabindex=\"0\"><table><caption>All steps</caption>\n<thead><tr>"
	       "<th scope=\"col\">step</th><th scope=\"col\" class=\"n\">ranks</th><th scope=\"col\" class=\"n\">run "
	       "time</th><td></td><th scope=\"col\" class=\"n\">MPI</th><th scope=\"col\" class=\"n\">"
	       "waiting</th><th scope=\"col\" class=\"n\">efficiency</th><th scope=\"col\">first "
	       "issue</th></tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < shown; i++)
		write_step(p, &all->list.at[i], most_s);
	put(p, "</tbody></table></div>\n");
	if (n > shown)
		put(p, "<p class=\"more\">%s not shown.</p>\n", fmt_many((double)(n - shown), "more step").s);
	put_time_legend(p);
	put(p, "<p class=\"note\">Steps that have ended since are added now and then, and by <code>mpitrace report "
	       "DIRECTORY</code> at once.</p>\n</div>\n</section>\n");
}

void html_job(struct job_steps *all, const char *title, FILE *out)
{
	struct page p = {.out = out};
	vec_sort(&all->list, by_cost);
	html_begin(&p, title);
	put(&p, "<main " HTML_JOB_STEPS "%zu\">\n", all->list.n);
	write_masthead(&p, all, title);
	write_steps(&p, all);
	put(&p, "</main>\n");
	html_end(&p);
}
