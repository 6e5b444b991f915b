/* show_tables.c - tables of `mpitrace show`: operations, wait states, call sites, dearest first. */
#include "base/path.h"
#include "cli/print.h"
#include "cli/show_text.h"
#include "reports/text/running.h"
#include "reports/text/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_bar(double share, int width)
{
	int full = share > 0 ? (int)lround(fmin(share, 1) * width) : 0;
	for (int i = 0; i < width; i++)
		putchar(i < full ? '#' : '.');
	putchar('\n');
}

/* Of ranks that died; so the rows do not add up to the time in MPI. */
static void put_unreturned(const cJSON *a)
{
	double seconds = 0, mpi_s = 0, ranks_s = show_ranks_s(a);
	for (const cJSON *row = json_first(a, "per_rank"); row != NULL; row = row->next) {
		seconds += fmax(json_number_or(row, "unreturned_s", 0), 0);
		mpi_s += fmax(json_number_or(row, "mpi_s", 0), 0);
	}
	if (seconds > 0 && ranks_s > 0)
		printf("      in calls that %s: %s, %s; in no row\n", unreturned_phrase(a), seconds_text(seconds).s,
		       share_text(fmin(seconds, mpi_s) / ranks_s).s);
}

void show_operations(const cJSON *a)
{
	size_t n;
	const cJSON **rows = json_objects_by(a, "operations", "time_s", &n);
	bool threaded = json_number_or(json_item(a, "summary"), "threads_s", 0) > 0;
	double whole_s = show_whole_s(a);
	if (n > 0)
		printf("\nWhere the time went: MPI operations, share of all %s' time\n"
		       "  %-22s %13s %11s %8s %11s\n",
		       threaded ? "threads" : "ranks", "", "calls", "time", "share", "bytes");
	for (size_t i = 0; i < n && i < SHOW_TOP; i++) {
		double share = op_in_region(rows[i]) ? json_number(rows[i], "time_s") / whole_s : NAN;
		printf("  %-22s %13s %11s %8s %11s ", show_name(json_text(rows[i], "op", "?"), 22, false).s,
		       show_known(rows[i], "calls", count_text).s, show_known(rows[i], "time_s", seconds_text).s,
		       isnan(share) ? "-" : share_text(share).s, show_known(rows[i], "bytes", bytes_text).s);
		put_bar(share, 8);
	}
	show_more(n);
	put_unreturned(a);
	free(rows);
}

/* ---- where a call is ---- */

#define FUNCTION_COLUMNS 74

/* "halo.c:41 exchange" if that has room on the line; else the function has a line of its own. */
void show_place(const cJSON *site, int room)
{
	char at[128] = "", function[256];
	const char *file = json_text(site, "file", "");
	const char *name = json_text(site, "function_short", json_text(site, "function", ""));
	const char *module = json_text(site, "module_short", json_text(site, "module", ""));
	if (file[0] != 0)
		snprintf(at, sizeof(at), "%.100s:%.0f ", path_name(file), json_number_or(site, "line", 0));
	bool in_module = file[0] == 0 && module[0] != 0, is_short = json_text(site, "module_short", "")[0] != 0;
	snprintf(function, sizeof(function), "%.120s%s%.100s", name, in_module ? " in " : "",
		 !in_module ? ""
		 : is_short ? module
			    : path_name(module));
	bool fits = (int)(strlen(at) + strlen(function)) <= room;
	put_plain(stdout, at, room);
	if (!fits)
		fputs("\n      ", stdout);
	put_plain(stdout, function, fits ? room : FUNCTION_COLUMNS);
	putchar('\n');
}

void show_callsites(const cJSON *a)
{
	size_t n;
	const cJSON **rows = json_objects_by(a, "callsites", "time_s", &n);
	while (n > 0 && json_number(rows[n - 1], "calls") == 0) /* where ranks died: it never came back */
		n--;
	if (n > 0)
		printf("\nCall sites\n  %-18s %11s %11s %11s  %s\n", "", "calls", "time", "waiting", "where");
	for (size_t i = 0; i < n && i < SHOW_TOP; i++) {
		printf("  %-18s %11s %11s %11s  ", show_name(json_text(rows[i], "op", "?"), 18, false).s,
		       show_known(rows[i], "calls", count_text).s, show_known(rows[i], "time_s", seconds_text).s,
		       show_knows_waits(a) ? show_known(rows[i], "wait_s", seconds_text).s : "not known");
		show_place(rows[i], 23);
	}
	show_more(n);
	free(rows);
}

/* ---- wait states ---- */

#define STATES_MAX 32

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

/* Rows may be cut in a very large job; totals are not. */
static void take_totals(const cJSON *a, struct wait *waits, int n)
{
	for (const cJSON *x = json_first(a, "wait_totals"); x != NULL; x = x->next)
		for (int i = 0; i < n; i++)
			if (strcmp(waits[i].state, json_text(x, "state", "?")) == 0)
				waits[i].seconds = fmax(waits[i].seconds, json_number_or(x, "seconds", 0));
}

void show_waits(const cJSON *a)
{
	struct wait waits[STATES_MAX];
	int n = sum_waits(json_item(a, "wait_states"), waits, STATES_MAX);
	double whole_s = show_whole_s(a);
	take_totals(a, waits, n);
	qsort(waits, (size_t)n, sizeof(*waits), longer_first);
	if (n > 0)
		printf("\nWaiting for others\n  %-23s %12s %11s %8s %12s\n", "", "times", "time", "share",
		       "most on rank");
	for (int i = 0; i < n; i++)
		printf("  %-23s %12s %11s %8s %12d\n", show_name(waits[i].state, 23, true).s,
		       count_text(waits[i].count).s, seconds_text(waits[i].seconds).s,
		       share_text(waits[i].seconds / whole_s).s, waits[i].worst_rank);
}
