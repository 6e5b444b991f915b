/* show_diff.c - `diff` for people: whether the run became slower and whether that is more than noise, then where.
 * In: the object of compare/.  Out: stdout, at most 100 columns. */
#include "base/json.h"
#include "base/path.h"
#include "base/units.h"
#include "cli/print.h"
#include "cli/show.h"
#include "cli/show_text.h"
#include "format/issues.h"
#include "reports/text/changed.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define TOP 10 /* rows of a table */
#define NAME_WIDTH 46

/* Are times shown a rank? They are where the sides have different numbers of ranks. */
static double ranks_of(const cJSON *diff, const char *side)
{
	return json_number_or(json_item(diff, side), "ranks", 1);
}

static bool shows_a_rank(const cJSON *diff)
{
	return ranks_of(diff, "a") != ranks_of(diff, "b");
}

static struct fmt time_text(double s)
{
	return fmt_plain(fmt_time(s));
}

/* With its sign. */
static struct fmt change_text(double s)
{
	struct fmt plain = time_text(s), f;
	snprintf(f.s, sizeof(f.s), "%s%.30s", s > 0 ? "+" : "", plain.s);
	return f;
}

static struct fmt percent_text(double a, double change)
{
	struct fmt f = {""};
	double percent = 100 * change / a;
	if (a > 0 && fabs(percent) < 1000)
		snprintf(f.s, sizeof(f.s), "%+.1f %%", percent);
	return f;
}

static const char *mark(const cJSON *row)
{
	return cJSON_IsTrue(json_item(row, "significant")) ? " *" : "";
}

/* ---- the head ---- */

static void put_side(const cJSON *diff, const char *side)
{
	const cJSON *s = json_item(diff, side), *files = json_item(s, "files");
	int n = (int)json_count(s, "files");
	printf("%s  ", side);
	put_plain(stdout, json_text(s, "program", "unknown program"), 60);
	printf(", %s, %s:", fmt_many(ranks_of(diff, side), "rank").s, fmt_many(n, "run").s);
	for (int i = 0; i < n && i < 4; i++) {
		putchar(' ');
		put_plain(stdout, json_text(cJSON_GetArrayItem(files, i), "path", "?"), 200);
	}
	puts(n > 4 ? " ..." : "");
}

/* What these runs could have shown, and how many would show what they do not. */
static void put_smallest(const cJSON *region, double a)
{
	double smallest = json_number(region, "smallest_s"), runs = json_number(region, "runs_needed");
	if (isnan(smallest))
		return;
	printf("These runs would have shown a change of %s", time_text(smallest).s);
	if (a > 0)
		printf(" (%s)", fmt_plain(fmt_share(smallest / a)).s);
	fputs(" or more, four times of five", stdout);
	if (!cJSON_IsTrue(json_item(region, "significant")) && !isnan(runs))
		printf("; this one would take %.0f runs on each side", runs);
	puts(".");
}

static void put_changed(const cJSON *diff)
{
	char text[CHANGED_TEXT];
	changed_text(diff, fmt_plain, text);
	if (text[0] != '\0')
		show_words(text, 0, 0);
}

static void put_verdict(const cJSON *diff)
{
	const cJSON *region = json_first(diff, "time");
	double a = json_number(region, "a_s"), b = json_number(region, "b_s"), p = json_number(region, "p");
	if (isnan(a) || isnan(b)) {
		puts("\nHow long the traced region took is not known.");
		return;
	}
	printf("\nThe traced region took %s, before %s: %s", time_text(b).s, time_text(a).s, change_text(b - a).s);
	if (*percent_text(a, b - a).s != '\0')
		printf(" (%s)", percent_text(a, b - a).s);
	if (isnan(p))
		puts(".");
	else
		printf(", %s (p = %.2g).\n",
		       cJSON_IsTrue(json_item(region, "significant")) ? "beyond noise" : "within noise", p);
	put_changed(diff);
	put_smallest(region, a);
	printf("Noise: %s.\n", json_text(json_item(diff, "noise"), "method", "not known"));
	for (const cJSON *v = json_first(diff, "notes"); v != NULL; v = v->next) {
		fputs("! ", stdout);
		put_plain(stdout, cJSON_IsString(v) ? v->valuestring : "?", 600);
		putchar('\n');
	}
}

/* ---- tables ---- */

/* In a column: anything but printable ASCII becomes '?'. An identifier is written in words. */
static void put_column(const char *text, bool words)
{
	char name[NAME_WIDTH + 1];
	snprintf(name, sizeof(name), "%s", text);
	for (char *c = name; *c != 0; c++)
		*c = *c == '_' && words ? ' ' : *c < ' ' || *c > '~' ? '?' : *c;
	printf("  %-*s", NAME_WIDTH, name);
}

static void put_name(const char *identifier)
{
	put_column(identifier, true);
}

