/* library.h - the MPI library's own functions, and the lock of what is kept about its handles. */
#pragma once

#include "pmpi/ops.h"
#include "pmpi/stream.h"

extern struct next next
	HIDDEN; /* what the program's calls go on to: the library's, or those of a profiling library before it */
extern struct next pmpi HIDDEN; /* the library's own, for what we ask */

extern bool tables_shared HIDDEN; /* several threads may call MPI at once: else the lock does nothing */
void tables_lock(void) HIDDEN;
void tables_unlock(void) HIDDEN;
void tables_leave(void) HIDDEN; /* in a child that was forked: whoever had the lock is not here */
