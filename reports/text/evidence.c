/* evidence.c - see evidence.h. Which numbers an issue is seen in, its row of format/issues.tab says. */
#include "reports/text/evidence.h"

#include "format/issues.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct series {
	const char *key, *title; /* of per_rank */
	bool bytes;
	const char *more; /* of delays.per_rank, of ranks that have some: the sum of both */
} series[] = {
	[SEEN_USEFUL] = {"useful_s", "useful time by rank", false, NULL},
	[SEEN_WAIT] = {"wait_s", "all waiting by rank", false, NULL},
	[SEEN_CAUSED] = {"direct_s", "waiting that each rank caused", false, "indirect_s"},
	[SEEN_MPI] = {"mpi_s", "time in MPI by rank", false, NULL},
	[SEEN_SENT] = {"bytes_out", "bytes sent by rank", true, NULL},
	[SEEN_TRACING] = {"tracing_s", "time in the tracer by rank", false, NULL},
	[SEEN_PROCESSOR] = {"processor_wait_s", "time without a processor by rank", false, NULL},
	[SEEN_POLLING] = {"polling_s", "time in unsuccessful tests by rank", false, NULL},
};

static bool is_of_issue(const cJSON *issue, double rank)
{
	for (const cJSON *v = json_first(issue, "ranks"); v != NULL; v = v->next)
		if (json_number_of(v) == rank)
			return true;
	return false;
}

/* Of a list with a row for each rank, or for those only that have something. */
static bool find_ranks(const cJSON *analysis, const cJSON *issue, const struct series *of, struct evidence *e)
{
	size_t n = json_count(analysis, "per_rank"), row = 0, in[EVIDENCE_COLUMNS] = {0};
	const cJSON *list = of->more != NULL ? json_item(analysis, "delays") : analysis;
	e->group = (n + EVIDENCE_COLUMNS - 1) / EVIDENCE_COLUMNS;
	e->title = of->title;
	e->bytes = of->bytes;
	for (const cJSON *v = json_first(list, "per_rank"); v != NULL; v = v->next, row++) {
		double value = json_number(v, of->key), rank = json_number(v, "rank");
		if (of->more != NULL)
			value += json_number(v, of->more);
		double at = of->more != NULL ? rank : (double)row;
		if (!(value >= 0) || !(at >= 0 && at < (double)n))
			continue;
		size_t column = (size_t)at / e->group;
		e->value[column] += value;
		in[column] = of->more != NULL ? e->group : in[column] + 1;
		e->marked[column] |= is_of_issue(issue, rank);
		e->any_marked |= e->marked[column];
		e->mean += value / (double)n;
		if (value > e->most) {
			e->most = value;
			e->most_rank = isnan(rank) ? at : rank;
		}
	}
	e->n = n > 0 ? (n + e->group - 1) / e->group : 0;
	for (size_t i = 0; i < e->n; i++)
		e->value[i] /= in[i] > 0 ? (double)in[i] : 1;
	return e->n > 1 && e->most > 0;
}

static bool has_text(const cJSON *list, const char *text)
{
	for (const cJSON *v = list != NULL ? list->child : NULL; v != NULL; v = v->next)
		if (cJSON_IsString(v) && strcmp(v->valuestring, text) == 0)
			return true;
	return false;
}

#define WAITED_FOR_MIN 0.1 /* of the issue's waiting: from there on a rank is marked as one that was waited for */

/* The issue's own waiting, and who was waited for; false where rows were left out: these would be missing. */
static bool find_waits(const cJSON *analysis, const cJSON *issue, struct evidence *e)
{
	const cJSON *states = json_item(issue, "states");
	size_t n = json_count(analysis, "per_rank");
	double *by_rank = calloc(2 * n + 1, sizeof(*by_rank)), *caused = by_rank != NULL ? by_rank + n : NULL;
	bool ok = by_rank != NULL && n > 1 && cJSON_IsArray(states) &&
		  !(json_number(analysis, "wait_states_left_out") > 0);
	double sum = 0;
	for (const cJSON *v = json_first(analysis, "wait_states"); v != NULL && ok; v = v->next) {
		double rank = json_number(v, "rank"), causer = json_number(v, "causer"), s = json_number(v, "seconds");
		if (!has_text(states, json_text(v, "state", "")) || !(s > 0) || !(rank >= 0 && rank < (double)n))
			continue;
		by_rank[(size_t)rank] += s;
		sum += s;
		if (causer >= 0 && causer < (double)n)
			caused[(size_t)causer] += s;
	}
	e->group = (n + EVIDENCE_COLUMNS - 1) / EVIDENCE_COLUMNS;
	e->n = ok ? (n + e->group - 1) / e->group : 0;
	e->title = "this waiting by rank";
	e->waiting = true;
	e->mean = n > 0 ? sum / (double)n : 0;
	for (size_t i = 0; i < n && ok; i++) {
		size_t column = i / e->group, end = (column + 1) * e->group;
		e->value[column] += by_rank[i] / (double)((end < n ? end : n) - column * e->group);
		e->marked[column] |= caused[i] >= WAITED_FOR_MIN * sum && sum > 0;
		e->any_marked |= e->marked[column];
		if (by_rank[i] > e->most) {
			e->most = by_rank[i];
			e->most_rank = (double)i;
		}
	}
	free(by_rank);
	return ok && e->most > 0;
}

