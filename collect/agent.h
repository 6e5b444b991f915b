/* agent.h - the node agent: drains all processes of one step on one node into <out>/<node>.mpic. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* Run until STEPDIR/done exists, who started us sends SIGUSR1, or watch_pid (if > 0) is gone and no process of the
 * step lives. `given`: who started us has opened what only root may read: layout is descriptor 3, exits is 4. Returns
 * 0, or -errno with text when something could not be written (what could be written is there). */
int agent_run(const char *stepdir, pid_t watch_pid, bool given, struct error *e);
