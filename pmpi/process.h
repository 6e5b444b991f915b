/* process.h - the life of a traced process: from MPI_Init to MPI_Finalize, and what is recorded about it. */
#pragma once

#include "pmpi/record.h"

/* Before MPI_Init: read MPITRACE_*, create the segment file, make the first stream. On any failure tracing stays
 * off. True: this call is the first of its process, and others wait until it is through. */
bool process_begin(void) HIDDEN COLD;
/* What process_begin() has begun is no call that is recorded. */
void process_unseen(bool first) HIDDEN COLD;
/* After MPI_Init returned: rank, size, library, communicators; rc != MPI_SUCCESS gives everything up. */
void process_initialized(int rc, int thread_level, uint64_t exit_tick) HIDDEN COLD;
#ifdef HAVE_MPI_Session_init
/* The same after MPI_Session_init; MPI_Init may have been called before, or come later. */
void process_session(int rc, MPI_Session session, uint64_t exit_tick) HIDDEN COLD;
#endif
/* Before and after MPI_Finalize and MPI_Session_finalize. The record ends with the last of them. */
void process_finalizing(void) HIDDEN COLD;
void process_finalized(void) HIDDEN COLD;
void process_aborting(void) HIDDEN COLD;
