/* order.c - see order.h. The one place that orders causes.
 *
 * An issue explains another (effects of its row) only if it accounts for at least half of it: a cause must explain its
 * seconds. It is then at least as severe as what it explains. What counts is what the run would gain without each.
 * Where only a loss is known, which is what could be gained at most, it explains nothing that is known to gain more. */
#include "postproc/issues/order.h"

#define EXPLAINED_MIN 0.5 /* of what is explained */

static bool accounts_for(const struct analysis *a, const struct issue *cause, const struct issue *effect)
{
	if (cause->replayed && effect->replayed)
		return cause->gain >= EXPLAINED_MIN * effect->gain;
	if (effect->replayed && cause->loss_s / issue_total_s(a) < effect->gain)
		return false;
	return cause->loss_s >= EXPLAINED_MIN * effect->loss_s;
}

static bool explains_it(const struct analysis *a, const struct issue *cause, const struct issue *effect)
{
	const struct issue_row *row = issue_row(cause->issue), *of = issue_row(effect->issue);
	return cause->found && cause != effect && (row->effects & 1ull << (of - issue_rows)) != 0 &&
	       accounts_for(a, cause, effect);
}

/* Negative, 0 for what costs time, positive. */
static int tier(const struct issue *f)
{
	const struct issue_row *row = issue_row(f->issue);
	int at = (int)(row - issue_rows);
	return row->order == ISSUE_FIRST ? at - ISSUES_MAX : row->order == ISSUE_LAST ? at + 1 : 0;
}

static bool goes_before(const struct analysis *a, const struct issue *x, const struct issue *y)
{
	return tier(x) != tier(y) ? tier(x) < tier(y) : issue_score(a, x) > issue_score(a, y);
}

/* The issue that nothing explains which is not in the list yet. */
static struct issue *root_of(const struct analysis *a, struct issue *f, struct issue *all, size_t n, const bool *listed)
{
	for (size_t i = 0; i < n; i++)
		if (!listed[i] && tier(&all[i]) == 0 && explains_it(a, &all[i], f))
			return root_of(a, &all[i], all, n, listed);
	return f;
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

size_t issues_order(const struct analysis *a, struct issue *all, size_t n, struct issue **ret_order)
{
	bool listed[ISSUES_MAX] = {false};
	size_t count = 0;
	inherit(a, all, n);
	for (;;) {
		struct issue *best = NULL;
		for (size_t i = 0; i < n; i++)
			if (all[i].found && !listed[i] && (best == NULL || goes_before(a, &all[i], best)))
				best = &all[i];
		if (best == NULL)
			return count;
		if (tier(best) == 0)
			best = root_of(a, best, all, n, listed);
		listed[best - all] = true;
		ret_order[count++] = best;
	}
}
