/* spool.h - the directories of a job and its steps in the node's spool (docs/STEPDIR.md). Root only. All but the ranks
 * directories belong to root, so no name in them can be a user's trap. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SPOOL_NAME_MAX 64
#define SPOOL_TASK_BYTES \
	(12ull << 20) /* what a process is given room for: its segments, and twice as much behind them */
#define SPOOL_STEP_BYTES (16ull << 20) /* and a step, beside */
#define SPOOL_LEAST_BYTES (2ull << 20) /* a process with less can not begin */

/* What a step's processes and their user may fill. */
struct spool_room {
	bool own_mount;		/* a tmpfs of its own; else the spool's file system, which the site bounds */
	bool share_with_slurmd; /* without own_mount: it may be the file system that slurmd needs */
	uint64_t step_bytes;	/* 0: by the number of tasks */
	uint64_t node_bytes;	/* all steps of the node together; 0: an eighth of its memory */
	uint32_t share;		/* take at most such a part of what is left: a 4th, or all of it (0) */
	uint32_t ntasks;	/* 0: unknown */
};

/* "batch", or the number. */
void spool_step_name(uint32_t step_id, char ret_name[SPOOL_NAME_MAX]);
/* Open <spool>/<area> ("live", "late", "kept"), making both when asked. A directory that others may write is refused. A
 * descriptor, or -errno with text. */
int spool_open(const char *spool, const char *area, bool make, struct error *e);
/* Make live/<job>.<run>/step-<step>/ranks, replacing a stale one; ranks then belongs to uid:gid. A run of a job ends
 * with spool_end_run(); what comes later is the next one. *ret_run = "<job>.<run>". A descriptor of the step's
 * directory, to be held while the step runs: else it is stale; or -errno with text, -EBUSY when another holds it. */
int spool_make_step(int live_fd, uint32_t job_id, uint32_t step_id, uid_t uid, gid_t gid, char ret_run[SPOOL_NAME_MAX],
		    struct error *e);
/* Give the ranks directory a file system of its own, as large as the room allows: *ret_bytes. 0, or -errno with text:
 * -ENOSPC when other steps have all of it. */
int spool_mount(const char *spool, int live_fd, int step_fd, const struct spool_room *room, uid_t uid, gid_t gid,
		uint64_t *ret_bytes, struct error *e);
/* Take it away, with all that is in it. Harmless when there is none. */
void spool_unmount(int step_fd);
/* No later step belongs to this run. */
void spool_end_run(int live_fd, const char *run);
/* Open the directory of that name below at_fd, making it: root's, and for others to pass only. A descriptor, or -errno
 * with text. */
int spool_make_directory(int at_fd, const char *name, struct error *e);
/* Make an empty root-owned file; one that is there is fine. 0 or -errno. */
int spool_mark(int step_fd, const char *name);
bool spool_has(int dir_fd, const char *name);
/* Call each for every name that does not begin with a dot; a non-zero return of each is kept. -errno: not all
 * could be met. */
int spool_each(int dir_fd, int (*each)(int dir_fd, const char *name, void *context), void *context);
/* The same for these names, too, but . and .. themselves. */
int spool_each_hidden(int dir_fd, int (*each)(int dir_fd, const char *name, void *context), void *context);
