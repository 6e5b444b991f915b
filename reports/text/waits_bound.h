/* waits_bound.h - whether there was more waiting than the share that is printed: it is found in single calls, and of
 * calls that only the totals have nobody knows. */
#pragma once

#include "base/json.h"

#include <stdbool.h>

#define WAITS_LOST_SAID 0.01 /* of the calls: from there on the share is said to be the least */

static inline bool waits_are_at_least(const cJSON *analysis)
{
	const cJSON *coverage = json_item(analysis, "coverage");
	double events = json_number_or(coverage, "events", 0), lost = json_number_or(coverage, "events_lost", 0);
	return lost >= WAITS_LOST_SAID * (events + lost) && lost > 0;
}

/* Before the share. */
static inline const char *waits_bound_text(bool at_least)
{
	return at_least ? "at least " : "";
}
