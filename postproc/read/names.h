/* names.h - names of functions as people write them. */
#pragma once

#include <stdbool.h>

/* As much of a name is shown; the rest of a longer one is left out. */
#define NAME_FULL_MAX 4096
#define NAME_SHORT_MAX 72

/* The readable form of a symbol: C++ (Itanium ABI) and Cython; any other name as it is. Allocated, NULL without memory.
 * Symbols are untrusted: the longest name, and the time to find it, are bounded. */
char *name_readable(const char *symbol);

/* Would name_readable make a C++ name of it? */
bool name_is_cxx(const char *symbol);

/* The form for a line of text: no return type, no parameters, no more than NAME_SHORT_MAX bytes: arguments of
 * templates go first, then what stands in front. Allocated; NULL when the name is such a form already. */
char *name_short(const char *name);
