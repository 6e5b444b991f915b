/* standstill.h - does anything on this node stand still for long enough that the step may hang? Only where the site
 * wants to be told of steps that hang (`alert` of the layout): elsewhere nothing is looked at.
 * In: open calls of the processes' mapped files, once a second.  Out: whether samples should come often, as a look
 * (`mpitrace live`) needs two; on the step's first node a file `waits` in ranks/, for as long as it is so: the warden
 * then has somebody look. Another node touches a file in the step's directory meanwhile, which the first one looks
 * for, so that one looks whichever node it is. The program has no part in it. */
#pragma once

#include "collect/process.h"
#include "format/layout.h"

#define STANDSTILL_MARK "waits"
#define STANDSTILL_LEAST_S 10		      /* whoever wants to know it sooner hears of it then */
#define STANDSTILL_ELSEWHERE "mpitrace-waits" /* in the step's directory; its time is that of the last touch */
#define STANDSTILL_TOUCH_S 5		      /* between two touches, and two looks whether there was one */

struct standstill {
	int64_t after_ns; /* half of what makes an alert; 0: nobody wants to know */
	int64_t checked_ns;
	const char *marks_in; /* NULL: it is another node that says it */
	const char *step_dir; /* that all nodes see; NULL: there is none, or no other node */
	int64_t shared_ns;    /* when it was touched or looked for last */
	int64_t touched_ns;   /* its time, as of then: by the clock of whoever wrote it */
	int64_t elsewhere_ns; /* until then others are taken to stand still */
	bool stands;
};

/* ranks: the directory, which stays the caller's; so does the layout. */
void standstill_begin(struct standstill *s, const struct layout *layout, const char *ranks);
/* To be called often. */
void standstill_check(struct standstill *s, const struct process *processes, uint32_t n, const struct tick_sample *now);
/* The step is over: nobody need look any more. */
void standstill_end(struct standstill *s);
/* The longest gap between samples at the moment, 0: any. */
int64_t standstill_gap_ns(const struct standstill *s);
