/* report_job.h - `mpitrace report DIR`: one page for all steps of a job. */
#pragma once

/* Of the directory mpitrace-<job> with its step-<step>; path NULL: DIR/index.html. An exit code of cli.h. */
int report_job(const char *dir, const char *path);
