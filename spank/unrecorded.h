/* unrecorded.h - why nothing is recorded of a step on this node, as its tracer or its agent left it in ranks/untraced:
 * for who is there to hear it when no srun of its own does. */
#pragma once

#include "base/become.h"

#include <stdbool.h>
#include <stddef.h>

/* ranks_fd: that directory. False: nobody left a reason. A process of that user reads it, and is not waited for
 * long. */
bool unrecorded_why(int ranks_fd, const struct identity *who, char *ret_why, size_t cap_bytes);