/* From the smallest that there is to the largest, those between that are not there too. */
static bool find_sizes(const cJSON *analysis, struct evidence *e)
{
	double all = 0;
	e->title = "messages by size";
	for (const cJSON *v = json_first(analysis, "message_sizes"); v != NULL; v = v->next) {
		double from = json_number(v, "from_bytes"), messages = json_number(v, "messages");
		if (!(from >= 0) || !(messages > 0))
			continue;
		if (e->n == 0)
			e->first_size = fmax(from, 0.5); /* 0 bytes stand below 1 */
		double column = log2(fmax(from, 0.5) / e->first_size);
		if (!(column >= 0 && column < EVIDENCE_COLUMNS))
			continue;
		e->value[(size_t)column] += messages;
		e->n = (size_t)column + 1 > e->n ? (size_t)column + 1 : e->n;
		all += messages;
		if (messages > e->most) {
			e->most = messages;
			e->most_rank = from;
		}
	}
	e->mean = all;
	return all > 0;
}

static bool is_charted(const cJSON *issue)
{
	const struct issue_row *row = issue_row(json_text(issue, "issue", ""));
	return row != NULL && row->seen[0] != SEEN_NOWHERE;
}

/* One is shown once: by the first issue that names the call site as its place and has a chart. */
static bool is_shown_before(const cJSON *analysis, const cJSON *issue, double callsite)
{
	for (const cJSON *v = json_first(analysis, "issues"); v != NULL && v != issue; v = v->next)
		if (is_charted(v) && json_number_of(json_first(v, "callsites")) == callsite)
			return true;
	return false;
}

/* How far apart members enter the collective that the issue names: its first call site, if that is one. */
static void find_arrivals(const cJSON *analysis, const cJSON *issue, struct evidence *e)
{
	const cJSON *site = json_first(issue, "callsites"), *arrivals = json_item(analysis, "collective_arrivals");
	if (site == NULL || is_shown_before(analysis, issue, json_number_of(site)))
		return;
	for (const cJSON *row = json_first(arrivals, "callsites"); row != NULL; row = row->next) {
		if (!(json_number(row, "operations") > 0) || json_number(row, "callsite") != json_number_of(site))
			continue;
		e->operations = json_number(row, "operations");
		e->apart_s = json_number(row, "mean_s");
		e->apart_max_s = json_number(row, "max_s");
		e->last_rank = json_number(row, "last_rank");
		return;
	}
}

/* Marks tell who of them; where it is all, they tell nothing. */
static void drop_idle_marks(struct evidence *e)
{
	size_t marked = 0;
	for (size_t i = 0; i < e->n; i++)
		marked += e->marked[i];
	if (marked < e->n || e->waiting)
		return;
	e->any_marked = false;
	memset(e->marked, 0, sizeof(e->marked));
}

bool evidence_find(const cJSON *analysis, const cJSON *issue, struct evidence *ret_evidence)
{
	const struct issue_row *row = issue_row(json_text(issue, "issue", ""));
	struct evidence e = {.title = NULL};
	bool found = false;
	for (size_t i = 0; row != NULL && i < 2 && row->seen[i] != SEEN_NOWHERE && !found; i++) {
		found = row->seen[i] == SEEN_WAIT && find_waits(analysis, issue, &e);
		if (found)
			break;
		e = (struct evidence){.title = NULL};
		found = row->seen[i] == SEEN_BY_SIZE ? find_sizes(analysis, &e)
						     : find_ranks(analysis, issue, &series[row->seen[i]], &e);
	}
	if (found) {
		drop_idle_marks(&e);
		find_arrivals(analysis, issue, &e);
	}
	*ret_evidence = e;
	return found;
}

static struct fmt shown(struct fmt value, bool plain)
{
	return plain ? fmt_plain(value) : value;
}

void evidence_text(const struct evidence *e, bool plain, char ret_text[EVIDENCE_TEXT])
{
	int at;
	if (e->group == 0)
		at = snprintf(ret_text, EVIDENCE_TEXT, "%s: most of %s have %s or more, %s of them", e->title,
			      shown(fmt_count(e->mean), plain).s, shown(fmt_bytes(e->most_rank), plain).s,
			      shown(fmt_count(e->most), plain).s);
	else
		at = snprintf(ret_text, EVIDENCE_TEXT, "%s: mean %s, most %s on rank %.0f", e->title,
			      shown(e->bytes ? fmt_bytes(e->mean) : fmt_time(e->mean), plain).s,
			      shown(e->bytes ? fmt_bytes(e->most) : fmt_time(e->most), plain).s, e->most_rank);
	if (e->operations > 0)
		snprintf(ret_text + at, (size_t)(EVIDENCE_TEXT - at),
			 ". Ranks enter the collective there %s apart on average, at most %s, %s%s",
			 shown(fmt_time(e->apart_s), plain).s, shown(fmt_time(e->apart_max_s), plain).s,
			 e->operations == 1 ? "once" : shown(fmt_count(e->operations), plain).s,
			 e->operations == 1 ? "" : " times");
}

static bool is_same_worst(const cJSON *a, const cJSON *b)
{
	return json_number(a, "rank") == json_number(b, "rank") &&
	       json_number(a, "from_s") == json_number(b, "from_s") && json_number(a, "to_s") == json_number(b, "to_s");
}

size_t evidence_worst_before(const cJSON *const *issues, size_t n, const cJSON *issue)
{
	for (size_t i = 0; i < n && issues[i] != issue; i++)
		if (is_same_worst(json_item(issues[i], "worst"), json_item(issue, "worst")))
			return i + 1;
	return 0;
}
