/* finish.h - once a step: when its traces are complete, analyse them and leave a report beside
 * them. Run as the job's user by srun's and the epilog's side of the plugin, possibly by both:
 * whoever is first does it. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

#define FINISH_PROCESSES_MAX 32u /* more have nothing to do: shards of ranks, postproc/stream/team.h */

struct finish {
	const char *out; /* the step's output directory */
	/* All traces in it, into job.mpix and report.html there; an exit code of cli/cli.h. */
	int (*analyze)(const struct finish *f);
	/* The same by `processes` of the job around us, if they are 2 or more; -1: alone. Starts other programs. */
	int (*analyze_by_job)(const struct finish *f);
	/* Likewise, but only a report.html, from totals: quick, however many events. */
	int (*totals)(const struct finish *f);
	unsigned nodes;	    /* how many traces to expect, 0 = unknown */
	unsigned wait_s;    /* for traces that are not complete, and for another finisher */
	double give_way_s;  /* somebody else is expected to do it: begin when there is no report after so long */
	bool unattended;    /* nobody waits for it */
	bool queue;	    /* one that is left for later becomes a job */
	unsigned processes; /* of the job around us, or the one that is queued, that analyse; 0, 1: ourselves alone */
	double budget_s;    /* for the whole analysis: one that would take longer is left for later; 0: no bound */
};

enum finish_result {
	FINISH_DONE,	/* report and analysis are there, made now or before */
	FINISH_NOTHING, /* no process of the step used MPI; nothing is left */
	FINISH_PARTIAL, /* report is there, but something is missing in it */
	FINISH_BUSY,	/* another finisher still works on it */
	FINISH_LATER,	/* the traces are complete; the report would take longer than allowed */
	FINISH_QUEUED,	/* the same, and a job will make it */
	FINISH_STOPPED, /* by a signal; the traces are complete */
};

/* An enum finish_result, or -errno with text. What was done stands in out/log.txt. */
/* Append a line to log.txt in the step's directory. Fails silently. */
void finish_log(int dir_fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int finish_run(const struct finish *f, struct error *e);
