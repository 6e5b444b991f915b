/* usage.h - what the kernel counted of a thread, and the memory of its process: proc(5). */
#pragma once

#include "format/mpic_sample.h"

#include <stdbool.h>
#include <stdint.h>

enum usage_file { USAGE_SCHEDSTAT, USAGE_STAT, USAGE_STATUS, USAGE_FILES };

/* A thread that is looked at again and again: its files stay open, as far as USAGE_KEPT_MAX of all threads allow, since
 * to open one costs more than to read it, and so that they are always those of this thread and no later one of its
 * number. Zeroed at the beginning. */
struct usage {
	int fds[USAGE_FILES]; /* plus 1 */
	uint32_t tid;
	uint32_t samples;
	/* As of the last time that they were read: */
	struct mpic_system system;
	uint64_t resident_bytes;
	uint64_t user_ns; /* of the thread in user mode; in steps of 10 ms as a rule */
};

#define USAGE_KEPT_MAX 384
/* Looks between two readings of a file; schedstat is read each time. stat takes five times as long, and status, the
 * only one that has involuntary switches, twelve times. */
#define USAGE_STAT_EVERY 2
#define USAGE_STATUS_EVERY 8

/* False when the kernel does not let us see it, or there is no such thread. all: read every file. ret_resident_bytes:
 * of the process. */
bool usage_of_thread(struct usage *u, uint32_t pid, uint32_t tid, bool all, struct mpic_system *ret_system,
		     uint64_t *ret_resident_bytes);
void usage_done(struct usage *u);
/* Whether a process id of that namespace (inode of its file) means the same here. */
bool usage_same_namespace(uint64_t inode);
