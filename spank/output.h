/* output.h - where a step's trace and report go: DIR/mpitrace-<job>[.<restart>]/step-<step>. */
#pragma once

#include "spank/request.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* DIR is out= of the request, else the job's submit directory; a relative out= counts from there. A directory of the
 * site's (r->site.place) counts instead, and is whole. 0; or -errno with text if there is no absolute DIR or the path
 * is too long or has control characters in it: the trace then stays in the node's spool. */
int output_path(const struct request *r, const char *submit_dir, uint32_t job_id, uint32_t restart, uint32_t step_id,
		char ret_path[PATH_MAX], struct error *e);

/* The value of SLURM_RESTART_COUNT; 0 for NULL and what is no number. */
uint32_t output_restart(const char *text);
