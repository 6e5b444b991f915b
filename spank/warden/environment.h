/* environment.h - what our processes on a node have of an environment: nothing of the user's, and what Slurm's own
 * commands need where they and slurm.conf lie in places of the site's. */
#pragma once

/* PATH: the usual places, and bin beside the sbin of the Slurm that runs this process, else what an ancestor of ours
 * found; SLURM_CONF as slurmd has it; LC_ALL=C. NULL at the end; the words are static. For root's processes alone,
 * whose environment is slurmd's. */
char *const *environment_clean(void);
