/* replay.h - how long the program would have run if transfers cost nothing (SEMANTICS.md 4). */
#pragma once

#include "postproc/analysis.h"

/* Replay all ranks with their own computing times: a receive ends when its message has been sent, an all-to-all when the
 * last has entered, a send only waits for its receive if it was synchronous or was seen to wait. No clock of
 * another node is needed but for the latter. 0 and the time in ns, -ENOMEM, or -EDEADLK when calls wait for each other in a
 * circle (then the record is not what the program did). */
int replay_ideal(const struct analysis *a, double *ret_ns);
