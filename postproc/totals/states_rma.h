/* states_rma.h - what one-sided calls wait for: locks that others have, exposures that are to come, accesses that are
 * to end. Fence and Win_free are operations of all members, see states.c. */
#pragma once

#include "postproc/totals/states.h"

/* Add the thread t, which is in the call `open`, and its wants: 0 or -ENOMEM. Where it is not certain what it waits
 * for, it can go on. */
int states_rma(struct states_of *x, struct state *t, const struct open_sig *open);
void states_locks_free(struct states_locks *l);
