/* threads.h - what needs the events of all threads of a rank: the time in which at least one of them was inside MPI,
 * from when to when each called, how long each waited. Kept in struct process and struct thread; costs nothing where
 * one thread has events and comes back from all its calls. */
#pragma once

#include "postproc/stream/stream.h"

#define PROGRESS_SHARE_MIN 0.9 /* of a thread's calls: that poll */

/* Which threads poll for others; from the totals, before the events. */
int threads_classify(struct step *s); /* 0 or -ENOMEM */
/* From when on one that does not poll for others is in a call of the region that it never came back from; INT64_MAX. */
int64_t threads_open(const struct process *p);
/* Does the rank need what follows? */
bool threads_several(const struct stream *st, uint32_t rank);
/* Before the events come, for the first time or once more. */
void threads_forget(struct process *p);
/* The event at this place of its lane; in order of starts over all lanes of the process. */
void threads_saw(struct process *p, const struct lane *l, uint32_t at);
void threads_waited(const struct stream *st, const struct wait *w, int64_t ns);
