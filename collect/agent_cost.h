/* agent_cost.h - what the agent took of processors beside its ranks: from when the first of them came out of MPI_Init
 * to when the last one entered MPI_Finalize, or was gone. What it does before and after is in no rank's way.
 * In: the agent's own processor time, read at every round, and the processes.  Out: a number.
 * A rank's moment lies between two readings: of their difference it has the share that it has of the time. */
#pragma once

#include "collect/process.h"

#define AGENT_COST_READINGS 8u /* a moment is looked for among the last ones */

struct agent_cost {
	struct agent_cost_reading {
		uint64_t tick;
		int64_t used_ns;
	} readings[AGENT_COST_READINGS];
	uint64_t nreadings; /* so far */
	int64_t from_ns, to_ns;
	bool begun, ended;
};

/* The agent has used so much by now. At least where it begins to work and to rest. */
void agent_cost_read(struct agent_cost *b, uint64_t tick, int64_t used_ns);
/* Where are the ranks? To be called after each reading. */
void agent_cost_update(struct agent_cost *b, const struct process *processes, uint32_t n);
/* Until the last reading, if ranks are still there. */
int64_t agent_cost_ns(const struct agent_cost *b);
