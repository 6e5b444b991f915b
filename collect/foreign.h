/* foreign.h - has a process an MPI library, and the tracer? In: its /proc, its program's file. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

enum foreign {
	FOREIGN_UNKNOWN, /* it has neither now, or cannot be seen */
	FOREIGN_FINE,	 /* it has the tracer, or can have no MPI */
	FOREIGN_MISSED,	 /* an MPI program without it */
};

/* dir: where the name of a program is looked for that is not absolute, and whose process hides what it executes.
 * FOREIGN_MISSED: *ret_why says which program, why and what to do. */
enum foreign foreign_classify(pid_t pid, const char *dir, char *ret_why, size_t cap_bytes);
