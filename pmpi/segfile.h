/* segfile.h - the shared file of this process: created at MPI_Init, grown by regions. */
#pragma once

#include "format/segment.h"
#include "pmpi/stream.h"

#include <stddef.h>

extern struct segfile *segfile HIDDEN; /* mapped head, NULL when tracing is off */

extern uint64_t page_bytes HIDDEN; /* of this machine */

/* Create MPITRACE_DIR/<pid>.<tick>.mpit and map its head. 0 or -errno; then nothing is left behind. */
int segfile_create(const char *dir) HIDDEN COLD;
/* Why the last region could not be had: -errno. */
int segfile_refusal(void) HIDDEN COLD;
/* Allocate len_bytes on the file system, map them (at `where` if not NULL, replacing whole pages of what is reserved
 * there), enter them in the table. NULL when there is no room. Thread-safe. */
void *segfile_add_region(enum region_type type, uint32_t thread, size_t len_bytes, void *where,
			 bool prefault) HIDDEN COLD;
/* Write a segment to the spill file. LOST_NOTHING, or why that is not possible. */
enum lost_reason segfile_spill(const struct segment *segment) HIDDEN COLD;
/* In a child, before anything else of it runs: it may be in the middle of what was ours to do (a signal's handler has
 * forked), and goes on with a copy. Where the file cannot be opened any more it stays the parent's. */
void segfile_leave(void) HIDDEN COLD;
/* Of a child and its parent the same one. */
extern _Atomic uint64_t *segfile_calls_forked HIDDEN;
/* Remove the file again (MPI_Init failed). */
void segfile_remove(void) HIDDEN COLD;

/* Anonymous zeroed memory that is touched only where used; NULL without. */
void *memory_reserve(size_t len_bytes) HIDDEN COLD;
