/* state_truth.h - who can go on, by the definition alone: slow, and of one piece, so that it can be read. */
#pragma once

#include "postproc/state/state.h"

/* ret_goes: a byte a rank. free_ranks: a byte a rank that can go on whatever it is in, or NULL. */
void truth(const struct states *s, const uint8_t *free_ranks, uint8_t *ret_goes);
