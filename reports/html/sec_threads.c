/* sec_threads.c - ranks that call MPI from several threads: what each thread did in its own time.
 * In: per_rank[].threads.  Out: a table; nothing where each rank has one such thread. */
#include "reports/html/section.h"

#include <math.h>
#include <string.h>

#define ROWS_MAX 64

static void write_thread(struct page *p, double rank, const cJSON *t, double longest_s)
{
	bool progress = strcmp(json_text(t, "role", ""), "progress") == 0;
	double useful_s = json_number(t, "useful_s"), mpi_s = json_number(t, "mpi_s"),
	       wait_s = json_number(t, "wait_s");
	put(p, "<tr><th scope=\"row\" class=\"n\">%.0f</th><td class=\"n\">%.0f</td><td>%s</td><td class=\"wide\">",
	    rank, json_number(t, "thread"), progress ? "progress thread" : "");
	if (!progress)
		put_time_bar(p, useful_s > 0 ? useful_s : 0, fmax(mpi_s, 0), fmax(wait_s, 0), longest_s);
	put(p,
	    "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>"
	    "<td class=\"n\">%s</td></tr>\n",
	    fmt_time(json_number(t, "span_s")).s, fmt_time(useful_s).s, fmt_time(mpi_s).s, fmt_time(wait_s).s,
	    fmt_count(json_number(t, "calls")).s);
}

static size_t write_rank(struct page *p, const cJSON *rank, size_t room, double longest_s)
{
	size_t n = 0;
	for (const cJSON *t = json_first(rank, "threads"); t != NULL; t = t->next, n++)
		if (n < room)
			write_thread(p, json_number(rank, "rank"), t, longest_s);
	return n;
}

static double longest_of(const struct model *m)
{
	double longest_s = 0;
	for (const cJSON *r = json_first(m->root, "per_rank"); r != NULL; r = r->next)
		for (const cJSON *t = json_first(r, "threads"); t != NULL; t = t->next)
			longest_s = fmax(longest_s, json_number(t, "span_s"));
	return longest_s;
}

static void write_threads(struct page *p)
{
	double longest_s = longest_of(p->model);
	size_t n = 0;
	put(p, "<div class=\"scroll\" tabindex=\"0\"><table><caption>Threads that call MPI</caption>\n<thead><tr>"
	       "<th scope=\"col\" class=\"n\">rank</th><th scope=\"col\" class=\"n\">thread</th><td></td>"
	       "<td></td><th scope=\"col\" class=\"n\">first to last call</th>"
	       "<th scope=\"col\" class=\"n\">useful</th><th scope=\"col\" class=\"n\">MPI</th>"
	       "<th scope=\"col\" class=\"n\">of it waiting</th><th scope=\"col\" class=\"n\">calls</th></tr></thead>\n"
	       "<tbody>\n");
	for (const cJSON *r = json_first(p->model->root, "per_rank"); r != NULL; r = r->next)
		n += write_rank(p, r, n < ROWS_MAX ? ROWS_MAX - n : 0, longest_s);
	put(p, "</tbody></table></div>\n");
	put_left_out(p, n > ROWS_MAX ? n - ROWS_MAX : 0, "more thread");
}

static void result(struct page *p)
{
	double most = 0;
	for (const cJSON *r = json_first(p->model->root, "per_rank"); r != NULL; r = r->next)
		most = fmax(most, (double)json_count(r, "threads"));
	put(p, "up to %s of a rank", fmt_many(most, "thread").s);
}

static bool has_threads(const struct model *m)
{
	return m->threaded;
}

const struct section section_threads = {
	.id = "threads",
	.title = "Thread by thread",
	.how = "Each thread in its own time. A rank computes while none of its threads is in MPI. A progress thread "
	       "only "
	       "polls for the others; it counts in no efficiency.",
	.has = has_threads,
	.result = result,
	.write = write_threads,
};
