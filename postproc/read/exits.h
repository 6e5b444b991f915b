/* exits.h - how processes ended. */
#pragma once

#include "postproc/read/step.h"

/* What nodes say of it: of Slurm's tasks by rank, of what a launcher started by process. */
int exits_read(struct step *s);
/* How many of Slurm's tasks, one for each rank, ended badly of which nothing else is in the record, and the first that
 * is told of. */
uint32_t exits_unrecorded(const struct step *s, int64_t *ret_rank, int *ret_status);
/* By something it did: a signal that the processor or the process itself raised, MPI_Abort, or its exit; not by a
 * signal that others send to end it, and not out of a call that it could never have come back from. Only of those that
 * did not come to MPI_Finalize. */
bool exits_by_itself(const struct process *p);
/* By a timer that it had set itself. */
bool exits_by_timer(const struct process *p);
/* It ended without having come back from MPI_Finalize. */
bool exits_early(const struct process *p);
/* Nor had it come there: what was left of its work is missing. */
bool exits_before_finalize(const struct process *p);
/* Somebody killed one rank, because of which its launcher asked the others to end (SIGTERM): no error of MPI, for which
 * launchers end all alike. */
bool exits_killed_alone(const struct step *s);
/* The rank that was the first to die, by itself or because somebody ended it alone; NONE: there is none. How many ended
 * early. */
uint32_t exits_first(const struct step *s, uint32_t *ret_early);
/* The rank of another MPI_COMM_WORLD of the step, as a spawned one, that was the first to die by itself, or because
 * somebody killed it alone; NULL: none did. */
const struct process *exits_elsewhere(const struct step *s);
