/* regular.h - opening what somebody named, and may be anything: a FIFO that nobody writes to holds nobody, and a device
 * has no end. */
#pragma once

#include "base/error.h"

#include <stdio.h>

/* To be read. A descriptor, or -errno with text (-EINVAL: not a regular file); e may be NULL. */
int regular_open(const char *path, struct error *e);
/* The same as a stream; NULL with text and errno. */
FILE *regular_stream(const char *path, struct error *e);
