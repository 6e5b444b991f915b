/* tools.h - profiling libraries that come to a call before the tracer does. */
#pragma once

#include "pmpi/stream.h"

/* Is the module such a library: ahead of us in LD_PRELOAD, or around Fortran's names? From then on it is known. */
bool tools_note(uint64_t begin, uint64_t end, const char *path) HIDDEN;

/* Is the call with that return address one that such a library makes for itself? */
bool tools_own(uint32_t op, uint64_t address) HIDDEN COLD;
