/* notes.h - lines that the front leaves beside the segments, for the agent. */
#pragma once

#include <stddef.h>

/* Append the line to that file in $MPITRACE_DIR, unless it would grow beyond max_bytes. Whole, or not at all; fails
 * silently. */
void note_append(const char *name, size_t max_bytes, const char *line, size_t len_bytes)
	__attribute__((visibility("hidden")));
