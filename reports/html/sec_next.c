/* sec_next.c - how to go on from here: the commands that show more.
 * In: the name of the trace.  Out: three commands. */
#include "reports/html/section.h"

#include <string.h>

/* A name with blanks or such goes in quotes; what is in them is told as it is. */
static void command(struct page *p, const char *what, const char *before, const char *after)
{
	const char *name = p->model->trace;
	bool plain = name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@%")] == '\0';
	put(p, "<p>%s</p>\n<pre>mpitrace %s%s", what, before, plain ? "" : "'");
	put_text(p, name, TITLE_CHARS);
	put(p, "%s%s</pre>\n", plain ? "" : "'", after);
}

static void write_next(struct page *p)
{
	command(p, "See every message on a time line, in the browser:", "view ", "");
	command(p, "The same numbers for a script, or for another tool:", "show --json ", "");
	command(p, "Single calls of one rank:", "show --events --rank 0 ", "");
	put(p, "<p class=\"note\">In the directory of the trace <code>");
	put_text(p, p->model->trace, TITLE_CHARS);
	put(p, "</code>, which lies beside this page unless one of them was moved.</p>\n");
}

const struct section section_next = {
	.id = "next",
	.title = "How to go on",
	.how = "The trace holds more than fits on a page.",
	.write = write_next,
};
