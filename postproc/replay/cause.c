/* cause.c - which change an issue is. In: its row of format/issues.tab, what it is made of.  Out: struct
 * replay_change. */
#include "base/vec.h"
#include "format/issues.h"
#include "postproc/replay/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* What of a rank's computing stays without its waiting for a processor: a share of all its time if that was everywhere
 * alike, as of ranks that spin in MPI; less if all of it was in computing. */
static double with_processor(const struct replay_rank *r, bool all_in_computing)
{
	double wait = r->processor_wait > 0 ? r->processor_wait : 0, of = all_in_computing ? r->computing : r->lived;
	return of > 0 ? fmax(0, 1 - wait / of) : 1;
}

static int put_factors(const struct replay_issue *issue, bool all_in_computing, struct replay_factors *factors)
{
	for (uint32_t i = 0; i < issue->nranks; i++)
		if (vec_push(factors, (struct replay_factor){REPLAY_ANY, i,
							     with_processor(&issue->ranks[i], all_in_computing)}) < 0)
			return -ENOMEM;
	return 0;
}

int replay_without_issue(const struct replay_issue *issue, struct replay_change *ret_change,
			 struct replay_factors *factors)
{
	const struct issue_row *row = issue_row(issue->name);
	enum issue_replay how = row != NULL ? row->replay : REPLAY_NONE;
	bool of_site = how == REPLAY_CAUSER;
	if (how == REPLAY_NONE || (of_site && issue->callsite == REPLAY_ANY) ||
	    (how == REPLAY_WAITS && issue->states == 0) || (how == REPLAY_PROCESSORS && issue->nranks == 0))
		return -ENOENT;
	*ret_change = REPLAY_AS_IT_WAS;
	ret_change->balance = how == REPLAY_BALANCE;
	ret_change->without_states = of_site ? UINT32_MAX : how == REPLAY_WAITS ? issue->states : 0;
	ret_change->causer_site = of_site ? issue->callsite : REPLAY_ANY;
	return how == REPLAY_PROCESSORS ? put_factors(issue, false, factors) : 0;
}

static int predict(struct replay *r, struct replay_change *change, const struct replay_factors *factors,
		   struct replay_result *ret_result)
{
	change->factors = factors->at;
	change->nfactors = (uint32_t)factors->n;
	return replay_predict(r, change, ret_result);
}

int replay_predict_without(struct replay *r, const struct replay_issue *issue, struct replay_result *ret_result)
{
	struct replay_change change;
	struct replay_factors factors = {0};
	struct replay_result most;
	int code = replay_without_issue(issue, &change, &factors);
	if (code == 0)
		code = predict(r, &change, &factors, ret_result);
	if (code == 0 && factors.n > 0) {
		factors.n = 0;
		code = put_factors(issue, true, &factors);
		if (code == 0)
			code = predict(r, &change, &factors, &most);
		if (code == 0) {
			ret_result->gain_low = fmin(ret_result->gain_low, most.gain_low);
			ret_result->gain_high = fmax(ret_result->gain_high, most.gain_high);
		}
	}
	free(factors.at);
	return code;
}
