/* sec_efficiency.c - load balance x communication = parallel efficiency, each against the mark of
 * 0.80. In: efficiency (POP, https://pop-coe.eu/node/69).  Out: three figures that multiply, in
 * plain words. */
#include "format/efficiencies.h"
#include "reports/html/section.h"

#include <ctype.h>
#include <math.h>

/* No replay can tell ranks that wait for a core from slow transfers. */
#define TRANSFER_CROWDED "Waiting for a free core and moving the data cost time."

static void write_gauge(struct page *p, double value, bool high)
{
	put(p,
	    "<svg class=\"bar\" width=\"100%%\" height=\"16\" aria-hidden=\"true\"><rect "
	    "class=\"%s\" width=\"%.2f%%\" "
	    "height=\"16\"/><line class=\"mark\" x1=\"80%%\" x2=\"80%%\" y1=\"0\" "
	    "y2=\"16\"/></svg>",
	    high ? "enough" : "short", fmin(fmax(value, 0), 1) * 100);
}

/* low: what it means here below the mark; NULL: as in the table. */
static void write_factor(struct page *p, const char *name, const char *low)
{
	const struct efficiency_row *f = efficiency_row(name);
	double value = json_number(p->model->efficiency, name);
	bool high = value >= EFFICIENCY_MARK;
	put(p,
	    "<div class=\"eff\"><h3>%c%s</h3><div class=\"value\">%s<small "
	    "class=\"%s\">%s</small></div>",
	    toupper(f->title[0]), f->title + 1, fmt_ratio(value).s, high ? "ok" : "low",
	    isnan(value) ? "not known"
	    : high	 ? "\xe2\x9c\x93 good"
			 : "\xe2\x96\xbc below 0.80");
	if (!isnan(value)) {
		write_gauge(p, value, high);
		put(p, "<p>%s</p>", high ? f->good : low != NULL ? low : f->low);
	}
	put(p, "</div>\n");
}

static void write_product(struct page *p, const char *a, const char *b, const char *low_b, const char *c)
{
	put(p, "<div class=\"product\">\n");
	write_factor(p, a, NULL);
	put(p, "<div class=\"op\" role=\"img\" aria-label=\"times\">\xc3\x97</div>\n");
	write_factor(p, b, low_b);
	put(p, "<div class=\"op\" role=\"img\" aria-label=\"equals\">=</div>\n");
	write_factor(p, c, NULL);
	put(p, "</div>\n");
}

struct input {
	const char *name, *key;
};

static void write_input(struct page *p, const struct input *input)
{
	double value = json_number(p->model->efficiency, input->key);
	if (!isnan(value))
		put(p, "<div><dt>%s</dt><dd>%s</dd></div>\n", input->name, fmt_time(value).s);
}

/* On demand: what goes into the factors. */
static void write_formulas(struct page *p)
{
	static const struct input inputs[] = {{"mean useful time of the ranks", "useful_mean_s"},
					      {"longest useful time of a rank", "useful_max_s"},
					      {"traced region of the run", "region_s"},
					      {"region if transfers cost nothing (replayed)", "ideal_s"}};
	put(p, "<details><summary>Formulas and what goes into them</summary>\n<dl class=\"facts\">\n");
	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
		write_input(p, &inputs[i]);
	put(p,
	    "</dl>\n<p class=\"note\">Load balance = mean / longest useful time. Communication = longest useful time / "
	    "region. Parallel efficiency = load balance \xc3\x97 communication = mean useful time / region. "
	    "Serialization = longest useful time / replayed region. Transfer = replayed region / region.</p>\n"
	    "</details>\n");
}

static void write_efficiency(struct page *p)
{
	const cJSON *e = p->model->efficiency;
	const char *note = json_text(e, "note", "");
	write_product(p, "load_balance", "communication", NULL, "parallel");
	if (!isnan(json_number(e, "serialization")) && !isnan(json_number(e, "transfer")))
		write_product(p, "serialization", "transfer", p->model->processor_wait.seen ? TRANSFER_CROWDED : NULL,
			      "communication");
	if (*note != '\0') {
		put(p, "<p class=\"note\">");
		put_text(p, note, SENTENCE_CHARS);
		put(p, "</p>\n");
	}
	if (p->model->processor_wait.seen)
		put(p,
		    "<p class=\"note\">Useful time is all time outside MPI, including time without a core: of the %s "
		    "that ranks waited for one, the part outside MPI is not known. The parallel efficiency is at most "
		    "this.</p>\n",
		    fmt_time(p->model->processor_wait.all_s).s);
	write_formulas(p);
}

static void result(struct page *p)
{
	const cJSON *e = p->model->efficiency;
	put(p, "%s parallel = %s load balance \xc3\x97 %s communication", fmt_ratio(json_number(e, "parallel")).s,
	    fmt_ratio(json_number(e, "load_balance")).s, fmt_ratio(json_number(e, "communication")).s);
}

static bool has_efficiency(const struct model *m)
{
	return !isnan(json_number(m->efficiency, "parallel")) || !isnan(json_number(m->efficiency, "load_balance"));
}

const struct section section_efficiency = {
	.id = "efficiency",
	.title = "Efficiency",
	.how = "1.00 is perfect. The dashed mark is 0.80, what the POP centre regards as "
	       "acceptable. A low factor "
	       "says where to look: at the work\xe2\x80\x99s distribution, or at the "
	       "communication.",
	.has = has_efficiency,
	.result = result,
	.write = write_efficiency,
};
