/* library.h - the MPI library's own functions, and the lock of what is kept about its handles. */
#pragma once

#include "pmpi/ops.h"
#include "pmpi/stream.h"

extern struct next next HIDDEN;

extern bool tables_shared HIDDEN; /* several threads may call MPI at once: else the lock does nothing */
void tables_lock(void) HIDDEN;
void tables_unlock(void) HIDDEN;
