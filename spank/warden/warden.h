/* warden.h - root's side of a node: one small program, started by the plugin and by `mpitrace sweep`.
 * It reads names and root's own records; whatever is the user's is read by children that have become the user. */
#pragma once

#include <stdint.h>

#define WARDEN_STEP_FD 3 /* the socket that ends with the step */

/* Stay with a step; 0 or 1. */
int warden_step(const char *spool, const char *dir, const char *program);
/* These runs of a job ("<job>.<run>") are over: end what is left of their steps. */
int warden_epilog(const char *spool, const char *program, char *const runs[], int nruns);
/* Everything that nobody finished: runs without a job, late reports, what is kept for too long; and in the site's
 * central directory (or NULL) what is older than retention_seconds (0: nothing). Prints what it did. Twice at once is
 * harmless. */
int warden_sweep(const char *spool, const char *program, const char *directory, uint64_t retention_seconds);
