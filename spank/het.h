/* het.h - a step of a heterogeneous job: one program whose parts are jobs of their own to Slurm, each with its own
 * count of nodes and tasks. What all parts share only srun knows; it tells the step's environment. */
#pragma once

#include "spank/record.h"
#include "spank/slurm.h"

/* If the step has more parts than ours: make the record's numbers those of the whole step, and `called` the first
 * part's job. The environment is the user's to change: what comes of it names a directory of theirs and counts what to
 * wait for, nothing else. */
void het_join(spank_t sp, const char *node, struct record *rec);
