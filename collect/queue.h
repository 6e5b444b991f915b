/* queue.h - what the finisher asks Slurm's commands for, as whoever we are: a step's report as a job of its own, and
 * how a job ended. Each answers within 3 s, or is left. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define QUEUE_JOB_MAX 64

/* Submit `mpitrace finish OUT` with sbatch as whoever we are, to be done by so many processes; into the partition and
 * account of the job around us, if there is one. 0 and the number of the job, or -errno with text; takes a few seconds
 * at most. */
int queue_submit(const char *out, unsigned processes, char ret_job[QUEUE_JOB_MAX], struct error *e);
/* Run a command and take what it prints: 0, -ETIME when it does not answer, -EREMOTEIO when it fails, or -errno. */
int queue_ask(const char *const *argv, char *ret_text, size_t cap_bytes);
/* How that run of the job ended, 0 the first, in Slurm's word, if it did and not well. patient: while it runs, or its
 * nodes are being freed, Slurm does not say it yet, and is asked again for a few seconds. */
bool queue_outcome(const char *job, unsigned long run, bool patient, char ret_state[32]);
