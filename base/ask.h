/* ask.h - a question to what may hang or die: a name service, a file system of a network. A child asks, and is given up
 * when its time is over. For processes that must not have threads, as Slurm's. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* Run answer() in a child; what it writes to fd, which holds no '\0', is appended to *text, at most cap_bytes of it.
 * True: answer() came to its end. False: it died, took longer than deadline_ms, or said more than that; *text has what
 * came until then. */
bool ask_in_child(void (*answer)(const void *question, int fd), const void *question, unsigned deadline_ms,
		  size_t cap_bytes, struct buf *text);
