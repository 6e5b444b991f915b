/* epilog.h - the steps of a run that is over. */
#pragma once

#include <stdbool.h>

/* End and remove what is left of the run "<job>.<run>" in live/. `busy_seconds`: how long somebody else may still be at
 * work on a step of it before it is ended. True if the run is gone. */
bool epilog_run(const char *spool, int live_fd, const char *run, const char *program, double busy_seconds);
