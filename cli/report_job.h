/* report_job.h - the page of all steps of a job. */
#pragma once

#include <stdbool.h>

/* `mpitrace report DIR`: write the page to path, or to index.html there if that is NULL; returns an exit code. */
int report_job(const char *dir, const char *path);
/* The same for a job that runs: only with two steps or more, and only now and then, so that all steps of a job together
 * cost no more than some pages; at_end: whenever the page does not hold all steps. A page that somebody else wrote is
 * left alone. */
int report_job_refresh(const char *dir, bool at_end);
/* A step is done: in a process of its own, which has little time. step_dir: .../mpitrace-<job>/step-<step>, else
 * nothing is done. at_end: no further step will come. */
void report_job_after(const char *step_dir, bool at_end);
