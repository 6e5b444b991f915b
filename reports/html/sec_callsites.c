/* sec_callsites.c - where in the program: the calls of the source that took the time.
 * In: callsites.  Out: a table with operation, function, file:line, time, the part of it that was
 * waiting, and how late calls end. */
#include "reports/html/section.h"

#include "base/csv.h"

#include <math.h>
#include <stdlib.h>

#define SITES_MAX 20

/* Behind the earliest at the same logical step. */
static void put_lateness(struct page *p, const cJSON *site)
{
	const cJSON *late = json_item(site, "lateness");
	double calls = json_number(late, "calls"), mean_s = json_number(late, "total_s") / calls;
	put(p, "<td class=\"n\">");
	if (calls > 0 && mean_s > 0)
		put(p, "%s, most %s on rank %.0f", fmt_time(mean_s).s, fmt_time(json_number(late, "max_s")).s,
		    json_number(late, "max_rank"));
	put(p, "</td>");
}

static bool has_lateness(const struct model *m)
{
	bool any = false;
	for (size_t i = 0; i < m->ncallsites; i++)
		any |= json_item(m->callsite[i], "lateness") != NULL;
	return any;
}

static void write_site(struct page *p, const cJSON *site, double longest_s, bool lateness)
{
	double time_s = fmax(json_number(site, "time_s"), 0), wait_s = fmax(json_number(site, "wait_s"), 0);
	double bytes = json_number(site, "bytes");
	struct place at = place_of_site(site);
	put(p, "<tr><th scope=\"row\">");
	put_site_link(p, site);
	put(p, "<br><small class=\"soft\">");
	put_text(p, json_text(site, "op", "?"), NAME_CHARS);
	put(p, "</small></th><td class=\"wide\"");
	put_place_data(p, &at);
	put(p, ">");
	put_time_bar(p, 0, time_s, fmin(wait_s, time_s), longest_s);
	put(p,
	    "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td "
	    "class=\"n\">%s</td>",
	    isnan(json_number(site, "time_s")) ? "not known" : fmt_time(time_s).s,
	    !p->model->waits_known ? "not known"
	    : wait_s > 0	   ? fmt_time(wait_s).s
				   : "",
	    fmt_count(json_number(site, "calls")).s, bytes > 0 ? fmt_bytes(bytes).s : "");
	if (lateness)
		put_lateness(p, site);
	put(p, "</tr>\n");
}

#define CSV_SITES_MAX 1000

/* For the attribute of a link: everything but letters and digits as %%XX. */
static void put_cell(struct page *p, const char *text)
{
	char *cell = csv_cell(text);
	for (const unsigned char *c = (const unsigned char *)cell; c != NULL && *c != '\0'; c++)
		if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9'))
			fputc(*c, p->out);
		else
			put(p, "%%%02X", *c);
	free(cell);
}

static void put_csv_number(struct page *p, const cJSON *site, const char *key)
{
	double value = json_number(site, key);
	put(p, ",");
	if (!isnan(value))
		put(p, "%.10g", value);
}

/* A file without a server and without a script: all call sites inside the link. */
static void write_csv(struct page *p, size_t n)
{
	static const char *const texts[] = {"op", "function", "file", "module", "address"};
	static const char *const numbers[] = {"line", "calls", "time_s", "wait_s", "bytes"};
	put(p, "<p class=\"more\"><a download=\"callsites.csv\" href=\"data:text/csv;charset=utf-8,"
	       "op,function,file,module,address,line,calls,time_s,wait_s,bytes%%0A");
	for (size_t i = 0; i < n && i < CSV_SITES_MAX; i++) {
		for (size_t k = 0; k < 5; k++) {
			put(p, k > 0 ? "," : "");
			put_cell(p, json_text(p->model->callsite[i], texts[k], ""));
		}
		for (size_t k = 0; k < 5; k++)
			put_csv_number(p, p->model->callsite[i], numbers[k]);
		put(p, "%%0A");
	}
	put(p, "\">%s call sites as CSV</a></p>\n", fmt_count((double)(n < CSV_SITES_MAX ? n : CSV_SITES_MAX)).s);
}

static void write_callsites(struct page *p)
{
	const struct model *m = p->model;
	size_t n = m->ncallsites, shown;
	bool lateness = has_lateness(m);
	while (n > 0 && json_number(m->callsite[n - 1], "calls") == 0) /* where ranks died: it never came back */
		n--;
	shown = n < SITES_MAX ? n : SITES_MAX;
	put(p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><caption>Calls in the source, most time "
	    "first</caption>\n<thead><tr>"
	    "<th scope=\"col\">where</th><td></td><th scope=\"col\" "
	    "class=\"n\">time</th>"
	    "<th scope=\"col\" class=\"n\">of it waiting</th><th scope=\"col\" "
	    "class=\"n\">calls</th>"
	    "<th scope=\"col\" class=\"n\">sent + received</th>%s</tr></thead>\n<tbody>\n",
	    lateness ? "<th scope=\"col\" class=\"n\">ends late, on average</th>" : "");
	for (size_t i = 0; i < shown; i++)
		write_site(p, m->callsite[i], fmax(json_number(m->callsite[0], "time_s"), 0), lateness);
	put(p, "</tbody></table></div>\n");
	put_left_out(p, n - shown, "more call site");
	write_csv(p, n);
}

static void result(struct page *p)
{
	const cJSON *first = p->model->callsite[0];
	put(p, "most in ");
	put_callsite(p, first);
	put(p, ": %s", fmt_time(fmax(json_number(first, "time_s"), 0)).s);
}

static bool has_callsites(const struct model *m)
{
	return m->ncallsites > 0;
}

const struct section section_callsites = {
	.id = "callsites",
	.title = "Where in the source",
	.how = "File and line need debug information: compile with -g (it does not slow the "
	       "program down). Without it the function is named, and in a stripped program the "
	       "address. Late is what a call ends after the earliest one of its place at the same "
	       "logical step.",
	.has = has_callsites,
	.result = result,
	.write = write_callsites,
};
