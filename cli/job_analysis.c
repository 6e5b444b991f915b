/* job_analysis.c - see job_analysis.h. In: srun and what it lists.  Out: a step of our own job. */
#include "cli/job_analysis.h"
#include "cli/capture.h"
#include "cli/cli.h"
#include "cli/cluster.h"

#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MAX 4096
#define WORD(text) ((char *)(text))

/* Types of --mpi= and the MPI whose processes find each other so. */
static const struct {
	const char *type, *mpi;
} ways[] = {{"pmix", "openmpi"}, {"pmi2", "mpich"}};

static bool is_listed(const char *answer, const char *type)
{
	char text[ANSWER_MAX], *save = NULL;
	snprintf(text, sizeof(text), "%s", answer);
	for (char *w = strtok_r(text, " \t\n,", &save); w != NULL; w = strtok_r(NULL, " \t\n,", &save))
		if (strcmp(w, type) == 0)
			return true;
	return false;
}

/* The exit code of the command, or -1. */
static int run(char *const words[])
{
	int status = -1;
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM); /* the step ends with whoever wants it */
		setenv("MPITRACE", "off", 1);	  /* it is no program of the user's */
		execvp(words[0], words);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int job_analysis(const char *out, const char *mpix, const char *report, unsigned processes)
{
	char self[PATH_MAX], answer[ANSWER_MAX] = "", number[16], type[32];
	char *words[] = {WORD("srun"),
			 WORD("--kill-on-bad-exit"),
			 WORD("--ntasks"),
			 number,
			 type,
			 self,
			 WORD("analyze"),
			 WORD("--mpi"),
			 WORD(out),
			 WORD("-o"),
			 WORD(mpix),
			 WORD("--report"),
			 WORD(report),
			 NULL};
	path_self(self, sizeof(self));
	if (processes < 2 || getenv("SLURM_JOB_ID") == NULL || self[0] == '\0' ||
	    capture((char *[]){WORD("srun"), WORD("--mpi=list"), NULL}, answer, sizeof(answer)) != 0)
		return -1;
	snprintf(number, sizeof(number), "%u", processes);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!is_listed(answer, ways[i].type) || !cluster_has(ways[i].mpi))
			continue;
		snprintf(type, sizeof(type), "--mpi=%s", ways[i].type);
		int code = run(words);
		if (code == EXIT_DONE || code == EXIT_PARTIAL) {
			printf("mpitrace finish: analysed by srun --ntasks %u %s\n", processes, type);
			return code;
		}
		fprintf(stderr,
			"mpitrace finish: %s: srun --ntasks %u %s cannot analyse it (exit code %d): one process does\n",
			out, processes, type, code);
	}
	return -1;
}
