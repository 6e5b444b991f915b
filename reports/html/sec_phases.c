/* sec_phases.c - init, the loop, output: how long each took, how often the loop goes around, whether it slows down.
 * In: phases.  Out: a sentence and a table; nothing where no loop was found. */
#include "reports/text/drift.h"
#include "reports/html/section.h"

#include <math.h>

static void write_loop(struct page *p, const cJSON *phases)
{
	const cJSON *site = model_callsite(p->model, json_item(phases, "callsite"));
	double drift = json_number(phases, "drift");
	put(p, "<p>%s iterations of %s, from %s to %s", fmt_count(json_number(phases, "iterations")).s,
	    fmt_time(json_number(phases, "iteration_s")).s, fmt_time(json_number(phases, "shortest_s")).s,
	    fmt_time(json_number(phases, "longest_s")).s);
	if (drift_is_seen(phases))
		put(p, "; they get %s towards the end", drift > 0 ? "longer" : "shorter");
	if (site != NULL) {
		put(p, ". Counted at ");
		put_site_link(p, site);
	}
	put(p, ".</p>\n");
}

static void write_part(struct page *p, const cJSON *part)
{
	const cJSON *from = json_first(part, "window_s");
	double from_s = json_number_of(from), to_s = json_number_of(from != NULL ? from->next : NULL);
	struct place at = PLACE_ANYWHERE;
	at.from_s = from_s;
	at.to_s = to_s;
	put(p, "<tr><th scope=\"row\">");
	bool link = begin_place(p, &at);
	put_words(p, json_text(part, "phase", "?"));
	end_place(p, link);
	put(p,
	    "</th><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>"
	    "<td class=\"n\">%s</td></tr>\n",
	    fmt_time(from_s).s, fmt_time(to_s - from_s).s, fmt_time(json_number(part, "mpi_s")).s,
	    fmt_time(json_number(part, "wait_s")).s, fmt_time(json_number(part, "io_s")).s);
}

static void write_phases(struct page *p)
{
	const cJSON *phases = json_item(p->model->root, "phases");
	write_loop(p, phases);
	put(p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><caption>Phases; times in MPI are of all "
	    "ranks</caption>\n<thead><tr>"
	    "<th scope=\"col\">phase</th><th scope=\"col\" class=\"n\">begins at</th>"
	    "<th scope=\"col\" class=\"n\">lasts</th><th scope=\"col\" class=\"n\">MPI</th>"
	    "<th scope=\"col\" class=\"n\">of it waiting</th><th scope=\"col\" class=\"n\">in files</th></tr></thead>\n"
	    "<tbody>\n");
	for (const cJSON *x = json_first(phases, "parts"); x != NULL; x = x->next)
		write_part(p, x);
	put(p, "</tbody></table></div>\n");
}

static void result(struct page *p)
{
	const cJSON *phases = json_item(p->model->root, "phases");
	put(p, "%s of %s", fmt_many(json_number(phases, "iterations"), "iteration").s,
	    fmt_time(json_number(phases, "iteration_s")).s);
	if (drift_is_seen(phases))
		put(p, ", %s towards the end", json_number(phases, "drift") > 0 ? "longer" : "shorter");
}

static bool has_phases(const struct model *m)
{
	return json_count(json_item(m->root, "phases"), "parts") > 0;
}

const struct section section_phases = {
	.id = "phases",
	.title = "Phases of the run",
	.how = "A loop is a call that comes again at even distances. What is before it is init, what is after it the "
	       "end, or "
	       "output where that writes files.",
	.has = has_phases,
	.result = result,
	.write = write_phases,
};
