/* page_monday.c - Monday's sentences, and what has become of those before. */
#include "fleet/page.h"
#include "fleet/monday.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Where only some jobs have a page, this one has. */
static void link_job(struct fleet_page *g, const char *link)
{
	static const char begin[] = "job-";
	if (!g->site->sealed && strncmp(link, begin, sizeof(begin) - 1) == 0)
		(void)vec_push(&g->site->linked, strtoll(link + sizeof(begin) - 1, NULL, 10));
}

static void put_letter(struct fleet_page *g, const struct monday_letter *l)
{
	put(&g->p, "<details><summary>A text for ");
	put_text(&g->p, *l->to != '\0' ? l->to : "who runs the machine", NAME_CHARS);
	put(&g->p, "</summary><p class=\"letter\">");
	put_text(&g->p, l->text, 4000);
	put(&g->p, "</p>");
	if (*l->link != '\0') {
		link_job(g, l->link);
		put(&g->p, "<p><a href=\"%s\">The page that it is about</a></p>", l->link);
	}
	put(&g->p, "</details>");
}

static void put_sentences(struct fleet_page *g, const struct monday *m)
{
	section_begin(g, "sentences", "What to do",
		      "Ordered by the core-hours of that week that could be saved. Each has a text to send.");
	if (m->sentences.n == 0)
		put(&g->p, "<p>Nothing stands out.</p>\n");
	for (size_t i = 0; i < m->sentences.n; i++) {
		const struct monday_sentence *x = &m->sentences.at[i];
		put(&g->p, "<div class=\"card\"><h3>%zu. ", i + 1);
		put_text(&g->p, x->text, SENTENCE_CHARS);
		put(&g->p, "</h3>");
		for (size_t k = 0; k < x->letters.n; k++)
			put_letter(g, &x->letters.at[k]);
		put(&g->p, "</div>\n");
	}
	section_end(g);
}

static void put_old(struct fleet_page *g, const struct monday *m)
{
	section_begin(g, "before", "What was said before", "And how it developed since.");
	put(&g->p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">it is</th><th scope=\"col\" "
	    "class=\"n\">core-hours then</th><th scope=\"col\" class=\"n\">now</th><th scope=\"col\">what was "
	    "said</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < m->old.n; i++) {
		const struct monday_old *o = &m->old.at[i];
		put(&g->p, "<tr><th scope=\"row\">%s</th>", monday_became(o));
		put_cell(g, fmt_hours(o->then), o->then);
		put_cell(g, fmt_hours(o->now), o->now);
		put(&g->p, "<td>");
		put_text(&g->p, o->text, SENTENCE_CHARS);
		put(&g->p, "</td></tr>\n");
	}
	put(&g->p, "</tbody></table></div>\n");
	section_end(g);
}

void page_monday(struct fleet_page *g)
{
	struct monday m = {0};
	fleet_begin(g, "Monday", PAGE_MONDAY);
	int64_t until;
	int rc = monday_last(g->site->f, (int64_t)time(NULL), &until, g->site->e);
	if (rc == 0)
		rc = monday_read(g->site->f, until, &m, g->site->e);
	if (rc == -ENODATA) {
		put(&g->p, "<div class=\"masthead\"><h1>The jobs of the last week that had any have been "
			   "pruned.</h1></div>\n");
		fleet_end(g);
		return;
	}
	if (rc < 0) {
		g->rc = -EIO;
		return;
	}
	put(&g->p,
	    "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet \xc2\xb7 <b>%s</b> to <b>%s</b></p>\n<h1>",
	    fmt_day((double)m.from / FLEET_SECONDS_PER_DAY).s,
	    fmt_day((double)(m.until - 1) / FLEET_SECONDS_PER_DAY).s);
	if (m.jobs > 0)
		put(&g->p, "Up to %s of %s core-hours could be saved.</h1>\n", fmt_hours_said(m.saving).s,
		    fmt_hours_said(m.core_hours).s);
	else
		put(&g->p, "No job of that week is known.</h1>\n");
	if (m.not_known > 0)
		put(&g->p, "<p class=\"cause\">How %s of %s core-hours were spent is not known.</p>\n",
		    fmt_hours_said(m.not_known).s, fmt_hours_said(m.core_hours).s);
	put(&g->p, "</div>\n");
	if (m.jobs > 0)
		put_sentences(g, &m);
	if (m.old.n > 0)
		put_old(g, &m);
	fleet_end(g);
	monday_done(&m);
}
