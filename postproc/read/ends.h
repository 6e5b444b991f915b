/* ends.h - when each process ended, and when the step did: nothing else in the program decides it.
 *
 * A process that said when it ended (MPI_Finalize, MPI_Abort) ended then; else when its launcher or Slurm was told;
 * else when its agent found it gone, by the agent's clock, or what had started it was over, whichever was first; else
 * at the last moment in which an agent saw it alive; but not before its last call began or ended. A file that was cut
 * knows of who still ran: they lived as long as the agent did. The step ends with the last rank.
 *
 * From its last advance on a run stands still: all ranks are in the call that they never came back from, or over. What
 * is shorter than two seconds is none: launchers take as long to end a run. */
#pragma once

#include "postproc/read/step.h"

/* Its own record says that it is over. */
bool ends_said(const struct process *p);
/* It sends nothing any more: it is behind its MPI_Finalize, or in it. */
bool ends_left(const struct step *s, const struct process *p);
/* It never came out of MPI_Init, its first call that is recorded. */
bool ends_starting(const struct process *p);
/* In a call that waits for another program. */
bool ends_outside(const struct step *s, const struct sig *sig);
/* In a call that goes on without the others: it moves data of its own, asks again and again, or waits for another
 * program. */
bool ends_works(const struct step *s, const struct sig *sig);
/* It exited, or crashed, out of the call in which it had stood with all others: so the library ends it when its
 * launcher is gone, or a watchdog. */
bool ends_inside(const struct step *s, const struct process *p);
/* As ticks, before clocks are converted: end_ns of all processes; 0 where nothing tells. */
void ends_decide(struct step *s);
/* It lived then: an event of it ended, or a call began. TIME_ABSENT is passed over. */
void ends_lived(struct process *p, int64_t at_ns);
/* Is its end known but for what its events say? */
bool ends_at_least(const struct process *p);
/* When clocks and events are known: step.advanced_ns, the ends that nobody told, and hung_ns of the processes. */
void ends_resolve(struct step *s);
/* Into the call in which it died, or to the end of its last. */
int64_t ends_last_known(const struct process *p);
