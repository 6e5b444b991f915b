/* spool.h - the directories of a job and its steps in the node's spool (docs/STEPDIR.md). Root
 * only. All but the ranks directory belong to root, so no name in them can be a user's trap. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SPOOL_NAME_MAX 64

/* "batch", or the number. */
void spool_step_name(uint32_t step_id, char ret_name[SPOOL_NAME_MAX]);
/* Open <spool>/live, making both when asked. A directory that others may write is refused.
 * A descriptor, or -errno with text. */
int spool_open_live(const char *spool, bool make, struct error *e);
/* Make live/<job>.<restart>/step-<step>/ranks, replacing a stale one; ranks then belongs to
 * uid:gid. A descriptor of the step's directory, or -errno with text. */
int spool_make_step(int live_fd, uint32_t job_id, uint32_t restart, uint32_t step_id, uid_t uid, gid_t gid,
		    struct error *e);
/* Make an empty root-owned file; one that is there is fine. 0 or -errno. */
int spool_mark(int step_fd, const char *name);
