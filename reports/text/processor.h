/* processor.h - ranks that were ready to run while others had the processors, for the page and the terminal alike.
 * In: per_rank and efficiency of an analysis, not trusted. */
#pragma once

#include "base/json.h"

#include <stdbool.h>

#define RANKS_SEEN_MAX 1e9
#define PROCESSOR_WAIT_SEEN 0.01 /* of the run, on some rank: less is not worth a word */

struct processor_wait {	      /* 0 where it is not known */
	double all_s, most_s; /* of all ranks; of the one that had most */
	double most_rank;
	bool seen;
};

static inline struct processor_wait processor_wait_of(const cJSON *analysis)
{
	struct processor_wait w = {0};
	double region_s = json_number(json_item(analysis, "efficiency"), "region_s");
	for (const cJSON *v = json_first(analysis, "per_rank"); v != NULL; v = v->next) {
		double wait_s = json_number(v, "processor_wait_s"), rank = json_number(v, "rank");
		if (!(wait_s > 0) || !(rank >= 0 && rank < RANKS_SEEN_MAX))
			continue;
		w.all_s += wait_s;
		if (wait_s > w.most_s) {
			w.most_s = wait_s;
			w.most_rank = rank;
		}
	}
	w.seen = w.most_s > 0 && w.most_s >= PROCESSOR_WAIT_SEEN * region_s;
	return w;
}
