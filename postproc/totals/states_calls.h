/* states_calls.h - what states.c, states_requests.c and states_rma.c have of each other. */
#pragma once

#include "postproc/totals/states.h"

/* How many operations of that communicator and channel the rank has begun, as counted so far. */
uint64_t states_entered(const struct states_of *x, uint32_t rank, uint32_t comm, uint32_t channel);

/* Each adds the thread t and its wants: 0 or -ENOMEM. Where it is not certain what it waits for, it can go on. */

/* ---- states_requests.c ---- */

/* In a call that names its requests. */
int states_requests(struct states_of *x, struct state *t, const struct sig_call *call);
/* In one of which samples do not know which requests it names. */
int states_any(struct states_of *x, struct state *t);

/* ---- states_rma.c: locks that others have, exposures that are to come, accesses that are to end. Fence and Win_free
 * are operations of all members, see states.c. ---- */

int states_rma(struct states_of *x, struct state *t, const struct open_sig *open);
void states_locks_free(struct states_locks *l);
