/* policy.h - the site's policy (spank/policy/policy.h) at work in Slurm: the prolog leaves what the credential says of
 * a job
 * in <spool>/jobs/<job>, root only; each step asks the policy with these facts. Nothing here ever fails a job. */
#pragma once

#include "spank/config.h"
#include "spank/notice.h"
#include "spank/policy_request.h"
#include "spank/slurm.h"

/* Job prolog, root: write down the facts. */
void policy_job_begin(spank_t sp, const struct config *c);
/* Job epilog, root: forget them. */
void policy_job_end(const struct config *c, uint32_t job_id);
/* slurmstepd, root: shall this step be traced, and how? Changes the request and the limits of c accordingly,
 * and notes what of the user's wish does not come true. */
bool policy_apply(spank_t sp, struct config *c, bool asked, struct request *r, struct notice *n);
/* srun, sbatch, salloc, as the user, when --mpitrace is read: tell the user what will not be as asked. False: there is
 * no job yet, and the request is over a cap that holds for every job of theirs. */
bool policy_submit(const struct config *c, const struct request *r);
/* srun, as the user: shall srun make the report, and where will it be? A guess from srun's own environment; should it
 * be wrong, the epilog makes the report. */
bool policy_expect(spank_t sp, struct config *c, bool asked, struct request *r);
/* The same before there is a job: can it be that it is traced? */
bool policy_may_trace(const struct config *c, bool asked, const struct request *r);
