/* show_issues.c - what `mpitrace show` says of issues: the verdict in a sentence, then each with what, why and what
 * to do. */
#include "base/shell_word.h"
#include "cli/print.h"
#include "cli/show_text.h"
#include "format/issues.h"
#include "reports/html/html.h"
#include "reports/text/evidence.h"
#include "reports/text/gain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ISSUES_SHOWN 5 /* in full; of the others what they are */

static bool is_recorded(const cJSON *a)
{
	return json_text(json_item(a, "job"), "imported", NULL) == NULL;
}

void show_verdict(const cJSON *a)
{
	const char *verdict = json_text(a, "verdict", "");
	if (verdict[0] == 0 || !is_recorded(a))
		return;
	fputs("Verdict     ", stdout);
	if (json_count(a, "issues") == 0 && strcmp(verdict, "nothing to fix") == 0)
		puts("Nothing to fix.");
	else
		show_words(verdict, 12, 12);
}

static void put_line(const char *label, const char *text)
{
	if (text[0] == 0)
		return;
	printf("     %-5s", label);
	show_words(text, 10, 10);
}

#define RANKS_SHOWN 12
#define MEASURE_CHARS 300

/* Which ranks, and the number that says so. */
static void put_measure(const cJSON *issue)
{
	const cJSON *metric = json_item(issue, "metric");
	const char *name = json_text(metric, "name", "");
	double value = json_number(metric, "value"), threshold = json_number(metric, "threshold");
	size_t n = json_count(issue, "ranks"), shown = 0;
	char text[MEASURE_CHARS];
	int at = 0;
	for (const cJSON *v = json_first(issue, "ranks"); v != NULL && shown < RANKS_SHOWN; v = v->next)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%.0f",
			       shown++ > 0 ? ", "
			       : n == 1	   ? "rank "
					   : "ranks ",
			       fmin(json_number_of(v), 1e9));
	if (n > 0 && json_bool(issue, "more_ranks", false))
		at += snprintf(text + at, sizeof(text) - (size_t)at, " and more");
	else if (n > shown)
		at += snprintf(text + at, sizeof(text) - (size_t)at, " and %zu more", n - shown);
	if (*name != '\0' && !isnan(value) && !isnan(threshold))
		snprintf(text + at, sizeof(text) - (size_t)at, "%s%.120s: %s (threshold %s)", at > 0 ? "; " : "", name,
			 value == floor(value) ? count_text(value).s : ratio_text(value).s,
			 threshold == floor(threshold) ? count_text(threshold).s : ratio_text(threshold).s);
	else if (at == 0)
		return;
	put_line("who", text);
}

static void put_gain(const cJSON *issue)
{
	char text[GAIN_TEXT];
	if (gain_text(issue, true, text))
		put_line("gain", text);
}

/* As on the page, in letters. */
static void put_evidence(const cJSON *a, const cJSON *issue)
{
	static const char shades[] = " .:-=+*#%@";
	struct evidence e;
	char text[EVIDENCE_TEXT], line[EVIDENCE_COLUMNS + 1] = "";
	double most = 0;
	if (!evidence_find(a, issue, &e))
		return;
	evidence_text(&e, true, text);
	put_line("seen", text);
	for (size_t i = 0; i < e.n; i++)
		most = fmax(most, e.value[i]);
	for (size_t i = 0; i < e.n; i++)
		line[i] = shades[(size_t)(e.value[i] / most * (sizeof(shades) - 2) + 0.5)];
	printf("          |%s|\n", line);
}

/* The longest wait, as the viewer shows it; once. */
static void put_worst(const cJSON *const *rows, size_t at, const char *path)
{
	const cJSON *issue = rows[at];
	const cJSON *worst = json_item(issue, "worst");
	double rank = json_number(worst, "rank"), from = json_number(worst, "from_s"), to = json_number(worst, "to_s");
	size_t before = evidence_worst_before(rows, at, issue);
	if (before > 0) {
		printf("     look the wait that issue %zu names\n", before);
		return;
	}
	char words[96], *name = shell_word(path);
	if (name == NULL || !(rank >= 0 && rank < 1e9 && to > from)) {
		free(name);
		return;
	}
	snprintf(words, sizeof(words), "--rank %.0f --from %.6f --to %.6f", rank, from, to);
	bool fits = strlen("mpitrace view ") + strlen(name) + 1 + strlen(words) <= SHOW_COLUMNS - 10;
	fputs("     look mpitrace view ", stdout);
	put_plain(stdout, name, (int)strlen(name));
	printf(fits ? " %s\n" : " \\\n          %s\n", words);
	free(name);
}

static void put_head(const cJSON *issue, size_t number, double ranks_s)
{
	double loss_s = json_number_or(issue, "loss_s", 0), of_s = json_number_or(issue, "loss_of_s", ranks_s);
	const char *phrase = issue_phrase(json_text(issue, "issue", "?"));
	struct show_name name = show_name(json_text(issue, "issue", "?"), 40, true);
	printf("  %zu. %s (%s", number, phrase != NULL ? phrase : name.s,
	       show_name(json_text(issue, "severity", "?"), 12, false).s);
	if (loss_s > 0)
		printf(", %s", seconds_text(loss_s).s);
	if (loss_s > 0 && of_s > 0)
		printf(", %s", share_text(loss_s / of_s).s);
	puts(")");
}

static void put_cause(const cJSON *const *rows, size_t at, size_t n)
{
	size_t cause = issue_cause_of(rows, n, rows[at]);
	char text[64];
	snprintf(text, sizeof(text), "issue %zu, which explains it", cause);
	if (cause > 0)
		put_line("from", text);
}

void show_issues(const cJSON *a, const char *path)
{
	size_t n;
	const cJSON **rows = json_objects(a, "issues", &n);
	if (n > 0)
		puts("\nIssues, causes before their consequences (severity, time lost, share of all)");
	else if (is_recorded(a)) {
		fputs("\nIssues: ", stdout);
		show_words(json_text(a, "verdict", "nothing to fix"), 8, 8);
	} else
		puts("\nIssues: not analysed");
	for (size_t i = 0; i < n; i++) {
		put_head(rows[i], i + 1, show_ranks_s(a));
		put_line("what", json_text(rows[i], "what", ""));
		put_cause(rows, i, n);
		if (i >= ISSUES_SHOWN)
			continue;
		put_gain(rows[i]);
		put_measure(rows[i]);
		put_line("why", json_text(rows[i], "why", ""));
		put_line("do", json_text(rows[i], "next", ""));
		put_evidence(a, rows[i]);
		put_worst(rows, i, path);
	}
	free(rows);
}
