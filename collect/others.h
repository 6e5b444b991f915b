/* others.h - threads of a process that have not called MPI. */
#pragma once

#include "collect/process.h"

/* How many there are now, without those that the MPI library started in MPI_Init. False: nobody knows. */
bool others_now(const struct process *p, uint64_t *ret_others);
