/* open.h - the MPI calls in which a process died, for META. */
#pragma once

#include "collect/process.h"

#include <cjson/cJSON.h>

/* Of each thread that was in one: {"thread", "sig"} or {"thread", "words": hexadecimal}, the words of a signature.
 * NULL when there is none. */
cJSON *open_calls(const struct process *p);
