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
	int dir_fd; /* of the step's directory */
	uint32_t step_id;
	uid_t uid;
	char dir[PATH_MAX];
};

/* Make the step's directory, write its layout, start the agent. On any failure the step runs
 * untraced: *ret_step is then inactive and the reason is in the log. */
void step_begin(spank_t sp, const struct config *c, const struct request *r, struct step *ret_step);
/* Append the exit status of the task that ended. */
void step_task_exit(spank_t sp, const struct step *s);
/* The step is over on this node: tell the agent. */
void step_end(struct step *s);
