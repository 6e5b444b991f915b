/* show_summary.c - `show` for people: the verdict first, then how far to trust it, then where the
 * time went. In: the analysis object.  Out: stdout, at most 100 columns. What is absent is left out
 * or called unknown. */
#include "base/json.h"
#include "base/units.h"
#include "cli/print.h"
#include "cli/show.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TRACING_SHARE_MAX 0.02 /* of a rank's time: beyond it, it is named */

#define DRIFT_SHOWN 0.05 /* change of iterations, of their mean: below it, it is noise */

#define TOP 8 /* rows of a table */

/* ---- numbers ---- */

struct text {
	char s[48];
};

static struct fmt seconds_text(double s)
{
	return fmt_plain(fmt_time(s));
}

static struct fmt bytes_text(double bytes)
{
	return fmt_plain(fmt_bytes(bytes));
}

static struct fmt count_text(double n)
{
	return fmt_plain(fmt_count(n));
}

/* An imported trace does not tell everything. */
static struct fmt known(const cJSON *row, const char *key, struct fmt (*text)(double))
{
	return isnan(json_number(row, key)) ? (struct fmt){"not known"} : text(json_number(row, key));
}

static struct fmt share_text(double share)
{
	return fmt_plain(fmt_share(share));
}

/* A short name in a column: anything but printable ASCII becomes '?', underscores stay. */
static struct text name_text(const cJSON *item, const char *key)
{
	struct text t;
	snprintf(t.s, sizeof(t.s), "%.40s", json_text(item, key, "?"));
	for (char *c = t.s; *c != 0; c++)
		*c = *c >= ' ' && *c <= '~' ? *c : '?';
	return t;
}

static void put_share(double share)
{
	fputs(share >= 0 ? share_text(share).s : "unknown", stdout);
}

static void put_bar(double share, int width)
{
	int full = share > 0 ? (int)lround(share * width) : 0;
	for (int i = 0; i < width; i++)
		putchar(i < full ? '#' : '.');
}

/* ---- the head ---- */

static void put_job(const cJSON *a, const struct mpix_info *info)
{
	const cJSON *job = json_item(a, "job");
	int nodes = (int)json_count(job, "nodes");
	put_plain(stdout, json_text(job, "program", "unknown program"), 200);
	printf("\n%u ranks", info->ranks);
	if (nodes > 0)
		printf(" on %d node%s", nodes, nodes == 1 ? "" : "s");
	if (json_text(job, "imported", NULL) == NULL || !isnan(json_number(job, "elapsed_s")))
		printf(", %s", seconds_text(json_number_or(job, "elapsed_s", (double)info->runtime_ns * 1e-9)).s);
	const char *id = json_text(job, "job_id", "");
	if (id[0] != 0) {
		fputs(", job ", stdout);
		put_plain(stdout, id, 40);
	}
	static const char *const names[] = {"start", "state", "mpi"};
	for (int i = 0; i < 3; i++)
		if (json_text(job, names[i], NULL) != NULL) {
			fputs(", ", stdout);
			put_plain(stdout, json_text(job, names[i], ""), 100);
		}
	if (json_text(job, "policy", "")[0] != 0) {
		fputs("\nPolicy: ", stdout);
		put_plain(stdout, json_text(job, "policy", ""), 1000);
	}
	puts("\n");
}

static void put_verdict(const cJSON *a)
{
	const cJSON *x = json_item(a, "efficiency");
	fputs("Efficiency  parallel ", stdout);
	put_share(json_number_or(x, "parallel", -1));
	fputs(" = load balance ", stdout);
	put_share(json_number_or(x, "load_balance", -1));
	fputs(" x communication ", stdout);
	put_share(json_number_or(x, "communication", -1));
	if (json_number_or(x, "serialization", -1) >= 0) {
		fputs("\n            communication = serialization ", stdout);
		put_share(json_number_or(x, "serialization", -1));
		fputs(" x transfer ", stdout);
		put_share(json_number_or(x, "transfer", -1));
	}
	putchar('\n');
	if (json_text(x, "note", "")[0] != 0) {
		fputs("            ", stdout);
		put_plain(stdout, json_text(x, "note", ""), 400);
		putchar('\n');
	}
}

static void put_reasons(const cJSON *coverage)
{
	for (const cJSON *x = json_first(coverage, "reasons"); x != NULL; x = x->next) {
		if (!cJSON_IsString(x))
			continue;
		fputs("            ", stdout);
		put_plain(stdout, x->valuestring, 300);
		putchar('\n');
	}
}

/* Messages and waits are found in single calls: without any they are not known, and not zero. */
static bool has_events(const cJSON *a)
{
	return json_number_or(json_item(a, "coverage"), "events", 1) > 0;
}

