/* wait_states.c - "wait_states": by state, rank and call site, the longest first. */
#include "postproc/analysis.h"

#define ROWS_MAX 20000u

static int by_time(const void *a, const void *b)
{
	const struct wait_row *x = *(struct wait_row *const *)a, *y = *(struct wait_row *const *)b;
	return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : (x > y) - (x < y);
}

static void put_row(cJSON *list, const struct wait_row *r)
{
	cJSON *row = json_row(list);
	json_put_text(row, "state", wait_state_name(r->state));
	json_put(row, "rank", r->rank);
	json_put(row, "count", (double)r->count);
	json_put_seconds(row, "seconds", r->ns);
	if (r->site == NONE)
		cJSON_AddNullToObject(row, "callsite");
	else
		json_put(row, "callsite", r->site);
	if (r->causer != NONE)
		json_put(row, "causer", r->causer);
}

int analysis_wait_states(struct analysis *a)
{
	size_t n = a->tally.waits.rows.n;
	struct wait_row **sorted = malloc((n + 1) * sizeof(*sorted));
	if (sorted == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &a->tally.waits.rows.at[i];
	qsort(sorted, n, sizeof(*sorted), by_time);
	cJSON *list = json_array(a->root, "wait_states");
	for (size_t i = 0; i < n && i < ROWS_MAX; i++)
		put_row(list, sorted[i]);
	json_put(a->root, "wait_states_left_out", n > ROWS_MAX ? (double)(n - ROWS_MAX) : 0);
	free(sorted);
	cJSON *totals = json_array(a->root, "wait_totals");
	for (unsigned i = 0; i < WAIT_STATES; i++) {
		if (a->tally.waits.total_ns[i] == 0)
			continue;
		cJSON *row = json_row(totals);
		json_put_text(row, "state", wait_state_name(i));
		json_put_seconds(row, "seconds", a->tally.waits.total_ns[i]);
	}
	return 0;
}
