/* beside.h - what the agent took of processors beside its ranks: from when the first of them came out of MPI_Init to
 * when the last one entered MPI_Finalize, or was gone. What it does before and after is in no rank's way.
 * In: the agent's own processor time, read at every round, and the processes.  Out: a number.
 * A rank's moment lies between two readings: of their difference it has the share that it has of the time. */
#pragma once

#include "collect/process.h"

#define BESIDE_READINGS 8u /* a moment is looked for among the last ones */

struct beside {
	struct beside_reading {
		uint64_t tick;
		int64_t used_ns;
	} readings[BESIDE_READINGS];
	uint64_t nreadings; /* so far */
	int64_t from_ns, to_ns;
	bool begun, ended;
};

/* The agent has used so much by now. At least where it begins to work and to rest. */
void beside_read(struct beside *b, uint64_t tick, int64_t used_ns);
/* Where are the ranks? To be called after each reading. */
void beside_update(struct beside *b, const struct process *processes, uint32_t n);
/* Until the last reading, if ranks are still there. */
int64_t beside_ns(const struct beside *b);
