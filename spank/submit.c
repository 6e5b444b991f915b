/* submit.c - see submit.h. Runs inside srun as the user. srun makes the report when the allocation
 * is its own, so that the report is there when srun returns, or when somebody watches; else the
 * epilog does. Only a terminal is told where the report is: what a program's output is piped into
 * must not differ with --mpitrace. */
#include "spank/submit.h"
#include "spank/output.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FINISH_WAIT "10"    /* seconds for the agents to deliver */
#define FINISH_SECONDS 120u /* for all of it; then the epilog may have it */

static struct {
	bool own_allocation;
	bool wanted;
	uint32_t nnodes;
	char directory[PATH_MAX]; /* where srun was called */
	char out[PATH_MAX];
} local;

void submit_prepare(void)
{
	local.own_allocation = getenv("SLURM_JOB_ID") == NULL;
	if (getcwd(local.directory, sizeof(local.directory)) == NULL)
		local.directory[0] = '\0';
}

void submit_step_known(spank_t sp, const struct request *r)
{
	uint32_t job_id, step_id;
	const char *submit_dir = getenv("SLURM_SUBMIT_DIR"), *restart = getenv("SLURM_RESTART_COUNT");
	if (local.own_allocation || submit_dir == NULL)
		submit_dir = local.directory;
	local.wanted = r->report == REPORT_SRUN && (local.own_allocation || isatty(STDERR_FILENO)) &&
		       sl_number(sp, S_JOB_ID, &job_id) && sl_number(sp, S_JOB_STEPID, &step_id) &&
		       output_path(r, submit_dir, job_id, output_restart(restart), step_id, local.out);
	if (!local.wanted || !sl_number(sp, S_JOB_NNODES, &local.nnodes))
		local.nnodes = 0;
}

static void run_finisher(const struct config *c)
{
	char program[PATH_MAX + 16], nodes[16];
	snprintf(program, sizeof(program), "%s/mpitrace", c->bindir);
	snprintf(nodes, sizeof(nodes), "%u", local.nnodes);
	char *argv[] = {program, "finish", local.out, "--wait", FINISH_WAIT, "--nodes", nodes, NULL};
	if (local.nnodes == 0)
		argv[5] = NULL;
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	unsetenv("LD_PRELOAD");
	if (freopen("/dev/null", "r+", stdin) != NULL && dup2(0, 1) == 1 && dup2(0, 2) == 2)
		execv(program, argv);
	_exit(127);
}

/* True when the finisher ended well in time. */
static bool wait_for(pid_t pid)
{
	int status;
	struct timespec nap = {.tv_nsec = 10000000};
	for (unsigned i = 0; i < FINISH_SECONDS * 100; i++) {
		pid_t got = waitpid(pid, &status, WNOHANG);
		if (got == pid)
			return WIFEXITED(status) && WEXITSTATUS(status) != 127;
		if (got < 0 && errno != EINTR)
			return false;
		nanosleep(&nap, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return false;
}

static void print_report_path(void)
{
	char report[PATH_MAX + 16];
	snprintf(report, sizeof(report), "%s/report.html", local.out);
	if (isatty(STDERR_FILENO) && access(report, R_OK) == 0)
		fprintf(stderr, "mpitrace: %s\n", report);
}

void submit_finish(const struct config *c)
{
	if (!local.wanted)
		return;
	local.wanted = false;
	pid_t pid = fork();
	if (pid == 0)
		run_finisher(c);
	if (pid > 0 && wait_for(pid))
		print_report_path();
}
