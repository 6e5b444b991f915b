/* step.h - slurmstepd's side: a step begins, its tasks end, it ends. All as root, all without
 * failing anybody. */
#pragma once

#include "base/become.h"
#include "spank/config.h"
#include "spank/notice.h"
#include "spank/slurm.h"

/* Where the running step has its directory; set by step_begin, inherited by the tasks' processes.
 */
struct step {
	bool active;
	int dir_fd;    /* of the step's directory */
	int warden_fd; /* a socket, held as long as the step runs: its warden has the other end */
	int mount_fd;  /* the step's file system, for a job with mounts of its own; or -1 */
	uint32_t job_id, step_id;
	bool leads;	   /* this is the first node of the step: its first task speaks for all */
	bool elsewhere;	   /* the results go to a directory that srun does not have */
	bool srun_reports; /* and says what is missing */
	struct identity user;
	uint32_t tasks_left; /* that have not ended here */
	char node[256];
	char dir[PATH_MAX];
	char out[PATH_MAX]; /* of the results; "" = none */
};

/* Make the step's directory, write its layout, start its warden; unless it shall not be traced (`on`). On any failure
 * the step runs untraced: *ret_step is then inactive, the reason is in the log, and noted in *n. */
void step_begin(spank_t sp, const struct config *c, const struct request *r, bool on, struct notice *n,
		struct step *ret_step);
/* In the process of a task that is root's still. */
void step_task_enter(const struct step *s);
/* Append the exit status of the task that ended; after the last one, say where the results are if it is not where srun
 * looks for them, and why there are none where no srun will. */
void step_task_exit(spank_t sp, struct step *s, struct notice *n);
/* The step is over on this node: tell the warden. */
void step_end(struct step *s);