static void put_trust(const cJSON *a)
{
	const cJSON *coverage = json_item(a, "coverage"), *clock = json_item(a, "clock");
	const cJSON *tracing = json_item(a, "overhead");
	double lost = json_number_or(coverage, "events_lost", 0), seen = json_number_or(coverage, "ranks_seen", -1);
	double expected = json_number_or(coverage, "ranks_expected", -1);
	printf("Trust       %s: ", json_bool(coverage, "complete", false) ? "complete" : "PARTIAL");
	if (has_events(a))
		printf("%s calls recorded, %s lost", count_text(json_number_or(coverage, "events", 0)).s,
		       count_text(lost).s);
	else
		printf("no single calls recorded, %s only in the totals", count_text(lost).s);
	if (seen >= 0 && expected >= 0)
		printf("; %.0f of %.0f ranks", seen, expected);
	if (json_number_or(clock, "error_bound_us", 0) > 0)
		printf("; clocks agree within %s", seconds_text(json_number_or(clock, "error_bound_us", 0) * 1e-6).s);
	if (json_number_or(tracing, "share", -1) >= 0)
		printf("; tracing cost %s", share_text(json_number_or(tracing, "share", 0)).s);
	if (json_number_or(tracing, "worst_share", 0) > TRACING_SHARE_MAX)
		printf(" (rank %.0f: %s)", json_number_or(tracing, "worst_rank", 0),
		       share_text(json_number_or(tracing, "worst_share", 0)).s);
	putchar('\n');
	put_reasons(coverage);
}

/* ---- tables ---- */

static void put_more(size_t n)
{
	if (n > TOP)
		printf("  ... %zu more: --json lists all\n", n - TOP);
}

/* The traced region begins behind MPI_Init and ends before MPI_Finalize: they have no share of it. */
static bool in_region(const cJSON *op)
{
	const char *name = json_text(op, "op", "?");
	return strncmp(name, "MPI_Init", 8) != 0 && strcmp(name, "MPI_Finalize") != 0;
}

/* of_s: all ranks' time; or, if several threads of a rank call MPI, that of all threads that do. */
static void put_operations(const cJSON *a, double of_s, bool threaded)
{
	size_t n;
	const cJSON **rows = json_objects_by(a, "operations", "time_s", &n);
	if (n > 0)
		printf("\nWhere the time went        calls       time   share of all %s' time            bytes\n",
		       threaded ? "threads" : "ranks");
	for (size_t i = 0; i < n && i < TOP; i++) {
		double time_s = json_number_or(rows[i], "time_s", 0);
		double share = of_s > 0 ? time_s / of_s : 0;
		printf("  %-20s %10s %10s   ", name_text(rows[i], "op").s,
		       count_text(json_number_or(rows[i], "calls", 0)).s, known(rows[i], "time_s", seconds_text).s);
		bool has_share = in_region(rows[i]) && cJSON_IsNumber(json_item(rows[i], "time_s"));
		put_bar(has_share ? share : 0, 20);
		printf("%8s  %10s\n", has_share ? share_text(share).s : "-", known(rows[i], "bytes", bytes_text).s);
	}
	put_more(n);
	free(rows);
}

/* Where a call is, from a call site. */
static void put_place(const cJSON *site)
{
	const char *file = json_text(site, "file", "");
	if (file[0] != 0) {
		put_plain(stdout, file, 60);
		printf(":%.0f ", json_number_or(site, "line", 0));
	}
	put_plain(stdout, json_text(site, "function_short", json_text(site, "function", "")), 80);
	if (file[0] == 0 && json_text(site, "module", "")[0] != 0) {
		fputs(" in ", stdout);
		put_plain(stdout, json_text(site, "module_short", json_text(site, "module", "")), 60);
	}
}

static void put_callsites(const cJSON *a)
{
	size_t n;
	const cJSON **rows = json_objects_by(a, "callsites", "time_s", &n);
	if (n > 0)
		printf("\nCall sites                 calls       time     waiting   where\n");
	for (size_t i = 0; i < n && i < TOP; i++) {
		printf("  %-20s %10s %10s  %10s   ", name_text(rows[i], "op").s,
		       count_text(json_number_or(rows[i], "calls", 0)).s, known(rows[i], "time_s", seconds_text).s,
		       has_events(a) ? known(rows[i], "wait_s", seconds_text).s : "not known");
		put_place(rows[i]);
		putchar('\n');
	}
	put_more(n);
	free(rows);
}

struct wait {
	const char *state;
	double count, seconds, worst;
	int worst_rank;
};

static int longer_first(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;
	return x->seconds > y->seconds ? -1 : x->seconds < y->seconds;
}

/* The analysis lists states per rank and call site; people want one line a state. */
static int sum_waits(const cJSON *list, struct wait *waits, int max)
{
	const cJSON *x;
	int n = 0;
	cJSON_ArrayForEach(x, list)
	{
		const char *state = json_text(x, "state", "?");
		double s = json_number_or(x, "seconds", 0);
		int i = 0;
		while (i < n && strcmp(waits[i].state, state) != 0)
			i++;
		if (i == max)
			continue;
		if (i == n)
			waits[n++] = (struct wait){.state = state, .worst = -1};
		waits[i].count += json_number_or(x, "count", 0);
		waits[i].seconds += s;
		if (s > waits[i].worst) {
			waits[i].worst = s;
			waits[i].worst_rank = (int)json_number_or(x, "rank", -1);
		}
	}
	return n;
}

