/* teardown.h - the end of a step on its node: what was recorded is read, kept, reported; nothing of it stays.
 * Every part has a bound; together they end within SETTLE_SECONDS. */
#pragma once

#include "spank/warden/step_facts.h"

#include <stdbool.h>

#define SEAL_SECONDS 10.0     /* for an agent to read what is left */
#define TEARDOWN_SECONDS 60.0 /* all of it */

struct teardown {
	const char *spool;
	const char *program; /* mpitrace */
	const char *dir;     /* of the step */
	int step_fd;
	const struct step_facts *step_facts;
	double ran_seconds; /* the step, by our clock */
	bool job_is_over;   /* srun is gone as well: the report is the node's, whoever was to make it */
};

/* The site's policy is in this file, for reports from here on, instead of where Slurm's configuration says. */
void teardown_policy(const char *file);
/* Start the agent of a step, at idle priority while it runs. The pid, or -errno. */
int teardown_start_agent(const struct teardown *s, bool idle);
bool teardown_is_sealed(const struct teardown *s);
/* Everything that is left to do when the agent has ended or was ended. True: the directory is of no use any more. */
bool teardown_step(const struct teardown *s);
/* Take the directory of a step away: its file system, then its name in the run's directory, then that if it is
 * empty. */
void teardown_remove(int step_fd, const char *dir);
/* Make a step's report as its user within so many seconds, when others had theirs to do it: the exit code of
 * `mpitrace finish`. job_is_over: the page of all its steps is made whole as well. */
int teardown_report(const char *program, const struct step_facts *b, double seconds, double give_way_seconds, bool wait,
		    bool job_is_over);
