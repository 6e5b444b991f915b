/* together.h - the analysis of a step by several processes, for which threads of this one stand (base/peers_threads.c).
 */
#pragma once

#include "base/peers.h"

/* The JSON of process 0, to be freed; the trace in mpix. All processes must succeed. */
char *analyse_together(const char *dir, const char *mpix, uint32_t processes, struct peer_counts *ret_counts);
/* What each returns where they fail, 0 or -errno; those of the others into others[]; the text of process 0 into *e. */
int fail_together(const char *dir, const char *mpix, uint32_t processes, int *others, struct error *e);
/* All bytes of a file, to be freed. */
char *bytes_of(const char *path, size_t *ret_bytes);
