/* foreign.h - has a process an MPI library, and the tracer, and what that needs? In: its /proc, its program's file. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

enum foreign {
	FOREIGN_UNKNOWN, /* it has neither now, or cannot be seen */
	FOREIGN_FINE,	 /* it has the tracer, or can have no MPI */
	FOREIGN_MISSED,	 /* an MPI program without it, or whose tracer cannot write */
};

/* ranks: the step's directory of segments, by the name that its processes are told; NULL: of one that has written
 * there, whatever it sees by now. dir: where the name of a program is looked for that is not absolute, and whose
 * process hides what it executes. FOREIGN_MISSED: *ret_why says which program, why and what to do. */
enum foreign foreign_classify(pid_t pid, const char *ranks, const char *dir, char *ret_why, size_t cap_bytes);
