/* page_job.c - one job, as its record has it. */
#include "base/path.h"
#include "fleet/page.h"
#include "fleet/details.h"
#include "fleet/fields.h"
#include "fleet/record.h"
#include "fleet/record_read.h"

#include "base/json.h"

#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The record of a job; NULL: there is none that can be read. */
static cJSON *record_of(struct fleet_page *g, sqlite3_int64 id)
{
	char text[RECORD_BYTES_MAX];
	cJSON *record = NULL;
	sqlite3_stmt *row = ask(g, "SELECT bytes, deflated FROM records WHERE job=?1", id);
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	if (d != NULL && next(g, row)) {
		size_t len = (size_t)sqlite3_column_int64(row, 0);
		const void *packed = sqlite3_column_blob(row, 1);
		if (len <= sizeof(text) && packed != NULL &&
		    libdeflate_deflate_decompress(d, packed, (size_t)sqlite3_column_bytes(row, 1), text, len, NULL) ==
			    LIBDEFLATE_SUCCESS)
			record = record_read(text, len);
	}
	libdeflate_free_decompressor(d);
	sqlite3_finalize(row);
	return record;
}

static void put_fact(struct fleet_page *g, const char *what, const char *text)
{
	if (*text == '\0')
		return;
	put(&g->p, "<div><dt>%s</dt><dd>", what);
	put_text(&g->p, text, TITLE_CHARS);
	put(&g->p, "</dd></div>\n");
}

static void put_number(struct fleet_page *g, const char *what, struct fmt value)
{
	put(&g->p, "<div><dt>%s</dt><dd>%s</dd></div>\n", what, value.s);
}

/* A page on this machine: only a name that is a path from the root, each character of it written so that it ends
 * nothing. */
