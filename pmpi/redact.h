/* redact.h - what a site does not want in traces (MPITRACE_REDACT, docs/POLICY.md) is left out where it would be
 * recorded, so that it is in no file at any time. */
#pragma once

#include "pmpi/stream.h"

#include <stdbool.h>
#include <stddef.h>

/* Set once, when tracing begins. */
extern bool redact_arguments HIDDEN, redact_paths HIDDEN, redact_hosts HIDDEN;

/* Words, e.g. "arguments,paths", beside those that were read before; NULL is none. */
void redact_begin(const char *what) HIDDEN;
/* Put the path's last component into `to` behind a directory that is not there, if directories are not wanted; else the
 * path itself is returned. */
const char *redact_path(const char *path, char *to, size_t cap) HIDDEN;
