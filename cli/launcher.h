/* launcher.h - which command starts a program's ranks, and what was wrong when there is no trace. */
#pragma once

#include "cli/program_mpi.h"

#include <stdbool.h>

#define LAUNCHER_WORDS_MAX 256 /* in front of the program */

struct launcher {
	const char *program;		    /* as it was given */
	char path[PATH_MAX];		    /* the file */
	struct program_mpi mpi;		    /* not known without -n */
	char command[PATH_MAX];		    /* what starts ranks: words[0]; empty: the program is started itself */
	char mpi_option[32];		    /* srun's */
	const char *oversubscribe;	    /* its option for more ranks than slots; NULL: it needs none */
	bool by_plugin;			    /* srun has --mpitrace: it traces, on each node where it starts ranks */
	char plugin_option[PATH_MAX + 128]; /* by_plugin: for the caller to fill in before the command is started */
	char *args;			    /* words of --mpirun, cut up */
	char **words;
	unsigned nwords_before; /* those in front of the program */
	int watch;		/* inotify on the program's file, or -1 */
};

/* Find the program and, with ranks (not NULL), the launcher of its MPI library; words become the command line, with
 * the launcher's word for more ranks than slots when it is asked to oversubscribe.
 * What is not sure is said on standard error, errors too. 0, or the exit code of `mpitrace run`: 127 not found,
 * 126 cannot be run. */
int launcher_choose(struct launcher *l, const char *ranks, const char *args, bool oversubscribe, char **program);

/* From here on it is noticed when the program's file is opened, as an exec does; nothing of the program is touched. */
void launcher_watch(struct launcher *l);

/* No call of MPI was seen and the command ended with this code: say whether the launcher failed or the program is
 * not MPI. */
void launcher_explain(struct launcher *l, int code);

void launcher_done(struct launcher *l);
