/* record_library.h - what a step's program was run with, in its record: the MPI library, what carried its messages, the
 * environment modules. In: topology.transports and job of an analysis.  Out: mpi, transports, modules. */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

/* most: of each list; what it lacks is a number beside it. Null what is not known. */
void record_put_library(cJSON *to, const cJSON *analysis, size_t most);
