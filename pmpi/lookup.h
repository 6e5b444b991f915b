/* lookup.h - where functions are: dlsym() as libc has it, and what an MPI library is known by. */
#pragma once

#include "pmpi/front.h"

#include <stdbool.h>

/* libc's dlsym(). RTLD_NEXT is what comes behind the front. */
void *lookup(void *handle, const char *name) __attribute__((visibility("hidden")));

/* From now on the tracer is told when libraries may have come or are about to go. */
void lookup_watch(mpitrace_closing_fn *closing) __attribute__((visibility("hidden")));
void lookup_tell(void *handle) __attribute__((visibility("hidden")));

/* And when the program is about to forbid itself system calls. */
void confining_watch(mpitrace_confining_fn *confining) __attribute__((visibility("hidden")));

/* Is that the path of an MPI library? */
bool lookup_is_libmpi(const char *path) __attribute__((visibility("hidden")));
