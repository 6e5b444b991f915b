/* sec_next.c - how to go on from here: the commands that show more.
 * In: nothing but the names every step directory uses.  Out: three commands. */
#include "reports/html/section.h"

static void write_next(struct page *p)
{
	put(p, "<p>See every message on a time line, in the browser:</p>\n<pre>mpitrace view "
	       "job.mpix</pre>\n"
	       "<p>The same numbers for a script, or for another tool:</p>\n<pre>mpitrace show "
	       "--json job.mpix</pre>\n"
	       "<p>Single calls of one rank:</p>\n<pre>mpitrace show --events --rank 0 "
	       "job.mpix</pre>\n"
	       "<p class=\"note\">The trace <code>job.mpix</code> lies beside this page unless it "
	       "was given "
	       "another name.</p>\n");
}

const struct section section_next = {
	.id = "next",
	.title = "How to go on",
	.how = "The trace holds more than fits on a page.",
	.write = write_next,
};
