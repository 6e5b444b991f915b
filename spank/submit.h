/* submit.h - the side of srun, sbatch and salloc: refuse a bad request, and finish the step when
 * srun ends. */
#pragma once

#include "spank/config.h"
#include "spank/notice.h"
#include "spank/slurm.h"

/* In the environment of a step whose srun makes its report; a hint, and taken out of the tasks'. Names of this kind
 * come through whatever --export says (srun(1)). */
#define SUBMIT_REPORTS "SLURM_MPITRACE_SRUN_REPORTS"
/* Of one that has no standard error: Slurm ends no step in which a task writes there, until it has been read. */
#define SUBMIT_UNHEARD "SLURM_MPITRACE_SRUN_UNHEARD"

/* A job that is submitted from inside of a traced one is not traced for that. */
void submit_forget_outer(void);
/* Before the job exists: what srun will need to know when all is over (is the allocation its own?).
 */
void submit_prepare(const struct request *r, bool wanted, struct notice *n);
/* srun knows the job and the step now. */
void submit_step_known(spank_t sp, const struct request *r, bool asked);
/* srun is about to end: make the report if that is srun's to do, within a deadline, and say what became
 * of it to who watches, or asked and does not get it whole. */
void submit_finish(const struct config *c, struct notice *n);
