/* run.h - `mpitrace run`: a program between its command line and its files (cmd_run.c), who records beside it
 * (run_agent.c), which signals it has already (run_group.c), and what becomes of what was recorded (run_results.c). */
#pragma once

#include "cli/launcher.h"
#include "spank/request.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define WORD(text) ((char *)(uintptr_t)(text))

#define RUN_RESULT_MAX (PATH_MAX + 2 * NAME_MAX + 16)

struct run {
	const char *ranks, *mpirun_args;
	bool oversubscribe;
	struct request request;
	char **program;
	char name[NAME_MAX];	/* of the files */
	char dir[PATH_MAX];	/* absolute out */
	char stepdir[PATH_MAX]; /* private, removed at the end */
	char self[PATH_MAX];
	char mpix[RUN_RESULT_MAX], html[RUN_RESULT_MAX]; /* where they are put; "": nowhere yet */
	pid_t agent;
	bool agent_failed; /* the last of them, with a line on standard error if it could say so */
	struct launcher launcher;
};

/* ---- run_process.c ---- */

/* Comes back only where that cannot be, with the exit code that a shell has for it. */
int run_become(char *const words[]);
/* A child that becomes this program; its wait status, and its exit code as a shell has it, once it is over. */
pid_t run_start(char *const words[]);
int run_wait_status(pid_t pid);
int run_code_of(int status);
int run_wait(pid_t pid);

/* ---- run_agent.c ---- */

void run_agent_start(struct run *r);
/* All has ended that it records: wait until it has written what there is. One that hangs is given up after a minute,
 * with a line on standard error. */
void run_agent_end(struct run *r);

/* ---- run_results.c ---- */

/* Analyse what was recorded, or say why nothing was. */
void run_finish(struct run *r, int program_code);
/* The same of what srun --mpitrace leaves beneath the step directory; its files are put where other runs have them.
 * signal: the first that was to end the program; 0: none. */
void run_finish_step(struct run *r, int program_code, int signal);
