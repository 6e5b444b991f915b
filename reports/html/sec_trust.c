/* sec_trust.c - may this be believed: coverage, losses, overhead and clock bound, as numbers.
 * In: coverage, overhead, clock.  Out: the strip under the verdict; "Partial" in words and colour
 * when it is. */
#include "reports/html/section.h"
#include "reports/text/gain.h"

#include <math.h>

#define REASONS_MAX 12
#define NODES_MAX 8

static void write_coverage(struct page *p)
{
	const struct model *m = p->model;
	double seen = json_number(m->coverage, "ranks_seen");
	if (m->totals && m->nranks == 0) /* not even how many there should be */
		return;
	put(p, "<div><dt>Coverage</dt><dd><span class=\"flag\">%s</span><small>%s of %s</small></dd></div>\n",
	    m->partial	? "\xe2\x97\x90 Partial"
	    : m->totals ? "\xe2\x97\x94 From totals"
			: "\xe2\x9c\x93 Complete",
	    fmt_count(isnan(seen) ? (double)m->nranks : seen).s, fmt_many((double)model_nranks(m), "rank").s);
}

/* Calls are all that the program made; an event is a call, or a run of tests in vain. */
static void write_calls(struct page *p)
{
	const struct model *m = p->model;
	double kept = json_number(m->coverage, "events"), lost = json_number(m->coverage, "events_lost"), calls = 0;
	for (const cJSON *row = json_first(m->root, "per_rank"); row != NULL; row = row->next)
		calls += fmax(json_number(row, "calls"), 0);
	if (m->totals && m->nranks == 0)
		return;
	put(p, "<div><dt>Calls</dt><dd>%s<small>", fmt_count(calls).s);
	if (m->totals)
		put(p, "all in the totals; %s single events not analysed yet",
		    fmt_count(json_number(m->coverage, "events_not_analysed")).s);
	else if (kept == 0)
		put(p, "no single calls, all in the totals");
	else if (isnan(lost))
		put(p, "%s single events, losses unknown", fmt_count(kept).s);
	else if (lost > 0)
		put(p, "%s single events, %s lost; totals stay exact", fmt_count(kept).s, fmt_count(lost).s);
	else
		put(p, "%s single events, none lost", fmt_count(kept).s);
	put(p, "</small></dd></div>\n");
}

static void write_overhead(struct page *p)
{
	const cJSON *overhead = json_item(p->model->root, "overhead");
	double per_call = json_number(overhead, "ns_per_call"), share = json_number(overhead, "share");
	double slow = json_number(overhead, "slow_calls"), worst = json_number(overhead, "worst_share"),
	       agent = json_number(overhead, "agent_share");
	if (isnan(per_call) && isnan(share))
		return;
	put(p, "<div><dt>Cost of tracing, estimated</dt><dd>%s of the time<small>%s a call", fmt_share(share).s,
	    fmt_time(per_call * 1e-9).s);
	if (slow > 0)
		put(p, " and %s for %s of a new kind", fmt_time(json_number(overhead, "slow_s")).s,
		    fmt_many(slow, "call").s);
	if (agent > 0)
		put(p, "; up to %s of it the agent\xe2\x80\x99s, where all processors were busy", fmt_share(agent).s);
	if (worst > 0)
		put(p, "; most on rank %.0f, %s", json_number(overhead, "worst_rank"), fmt_share(worst).s);
	put(p, "</small></dd></div>\n");
}

static void write_clock(struct page *p)
{
	const cJSON *clock = json_item(p->model->root, "clock");
	double bound = json_number(clock, "error_bound_us");
	double repaired = json_number(clock, "violations_repaired");
	if (clock == NULL)
		return;
	put(p, "<div><dt>Clocks between nodes</dt><dd>%s%s<small>", isnan(bound) ? "" : "\xc2\xb1\xc2\xa0",
	    isnan(bound) ? "bound unknown" : fmt_time(bound * 1e-6).s);
	put_text(p, json_text(clock, "method", "method not recorded"), NAME_CHARS);
	if (repaired > 0)
		put(p, "; %s times repaired", fmt_count(repaired).s);
	put(p, "</small></dd></div>\n");
}

/* How far off the model of gains is where nothing is changed. */
static void write_replay(struct page *p)
{
	const cJSON *replay = json_item(p->model->root, "replay");
	double error = json_number(replay, "error"), polls = json_number_or(replay, "polls_kept", 0);
	bool any = false;
	for (size_t i = 0; i < p->model->nissues; i++)
		any |= json_item(p->model->issue[i], "gain") != NULL;
	if (isnan(error) || !any)
		return;
	put(p, "<div><dt>Gains, by replay</dt><dd>%s%s off<small>how far its model is from the recorded run",
	    error > 1 ? "over " : "", fmt_share(fmin(error, 1)).s);
	if (polls >= POLLS_SEEN)
		put(p, "; %s of the time are tests of which nothing tells for whom: gains may be larger",
		    fmt_share(polls).s);
	put(p, "</small></dd></div>\n");
}

static void write_missing_nodes(struct page *p)
{
	size_t n = json_count(p->model->coverage, "nodes_missing"), shown = 0;
	if (n == 0)
		return;
	put(p, "<li>%s %s missing: ", fmt_count((double)n).s, n == 1 ? "node is" : "nodes are");
	for (const cJSON *v = json_first(p->model->coverage, "nodes_missing"); v != NULL && shown < NODES_MAX;
	     v = v->next) {
		put(p, shown++ > 0 ? ", " : "");
		if (cJSON_IsNumber(v))
			put(p, "node %.0f", v->valuedouble);
		else
			put_text(p, cJSON_IsString(v) ? v->valuestring : "one without a name", NAME_CHARS);
	}
	put(p, n > shown ? ", \xe2\x80\xa6</li>\n" : "</li>\n");
}

static void write_reasons(struct page *p)
{
	const cJSON *coverage = p->model->coverage;
	size_t n = json_count(coverage, "reasons"), shown = 0;
	if (n == 0 && json_count(coverage, "nodes_missing") == 0)
		return;
	put(p, "<ul class=\"reasons\">\n");
	write_missing_nodes(p);
	for (const cJSON *v = json_first(coverage, "reasons"); v != NULL && shown < REASONS_MAX; v = v->next) {
		put(p, "<li>");
		put_text(p, cJSON_IsString(v) ? v->valuestring : "?", SENTENCE_CHARS);
		put(p, "</li>\n");
		shown++;
	}
	put(p, "</ul>\n");
	put_left_out(p, n - shown, "more reason");
}

static void write_trust(struct page *p)
{
	put(p,
	    "<aside class=\"trust%s\" aria-label=\"How far this report can be "
	    "trusted\">\n<dl>\n",
	    p->model->partial ? " partial" : "");
	write_coverage(p);
	write_calls(p);
	write_overhead(p);
	write_clock(p);
	write_replay(p);
	put(p, "</dl>\n");
	write_reasons(p);
	put(p, "</aside>\n");
}

const struct section section_trust = {.id = "trust", .write = write_trust};