static void put_waits(const cJSON *a)
{
	struct wait waits[32];
	int n = sum_waits(json_item(a, "wait_states"), waits, 32);
	qsort(waits, (size_t)n, sizeof(*waits), longer_first);
	if (n > 0)
		printf("\nWaiting                    times       time   most on rank\n");
	for (int i = 0; i < n; i++) {
		fputs("  ", stdout);
		char name[24];
		snprintf(name, sizeof(name), "%s", waits[i].state);
		for (char *c = name; *c != 0; c++)
			*c = *c == '_' ? ' ' : *c < ' ' || *c > '~' ? '?' : *c;
		printf("%-20s %10s %10s   %d\n", name, count_text(waits[i].count).s, seconds_text(waits[i].seconds).s,
		       waits[i].worst_rank);
	}
}

/* Words, broken before column 100, each further line indented. */
static void put_words(const char *text, int indent)
{
	int column = indent, left = 1200;
	while (*text != 0 && left > 0) {
		char word[128];
		size_t n = strcspn(text, " ");
		n = n < sizeof(word) ? n : sizeof(word) - 1;
		memcpy(word, text, n);
		word[n] = 0;
		if (column > indent && column + 1 + (int)n > 100)
			column = printf("\n%*s", indent, "") - 1;
		putchar(' ');
		put_plain(stdout, word, (int)n);
		column += (int)n + 1;
		left -= (int)n + 1;
		text += n;
		text += strspn(text, " ");
	}
}

static void put_line(const char *label, const char *text)
{
	if (text[0] == 0)
		return;
	printf("     %-5s", label);
	put_words(text, 10);
	putchar('\n');
}

static void put_issues(const cJSON *a)
{
	size_t n;
	const cJSON **rows = json_objects_by(a, "issues", "loss_s", &n);
	bool judged = json_text(json_item(a, "job"), "imported", NULL) == NULL;
	puts(n > 0 ? "\nIssues" : judged ? "\nIssues: nothing to fix" : "\nIssues: not judged");
	for (size_t i = 0; i < n; i++) {
		const cJSON *x = rows[i];
		double loss_s = json_number_or(x, "loss_s", 0);
		printf("  %zu. ", i + 1);
		put_plain(stdout, json_text(x, "issue", "?"), 60);
		fputs(" (", stdout);
		put_plain(stdout, json_text(x, "severity", "?"), 20);
		if (loss_s > 0)
			printf(", %s lost", seconds_text(loss_s).s);
		puts(")");
		put_line("what", json_text(x, "what", ""));
		put_line("why", json_text(x, "why", ""));
		put_line("next", json_text(x, "next", ""));
	}
	free(rows);
}

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
	if (has_events(a))
		printf("Traffic     %s messages, %s point to point; ",
		       count_text(json_number_or(summary, "transfers", 0)).s, known(summary, "bytes", bytes_text).s);
	else
		fputs("Traffic     messages not recorded; ", stdout);
	printf("%s collectives, %s barriers\n", count_text(json_number_or(summary, "collectives", 0)).s,
	       count_text(json_number_or(summary, "barriers", 0)).s);
}

/* "init 5.0 s, 100 iterations of 15 ms (67 % longer at the end), output 0.2 s" */
static void put_phases(const cJSON *a)
{
	const cJSON *phases = json_item(a, "phases"), *x;
	double drift = json_number_or(phases, "drift", 0);
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
			printf("%s %s", name_text(x, "phase").s,
			       seconds_text(json_number_of(to) - json_number_of(from)).s);
			continue;
		}
		printf("%s iterations of %s", count_text(json_number_or(phases, "iterations", 0)).s,
		       seconds_text(json_number_or(phases, "iteration_s", 0)).s);
		if (fabs(drift) >= DRIFT_SHOWN)
			printf(" (%s %s at the end)", share_text(fabs(drift)).s, drift > 0 ? "longer" : "shorter");
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

/* All ranks' time in the traced region, as the report adds it up. */
static double ranks_time(const cJSON *a)
{
	double sum_s = 0;
	for (const cJSON *row = json_first(a, "per_rank"); row != NULL; row = row->next)
		sum_s += json_number_or(row, "useful_s", 0) + json_number_or(row, "mpi_s", 0);
	return sum_s;
}

void show_summary(const cJSON *a, const struct mpix_info *info)
{
	const cJSON *summary = json_item(a, "summary");
	double threads_s = json_number_or(summary, "threads_s", 0);
	put_job(a, info);
	put_verdict(a);
	put_trust(a);
	if (summary != NULL)
		put_traffic(a, summary);
	put_objects(a);
	put_phases(a);
	put_threads(a);
	put_operations(a, threads_s > 0 ? threads_s : ranks_time(a), threads_s > 0);
	put_waits(a);
	put_callsites(a);
	put_issues(a);
}
