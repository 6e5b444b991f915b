/* past.h - functions of MPI that the program reaches without the tracer. */
#pragma once

#include "pmpi/record.h"

#include <link.h>

/* Look at a library that is about to be closed; NULL: at all that are loaded. What is bound past the tracer is counted
 * in the segment file, once. Under the lock of the tables. */
void past_note(const struct link_map *closing) HIDDEN COLD;
