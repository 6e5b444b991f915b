/* cause.c - which change an issue is. In: its row of format/issues.tab, what it is made of.  Out: struct
 * replay_change. */
#include "format/issues.h"
#include "postproc/replay/replay.h"

#include <errno.h>

int replay_without_issue(const struct replay_issue *issue, struct replay_change *ret_change)
{
	const struct issue_row *row = issue_row(issue->name);
	enum issue_replay how = row != NULL ? row->replay : REPLAY_NONE;
	bool of_site = how == REPLAY_CAUSER;
	if (how == REPLAY_NONE || (of_site && issue->callsite == REPLAY_ANY) ||
	    (how == REPLAY_WAITS && issue->states == 0))
		return -ENOENT;
	*ret_change = REPLAY_AS_IT_WAS;
	ret_change->balance = how == REPLAY_BALANCE;
	ret_change->without_states = of_site ? UINT32_MAX : how == REPLAY_WAITS ? issue->states : 0;
	ret_change->causer_site = of_site ? issue->callsite : REPLAY_ANY;
	return 0;
}
