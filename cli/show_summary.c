/* show_summary.c - `show` for people: the verdict first, then how far to trust it, what to do, then where the time
 * went. In: the analysis object.  Out: stdout, at most 80 columns. What is absent is left out or called unknown. */
#include "cli/print.h"
#include "cli/show.h"
#include "cli/show_text.h"
#include "reports/text/answers.h"
#include "reports/text/waits_bound.h"
#include "reports/text/without_waits.h"
#include "reports/text/drift.h"
#include "reports/text/ended.h"
#include "reports/text/places.h"
#include "reports/text/processor.h"

#include <math.h>
#include <string.h>

#define PATTERNS_SHOWN 3
#define PATTERN_CHARS 400
#define TRACING_SHARE_MAX 0.02 /* of a rank's time: beyond it, it is named */

/* ---- the head ---- */

static void put_job(const cJSON *a, const struct mpix_info *info)
{
	const cJSON *job = json_item(a, "job");
	int nodes = (int)json_count(job, "nodes");
	put_plain(stdout, json_text(job, "program", "unknown program"), 200);
	printf("\n%u rank%s", info->ranks, info->ranks == 1 ? "" : "s");
	if (nodes > 0)
		printf(" on %d node%s", nodes, nodes == 1 ? "" : "s");
	if (json_text(job, "imported", NULL) == NULL || !isnan(json_number(job, "elapsed_s")))
		printf(", %s", seconds_text(json_number_or(job, "elapsed_s", (double)info->runtime_ns * 1e-9)).s);
	if (json_number_or(job, "hung_s", 0) > 0)
		printf(" (no rank advanced in the last %s)", seconds_text(json_number(job, "hung_s")).s);
	const char *id = json_text(job, "job_id", "");
	if (id[0] != 0) {
		fputs(", job ", stdout);
		put_plain(stdout, id, 40);
	}
	char ended[ENDED_TEXT_MAX];
	const char *const facts[] = {json_text(job, "start", NULL), ended_text(a, ended_record(a), ended),
				     json_text(job, "mpi", NULL)};
	for (int i = 0; i < 3; i++)
		if (facts[i] != NULL && facts[i][0] != '\0') {
			fputs(i == 2 ? "\n" : ", ", stdout);
			put_plain(stdout, facts[i], 78);
		}
	if (json_text(job, "policy", "")[0] != 0) {
		fputs("\nPolicy: ", stdout);
		put_plain(stdout, json_text(job, "policy", ""), 1000);
	}
	puts("\n");
}

static void put_answers(const cJSON *a)
{
	struct answer answers[ANSWERS];
	answers_of(a, fmt_plain, answers);
	for (int i = 0; i < ANSWERS; i++) {
		if (answers[i].text[0] == '\0')
			continue;
		printf("%-12s", answers[i].label);
		show_words(answers[i].text, 12, 12);
	}
}

/* As the page's figures. */
static void put_shares(const cJSON *a)
{
	double useful_s = 0, mpi_s = 0, wait_s = 0;
	for (const cJSON *row = json_first(a, "per_rank"); row != NULL; row = row->next) {
		double mpi = fmax(0, json_number_or(row, "mpi_s", 0));
		useful_s += fmax(0, json_number_or(row, "useful_s", 0));
		mpi_s += mpi;
		wait_s += fmin(mpi, fmax(0, json_number_or(row, "wait_s", 0)));
	}
	if (useful_s + mpi_s <= 0)
		return;
	printf("MPI         %s of the ranks' %s without MPI_Init and MPI_Finalize",
	       share_text(mpi_s / (useful_s + mpi_s)).s, seconds_text(useful_s + mpi_s).s);
	bool known = show_knows_waits(a);
	if (known)
		printf(",\n            %s%s waiting for others\n", waits_bound_text(waits_are_at_least(a)),
		       share_text(wait_s / (useful_s + mpi_s)).s);
	if (known && without_waits_of(a) > 0)
		printf("            %s of the time in MPI is in calls whose waiting is not analysed\n",
		       share_text(without_waits_of(a)).s);
	if (!known)
		puts(",\n            waiting is not known");
}

static void put_factor(const cJSON *x, const char *name, const char *key)
{
	printf("%s %s", isnan(json_number(x, key)) ? "not known" : ratio_text(json_number(x, key)).s, name);
}

