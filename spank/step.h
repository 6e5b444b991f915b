/* step.h - slurmstepd's side: a step begins, its tasks end, it ends. All as root, all without
 * failing anybody. */
#pragma once

#include "spank/config.h"
#include "spank/request.h"
#include "spank/slurm.h"

/* Where the running step has its directory; set by step_begin, inherited by the tasks' processes.
 */
struct step {
	bool active;
	int dir_fd;    /* of the step's directory */
	int warden_fd; /* a socket, held as long as the step runs: its warden has the other end */
	int mount_fd;  /* the step's file system, for a job with mounts of its own; or -1 */
	uint32_t step_id;
	char dir[PATH_MAX];
	char trouble[PATH_MAX + ERROR_TEXT_MAX]; /* for the user: why the step runs untraced */
};

/* Make the step's directory, write its layout, start its warden. On any failure the step runs untraced: *ret_step is
 * then inactive and the reason is in the log, and on the user's standard error if tracing was `asked` for. */
void step_begin(spank_t sp, const struct config *c, const struct request *r, bool asked, struct step *ret_step);
/* In the process of a task that is root's still. */
void step_task_enter(const struct step *s);
/* Append the exit status of the task that ended. */
void step_task_exit(spank_t sp, const struct step *s);
/* The step is over on this node: tell the warden. */
void step_end(struct step *s);
