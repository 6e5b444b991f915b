/* keep.h - traces that could not be written where their user wanted them. */
#pragma once

#include "base/become.h"

#include <stdbool.h>

/* Copy what lies in ranks/ of the step (traces, or segments that nobody could read) to <spool>/kept/<uid>/<name>/,
 * before its file system is taken away. The copies stay root's, so that nobody can let them grow; the user may read
 * them. Bounded in bytes, of a step and of a user, in steps of a user, and by the free space that is left: the user's
 * own oldest steps go first, and when the file system is full the oldest of whoever holds most. True if there was
 * anything. */
bool keep_traces(const char *spool, int step_fd, const char *name, const struct identity *who);
/* Is there a trace or a segment in ranks/? */
bool keep_is_needed(int step_fd);
