/* tools.h - profiling libraries that come to a call before the tracer does. */
#pragma once

#include "pmpi/stream.h"

/* Before any module is noted: what is to be asked of the loader. While its list is gone through, it may not be asked:
 * another thread may be in dlopen() then, and wait for the list. */
void tools_prepare(void) HIDDEN COLD;

/* Is the module such a library: ahead of us in LD_PRELOAD, around Fortran's names, or in the program itself? From then
 * on it is known. */
bool tools_note(uint64_t begin, uint64_t end, const char *path, bool is_program) HIDDEN;

/* Is the call with that return address, of a wrapper with that frame, one that such a library makes for itself? Then it
 * is counted as such (segfile). */
bool tools_own(struct stream *s, uint32_t op, uint64_t address, uint64_t frame) HIDDEN COLD;
