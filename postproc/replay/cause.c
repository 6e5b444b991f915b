/* cause.c - which change an issue is. In: its row of format/issues.tab, what it is made of.  Out: struct
 * replay_change. */
#include "format/issues.h"
#include "postproc/replay/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Of the run: where its calls are of less, most of what a rank computed may be behind them. */
#define REACHED_MIN 0.5

/* Where a rank waited for a core. */
enum where { IN_ALL, IN_BOTH_BUT_CALLS_STAY, IN_COMPUTING };

static double left_of(double ns, double wait)
{
	return ns > 0 && wait > 0 ? fmax(0, 1 - wait / ns) : 1;
}

static void put_times(const struct replay_issue *issue, enum where where, struct replay_times *times)
{
	for (uint32_t i = 0; i < issue->nranks; i++) {
		const struct replay_rank *r = &issue->ranks[i];
		double all = left_of(r->lived, r->processor_wait);
		times[i].computing = where == IN_COMPUTING ? left_of(r->computing, r->processor_wait) : all;
		times[i].calls = where == IN_ALL ? all : 1;
	}
}

static void as_others(const struct replay_issue *issue, struct replay_times *times)
{
	for (uint32_t i = 0; i < issue->nranks; i++)
		times[i] = (struct replay_times){issue->ranks[i].slower > 0 ? 1 / issue->ranks[i].slower : 1, 1};
}

/* Of the run: no more than this can be gained; 0: not bounded so. Of ranks that share a core each has its part, as
 * schedulers are fair: by a core of its own it gains at most the others'. What other programs take stays theirs. */
static double most_gain(const struct replay_issue *issue, enum issue_replay how)
{
	bool shares = how == REPLAY_PROCESSORS && issue->value > 1;
	return how == REPLAY_BALANCE ? issue->loss : shares ? fmax(issue->loss, 1 - 1 / issue->value) : 0;
}

int replay_without_issue(const struct replay_issue *issue, struct replay_change *ret_change)
{
	const struct issue_row *row = issue_row(issue->name);
	enum issue_replay how = row != NULL ? row->replay : REPLAY_NONE;
	bool of_site = how == REPLAY_CAUSER;
	bool of_ranks = how == REPLAY_PROCESSORS || how == REPLAY_RANKS;
	bool at_sites = of_site || how == REPLAY_BARRIERS;
	if (how == REPLAY_NONE || (at_sites && issue->ncallsites == 0) || (how == REPLAY_WAITS && issue->states == 0) ||
	    (of_ranks && issue->nranks == 0))
		return -ENOENT;
	*ret_change = REPLAY_AS_IT_WAS;
	ret_change->balance = how == REPLAY_BALANCE;
	ret_change->without_states = of_site ? UINT32_MAX : how == REPLAY_WAITS ? issue->states : 0;
	ret_change->causer_site = of_site ? issue->callsites[0] : REPLAY_ANY;
	ret_change->most_gain = most_gain(issue, how);
	ret_change->most_gain_s =
		of_site ? issue->loss_s : 0; /* somebody waits for each second that makes a run longer */
	ret_change->open_sites = issue->callsites;
	ret_change->nopen_sites = how == REPLAY_BARRIERS ? issue->ncallsites : 0;
	if (!of_ranks)
		return 0;
	ret_change->times = calloc(issue->nranks, sizeof(*ret_change->times));
	if (ret_change->times == NULL)
		return -ENOMEM;
	ret_change->ntimes = issue->nranks;
	if (how == REPLAY_RANKS)
		as_others(issue, ret_change->times);
	else
		put_times(issue, IN_ALL, ret_change->times);
	return 0;
}

void replay_change_done(struct replay_change *change)
{
	free(change->times);
	change->times = NULL;
	change->ntimes = 0;
}

/* Whatever else may have been: the ends of the range. */
static int widen(struct replay *r, const struct replay_issue *issue, const struct replay_change *change,
		 struct replay_result *x)
{
	int code = 0;
	for (enum where where = IN_BOTH_BUT_CALLS_STAY; where <= IN_COMPUTING && code == 0; where++) {
		struct replay_result other;
		put_times(issue, where, change->times);
		code = replay_predict(r, change, &other);
		if (code < 0)
			break;
		x->gain_low = fmin(x->gain_low, other.gain_low);
		x->gain_high = fmax(x->gain_high, other.gain_high);
	}
	return code;
}

/* What ranks compute, and not a wait, which ends with its call. */
static bool is_of_computing(const struct replay_issue *issue)
{
	enum issue_replay how = issue_row(issue->name)->replay;
	return how == REPLAY_BALANCE || how == REPLAY_RANKS || how == REPLAY_PROCESSORS;
}

int replay_predict_without(struct replay *r, const struct replay_issue *issue, struct replay_result *ret_result)
{
	struct replay_change change;
	int code = replay_without_issue(issue, &change);
	if (code < 0)
		return code;
	code = replay_predict(r, &change, ret_result);
	if (code == 0 && is_of_computing(issue) && ret_result->calls_s < REACHED_MIN * ret_result->recorded_s)
		code = -ENOENT;
	if (code == 0 && issue_row(issue->name)->replay == REPLAY_PROCESSORS)
		code = widen(r, issue, &change, ret_result);
	replay_change_done(&change);
	return code;
}

int replay_parts_without(struct replay *r, const struct replay_issue *issue, double ret_shares[REPLAY_PARTS])
{
	struct replay_change change;
	struct replay_result x;
	int code = replay_without_issue(issue, &change);
	if (code < 0)
		return code;
	if (change.nopen_sites > 0)
		code = -ENOENT;
	for (unsigned k = 0; k < REPLAY_PARTS && code == 0; k++) {
		change.undone = 1 - (k + 1.0) / (REPLAY_PARTS + 1);
		code = replay_predict(r, &change, &x);
		ret_shares[k] = fmax(k > 0 ? ret_shares[k - 1] : 0, x.gain);
	}
	replay_change_done(&change);
	return code;
}
