/* child.c - see child.h. */
#include "spank/warden/child.h"
#include "base/become.h"
#include "base/clock.h"
#include "spank/warden/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAP_TRIES 100 /* of 10 ms */
#define STOPS_MAX 100  /* whoever stops it more often wants it stopped */

bool program_is_trusted(const char *program)
{
	struct stat st;
	return stat(program, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 && (st.st_mode & 022) == 0 &&
	       (st.st_mode & 0100) != 0;
}

static void reset_signals(void)
{
	sigset_t none;
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		errno = 0; /* then it stays as it is: no reason to stop */
	close(fd);
}

/* keep[] becomes 3, 4, ... whatever numbers they have now. */
static bool arrange_descriptors(const int *keep, int nkeep)
{
	int high[CHILD_FDS_MAX];
	int null = open("/dev/null", O_RDWR);
	if (null < 0 || nkeep > CHILD_FDS_MAX)
		return false;
	for (int i = 0; i < nkeep; i++)
		if ((high[i] = fcntl(keep[i], F_DUPFD, 3 + CHILD_FDS_MAX)) < 0)
			return false;
	for (int low = 0; low < 3; low++)
		if (null != low && dup2(null, low) < 0)
			return false;
	for (int i = 0; i < nkeep; i++)
		if (dup2(high[i], 3 + i) < 0)
			return false;
	return syscall(SYS_close_range, 3u + (unsigned)nkeep, ~0u, 0) == 0;
}

bool detach_self(const int *keep, int nkeep)
{
	setsid();
	reset_signals();
	write_text("/proc/self/oom_score_adj", "0");
	umask(077);
	return arrange_descriptors(keep, nkeep) && chdir("/") == 0;
}

static void set_limits(const struct child *c)
{
	become_limited(RLIMIT_CORE, 0);
	become_limited(RLIMIT_MEMLOCK, 0);
	become_limited(RLIMIT_MSGQUEUE, 0);
	if (c->address_bytes > 0)
		become_limited(RLIMIT_AS, c->address_bytes);
	if (c->data_bytes > 0)
		become_limited(RLIMIT_DATA, c->data_bytes);
	if (c->cpu_seconds > 0)
		become_limited(RLIMIT_CPU, c->cpu_seconds);
	if (c->alone)
		become_limited(RLIMIT_NPROC, 0);
}

static void lower_priority(bool idle)
{
	struct sched_param p = {0};
	if (idle)
		sched_setscheduler(0, SCHED_IDLE, &p);
	setpriority(PRIO_PROCESS, 0, 19);
}

static void run(const struct child *c, const char *as)
{
	char *argv[CHILD_ARGS_MAX + 4] = {"mpitrace", "--as", (char *)as};
	for (int i = 0; i < CHILD_ARGS_MAX && c->args[i] != NULL; i++)
		argv[3 + i] = (char *)c->args[i];
	if (!detach_self(c->fds, c->nfds))
		_exit(126);
	if (c->nice || c->idle)
		lower_priority(c->idle);
	set_limits(c);
	execve(c->program, argv, environment_clean());
	_exit(127);
}

pid_t child_start(const struct child *c)
{
	char as[IDENTITY_TEXT_MAX];
	if (identity_format(c->who, as, sizeof(as)) < 0 || !program_is_trusted(c->program))
		return -EPERM;
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		run(c, as);
	return pid;
}

void child_kill(pid_t pid)
{
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL); /* it may not have had its session yet */
	for (int i = 0; i < REAP_TRIES && waitpid(pid, NULL, WNOHANG) == 0; i++)
		poll(NULL, 0, 10); /* one that waits for a dead file server ends when it likes */
	kill(-pid, SIGKILL);
}

void child_hurry(pid_t pid)
{
	struct sched_param none = {0};
	char path[64];
	sched_setscheduler(pid, SCHED_OTHER, &none);
	setpriority(PRIO_PROCESS, (id_t)pid, 0);
	snprintf(path, sizeof(path), "/proc/%d/autogroup", pid);
	write_text(path, "0");
}

int child_wait(pid_t pid, double seconds)
{
	double end = now_s() + seconds;
	int status, stops = 0;
	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG | WUNTRACED);
		if (got == pid && WIFSTOPPED(status) && stops++ < STOPS_MAX)
			kill(-pid, SIGCONT);
		else if (got == pid && !WIFSTOPPED(status))
			break;
		if (now_s() >= end) {
			child_kill(pid);
			return -ETIME;
		}
		poll(NULL, 0, seconds < 1 ? 1 : 5);
	}
	kill(-pid, SIGKILL); /* whom it left behind */
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}
