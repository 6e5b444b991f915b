/* lookup.h - where functions are: dlsym() as libc has it, and what an MPI library is known by. */
#pragma once

#include <stdbool.h>

/* libc's dlsym(). RTLD_NEXT is what comes behind the front. */
void *lookup(void *handle, const char *name) __attribute__((visibility("hidden")));

/* Is that the path of an MPI library? */
bool lookup_is_libmpi(const char *path) __attribute__((visibility("hidden")));
