/* capture.h - what another program says, without a shell. */
#pragma once

#include <stddef.h>

/* Run words[0] (looked up in PATH) with nothing to read; what it writes goes to `to`, cut to size and closed by a
 * zero. Returns its exit code, or -1: it could not be started, was killed by a signal, or was not done after 10 s
 * and killed. */
int capture(char *const words[], char *to, size_t size);
