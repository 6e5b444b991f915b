/* sec_next.c - how to go on from here: the commands that show more.
 * In: the name of the trace.  Out: three commands. */
#include "reports/html/carried.h"
#include "reports/html/section.h"

static void command(struct page *p, const char *what, const char *before)
{
	put(p, "<p>%s</p>\n<pre>", what);
	put_command(p, before, "");
	put(p, "</pre>\n");
}

static void put_carried(struct page *p, const struct carried *c)
{
	put(p, "<p>Sentences, ranks, intervals and call sites above lead into the trace, ");
	if (c->ranges == NULL)
		put(p, "which is in this page.</p>\n");
	else
		put(p,
		    "of which %s of %s are in this page: all of the run in sums, single calls and messages where "
		    "sentences lead.</p>\n",
		    fmt_bytes((double)c->trace.len_bytes).s, fmt_bytes((double)c->bytes).s);
}

static void write_next(struct page *p)
{
	if (p->model->totals) {
		command(p, "Analyse the events, and make this page whole:", "finish ");
		command(p, "The same numbers for a script, or for another tool:", "analyze --totals --json ");
		return;
	}
	if (p->model->is_too_large)
		put(p,
		    "<p>The trace is not in this page, which would be larger than %s with it and with the "
		    "viewer.</p>\n",
		    fmt_bytes((double)p->model->carrying_bytes_max).s);
	if (p->model->carried != NULL)
		put_carried(p, p->model->carried);
	command(p, "See every message on a time line, in the browser:", "view ");
	command(p, "The same numbers for a script, or for another tool:", "show --json ");
	command(p, "Single calls of one rank:", "show --events --rank 0 ");
	put(p, "<p class=\"note\">In the directory of the trace <code>");
	put_text(p, p->model->trace, TITLE_CHARS);
	put(p, "</code>, which lies beside this page unless one of them was moved.</p>\n");
}

static void result(struct page *p)
{
	put(p, "<code>");
	put_command(p, p->model->totals ? "finish " : "view ", "");
	put(p, "</code>");
}

static bool has_next(const struct model *m)
{
	return !m->totals || m->nranks > 0;
}

const struct section section_next = {
	.id = "next",
	.title = "Next steps",
	.how = "The trace holds more than fits on a page.",
	.has = has_next,
	.result = result,
	.write = write_next,
};
