/* origin.h - where srun was called, and whether the nodes have that directory, too. srun tells it in the environment of
 * the step; slurmstepd takes it out of there, so that no task sees it. */
#pragma once

#include "base/become.h"
#include "spank/slurm.h"

#include <limits.h>

struct origin {
	char submit[PATH_MAX];	    /* what a relative directory counts from; "" = not told */
	char place[PATH_MAX + 128]; /* what srun sees of the directory of the results; "" = not told */
};

/* In srun, before the step is started. results: the step's directory, or NULL: what is seen of it is not told. */
void origin_tell(const char *submit, const char *results);
/* In slurmstepd. What a user has put there is theirs, as SLURM_SUBMIT_DIR is. */
void origin_take(spank_t sp, struct origin *ret_origin);
/* Seen as `who` from here, is the directory for the results certainly another one than srun's of the same name? By a
 * child that is given up after a second. What cannot be found out is no. */
bool origin_is_elsewhere(const struct origin *o, const struct identity *who, const char *results);
