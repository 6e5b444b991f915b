/* counters.h - processor cycles and instructions of a thread, counted by the processor: perf_event_open(2). Of user
 * mode only, which is what the kernel lets an ordinary user count of own threads (perf_event_paranoid <= 2). */
#pragma once

#include "format/mpic_sample.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* What is counted as cycles and as instructions: type and config of perf_event_attr. */
struct counters_kind {
	uint32_t type;
	uint64_t cycles, instructions;
};

/* Zeroed at the beginning. */
struct counters {
	int cycles_fd, instructions_fd; /* plus 1; 0: not counted */
	uint32_t tid;
	struct mpic_counters last; /* as of the last reading */
	bool counts;		   /* `last` holds the start */
};

#define COUNTERS_THREADS_MAX 1024 /* and not more than half of the descriptors that the process may have */

/* Begin to count if it is not yet. The processors' counters with kind NULL. False when the kernel does not let us, or
 * there are none, as in many virtual machines: counters_absent() says why, and nobody is asked again. */
bool counters_begin(struct counters *c, uint32_t tid, const struct counters_kind *kind);
/* What came since the last time; user_ns: of the thread since its start, as proc(5) has it. False: nothing is known. */
bool counters_read(struct counters *c, uint64_t user_ns, struct mpic_counters *ret_since);
void counters_done(struct counters *c);
/* Words for people, NULL while they are not. */
const char *counters_absent(void);