static void put_efficiency(const cJSON *a)
{
	const cJSON *x = json_item(a, "efficiency");
	fputs("Efficiency  ", stdout);
	if (isnan(json_number(x, "parallel"))) {
		puts("not known");
		return;
	}
	put_factor(x, "parallel = ", "parallel");
	put_factor(x, "load balance x ", "load_balance");
	put_factor(x, "communication\n", "communication");
	if (!isnan(json_number(x, "serialization")) && !isnan(json_number(x, "transfer"))) {
		fputs("            ", stdout);
		put_factor(x, "communication = ", "communication");
		put_factor(x, "serialization x ", "serialization");
		put_factor(x, "transfer\n", "transfer");
	}
	if (json_text(x, "note", "")[0] != 0) {
		fputs("            ", stdout);
		show_words(json_text(x, "note", ""), 12, 12);
	}
}

static void put_processor_wait(const cJSON *a)
{
	struct processor_wait w = processor_wait_of(a);
	if (w.seen)
		printf("Processors  ranks waited %s for a free core (total over ranks), rank %.0f\n            "
		       "longest: %s; useful time has a part of it, so efficiency is at most this\n",
		       seconds_text(w.all_s).s, w.most_rank, seconds_text(w.most_s).s);
}

/* ---- how far to trust it ---- */

static void put_reasons(const cJSON *coverage)
{
	for (const cJSON *x = json_first(coverage, "reasons"); x != NULL; x = x->next) {
		if (!cJSON_IsString(x))
			continue;
		fputs("            ", stdout);
		show_words(x->valuestring, 12, 14);
	}
}

/* Calls are all that the program made; an event is a call, or a run of tests in vain. */
static void put_calls(const cJSON *a)
{
	const cJSON *coverage = json_item(a, "coverage");
	double calls = 0, lost = json_number(coverage, "events_lost");
	for (const cJSON *row = json_first(a, "per_rank"); row != NULL; row = row->next)
		calls += json_number_or(row, "calls", 0);
	printf("            %s; ", many_text(calls, "call").s);
	if (!show_has_events(a)) {
		printf("no single calls, all in the totals\n");
		return;
	}
	printf("%s, ", many_text(json_number_or(coverage, "events", 0), "single event").s);
	if (isnan(lost))
		puts("losses unknown");
	else if (lost > 0)
		printf("%s lost\n", count_text(lost).s);
	else
		puts("none lost");
}

static void put_tracing(const cJSON *tracing)
{
	if (json_number_or(tracing, "share", -1) < 0)
		return;
	printf("            tracing took %s of the time", share_text(json_number_or(tracing, "share", 0)).s);
	if (json_number_or(tracing, "worst_share", 0) > TRACING_SHARE_MAX)
		printf(", %s on rank %.0f", share_text(json_number_or(tracing, "worst_share", 0)).s,
		       json_number_or(tracing, "worst_rank", 0));
	putchar('\n');
}

static void put_trust(const cJSON *a)
{
	const cJSON *coverage = json_item(a, "coverage"), *clock = json_item(a, "clock");
	double seen = json_number_or(coverage, "ranks_seen", -1);
	double expected = json_number_or(coverage, "ranks_expected", -1);
	printf("Trust       %s", json_bool(coverage, "complete", false) ? "complete" : "PARTIAL");
	if (seen >= 0 && expected >= 0)
		printf(": %s of %s rank%s", count_text(seen).s, count_text(expected).s, expected == 1 ? "" : "s");
	if (json_number_or(clock, "error_bound_us", 0) > 0)
		printf("; clocks agree within %s", seconds_text(json_number_or(clock, "error_bound_us", 0) * 1e-6).s);
	putchar('\n');
	put_calls(a);
	put_tracing(json_item(a, "overhead"));
	put_reasons(coverage);
}

/* ---- what else there is, a line each ---- */

static double sum_of(const cJSON *list, const char *name)
{
	const cJSON *row;
	double sum = 0;
	cJSON_ArrayForEach(row, list) sum += json_number_or(row, name, 0);
	return sum;
}

/* One line each of windows and files, where the program has any. */
static void put_objects(const cJSON *a)
{
	const cJSON *windows = json_item(a, "windows"), *files = json_item(a, "files");
	int nwindows = (int)json_count(a, "windows"), nfiles = (int)json_count(a, "files");
	if (nwindows > 0)
		printf("One-sided   %s to targets, %s from them; %d window%s\n",
		       bytes_text(sum_of(windows, "bytes_to_target")).s,
		       bytes_text(sum_of(windows, "bytes_from_target")).s, nwindows, nwindows == 1 ? "" : "s");
	if (nfiles > 0)
		printf("Files       %s read, %s written; %d opened\n", bytes_text(sum_of(files, "bytes_read")).s,
		       bytes_text(sum_of(files, "bytes_written")).s, nfiles);
}

