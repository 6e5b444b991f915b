/* queue.h - a step's report as a job of its own. */
#pragma once

#include "base/error.h"

#define QUEUE_JOB_MAX 64

/* Submit `mpitrace finish OUT` with sbatch as whoever we are; into the partition and account of the job around us, if
 * there is one. 0 and the number of the job, or -errno with text; takes a few seconds at most. */
int queue_submit(const char *out, char ret_job[QUEUE_JOB_MAX], struct error *e);
