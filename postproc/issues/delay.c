/* delay.c - one place in the program that makes others wait, directly or through others. */
#include "postproc/issues/issues.h"

#include <math.h>
#include <stdio.h>

static bool calls_at(const struct process *p, uint32_t site)
{
	for (size_t i = 0; p != NULL && i < p->sigs.n; i++)
		if (p->sigs.at[i].site == site && p->sigs.at[i].calls > 0)
			return true;
	return false;
}

/* Ranks that come to that place and caused most, there or elsewhere, until nine tenths of it are named. */
static void add_causers(const struct analysis *a, uint32_t site, struct issue *f)
{
	const struct delay_result *d = &a->swept.delays;
	double all = 0, named = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		all += calls_at(a->step->ranks[r], site) ? d->direct_ns[r] + d->indirect_ns[r] : 0;
	for (double below = INFINITY; named < 0.9 * all && f->nranks < ISSUE_RANKS_MAX;) {
		uint32_t best = NONE;
		double most = 0;
		for (uint32_t r = 0; r < a->step->nranks; r++) {
			double ns = d->direct_ns[r] + d->indirect_ns[r];
			if (ns < below && ns > most && calls_at(a->step->ranks[r], site)) {
				most = ns;
				best = r;
			}
		}
		if (best == NONE)
			return;
		issue_add_rank(f, best);
		named += most;
		below = most;
	}
}

void issue_delay(const struct analysis *a, struct issue *f)
{
	const struct delay_result *d = &a->swept.delays;
	uint32_t best = a->main_delay;
	if (best == NONE)
		return;
	const struct delay_row *row = &d->rows[best];
	double ns = row->direct_ns + row->indirect_ns;
	f->metric = "share of all ranks' time that others wait for it";
	f->loss_s = ns / 1e9;
	f->value = f->loss_s / issue_total_s(a);
	f->threshold = WAIT_SHARE_MIN;
	if (f->value < f->threshold && a->main_delay_gain >= f->threshold) {
		f->metric = "share of the run that is saved without it, by replay";
		f->value = a->main_delay_gain;
	}
	f->found = f->value >= f->threshold;
	if (!f->found)
		return;
	uint32_t site = best / DELAY_KINDS < a->step->sites.n ? best / DELAY_KINDS : NONE;
	bool computing = best % DELAY_KINDS == DELAY_COMPUTING;
	char total[32], indirect[32], place[256], who[64] = "Some ranks";
	bool one = row->rank != NONE && 2 * row->votes > ns;
	if (one)
		snprintf(who, sizeof(who), "Rank %u", row->rank);
	if (row->rank != NONE)
		issue_add_rank(f, row->rank);
	if (!one)
		add_causers(a, site, f);
	if (site != NONE)
		issue_add_site(f, site);
	snprintf(f->what, sizeof(f->what), "%s spent more time than others %s%s; others waited %s for it%s%s%s.", who,
		 computing ? "computing before a call" : "in a call", site_text(a->step, site, place, sizeof(place)),
		 duration_text(ns / 1e9, total), row->indirect_ns > 0 ? ", " : "",
		 row->indirect_ns > 0 ? duration_text(row->indirect_ns / 1e9, indirect) : "",
		 row->indirect_ns > 0 ? " of it indirectly" : "");
	snprintf(f->why, sizeof(f->why),
		 "Since their last exchange, the rank that was waited for spent this much more time here than the rank "
		 "that waited.");
	snprintf(f->next, sizeof(f->next), "%s",
		 computing ? "Balance the computation before this call on the ranks named, or move what the call does "
			     "not need after it."
			   : "Find out why this call takes longer on the ranks named: more data, more partners, or a "
			     "slower link.");
}
