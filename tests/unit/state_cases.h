/* state_cases.h - random situations: ranks in messages, collectives, locks, of several threads, some of them over. */
#pragma once

#include "postproc/state/state.h"

#define STATE_CASE_RANKS 10000 /* the most */

/* The number-th, always the same. Its groups are good until the next one is made. Who called frees it. */
void state_case(struct states *s, uint64_t number);
