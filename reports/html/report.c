/* report.c - the page as a whole: head, policy, contents, the sections in their order, foot.
 * In: the analysis object as text.  Out: HTML. Content-Security-Policy: nothing may load,
 * and only the one style sheet in the page, known by its hash, applies; of a page that carries the viewer its scripts
 * and ours run, known by their hashes too. */
#include "base/path.h"
#include "reports/html/carried.h"
#include "reports/html/html.h"
#include "reports/html/section.h"
#include "reports/html/style.h"

#include <errno.h>
#include <stdlib.h>

static const struct section *const sections[] = {
#define ROW(name) &section_##name,
	SECTIONS(ROW)
#undef ROW
};

#define NSECTIONS (sizeof(sections) / sizeof(sections[0]))

static bool is_shown(const struct section *s, const struct model *m)
{
	return s->has == NULL || s->has(m);
}

void html_begin(struct page *p, const char *title)
{
	put(p, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ");
	if (p->model != NULL && p->model->carried != NULL)
		carried_put_policy(p);
	else
		put(p, "style-src 'sha256-%s'; ", html_style_sha256);
	put(p, "base-uri 'none'; form-action 'none'\">\n"
	       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	       "<meta name=\"color-scheme\" content=\"light dark\">\n"
	       "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
	put_text(p, title, NAME_CHARS);
	put(p, " \xc2\xb7 mpitrace report</title>\n<style>%s</style>\n</head>\n<body>\n", html_style);
	/* Referred to by the class "wait", so that waiting never differs by hue alone. */
	put(p, "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>"
	       "<pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
	       "patternTransform=\"rotate(45)\"><rect class=\"hatch-back\" width=\"5\" height=\"5\"/>"
	       "<rect class=\"hatch-line\" width=\"1.6\" height=\"5\"/></pattern></defs></svg>\n");
}

/* The anchor is inside of what is folded: who goes there has it opened. */
static void write_folded(struct page *p, const struct section *s)
{
	put(p,
	    "\n<section aria-labelledby=\"%s-h\"><details>\n<summary><h2 id=\"%s-h\">%s</h2> "
	    "<span class=\"result\">",
	    s->id, s->id, s->title);
	s->result(p);
	put(p, "</span></summary>\n<div class=\"body\" id=\"%s\">\n<p class=\"how\">%s</p>\n", s->id, s->how);
	s->write(p);
	put(p, "</div>\n</details></section>\n");
}

static void write_section(struct page *p, const struct section *s)
{
	if (s->title == NULL) {
		s->write(p);
		return;
	}
	if (s->result != NULL) {
		write_folded(p, s);
		return;
	}
	put(p,
	    "\n<section id=\"%s\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">%s</h2>\n"
	    "<div class=\"body\">\n<p class=\"how\">%s</p>\n",
	    s->id, s->id, s->id, s->title, s->how);
	s->write(p);
	put(p, "</div>\n</section>\n");
}

static void write_sections(struct page *p)
{
	put(p, "<main>\n");
	for (size_t i = 0; i < NSECTIONS; i++)
		if (is_shown(sections[i], p->model))
			write_section(p, sections[i]);
	put(p, "</main>\n");
}

void html_end(struct page *p)
{
	put(p, "<footer><p>Written by mpitrace. Definitions: wait states after Scalasca, efficiencies after POP.");
	if (p->model != NULL) {
		put(p, " Every number here is also in what <code>");
		put_json_command(p);
		put(p, "</code> prints.");
	}
	put(p, "</p></footer>\n</body>\n</html>\n");
}

int html_report(const char *analysis_json, FILE *out, struct error *e)
{
	return html_report_of(&(struct html_source){.analysis_json = analysis_json}, out, e);
}

int html_report_compared(const char *analysis_json, const cJSON *diff, FILE *out, struct error *e)
{
	return html_report_of(&(struct html_source){.analysis_json = analysis_json, .diff = diff}, out, e);
}

static void write_page(struct page *p, bool carries)
{
	html_begin(p, basename_of(json_text(p->model->job, "program", "MPI program")));
	write_sections(p);
	if (carries)
		carried_write(p);
	html_end(p);
}

/* How long the page is without what it carries, and where its links lead. */
static int measure(const struct model *m, size_t *ret_bytes, struct places *ret_places)
{
	char *text = NULL;
	struct page p = {.out = open_memstream(&text, ret_bytes), .model = m, .places = ret_places};
	if (p.out == NULL)
		return -ENOMEM;
	write_page(&p, false);
	int r = fclose(p.out);
	free(text);
	return r == 0 ? 0 : -ENOMEM;
}

/* As much as the site lets it have. */
static size_t carrying_bytes_max(const struct model *m)
{
	double bytes = json_number_or(m->job, "page_bytes", HTML_CARRYING_BYTES_MAX);
	return bytes >= 0 && bytes < HTML_CARRYING_BYTES_MAX ? (size_t)bytes : HTML_CARRYING_BYTES_MAX;
}

/* Carry the viewer and as much of the trace as there is room for. */
static int take_carried(struct model *m, struct carried *c, size_t most)
{
	size_t bytes;
	struct places *places = calloc(1, sizeof(*places));
	m->carried = c; /* links make the page longer */
	int r = places != NULL ? measure(m, &bytes, places) : -ENOMEM;
	if (r == 0)
		r = bytes < most ? carried_take(c, places, most - bytes) : -E2BIG;
	free(places);
	return r;
}

static void choose_carried(struct model *m, struct carried *c, const struct html_source *source)
{
	size_t most = m->carrying_bytes_max = carrying_bytes_max(m);
	int r = m->totals || most == 0 ? -ENOENT : carried_load(c, source->viewer, source->trace);
	if (r == 0)
		r = take_carried(m, c, most);
	m->carried = r == 0 ? c : NULL;
	m->is_too_large = r == -E2BIG;
}

int html_report_of(const struct html_source *source, FILE *out, struct error *e)
{
	struct model m;
	int r = model_create(source->analysis_json, &m);
	if (r == -EBADMSG)
		return fail(e, r,
			    "the analysis is not a JSON object; analyse the trace again: mpitrace "
			    "analyze");
	if (r < 0)
		return fail(e, r, "out of memory while reading the analysis");
	m.diff = source->diff;
	m.trace = source->trace == NULL ? "job.mpix" : m.totals ? source->trace : basename_of(source->trace);
	struct carried carried = {0};
	choose_carried(&m, &carried, source);
	write_page(&(struct page){.out = out, .model = &m}, m.carried != NULL);
	carried_done(&carried);
	model_done(&m);
	return 0;
}
