/* sec_totals.c - a page that was made before the events were looked at says so first: what is exact, what is not known
 * yet, and who makes it known. In: coverage of an analysis from totals.  Out: a strip above the headline. */
#include "reports/html/section.h"

/* Who has to wait for the rest, and for how much. */
static void write_rest(struct page *p)
{
	double events = json_number(p->model->coverage, "events_not_analysed");
	double bytes = json_number(p->model->coverage, "event_bytes_not_analysed");
	put(p,
	    "<b class=\"flag\">\xe2\x97\x94 From totals.</b> Counts, bytes and times of calls are exact. Waits, "
	    "messages "
	    "and the time line follow, at this same address, when the <b>%s events</b> (%s) are analysed: by the "
	    "site\xe2\x80\x99s sweep, where there is one, or at once by</p>\n<pre>",
	    fmt_count(events).s, fmt_bytes(bytes).s);
	put_command(p, "finish ", "");
	put(p, "</pre>\n");
}

static void write_totals(struct page *p)
{
	put(p, "<aside class=\"totals\" aria-label=\"What this page is made of\">\n<p>");
	if (p->model->nranks > 0)
		write_rest(p);
	else
		put(p, "<b class=\"flag\">\xe2\x97\x90 No record.</b> Nothing could be read; the reasons are "
		       "below.</p>\n");
	put(p, "</aside>\n");
}

static bool has_totals(const struct model *m)
{
	return m->totals;
}

const struct section section_totals = {.id = "totals", .has = has_totals, .write = write_totals};
