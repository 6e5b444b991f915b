/* job.h - one page for all steps of a job: what they cost together, which of them to open.
 * In: the analyses of steps, one after the other.  Out: a page like that of a step, with links to those. */
#pragma once

#include "base/error.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdio.h>

#define JOB_STEPS_MAX 100000u
#define HTML_JOB_STEPS "data-steps=\"" /* in the page, behind it the number of its steps */

/* What is kept of one step. */
struct job_step {
	char *name, *program, *issue; /* issue: the first one; NULL: none, or no trace */
	char *link;		      /* of its page, relative to that of the job; NULL: it has none */
	double ranks, runtime_s;      /* NAN: not known */
	double total_s, useful_s, mpi_s, wait_s;
	double loss_s, parallel;
	bool known, partial, waits_known, waits_at_least;
	int severity;
};

struct job_steps {
	VEC(struct job_step) list;
};

/* Add a step; analysis_json NULL: it has no trace. 0, -ENOMEM, or -E2BIG behind JOB_STEPS_MAX. */
int job_add(struct job_steps *all, const char *name, const char *link, const char *analysis_json);
/* Write the page to out (not closed), which knows whether it could be written. */
void html_job(struct job_steps *all, const char *title, FILE *out);
void job_done(struct job_steps *all);
