/* serial.c - ranks that wait for each other in turn: what an ideal network would not shorten, and even work neither. */
#include "postproc/issues/issues.h"

#include <math.h>
#include <stdio.h>

#define SERIALIZATION_MAX 0.80

static int by_time(const void *a, const void *b)
{
	const struct wait_row *x = *(const struct wait_row *const *)a, *y = *(const struct wait_row *const *)b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
				  : (x->site > y->site) - (x->site < y->site);
}

/* Dependencies show where somebody is waited for. */
static void name_chain(const struct analysis *a, struct issue *f)
{
	const struct waits *w = &a->tally.waits;
	VEC(const struct wait_row *) rows = {0};
	for (size_t i = 0; i < w->rows.n; i++)
		if (w->rows.at[i].causer != NONE && w->rows.at[i].state != LATE_SENDER_WRONG_ORDER)
			(void)vec_push(&rows, &w->rows.at[i]);
	vec_sort(&rows, by_time);
	for (size_t i = 0; i < rows.n && i < ISSUE_RANKS_MAX; i++) {
		issue_add_rank(f, rows.at[i]->causer);
		issue_add_pair(f, rows.at[i]->causer, rows.at[i]->rank);
		issue_add_site(f, rows.at[i]->site);
	}
	vec_done(&rows);
}

void issue_serialization(const struct analysis *a, struct issue *f)
{
	double ideal_ns = a->swept.ideal_ns;
	char ideal[32], most[32], place[256];
	if (a->ranks_seen < 2 || isnan(a->serialization) || isnan(ideal_ns))
		return;
	f->metric = "serialization (longest useful time over run time with ideal transfers)";
	f->value = a->serialization;
	f->threshold = SERIALIZATION_MAX;
	f->of_s = issue_run_s(a);
	f->loss_s = fmax(0, ideal_ns - a->max_useful_ns) / 1e9 * a->ranks_seen;
	f->found = f->value < f->threshold && f->loss_s / f->of_s >= WAIT_SHARE_MIN;
	if (!f->found)
		return;
	name_chain(a, f);
	snprintf(f->what, sizeof(f->what),
		 "With ideal transfers the run would still take %s, although no rank computes longer than %s: for the "
		 "rest, ranks wait for each other in turn%s.",
		 duration_text(ideal_ns / 1e9, ideal), duration_text(a->max_useful_ns / 1e9, most),
		 share_of_site(a->step, f->nsites > 0 ? f->sites[0] : NONE, ", mostly", place, sizeof(place)));
	snprintf(f->why, sizeof(f->why),
		 "Ranks work one after another, or take turns in having more work: each waits for the results of the "
		 "one before.");
	snprintf(f->next, sizeof(f->next),
		 "Break the chain of dependences at the call sites listed: pass on smaller pieces so that the next "
		 "rank can begin, or give each rank independent work meanwhile.");
}
