/* queue.c - see queue.h. In: the user's sbatch and environment.  Out: a job, whose working directory is the step's
 * results: so no name of the user's becomes a word of its script. */
#include "collect/queue.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_MS 250 /* before the first question more; each doubles it */
#define AGAIN_MS_MAX 2000
#define SBATCH_MS 3000		/* for the controller to answer */
#define ANALYSIS_MEM "1G"	/* a process: 256 ranks need a third of it (docs/PERFORMANCE.md) */
#define STATES_MAX (256u << 10) /* bytes of scontrol: a heterogeneous job has 128 parts (its MAX_HET_JOB_COMPS) */
#define WAIT_FOR_OTHERS "60"	/* a finisher that is at it just now */

static int make_script(unsigned processes, char *ret_script, size_t cap_bytes)
{
	char self[PATH_MAX];
	path_self(self, sizeof(self));
	if (self[0] == '\0' || strchr(self, '\'') != NULL)
		return -ENOENT;
	return (size_t)snprintf(ret_script, cap_bytes,
				"--wrap=exec '%s' finish \"$PWD\" --wait " WAIT_FOR_OTHERS " --processes %u", self,
				processes) < cap_bytes
		       ? 0
		       : -ENAMETOOLONG;
}

/* The child: its words, what it prints to answer_fd. */
static void run(const char *const *argv, int answer_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	setpgid(0, 0);
	if (null >= 0 && dup2(null, 0) == 0 && dup2(answer_fd, 1) == 1 && dup2(null, 2) == 2)
		execvp(argv[0], (char *const *)argv);
	_exit(127);
}

/* What it prints, up to its end; false when the time is over before. */
static bool read_answer(int fd, char *ret_text, size_t cap_bytes)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t used = 0;
	for (int left_ms = SBATCH_MS; left_ms > 0; left_ms -= 10) {
		if (poll(&p, 1, 10) <= 0)
			continue;
		ssize_t n = read(fd, ret_text + used, cap_bytes - 1 - used);
		used += n > 0 ? (size_t)n : 0;
		ret_text[used] = '\0';
		if (n <= 0 || used == cap_bytes - 1)
			return n == 0;
	}
	return false;
}

/* "4711", or "4711;cluster". */
static bool take_job(const char *text, char ret_job[QUEUE_JOB_MAX])
{
	size_t digits = strspn(text, "0123456789");
	snprintf(ret_job, QUEUE_JOB_MAX, "%.*s", (int)digits, text);
	return digits > 0 && digits < QUEUE_JOB_MAX;
}

int queue_ask(const char *const *argv, char *ret_text, size_t cap_bytes)
{
	int ends[2], status = -1;
	ret_text[0] = '\0';
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		run(argv, ends[1]);
	close(ends[1]);
	bool answered = pid > 0 && read_answer(ends[0], ret_text, cap_bytes);
	close(ends[0]);
	if (pid > 0 && !answered)
		kill(-pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!answered)
		return -ETIME;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EREMOTEIO;
}

/* The job around us says where its user may run; everything else is that of a new job. */
int queue_submit(const char *out, unsigned processes, char ret_job[QUEUE_JOB_MAX], struct error *e)
{
	char script[PATH_MAX + 128], text[256] = "", real[PATH_MAX], place[PATH_MAX + 16], partition[300], account[300],
				     tasks[32];
	const char *argv[16] = {"sbatch",
				"--parsable",
				"--export=NONE",
				"--mpitrace=off",
				tasks,
				processes > 1 ? "--mem-per-cpu=" ANALYSIS_MEM : "--mem=" ANALYSIS_MEM,
				"--job-name=mpitrace-finish",
				"--output=/dev/null"};
	int n = 8;
	if (realpath(out, real) == NULL)
		return fail(e, -errno, "%s: %s", out, strerror(errno));
	int rc = make_script(processes, script, sizeof(script));
	snprintf(tasks, sizeof(tasks), "--ntasks=%u", processes > 1 ? processes : 1);
	if (rc < 0)
		return fail(e, rc, "the place of mpitrace cannot be put into a script");
	snprintf(place, sizeof(place), "--chdir=%s", real);
	argv[n++] = place;
	if (getenv("SLURM_JOB_PARTITION") != NULL) {
		snprintf(partition, sizeof(partition), "--partition=%s", getenv("SLURM_JOB_PARTITION"));
		argv[n++] = partition;
	}
	if (getenv("SLURM_JOB_ACCOUNT") != NULL) {
		snprintf(account, sizeof(account), "--account=%s", getenv("SLURM_JOB_ACCOUNT"));
		argv[n++] = account;
	}
	argv[n++] = script;
	rc = queue_ask(argv, text, sizeof(text));
	if (rc == 0 && take_job(text, ret_job))
		return 0;
	return fail(e, rc == 0 ? -EREMOTEIO : rc, "sbatch %s",
		    rc == -ETIME ? "does not answer" : "does not take a job for it");
}

/* The value of a word of scontrol's line. */
static void take_word(const char *text, const char *name, char ret_value[32])
{
	const char *at = strstr(text, name);
	size_t len =
		at != NULL ? strspn(at + strlen(name), "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz") : 0;
	snprintf(ret_value, 32, "%.*s", (int)(len < 31 ? len : 31), at != NULL ? at + strlen(name) : "");
}

/* Of a line. 1: it ended so; 0: it ended well; -EAGAIN: its nodes are being freed, or it runs, which a script may
 * behind a step that failed, or for a moment until its srun knows. Once requeued, the line is of another run. */
static int state_of(const char *line, unsigned long run, char ret_state[32])
{
	static const char *const ends[] = {"FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED"};
	const char *restarts = strstr(line, " Restarts=");
	char reason[32];
	if (restarts != NULL && strtoul(restarts + strlen(" Restarts="), NULL, 10) > run) {
		snprintf(ret_state, 32, "REQUEUED");
		return 1;
	}
	take_word(line, " JobState=", ret_state);
	take_word(line, " Reason=", reason);
	if (strcmp(reason, "TimeLimit") == 0) /* also of a job whose nodes are being freed */
		snprintf(ret_state, 32, "TIMEOUT");
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(ret_state, ends[i]) == 0)
			return 1;
	return strcmp(ret_state, "COMPLETING") == 0 || strcmp(ret_state, "RUNNING") == 0 ? -EAGAIN : 0;
}

/* 0 also when nobody can be asked. A heterogeneous job has a line for each of its parts: that one failed says less than
 * what became of another, as that it was cancelled. */
static int ask_state(const char *job, unsigned long run, char ret_state[32])
{
	const char *argv[] = {"scontrol", "show", "job", "--oneliner", job, NULL};
	char text[STATES_MAX], state[32], *save = NULL;
	int found = 0;
	if (queue_ask(argv, text, sizeof(text)) < 0)
		return 0;
	for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		int now = state_of(line, run, state);
		if (now == 1 && (found != 1 || strcmp(ret_state, "FAILED") == 0))
			snprintf(ret_state, 32, "%s", state);
		found = now == 1 || found == 0 ? now : found;
	}
	return found;
}

bool queue_outcome(const char *job, unsigned long run, bool patient, char ret_state[32])
{
	int rc = ask_state(job, run, ret_state);
	for (long ms = AGAIN_MS; patient && rc == -EAGAIN && ms <= AGAIN_MS_MAX; ms *= 2) {
		nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
		rc = ask_state(job, run, ret_state);
	}
	return rc == 1;
}
