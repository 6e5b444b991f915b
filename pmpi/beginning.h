/* beginning.h - while one thread brings MPI up, others may call it: MPI_Initialized says yes before MPI_Init returns,
 * and sessions are begun by any number of threads at once. What they need to be recorded is not all there yet. So one
 * thread begins at a time, and the others wait for it as soon as MPI would answer them. */
#pragma once

#include "pmpi/library.h"

#include <stdbool.h>

/* Until beginning_over() of the same thread; waits for another that begins. False: it does begin already. */
bool beginning_take(void) HIDDEN COLD;
/* Nothing where another thread begins. */
void beginning_over(void) HIDDEN COLD;
/* In a child, whose only thread forked. */
void beginning_forget(void) HIDDEN COLD;
/* True: the call at hand is none to record, one of the few that are allowed before MPI is up. Else nobody begins any
 * more, or only this thread does. */
bool beginning_shuts_out(void) HIDDEN COLD;
