/* sec_windows.c - one-sided communication: each window, what was moved through it and how it was synchronised.
 * In: windows.  Out: a table, most time first. */
#include "reports/html/section.h"

#include <math.h>
#include <stdlib.h>

#define WINDOWS_MAX 16

struct counted {
	const char *key, *one, *many;
};

/* "12 fences", "1 lock", a line each: only what was used. */
static void write_counts(struct page *p, const cJSON *window, const struct counted *counted)
{
	bool first = true;
	for (; counted->key != NULL; counted++) {
		double n = json_number(window, counted->key);
		if (!(n > 0))
			continue;
		put(p, "%s%s\xc2\xa0%s", first ? "" : "<br>", fmt_count(n).s, n == 1 ? counted->one : counted->many);
		first = false;
	}
	if (first)
		put(p, "\xe2\x80\x93");
}

static void write_window(struct page *p, const cJSON *window)
{
	static const struct counted accesses[] = {
		{"puts", "put", "puts"},
		{"gets", "get", "gets"},
		{"accumulates", "accumulate", "accumulates"},
		{"fetches", "fetch", "fetches"},
		{0},
	};
	static const struct counted syncs[] = {
		{"fences", "fence", "fences"},
		{"posts", "post", "posts"},
		{"starts", "start", "starts"},
		{"locks", "lock", "locks"},
		{"flushes", "flush", "flushes"},
		{"local_flushes",
		 "local\xc2\xa0"
		 "flush",
		 "local\xc2\xa0"
		 "flushes"},
		{0},
	};
	double exposed_bytes = json_number(window, "exposed_bytes");
	const char *name = json_text(window, "name", "");
	put(p, "<tr><th scope=\"row\">#%.0f ", json_number(window, "id"));
	put_text(p, *name != '\0' ? name : "unnamed", NAME_CHARS);
	put(p, "<br><small class=\"soft\">");
	put_text(p, json_text(window, "created_by", ""), NAME_CHARS);
	put(p, "</small></th><td class=\"n\">%s</td><td class=\"keep\">",
	    fmt_bytes(exposed_bytes > 0 ? exposed_bytes : NAN).s);
	write_counts(p, window, accesses);
	put(p, "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"keep\">",
	    fmt_bytes(json_number(window, "bytes_to_target")).s, fmt_bytes(json_number(window, "bytes_from_target")).s);
	write_counts(p, window, syncs);
	put(p, "</td><td class=\"n\">%s</td></tr>\n", fmt_time(json_number(window, "time_s")).s);
}

static void write_windows(struct page *p)
{
	size_t n;
	const cJSON **window = json_objects_by(p->model->root, "windows", "time_s", &n);
	size_t shown = n < WINDOWS_MAX ? n : WINDOWS_MAX;
	put(p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><caption>Windows, most time first</caption>\n<thead><tr><th "
	    "scope=\"col\">window</th>"
	    "<th scope=\"col\" class=\"n\">exposed</th><th scope=\"col\">calls</th><th scope=\"col\" class=\"n\">to "
	    "targets</th>"
	    "<th scope=\"col\" class=\"n\">from targets</th><th scope=\"col\">synchronised by</th>"
	    "<th scope=\"col\" class=\"n\">time</th></tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < shown; i++)
		write_window(p, window[i]);
	put(p, "</tbody></table></div>\n");
	put_left_out(p, n - shown, "more window");
	put_not_kept(p, json_number(p->model->root, "windows_left_out"), "window");
	free(window);
}

static void result(struct page *p)
{
	double time_s = 0;
	for (const cJSON *w = json_first(p->model->root, "windows"); w != NULL; w = w->next)
		time_s += fmax(json_number(w, "time_s"), 0);
	put(p, "%s, %s of all ranks together", fmt_many((double)json_count(p->model->root, "windows"), "window").s,
	    fmt_time(time_s).s);
}

static bool has_windows(const struct model *m)
{
	return json_count(m->root, "windows") > 0;
}

const struct section section_windows = {
	.id = "windows",
	.title = "One-sided communication",
	.how = "Memory that ranks open to each other. Calls, bytes and time of all ranks together. Most of the time of "
	       "a "
	       "well-used window is in few synchronising calls, each for many accesses.",
	.has = has_windows,
	.result = result,
	.write = write_windows,
};