/* a_s and b_s of all ranks, or of one. */
static void put_times(const cJSON *diff, const cJSON *row, bool sum)
{
	bool a_rank = sum && shows_a_rank(diff);
	double a = json_number(row, a_rank ? "a_per_rank_s" : "a_s"),
	       b = json_number(row, a_rank ? "b_per_rank_s" : "b_s");
	printf(" %10s %10s %11s %9s%s\n", time_text(a).s, time_text(b).s, change_text(b - a).s,
	       percent_text(a, b - a).s, mark(row));
}

static void put_head(const char *title)
{
	printf("\n%-*s %10s %10s %11s\n", NAME_WIDTH + 2, title, "a", "b", "change");
}

static void put_time(const cJSON *diff)
{
	put_head(shows_a_rank(diff) ? "Time, mean of ranks" : "Time, total over ranks");
	for (const cJSON *v = json_first(diff, "time"); v != NULL; v = v->next) {
		const char *metric = json_text(v, "metric", "?");
		bool region = strcmp(metric, "region") == 0, iteration = strcmp(metric, "iteration") == 0;
		if (iteration && isnan(json_number(v, "change_s")))
			continue;
		put_name(region ? "traced region (once)" : iteration ? "an iteration (once)" : metric);
		put_times(diff, v, !region && !iteration);
	}
}

static void put_efficiency(const cJSON *diff)
{
	put_head("Efficiency");
	for (const cJSON *v = json_first(diff, "efficiency"); v != NULL; v = v->next) {
		double change = json_number(v, "change");
		put_name(json_text(v, "metric", "?"));
		printf(" %10s %10s", fmt_plain(fmt_ratio(json_number(v, "a"))).s,
		       fmt_plain(fmt_ratio(json_number(v, "b"))).s);
		if (!isnan(change))
			printf(" %+11.3f %9s%s", change, "", mark(v));
		putchar('\n');
	}
}

/* "rank 4", "64 to 95" */
static void share_name(const char *member, const cJSON *row, char ret_name[NAME_WIDTH])
{
	if (strcmp(member, "ranks") == 0) {
		snprintf(ret_name, NAME_WIDTH, "rank %.0f", json_number_or(row, "rank", 0));
		return;
	}
	double from = json_number_or(row, "from", 0);
	snprintf(ret_name, NAME_WIDTH, "%.0f to %.0f", from, from + json_number_or(row, "iterations", 1) - 1);
}

/* Ranks that compute, and iterations that take, more or less than they did against the mean of their run. */
static void put_shares(const cJSON *diff, const char *member, const char *title)
{
	int shown = 0;
	for (const cJSON *v = json_first(diff, member); v != NULL && shown < TOP; v = v->next) {
		char name[NAME_WIDTH];
		if (!cJSON_IsTrue(json_item(v, "significant")))
			continue;
		if (shown++ == 0)
			put_head(title);
		share_name(member, v, name);
		put_name(name);
		printf(" %10s %10s %+11.3f %9s *\n", fmt_plain(fmt_ratio(json_number(v, "a"))).s,
		       fmt_plain(fmt_ratio(json_number(v, "b"))).s, json_number_or(v, "change", 0), "");
	}
}

/* "function file:line MPI_X" */
static void site_name(const cJSON *v, char *to, size_t size)
{
	const char *function = json_text(v, "function_short", json_text(v, "function", ""));
	const char *file = json_text(v, "file", "");
	const char *matched = json_text(v, "matched", "");
	double line = json_number_or(v, "line", 0);
	char place[160], moved[64] = "";
	snprintf(place, sizeof(place), "%.80s:%.0f", path_name(file), line);
	if (strcmp(matched, "together") == 0)
		snprintf(moved, sizeof(moved), " (%.0f and %.0f call sites as one)", json_number_or(v, "a_sites", 0),
			 json_number_or(v, "b_sites", 0));
	else if (strcmp(matched, "only_a") == 0 || strcmp(matched, "only_b") == 0)
		snprintf(moved, sizeof(moved), " (%s)", matched[5] == 'a' ? "gone" : "new");
	else if (json_number_or(v, "a_line", line) != line)
		snprintf(moved, sizeof(moved), " (was :%.0f)", json_number(v, "a_line"));
	snprintf(to, size, "%.30s %.40s %.60s%s", json_text(v, "op", "?"),
		 *function != '\0' ? function : json_text(v, "address", "?"),
		 line > 0 ? place : json_text(v, "module_short", ""), moved);
}

/* Rows whose change is nothing a person can do something about are left out. */
static bool is_shown(const cJSON *diff, const cJSON *row)
{
	const cJSON *region = json_first(diff, "time");
	double longer = fmax(json_number_or(region, "a_s", 0), json_number_or(region, "b_s", 0));
	return fabs(json_number_or(row, "change_per_rank_s", 0)) > longer * 1e-3;
}

