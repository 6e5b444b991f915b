/* start.h - starting mpitrace-warden, root's side of the node (spank/warden/warden.h), out of Slurm's processes. */
#pragma once

#include "spank/config.h"

#include "base/error.h"

/* Start `mpitrace-warden args[0] SPOOL MPITRACE args[1]...` (ended by NULL), detached from everything of ours and
 * outside of the step's control groups. `pipe_fd` (or -1) becomes its descriptor 3. 0, or -errno with text. */
int start_warden(const struct config *c, const char *const *args, int pipe_fd, struct error *e);