static void put_report_link(struct fleet_page *g, const char *path)
{
	if (path[0] != '/')
		return;
	if (g->site->live) { /* no browser follows a page of a server into files */
		put(&g->p, "<p class=\"first\"><b>The report</b><code>");
		put_text(&g->p, path, SENTENCE_CHARS);
		put(&g->p, "</code></p>\n");
		return;
	}
	put(&g->p, "<p class=\"first\"><b>The report</b><a href=\"file://");
	for (const unsigned char *c = (const unsigned char *)path; *c != '\0'; c++)
		put(&g->p,
		    (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
				    strchr("-_./", *c) != NULL
			    ? "%c"
			    : "%%%02X",
		    *c);
	put(&g->p, "\">");
	put_text(&g->p, path, SENTENCE_CHARS);
	put(&g->p, "</a></p>\n");
}

/* Shares of the core-hours. */
struct spent {
	double useful, mpi, wait; /* mpi: with waiting; what is missing to 1 was idle */
};

/* Whatever somebody has put into a record; NAN: nobody knows. */
static double bounded_share(double part, double all)
{
	return isnan(part) || !(all > 0) ? NAN : fmin(fmax(part / all, 0), 1);
}

static struct spent spent_of(const cJSON *r)
{
	const cJSON *hours = json_item(r, "hours");
	double all = json_number(r, "core_hours"), useful = json_number(hours, "useful"),
	       idle = json_number(hours, "idle");
	double transfer = json_number(hours, "transfer");
	return (struct spent){bounded_share(useful, all), bounded_share(all - useful - idle, all),
			      bounded_share(all - useful - idle - transfer, all)};
}

static void put_masthead(struct fleet_page *g, const cJSON *r)
{
	struct spent spent = spent_of(r);
	const char *job = json_text(r, "job_id", "");
	put(&g->p, "<div class=\"masthead\"><p class=\"kicker\">mpitrace fleet \xc2\xb7 job <b>");
	put_text(&g->p, *job != '\0' ? job : json_text(r, "id", ""), NAME_CHARS);
	put(&g->p, "</b> step ");
	put_text(&g->p, json_text(r, "step_id", "\xe2\x80\x93"), 40);
	put(&g->p, " \xc2\xb7 ");
	put_text(&g->p, basename_of(json_text(r, "program", "not named")), NAME_CHARS);
	put(&g->p, "</p>\n<h1>");
	if (!isnan(spent.mpi) && isnan(spent.wait))
		put(&g->p, "MPI took %s of %s core-hours; how much of it was waiting is not known.",
		    fmt_share(spent.mpi).s, fmt_hours(json_number(r, "core_hours")).s);
	else if (isnan(spent.mpi))
		put(&g->p, "How the %s core-hours were spent is not known.", fmt_hours(json_number(r, "core_hours")).s);
	else
		put(&g->p, "MPI took %s of %s core-hours; waiting was %s.", fmt_share(spent.mpi).s,
		    fmt_hours(json_number(r, "core_hours")).s, fmt_share(spent.wait).s);
	put(&g->p, "</h1>\n");
	put_report_link(g, json_text(r, "report", ""));
	put(&g->p, "<dl class=\"figures\">\n");
	put_number(g, "ranks", fmt_count(json_number(r, "ranks")));
	put_number(g, "nodes", fmt_count(json_number(r, "nodes")));
	put_number(g, "run time", fmt_time(json_number(r, "elapsed_s")));
	put_number(g, "parallel efficiency", fmt_ratio(json_number(json_item(r, "efficiency"), "parallel")));
	put(&g->p, "</dl>\n</div>\n");
}

/* What Slurm's account says, by its names. */
static void put_added(struct fleet_page *g, const cJSON *r)
{
#define PUT(name, kind, of, column) \
	put_fact(g, #name, json_text(r, #name, "")); \
	if (json_number(r, #name) >= 0) \
		put_number(g, #name, \
			   FIELD_##kind == FIELD_BYTES ? fmt_bytes(json_number(r, #name)) \
						       : fmt_count(json_number(r, #name)));
	RECORD_FIELDS_ADDED(PUT)
#undef PUT
}

static void put_lists(struct fleet_page *g, const cJSON *r)
{
	static const char *const lists[][2] = {{"messages travelled by", "transports"},
					       {"environment modules", "modules"}};
	char room[DETAILS_LIST_ROOM];
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const char *text = details_joined(r, lists[i][1], room);
		put_fact(g, lists[i][0], text != NULL ? text : "");
	}
}

static void put_facts(struct fleet_page *g, const cJSON *r)
{
	const cJSON *versions = json_item(r, "versions"), *efficiency = json_item(r, "efficiency");
	struct spent spent = spent_of(r);
	double idle = json_number_or(json_item(r, "hours"), "idle", 0);
	section_begin(g, "time", "All ranks, all of the run", "How the core-hours were spent.");
	if (!isnan(spent.mpi))
		put_time_bar(&g->p, spent.useful, spent.mpi, fmax(0, spent.wait), 1);
	put_time_legend(&g->p);
	if (idle > 0)
		put(&g->p, "<p>For the rest, %s core-hours, processors were allocated without a rank.</p>\n",
		    fmt_hours(idle).s);
	section_end(g);
	section_begin(g, "facts", "The job", "As it was recorded.");
	put(&g->p, "<dl class=\"facts\">\n");
	put_fact(g, "user", json_text(r, "user", ""));
	put_fact(g, "account", json_text(r, "account", ""));
	put_fact(g, "partition", json_text(r, "partition", ""));
	put_fact(g, "cluster", json_text(r, "cluster", ""));
	put_fact(g, "began", json_text(r, "start", ""));
	put_added(g, r);
	put_fact(g, "how it ended", json_text(r, "state", ""));
	put_fact(g, "program", json_text(r, "program", ""));
	put_fact(g, "build id", json_text(r, "build_id", ""));
	put_fact(g, "MPI", json_text(versions, "mpi", ""));
	put_lists(g, r);
	put_fact(g, "Slurm", json_text(versions, "slurm", ""));
	put_number(g, "load balance", fmt_ratio(json_number(efficiency, "load_balance")));
	put_number(g, "communication efficiency", fmt_ratio(json_number(efficiency, "communication")));
	put_number(g, "tracing took", fmt_share(json_number(json_item(r, "overhead"), "share")));
	put_fact(g, "record", json_bool(json_item(r, "coverage"), "complete", false) ? "complete" : "partial");
	put(&g->p, "</dl>\n");
	section_end(g);
}

static void put_issues(struct fleet_page *g, const cJSON *r)
{
	if (json_count(r, "issues") == 0)
		return;
	section_begin(g, "issues", "Issues", "The issues and what they cost; the report says why, and what to try.");
	for (const cJSON *x = json_first(r, "issues"); x != NULL; x = x->next) {
		const char *severity = json_text(x, "severity", "info");
		put(&g->p, "<div class=\"card\"><h3><span class=\"name\">");
		put_cause(g, json_text(x, "issue", ""));
		put(&g->p, "</span> <span class=\"sev %s\">%s</span></h3><p>",
		    strcmp(severity, "high") == 0     ? "s2"
		    : strcmp(severity, "medium") == 0 ? "s1"
						      : "s0",
		    strcmp(severity, "high") == 0     ? "high"
		    : strcmp(severity, "medium") == 0 ? "medium"
						      : "info");
		put_text(&g->p, json_text(x, "what", ""), SENTENCE_CHARS);
		put(&g->p, "</p><p class=\"more\">%s core-hours</p></div>\n",
		    fmt_hours(json_number(x, "loss_core_hours")).s);
	}
	section_end(g);
}

static void put_sites(struct fleet_page *g, const cJSON *r)
{
	if (json_count(r, "callsites") == 0)
		return;
	section_begin(g, "callsites", "Where", "Call sites that took longest, total over ranks.");
	put(&g->p, "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">call site</th><th "
		   "scope=\"col\">call</th><th scope=\"col\" class=\"n\">time</th>"
		   "<th scope=\"col\" class=\"n\">waiting</th></tr></thead><tbody>\n");
	for (const cJSON *x = json_first(r, "callsites"); x != NULL; x = x->next) {
		put(&g->p, "<tr><th scope=\"row\">");
		put_callsite(&g->p, x);
		put(&g->p, "</th><td><code>");
		put_text(&g->p, json_text(x, "op", ""), 40);
		put(&g->p, "</code></td>");
		put_cell(g, fmt_time(json_number(x, "time_s")), json_number(x, "time_s"));
		put_cell(g, fmt_time(json_number(x, "wait_s")), json_number(x, "wait_s"));
		put(&g->p, "</tr>\n");
	}
	put(&g->p, "</tbody></table></div>\n");
	section_end(g);
}

static void put_operations(struct fleet_page *g, const cJSON *r)
{
	if (json_count(r, "operations") == 0)
		return;
	section_begin(g, "operations", "MPI calls", "Those that took longest, total over ranks.");
	put(&g->p,
	    "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">call</th><th scope=\"col\" "
	    "class=\"n\">calls</th><th scope=\"col\" class=\"n\">"
	    "time</th><th scope=\"col\" class=\"n\">data</th></tr></thead><tbody>\n");
	for (const cJSON *x = json_first(r, "operations"); x != NULL; x = x->next) {
		put(&g->p, "<tr><th scope=\"row\"><code>");
		put_text(&g->p, json_text(x, "op", ""), 60);
		put(&g->p, "</code></th>");
		put_cell(g, fmt_count(json_number(x, "calls")), json_number(x, "calls"));
		put_cell(g, fmt_time(json_number(x, "time_s")), json_number(x, "time_s"));
		put_cell(g, fmt_bytes(json_number(x, "bytes")), json_number(x, "bytes"));
		put(&g->p, "</tr>\n");
	}
	put(&g->p, "</tbody></table></div>\n");
	section_end(g);
}

static void put_nodes(struct fleet_page *g, const cJSON *r)
{
	size_t n = json_count(r, "deviation"), rooms = n < 12 ? 12 : n;
	double most = 0.01;
	for (const cJSON *x = json_first(r, "deviation"); x != NULL; x = x->next)
		most = fmax(most, fabs(json_number_of(x)));
	if (n < 2 || isnan(most))
		return;
	section_begin(
		g, "nodes", "Nodes",
		"How much longer (up, orange) or shorter (down, grey) the ranks of each node computed than the mean, "
		"in the order of ranks.");
	put(&g->p, "<p><code>");
	put_text(&g->p, json_text(r, "nodelist", ""), SENTENCE_CHARS);
	put(&g->p,
	    "</code></p><figure><figcaption><b>One column a node:</b> the furthest from the mean is %s "
	    "off</figcaption><svg "
	    "class=\"chart\" aria-hidden=\"true\">",
	    fmt_share(most).s);
	size_t i = 0;
	for (const cJSON *x = json_first(r, "deviation"); x != NULL; x = x->next, i++) {
		double height = fabs(json_number_of(x)) / most * 74;
		put(&g->p, "<rect class=\"%s\" x=\"%.2f%%\" width=\"%.2f%%\" y=\"%.1f\" height=\"%.1f\"/>",
		    json_number_of(x) > 0 ? "short" : "named", 100.0 * (double)i / (double)rooms,
		    fmax(0.1, 90.0 / (double)rooms), json_number_of(x) > 0 ? 75 - height : 75, fmax(height, 0.5));
	}
	put(&g->p, "</svg></figure>\n");
	section_end(g);
}

void page_job(struct fleet_page *g, sqlite3_int64 id)
{
	cJSON *r = record_of(g, id);
	const char *job = json_text(r, "job_id", "");
	fleet_begin(g, *job != '\0' ? job : "Job", PAGE_JOBS);
	if (r != NULL) {
		put_masthead(g, r);
		put_facts(g, r);
		put_issues(g, r);
		put_sites(g, r);
		put_operations(g, r);
		put_nodes(g, r);
	} else {
		put(&g->p, "<h1>The record of this job cannot be read.</h1>\n");
	}
	fleet_end(g);
	cJSON_Delete(r);
}

void page_job_gone(struct fleet_page *g)
{
	fleet_begin(g, "Job", PAGE_JOBS);
	put(&g->p, "<h1>This job is no longer kept: it was pruned, or a later record replaced it.</h1>\n");
	put_kept_from(g);
	fleet_end(g);
}
