/* sec_efficiency.c - load balance x communication = parallel efficiency, each against the mark of
 * 0.80. In: efficiency (POP, https://pop-coe.eu/node/69).  Out: three figures that multiply, in
 * plain words. */
#include "reports/html/section.h"

#include <math.h>

struct factor {
	const char *key, *name, *high, *low;
};

static const struct factor load_balance = {
	"load_balance", "Load balance", "The ranks share the work about evenly.",
	"The busiest rank computes longer than the average; the others wait for it."};
static const struct factor communication = {
	"communication", "Communication", "Even the busiest rank spends most of the run computing.",
	"Even the busiest rank loses much of the run in MPI: transfers and dependencies cost."};
static const struct factor parallel = {"parallel", "Parallel efficiency",
				       "Share of the ranks\xe2\x80\x99 time that is useful work.",
				       "Share of the ranks\xe2\x80\x99 time that is useful work. Below the mark."};
static const struct factor serialization = {
	"serialization", "Serialization",
	"Ranks hardly wait one behind the other (for uneven work they do: load balance).",
	"Ranks wait for each other in turn; even an infinitely fast network would not help."};
static const struct factor transfer = {"transfer", "Transfer", "Moving the data costs little.",
				       "Moving the data itself costs time."};
/* No replay can tell ranks without a processor from slow transfers. */
static const struct factor transfer_crowded = {"transfer", "Transfer", "Moving the data costs little.",
					       "Ranks that have no processor, and moving the data, cost time."};

static void write_gauge(struct page *p, double value, bool high)
{
	put(p,
	    "<svg class=\"bar\" width=\"100%%\" height=\"16\" aria-hidden=\"true\"><rect "
	    "class=\"%s\" width=\"%.2f%%\" "
	    "height=\"16\"/><line class=\"mark\" x1=\"80%%\" x2=\"80%%\" y1=\"0\" "
	    "y2=\"16\"/></svg>",
	    high ? "enough" : "short", fmin(fmax(value, 0), 1) * 100);
}

static void write_factor(struct page *p, const struct factor *f)
{
	double value = json_number(p->model->efficiency, f->key);
	bool high = value >= EFFICIENCY_MARK;
	put(p,
	    "<div class=\"eff\"><h3>%s</h3><div class=\"value\">%s<small "
	    "class=\"%s\">%s</small></div>",
	    f->name, fmt_ratio(value).s, high ? "ok" : "low",
	    isnan(value) ? "not known"
	    : high	 ? "\xe2\x9c\x93 good"
			 : "\xe2\x96\xbc below 0.80");
	if (!isnan(value)) {
		write_gauge(p, value, high);
		put(p, "<p>%s</p>", high ? f->high : f->low);
	}
	put(p, "</div>\n");
}

static void write_product(struct page *p, const struct factor *a, const struct factor *b, const struct factor *c)
{
	put(p, "<div class=\"product\">\n");
	write_factor(p, a);
	put(p, "<div class=\"op\" role=\"img\" aria-label=\"times\">\xc3\x97</div>\n");
	write_factor(p, b);
	put(p, "<div class=\"op\" role=\"img\" aria-label=\"equals\">=</div>\n");
	write_factor(p, c);
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
	write_product(p, &load_balance, &communication, &parallel);
	if (!isnan(json_number(e, "serialization")) && !isnan(json_number(e, "transfer")))
		write_product(p, &serialization, p->model->processor_wait.seen ? &transfer_crowded : &transfer,
			      &communication);
	if (*note != '\0') {
		put(p, "<p class=\"note\">");
		put_text(p, note, SENTENCE_CHARS);
		put(p, "</p>\n");
	}
	if (p->model->processor_wait.seen)
		put(p,
		    "<p class=\"note\">Useful is all time outside MPI, also that in which a rank had no processor: of "
		    "%s "
		    "without one, in MPI and outside, the record does not tell the parts. Parallel efficiency is at "
		    "most "
		    "this.</p>\n",
		    fmt_time(p->model->processor_wait.all_s).s);
	write_formulas(p);
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
	.write = write_efficiency,
};
