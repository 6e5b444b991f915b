/* verdict.h - what `mpitrace live` had found out about the step while it ran: the file `mpitrace-verdict` beside the
 * first trace (postproc/live/verdict.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct step;

#define VERDICT_RANKS_MAX 64u

/* The deadlock with the fewest ranks that it had seen. */
struct live_verdict {
	bool deadlock;
	double since_s; /* of the day, since 1970 */
	uint32_t ranks[VERDICT_RANKS_MAX];
	uint32_t nranks;
	char why[600]; /* who is in what, at which line, and what would let it go on */
};

void verdict_read(struct step *s);
