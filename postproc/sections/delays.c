/* delays.c - "delays": what makes ranks wait: time that causers spent more than those who waited for them, by call site
 * and rank (stream/delay.h). */
#include "postproc/analysis.h"
#include "postproc/sections/most.h"

#include <math.h>

#define ROWS_MAX 200u

static void put_row(const struct analysis *a, cJSON *list, uint32_t number)
{
	const struct delay_row *r = &a->swept.delays.rows[number];
	cJSON *row = json_row(list);
	uint32_t site = number / DELAY_KINDS;
	json_put_null_or(row, "callsite", site < a->step->sites.n ? site : NAN);
	json_put_text(row, "kind", number % DELAY_KINDS == DELAY_COMPUTING ? "computing_before" : "in_call");
	json_put(row, "direct_s", r->direct_ns / 1e9);
	json_put(row, "indirect_s", r->indirect_ns / 1e9);
	json_put_null_or(row, "rank", r->rank != NONE ? r->rank : NAN);
}

static int put_rows(const struct analysis *a, cJSON *o)
{
	VEC(struct most) rows = {0};
	int code = 0;
	for (uint32_t i = 0; i < (a->step->sites.n + 1) * DELAY_KINDS && code == 0; i++) {
		const struct delay_row *r = &a->swept.delays.rows[i];
		if (r->direct_ns + r->indirect_ns >= 1)
			code = vec_push(&rows, (struct most){i, r->direct_ns + r->indirect_ns});
	}
	vec_sort(&rows, most_first);
	cJSON *list = json_array(o, "callsites");
	for (size_t i = 0; i < rows.n && i < ROWS_MAX; i++)
		put_row(a, list, rows.at[i].at);
	json_put(o, "callsites_left_out", rows.n > ROWS_MAX ? (double)(rows.n - ROWS_MAX) : 0);
	vec_done(&rows);
	return code;
}

static void put_ranks(const struct analysis *a, cJSON *o)
{
	cJSON *list = json_array(o, "per_rank");
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		const struct delay_result *d = &a->swept.delays;
		if (d->direct_ns[r] + d->indirect_ns[r] < 1)
			continue;
		cJSON *row = json_row(list);
		json_put(row, "rank", r);
		json_put(row, "direct_s", d->direct_ns[r] / 1e9);
		json_put(row, "indirect_s", d->indirect_ns[r] / 1e9);
	}
}

int analysis_delays(struct analysis *a)
{
	const struct delay_result *d = &a->swept.delays;
	bool known = d->rows != NULL;
	cJSON *o = json_object(a->root, "delays");
	json_put_text(o, "note", known ? "" : "delays of programs that call MPI from several threads are not computed");
	json_put_null_or(o, "waits_s", known ? d->waits_ns / 1e9 : NAN);
	json_put_null_or(o, "unexplained_s", known ? d->unexplained_ns / 1e9 : NAN);
	json_put_null_or(o, "waits", known ? (double)d->waits : NAN);
	json_put_null_or(o, "waits_cut", known ? (double)d->cut : NAN);
	json_put_null_or(o, "causers_unknown", known ? (double)a->swept.missed : NAN);
	if (!known)
		return 0;
	put_ranks(a, o);
	return put_rows(a, o);
}
