/* record.h - what Slurm knows of a step, into and out of its layout file (format/layout.h).
 * Written by slurmstepd as root, read by the agent and by the warden. */
#pragma once

#include "base/error.h"
#include "format/limits.h"
#include "spank/config.h"
#include "spank/output.h"

#include <sys/types.h>

struct record {
	uint32_t job_id, restart, step_id;
	uint32_t called; /* the job that the step is called by: another one in a heterogeneous job's later parts */
	uint32_t nodeid, nnodes, ntasks; /* nnodes and ntasks: 0 = unknown (a batch step) */
	const uint32_t *tasks;		 /* global ids of this node's tasks */
	uint32_t ntasks_here;
	uint32_t processes; /* that this node has to have room for; 0 = unknown */
	uid_t uid;
	gid_t gid;
	const gid_t *gids; /* supplementary */
	int ngids;
	const struct request *request;
	const struct config *config;
	bool srun_reports; /* the srun that made the step is there to make its report */
	const char *umask; /* octal, may be NULL */
	const char *out;   /* "" = keep the trace in the spool */
	const char *cluster, *node, *nodelist, *switches, *slurm, *submit; /* may be NULL */
	const char *loaded;						   /* LOADEDMODULES, may be NULL */
	char *const *argv;
	int argc;
};

/* Write the layout file under a temporary name and rename it. 0, or -errno with text. */
int record_write(int step_fd, const struct record *r, struct error *e);
