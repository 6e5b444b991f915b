/* so_far.h - the events of a running step up to now, as a trace: made by `mpitrace analyze` when somebody asks, one
 * at a time, in a process of its own. */
#pragma once

#include "reports/web/web.h"

#include <stdint.h>
#include <sys/types.h>

#define SO_FAR_KEPT 4 /* traces; older ones are gone */

struct so_far_trace {
	unsigned number; /* 0: none; served as trace-NUMBER.mpix */
	int fd;
	uint64_t len_bytes;
};

/* All zero is ready. */
struct so_far {
	bool wanted;
	pid_t child; /* 0: none runs */
	char directory[64];
	unsigned made;
	struct so_far_trace kept[SO_FAR_KEPT];
};

/* Answers "timeline", which asks for one, and "trace-N.mpix". */
void so_far_answer(struct so_far *s, const char *path, struct web_answer *ret_answer);
/* Begin what is wanted, finish what is done. What is to be announced as JSON, to be freed, or NULL. */
char *so_far_turn(struct so_far *s, const char *step_path);
void so_far_done(struct so_far *s);
