/* bars.c - horizontal bars: inline SVG whose widths are percentages, so that they fit any screen
 * and print sharp. In: values.  Out: markup; colours and patterns are classes of style.css. */
#include "reports/html/page.h"

#include <math.h>

void put_bar_of(struct page *p, const struct part *parts, unsigned nparts, double full, unsigned height)
{
	double at = 0;
	put(p, "<svg class=\"bar\" width=\"100%%\" height=\"%u\" aria-hidden=\"true\">", height);
	for (unsigned i = 0; i < nparts && full > 0; i++) {
		double width = fmin(fmax(parts[i].value / full, 0) * 100, 100 - at);
		if (width < 0.005)
			continue;
		put(p, "<rect class=\"%s\" x=\"%.2f%%\" width=\"%.2f%%\" height=\"%u\"/>", parts[i].class, at, width,
		    height);
		at += width;
	}
	put(p, "</svg>");
}

void put_bar(struct page *p, const struct part *parts, unsigned nparts, double full)
{
	put_bar_of(p, parts, nparts, full, 12);
}

void put_time_bar(struct page *p, double useful_s, double mpi_s, double wait_s, double full_s)
{
	struct part parts[] = {{"useful", useful_s}, {"mpi", mpi_s - wait_s}, {"wait", wait_s}};
	put_bar(p, parts, 3, full_s);
}

static void put_key(struct page *p, const char *class, const char *text)
{
	put(p,
	    "<span><svg width=\"14\" height=\"12\" aria-hidden=\"true\"><rect class=\"%s\" "
	    "width=\"14\" "
	    "height=\"12\"/></svg> %s</span>\n",
	    class, text);
}

void put_time_legend(struct page *p)
{
	bool known = p->model == NULL || p->model->waits_known; /* NULL: the page of a job, with several steps */
	put(p, "<p class=\"legend\">");
	put_key(p, "useful", "useful: outside MPI");
	put_key(p, "mpi", known ? "in MPI, not waiting" : "in MPI; waiting is not known");
	if (known)
		put_key(p, "wait", "in MPI, waiting for others");
	put(p, "</p>\n");
}