static void put_traffic(const cJSON *a, const cJSON *summary)
{
	struct messages sent = messages_sent(summary);
	if (show_has_events(a) || sent.n > 0)
		printf("Traffic     %s, %s; ", many_text(fmax(sent.n, 0), "message").s,
		       isnan(sent.bytes) ? "not known" : bytes_text(sent.bytes).s);
	else
		fputs("Traffic     messages not recorded; ", stdout);
	printf("%s, %s\n", many_text(json_number_or(summary, "collectives", 0), "collective").s,
	       many_text(json_number_or(summary, "barriers", 0), "barrier").s);
}

/* The shape of the traffic, best first, as on the page. */
static void put_patterns(const cJSON *a)
{
	size_t shown = 0;
	for (const cJSON *v = json_first(a, "patterns"); v != NULL && shown < PATTERNS_SHOWN; v = v->next) {
		char text[PATTERN_CHARS];
		const char *name = json_text(v, "pattern", "");
		if (*name == '\0')
			continue;
		if (strcmp(name, "irregular") == 0)
			snprintf(text, sizeof(text), "no known pattern: %.280s", json_text(v, "evidence", ""));
		else
			snprintf(text, sizeof(text), "%s%s, score %s. %.280s", shown > 0 ? "or, less clearly: " : "",
				 show_name(name, 40, true).s, ratio_text(json_number(v, "score")).s,
				 json_text(v, "evidence", ""));
		fputs(shown++ == 0 ? "Pattern     " : "            ", stdout);
		show_words(text, 12, 14);
	}
}

/* "init 5.0 s, 100 iterations of 15 ms (67 % longer at the end), output 0.2 s" */
static void put_phases(const cJSON *a)
{
	const cJSON *phases = json_item(a, "phases"), *x;
	double drift = json_number(phases, "drift");
	const char *between = "";
	if (json_count(phases, "parts") > 0)
		fputs("Phases      ", stdout);
	cJSON_ArrayForEach(x, json_item(phases, "parts"))
	{
		const char *name = json_text(x, "phase", "?");
		const cJSON *from = json_first(x, "window_s"), *to = from != NULL ? from->next : NULL;
		printf("%s", between);
		between = ", ";
		if (strcmp(name, "iterations") != 0) {
			printf("%s %s", show_name(name, 20, false).s,
			       seconds_text(json_number_of(to) - json_number_of(from)).s);
			continue;
		}
		printf("%s of %s", many_text(json_number(phases, "iterations"), "iteration").s,
		       seconds_text(json_number(phases, "iteration_s")).s);
		if (drift_is_seen(phases))
			printf(" (%s)", drift > 0 ? "growing" : "shrinking");
	}
	if (*between != 0)
		putchar('\n');
}

struct thread_counts {
	double ranks, workers, progress, first;
};

static void count_threads(const cJSON *rank, struct thread_counts *n)
{
	const cJSON *x;
	if (json_count(rank, "threads") == 0)
		return;
	n->ranks++;
	n->first += strcmp(json_text(rank, "time_of", ""), "first_thread") == 0;
	cJSON_ArrayForEach(x, json_item(rank, "threads"))
	{
		bool polls = strcmp(json_text(x, "role", ""), "progress") == 0;
		n->progress += polls;
		n->workers += !polls;
	}
}

/* Where several threads of a rank call MPI: whose time the figures are. */
static void put_threads(const cJSON *a)
{
	struct thread_counts n = {0};
	const cJSON *x;
	cJSON_ArrayForEach(x, json_item(a, "per_rank")) count_threads(x, &n);
	if (n.ranks == 0)
		return;
	printf("Threads     %.0f call MPI on %.0f rank%s", n.workers + n.progress, n.ranks, n.ranks == 1 ? "" : "s");
	if (n.progress > 0)
		printf("; %.0f of them only poll%s for others and count%s in no efficiency", n.progress,
		       n.progress == 1 ? "s" : "", n.progress == 1 ? "s" : "");
	putchar('\n');
	if (n.first > 0)
		printf("            of %.0f rank%s only one thread's time is known\n", n.first,
		       n.first == 1 ? "" : "s");
}

void show_summary(const cJSON *a, const struct mpix_info *info, const char *path)
{
	const cJSON *summary = json_item(a, "summary");
	put_job(a, info);
	show_verdict(a);
	put_answers(a);
	put_shares(a);
	put_efficiency(a);
	put_processor_wait(a);
	put_trust(a);
	if (summary != NULL)
		put_traffic(a, summary);
	put_patterns(a);
	put_objects(a);
	put_phases(a);
	put_threads(a);
	show_issues(a, path);
	show_operations(a);
	show_strip(a);
	show_ranks(a);
	show_traffic(a);
	show_waits(a);
	show_arrivals(a);
	show_delays(a);
	show_correctness(a);
	show_callsites(a);
}
