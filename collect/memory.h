/* memory.h - what the job may have of a node's memory, and what it has: the control group with the lowest limit above a
 * rank. Sources: cgroups(7), the kernel's cgroup-v2 and cgroup-v1/memory documents. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zeroed at the beginning. */
struct memory {
	bool probed;
	int stat_fd; /* plus 1; 0: nothing limits it, or it is not known */
	bool v1;
	uint64_t limit_bytes;
};

/* Look once for the limit above this process. */
void memory_begin(struct memory *m, uint32_t pid);
/* What cannot be given back: anonymous and shared memory, no cache of files. False: there is no limit. */
bool memory_now(const struct memory *m, uint64_t *ret_used_bytes);
void memory_done(struct memory *m);
