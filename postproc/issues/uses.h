/* uses.h - what a program does already: advice never recommends that. */
#pragma once

#include "postproc/issues/issues.h"

/* Receives are started as requests. */
bool uses_nonblocking_receives(const struct analysis *a);
/* The call at this place (or NONE) is nonblocking, or completes what is. */
bool uses_nonblocking_at(const struct analysis *a, uint32_t site);
/* Of the time in reading and writing files, most is in collective calls; in nonblocking ones. */
bool uses_collective_io(const struct analysis *a);
bool uses_nonblocking_io(const struct analysis *a);
