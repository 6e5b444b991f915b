/* postproc.h - from the .mpic files of a step to its analysis and its .mpix. What `mpitrace
 * analyze` calls. */
#pragma once

#include "base/peers.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct postproc_result {
	char *json;	   /* the analysis object (schema "mpitrace/analysis/1"); the caller frees it */
	bool complete;	   /* false: something is missing; coverage.reasons says what */
	bool lost;	   /* more is missing than the ends of ranks that died */
	char policy[1024]; /* job.policy: what the site decided; "" without one */
};

/* paths: .mpic files and directories that hold some; all of one step. mpix_path: where to write the
 * .mpix, or NULL. nthreads: for reading, at least 1. 0, or -errno with text: -ENOENT nothing to
 * read, -EBADMSG damaged or not .mpic, -EINVAL files of different steps, else what the system said.
 * Nothing is left behind on failure. */
int postproc_analyze(char *const *paths, size_t npaths, const char *mpix_path, unsigned nthreads,
		     struct postproc_result *ret_result, struct error *e);

/* The same by several processes together, each of which calls it with the same paths (postproc/stream/team.h): process
 * 0 has the result and writes; the others have an empty one. All fail if one does, and peers->over says so then. */
int postproc_analyze_by(struct peers *peers, char *const *paths, size_t npaths, const char *mpix_path,
			unsigned nthreads, struct postproc_result *ret_result, struct error *e);

/* The same from totals, definitions and what nodes and processes say of themselves, without a look at the events and as
 * quick for a long run as for a short one: what only events tell is not in the object, and coverage.mode is "totals".
 * result.complete: nothing is missing but that. Files that cannot be read are left out, with a reason. */
int postproc_totals(char *const *paths, size_t npaths, unsigned nthreads, struct postproc_result *ret_result,
		    struct error *e);

/* Only what the parts "topology" and "job" say of the files: no events are read, so it takes no longer for a long run.
 * {"job", "topology"} as JSON; the caller frees it. */
int postproc_topology(char *const *paths, size_t npaths, char **ret_json, struct error *e);
