/* submit.h - the side of srun, sbatch and salloc: refuse a bad request, and finish the step when
 * srun ends. */
#pragma once

#include "spank/config.h"
#include "spank/request.h"
#include "spank/slurm.h"

/* Before the job exists: what srun will need to know when all is over (is the allocation its own?).
 */
void submit_prepare(void);
/* srun knows the job and the step now. */
void submit_step_known(spank_t sp, const struct request *r);
/* srun is about to end: make the report if that is srun's to do, within a deadline. */
void submit_finish(const struct config *c);
