/* replay.h - walk all ranks' events again under other rules of time, keeping what must come before
 * what: a receive ends after its message was sent, an all-to-all after the last has entered, leaves
 * of a broadcast after its root. */
#pragma once

#include "postproc/analysis.h"

struct replay_rule {
	/* When event at of p starts, the one before it having ended at `before` (0 for the first).
	 */
	double (*start)(const struct process *p, uint32_t at, double before);
	/* When it ends; needed: its start, or the latest time of another rank that it cannot end
	 * before. */
	double (*end)(const struct process *p, uint32_t at, double needed);
	/* Called once for each event, in order within a rank; may be NULL. */
	void (*visit)(void *context, uint32_t rank, uint32_t at, double start, double end);
	void *context;
	bool rendezvous; /* sends that were synchronous, or seen to wait, cannot end before their
			    receive is posted */
};

/* 0 and the end of the last rank, -ENOMEM, or -EDEADLK when calls wait for each other in a circle
 * (then the record is not what the program did). */
int replay_run(const struct analysis *a, const struct replay_rule *rule, double *ret_ns);

/* ideal.c: how long the program would have run if transfers cost nothing (SEMANTICS.md 4), in ns;
 * as replay_run(). */
int replay_ideal(const struct analysis *a, double *ret_ns);

/* repair.c: move events that end before what they waited for began; counts go to a->clock. 0 or
 * -ENOMEM. */
int repair_times(struct analysis *a);

static inline bool is_threaded(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		for (size_t t = 1; s->ranks[r] != NULL && t < s->ranks[r]->threads.n; t++)
			if (s->ranks[r]->threads.at[t].events > 0)
				return true;
	return false;
}
