/* sec_time.c - where the ranks' time went: one bar for the whole job, then a bar per MPI operation.
 * In: totals and operations.  Out: a bar with its legend and a table. */
#include "reports/html/section.h"
#include "reports/text/running.h"
#include "reports/text/shares.h"

#include <math.h>
#include <string.h>

#define OPERATIONS_MAX 14

static void write_share(struct page *p, const char *class, const char *what, double part_s)
{
	put(p,
	    "<span><svg width=\"14\" height=\"12\" aria-hidden=\"true\"><rect class=\"%s\" "
	    "width=\"14\" "
	    "height=\"12\"/></svg> %s <b>%s</b></span>\n",
	    class, what, fmt_share(part_s / p->model->total_s).s);
}

static void write_total(struct page *p)
{
	const struct model *m = p->model;
	struct part parts[] = {{"useful", m->useful_s}, {"mpi", m->mpi_s - m->wait_s}, {"wait", m->wait_s}};
	if (m->total_s <= 0)
		return;
	put(p, "<div class=\"total\">\n");
	put_bar_of(p, parts, 3, m->total_s, 30);
	put(p, "<p class=\"legend\">");
	write_share(p, "useful", "useful, outside MPI", m->useful_s);
	if (m->waits_at_least) {
		write_share(p, "mpi", "in MPI, not waiting as far as is recorded", m->mpi_s - m->wait_s);
		write_share(p, "wait", "in MPI, waiting for others, at least", m->wait_s);
	} else if (m->waits_known) {
		write_share(p, "mpi", "in MPI, not waiting", m->mpi_s - m->wait_s);
		write_share(p, "wait", "in MPI, waiting for others", m->wait_s);
	} else {
		write_share(p, "mpi", "in MPI; waiting is not known", m->mpi_s);
	}
	put(p, "<span>of %s of all ranks together</span></p>\n</div>\n", fmt_time(m->total_s).s);
}

/* The traced region begins behind MPI_Init and ends before MPI_Finalize: a share of it would mean nothing for them. */
static void write_operation(struct page *p, const cJSON *op, double longest_s)
{
	double time_s = json_number(op, "time_s"), bytes = json_number(op, "bytes");
	double calls = json_number(op, "calls");
	struct part part = {"mpi", time_s};
	put(p, "<tr><th scope=\"row\"><code>");
	put_text(p, json_text(op, "op", "?"), NAME_CHARS);
	put(p, "</code></th><td class=\"wide\">");
	put_bar(p, &part, 1, longest_s);
	put(p,
	    "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td "
	    "class=\"n\">%s</td>",
	    fmt_time(time_s).s,
	    fmt_share(p->model->threads_s > 0 && op_in_region(op) ? time_s / p->model->threads_s : NAN).s,
	    fmt_count(calls).s, fmt_time(calls > 0 ? time_s / calls : NAN).s);
	put(p, "<td class=\"n\">%s</td></tr>\n", bytes > 0 ? fmt_bytes(bytes).s : "");
}

static void write_operations(struct page *p)
{
	const struct model *m = p->model;
	if (m->noperations == 0)
		return;
	size_t shown = m->noperations < OPERATIONS_MAX ? m->noperations : OPERATIONS_MAX;
	put(p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><caption>MPI operations, most time "
	    "first</caption>\n<thead><tr>"
	    "<th scope=\"col\">operation</th><td></td><th scope=\"col\" "
	    "class=\"n\">time</th>"
	    "<th scope=\"col\" class=\"n\">%s</th><th scope=\"col\" class=\"n\">calls</th>"
	    "<th scope=\"col\" class=\"n\">per call</th><th scope=\"col\" "
	    "class=\"n\">sent + received</th></tr></thead>\n"
	    "<tbody>\n",
	    share_title(m));
	for (size_t i = 0; i < shown; i++)
		write_operation(p, m->operation[i], json_number(m->operation[0], "time_s"));
	put(p, "</tbody></table></div>\n");
	put_left_out(p, m->noperations - shown, "more operation");
}

/* Of ranks that died, or that still ran; so the rows do not add up to the bar. */
static void write_unreturned(struct page *p)
{
	const struct model *m = p->model;
	if (m->unreturned_s > 0 && m->total_s > 0)
		put(p,
		    "<p class=\"note\">In calls that %s: %s, %s of the ranks\xe2\x80\x99 time. They are in "
		    "no row, and not in the time waiting.</p>\n",
		    unreturned_phrase(m->root), fmt_time(m->unreturned_s).s,
		    fmt_share(fmin(m->unreturned_s, m->mpi_s) / m->total_s).s);
}

static void write_without_processor(struct page *p)
{
	const struct processor_wait *w = &p->model->processor_wait;
	if (w->seen)
		put(p,
		    "<p class=\"note\">Ranks waited %s for a free core (total over ranks), in MPI or outside: that "
		    "part of these times is not work.</p>\n",
		    fmt_time(w->all_s).s);
}

static void write_time(struct page *p)
{
	write_total(p);
	write_without_processor(p);
	write_unreturned(p);
	write_operations(p);
}

/* The operation that took most of the traced region. */
static void result(struct page *p)
{
	const struct model *m = p->model;
	for (size_t i = 0; i < m->noperations; i++) {
		if (!op_in_region(m->operation[i]))
			continue;
		double time_s = json_number(m->operation[i], "time_s");
		put(p, "most in <code>");
		put_text(p, json_text(m->operation[i], "op", "?"), NAME_CHARS);
		put(p, "</code>: %s", fmt_time(time_s).s);
		if (m->threads_s > 0)
			put(p, ", %s", fmt_share(time_s / m->threads_s).s);
		return;
	}
	put(p, "useful %s of all ranks together", fmt_time(m->useful_s).s);
}

static bool has_time(const struct model *m)
{
	return m->total_s > 0 || m->noperations > 0;
}

const struct section section_time = {
	.id = "time",
	.title = "Where the time went",
	.how = "Total over ranks. Useful is all time outside MPI. Waiting is the part of MPI in which a rank could not "
	       "continue because another was late.",
	.has = has_time,
	.result = result,
	.write = write_time,
};