static void put_table(const cJSON *diff, const char *member, const char *title, const char *key)
{
	int shown = 0, small = 0;
	for (const cJSON *v = json_first(diff, member); v != NULL; v = v->next) {
		char name[256];
		if (shown == TOP || !is_shown(diff, v)) {
			small++;
			continue;
		}
		if (shown++ == 0)
			put_head(title);
		if (key != NULL)
			snprintf(name, sizeof(name), "%s", json_text(v, key, "?"));
		else
			site_name(v, name, sizeof(name));
		if (strlen(name) > NAME_WIDTH) { /* on a line of its own */
			fputs("  ", stdout);
			put_plain(stdout, name, 96);
			printf("\n  %-*s", NAME_WIDTH, "");
		} else {
			put_column(name, key != NULL && strcmp(key, "state") == 0);
		}
		put_times(diff, v, true);
	}
	if (shown > 0 && small > 0)
		printf("  (%d more in --json)\n", small);
}

static const cJSON *site_of(const cJSON *diff, double id)
{
	for (const cJSON *v = json_first(diff, "callsites"); v != NULL; v = v->next)
		if (json_number(v, "id") == id)
			return v;
	return NULL;
}

static void put_waits(const cJSON *diff)
{
	int shown = 0;
	for (const cJSON *v = json_first(diff, "wait_sites"); v != NULL && shown < TOP; v = v->next) {
		char name[256] = "?";
		const cJSON *site = site_of(diff, json_number(v, "callsite"));
		if (!is_shown(diff, v))
			continue;
		if (shown++ == 0)
			put_head("Waiting, by call site");
		if (site != NULL)
			site_name(site, name, sizeof(name));
		fputs("  ", stdout);
		put_plain(stdout, name, 96);
		putchar('\n');
		put_name(json_text(v, "state", "?"));
		put_times(diff, v, true);
	}
}

/* ---- issues, scaling ---- */

static const char *issue_name(const cJSON *row)
{
	const char *kind = json_text(row, "issue", "?"), *phrase = issue_phrase(kind);
	return phrase != NULL ? phrase : kind;
}

static void put_issue_list(const cJSON *issues, const char *member, const char *word)
{
	for (const cJSON *v = json_first(issues, member); v != NULL; v = v->next) {
		double change = json_number_or(v, "change_s", 0);
		printf("  %-8s", word);
		put_plain(stdout, issue_name(v), 60);
		if (change != 0)
			printf(" (%s lost)", change_text(change).s);
		putchar('\n');
	}
}

/* Neither new nor gone, nor is it known what they cost on the other side. */
static void put_unknown_issues(const cJSON *issues)
{
	const char *before = "  Only one side can show (the other has no single calls): ";
	for (const cJSON *v = json_first(issues, "unknown"); v != NULL; v = v->next) {
		fputs(before, stdout);
		put_plain(stdout, issue_name(v), 60);
		before = ", ";
	}
	if (json_count(issues, "unknown") > 0)
		putchar('\n');
}

static void put_issues(const cJSON *diff)
{
	const cJSON *issues = json_item(diff, "issues");
	if (json_count(issues, "gone") + json_count(issues, "new") + json_count(issues, "changed") +
		    json_count(issues, "unknown") ==
	    0)
		return;
	puts("\nIssues");
	put_issue_list(issues, "new", "new");
	put_issue_list(issues, "gone", "gone");
	put_issue_list(issues, "changed", "in both");
	put_unknown_issues(issues);
}

static void put_reading(const cJSON *rows, const char *reading, const char *title)
{
	if (!cJSON_IsObject(json_item(rows, reading)))
		return;
	printf("\n%s\n  %8s %10s %9s %9s %9s %9s %9s\n", title, "ranks", "region", "speedup", "ideal", "comp.",
	       "parallel", "global");
	for (const cJSON *v = rows; v != NULL; v = v->next) {
		const cJSON *r = json_item(v, reading);
		printf("  %8.0f %10s %9s %9s", json_number_or(v, "ranks", 0), time_text(json_number(v, "region_s")).s,
		       fmt_plain(fmt_ratio(json_number(r, "speedup"))).s,
		       fmt_plain(fmt_ratio(json_number(r, "ideal_speedup"))).s);
		printf(" %9s %9s %9s%s\n", fmt_plain(fmt_ratio(json_number(r, "computation_scaling"))).s,
		       fmt_plain(fmt_ratio(json_number(v, "parallel"))).s,
		       fmt_plain(fmt_ratio(json_number(r, "global_efficiency"))).s,
		       json_bool(v, "complete", true) ? "" : "  not whole");
	}
}

void show_diff(const cJSON *diff)
{
	put_side(diff, "a");
	put_side(diff, "b");
	put_verdict(diff);
	put_time(diff);
	put_efficiency(diff);
	put_shares(diff, "ranks", "Computation of a rank, the mean of its run is 1");
	put_shares(diff, "iterations", "Iterations of the loop, the mean of its run is 1");
	put_table(diff, "operations", "MPI functions", "op");
	put_table(diff, "callsites", "Call sites", NULL);
	put_table(diff, "wait_states", "Waiting", "state");
	put_waits(diff);
	put_issues(diff);
	const cJSON *rows = json_first(json_item(diff, "scaling"), "rows");
	put_reading(rows, "strong", "Scaling, if the problem stays as large (strong)");
	put_reading(rows, "weak", "Scaling, if the problem grows with the ranks (weak)");
	if (json_bool(json_item(diff, "noise"), "known", false))
		puts("\n* beyond noise");
}
