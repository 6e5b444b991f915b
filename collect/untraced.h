/* untraced.h - why processes of a step ran untraced although the tracer was loaded: the lines that it left in the step
 * directory (pmpi/notes.h). */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define UNTRACED_WHYS_MAX 8u
#define UNTRACED_WHY_MAX 512u
#define UNTRACED_UNSAID "unsaid"
#define UNTRACED_NAME UNTRACED_UNSAID "." /* and a pid */

struct untraced {
	uint32_t n; /* different reasons; what failed comes first */
	struct {
		uint32_t processes;
		bool failed; /* the tracer could not be loaded; else no call came, and there may have been none */
		char why[UNTRACED_WHY_MAX];
	} whys[UNTRACED_WHYS_MAX + 2]; /* the last ones: for which there was no room */
};

/* Of that directory of segments; empty when nothing is there that can be read. */
void untraced_read(const char *ranks, struct untraced *ret_untraced);

/* The agent has found one: a line of it, or one more that found no room for it. Once a process. */
void untraced_add(const char *ranks, pid_t pid, const char *why);

/* How many found no room to say why: UNTRACED_UNSAID_MAX stands for that many or more. */
uint64_t untraced_unsaid(const char *ranks);
/* The file of that number, when it is none. */
void untraced_forget(const char *ranks);
/* And how many could only leave a name. */
uint64_t untraced_names(const char *ranks);
