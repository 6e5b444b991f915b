/* missed.h - processes of the step that have an MPI library, and not the tracer: who started them took the step's
 * variables away (env -i, unset), or nothing can be preloaded into them.
 * In: /proc of all below the process that started the step (`parent` of the layout), but for those that are recorded.
 * Out: a line for each in ranks/untraced (untraced.h). The program has no part in it, and one that lives for less than
 * a tenth of a second, or as a copy of another for less than a second, may not be seen. */
#pragma once

#include "base/vec.h"
#include "collect/process.h"
#include "format/layout.h"

#define MISSED_GAP_NS 10000000ll /* between two looks while processes come or become others; later more */

struct missed_process {
	pid_t pid;
	uint64_t image; /* another one when it has executed another program */
	int64_t seen_ns, next_ns;
	uint32_t round;
	bool classified; /* it has the tracer, or was told of */
	bool told;
	bool recorded; /* now, or before its record came to its end */
};

struct missed {
	pid_t parent; /* 0: not known */
	const char *ranks, *dir;
	bool open; /* others may write there */
	VEC(struct missed_process) seen;
	uint32_t round;
	int64_t first_ns, changed_ns, next_ns;
	int64_t spent_ns; /* processor time */
};

/* ranks and the layout stay the caller's. */
void missed_begin(struct missed *m, const struct layout *layout, const char *ranks);
/* To be called often. */
void missed_scan(struct missed *m, const struct process *processes, uint32_t n, int64_t now_ns);
/* How long the next look can wait, rest_ns at most. */
int64_t missed_rest_ns(const struct missed *m, int64_t now_ns, int64_t rest_ns);
void missed_done(struct missed *m);
