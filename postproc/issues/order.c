/* order.c - see order.h. The one place that orders causes.
 *
 * What counts is what the run would gain without each. An issue explains another (effects of its row) only if it
 * accounts for enough of it, since a cause must explain its seconds; it is then at least as severe. Where only a loss
 * is known, which is what could be gained at most, it explains nothing that is known to gain more. */
#include "postproc/issues/order.h"

#include <string.h>

#define EXPLAINED_MIN 0.5 /* of what is explained */
#define AS_MUCH 0.8	  /* where both are replayed, and what is explained has one cause */
#define OF_MANY 0.33	  /* and where it has several at a time */
#define PART_COUNTS 0.5	  /* what cannot all be gained, or not by one repair */

/* Negative, 0 for what costs time, positive. */
static int tier(const struct issue *f)
{
	const struct issue_row *row = issue_row(f->issue);
	int at = (int)(row - issue_rows);
	return row->order == ISSUE_FIRST ? at - ISSUES_MAX : row->order == ISSUE_LAST ? at + 1 : 0;
}

/* How much of what the effect gains its cause must. Work that ranks share is not gone, as that which delays others
 * would be: of two ranks half of it stays. And it says of the same rank more than one call site does. */
static double needed_part(const struct analysis *a, const struct issue *cause, const struct issue *effect)
{
	const struct issue_row *row = issue_row(effect->issue);
	bool shared = issue_row(cause->issue)->replay == REPLAY_BALANCE && row->replay == REPLAY_CAUSER;
	if (shared && a->ranks_seen > 0)
		return EXPLAINED_MIN * (1 - 1.0 / a->ranks_seen);
	return row->of_many ? OF_MANY : AS_MUCH;
}

static bool of_other_ranks(const struct issue *x, const struct issue *y)
{
	for (unsigned i = 0; i < x->nranks; i++)
		for (unsigned k = 0; k < y->nranks; k++)
			if (x->ranks[i] == y->ranks[k])
				return false;
	return x->nranks > 0 && y->nranks > 0 && !x->more_ranks && !y->more_ranks;
}

/* Who computes more in all does not explain a delay that is others'. */
static bool accounts_for(const struct analysis *a, const struct issue *cause, const struct issue *effect)
{
	if (issue_row(cause->issue)->replay == REPLAY_BALANCE && issue_row(effect->issue)->replay == REPLAY_CAUSER &&
	    of_other_ranks(cause, effect))
		return false;
	if (cause->replayed && effect->replayed)
		return cause->gain >= needed_part(a, cause, effect) * effect->gain;
	if (effect->replayed && cause->loss_s / issue_total_s(a) < effect->gain)
		return false;
	return cause->loss_s >= EXPLAINED_MIN * effect->loss_s;
}

/* Serialization is what all waits together may cost at most, of no rank and no place: of what a replay knows to gain
 * most of that it says nothing more. */
static bool is_bound_of(const struct analysis *a, const struct issue *bound, const struct issue *f)
{
	return bound != f && strcmp(bound->issue, "serialization") == 0 && f->found && f->replayed && tier(f) == 0 &&
	       f->gain >= EXPLAINED_MIN * bound->loss_s / issue_run_s(a);
}

static bool explains_it(const struct analysis *a, const struct issue *cause, const struct issue *effect)
{
	const struct issue_row *row = issue_row(cause->issue), *of = issue_row(effect->issue);
	if (is_bound_of(a, cause, effect) || is_bound_of(a, effect, cause))
		return is_bound_of(a, effect, cause);
	return cause->found && cause != effect && (row->effects & 1ull << (of - issue_rows)) != 0 &&
	       accounts_for(a, cause, effect);
}

/* By what it gains; of what could be gained at most, or not by one repair, a part. */
static double weight(const struct analysis *a, const struct issue *f)
{
	const struct issue_row *row = issue_row(f->issue);
	double share = f->replayed ? f->gain : f->loss_s / (f->of_s > 0 ? f->of_s : issue_total_s(a));
	return share * (row->of_many || (row->is_bound && !f->replayed) ? PART_COUNTS : 1);
}

/* Of those in the same tier that is not about time the score says more. */
static bool ranks_above(const struct analysis *a, const struct issue *x, const struct issue *y)
{
	if (tier(x) != tier(y))
		return tier(x) < tier(y);
	return tier(x) == 0 ? weight(a, x) > weight(a, y) : issue_score(a, x) > issue_score(a, y);
}

/* The issue that nothing explains which is not in the list yet; of several causes the first by weight. Where causes go
 * round, as by what serialization may cost at most, that which was come by first is none of itself. */
static struct issue *root_of(const struct analysis *a, struct issue *f, struct issue *all, size_t n, const bool *listed)
{
	bool seen[ISSUES_MAX];
	memcpy(seen, listed, n * sizeof(*seen));
	for (;;) {
		struct issue *cause = NULL;
		seen[f - all] = true;
		for (size_t i = 0; i < n; i++)
			if (!seen[i] && tier(&all[i]) == 0 && explains_it(a, &all[i], f) &&
			    (cause == NULL || ranks_above(a, &all[i], cause)))
				cause = &all[i];
		if (cause == NULL)
			return f;
		f = cause;
	}
}

/* From effects to causes, so a second round changes nothing. */
static void inherit(const struct analysis *a, struct issue *all, size_t n)
{
	for (size_t row = issue_cause_count; row-- > 0;)
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < n && issue_row(all[i].issue) == &issue_rows[issue_causes[row]]; k++)
				if (all[k].found && explains_it(a, &all[i], &all[k]) &&
				    issue_score(a, &all[i]) < issue_score(a, &all[k]))
					all[i].severity = issue_score(a, &all[k]);
}

/* Not its direct cause, where that follows from another itself. */
static const char *first_cause(const struct analysis *a, struct issue *const *order, size_t at)
{
	for (size_t i = 0; i < at && tier(order[at]) == 0; i++)
		if (tier(order[i]) == 0 && explains_it(a, order[i], order[at]))
			return order[i]->explained_by != NULL ? order[i]->explained_by : order[i]->issue;
	return NULL;
}

static size_t put_in_order(const struct analysis *a, struct issue *all, size_t n, struct issue **ret_order)
{
	bool listed[ISSUES_MAX] = {false};
	size_t count = 0;
	for (;;) {
		struct issue *best = NULL;
		for (size_t i = 0; i < n; i++)
			if (all[i].found && !listed[i] && (best == NULL || ranks_above(a, &all[i], best)))
				best = &all[i];
		if (best == NULL)
			return count;
		if (tier(best) == 0)
			best = root_of(a, best, all, n, listed);
		listed[best - all] = true;
		ret_order[count++] = best;
	}
}

size_t issues_order(const struct analysis *a, struct issue *all, size_t n, struct issue **ret_order)
{
	inherit(a, all, n);
	size_t count = put_in_order(a, all, n, ret_order);
	for (size_t i = 0; i < count; i++)
		ret_order[i]->explained_by = first_cause(a, ret_order, i);
	return count;
}
