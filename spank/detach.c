/* detach.c - see detach.h. */
#include "spank/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool is_for_good(uid_t uid, gid_t gid)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;
	if (getresuid(&ruid, &euid, &suid) != 0 || getresgid(&rgid, &egid, &sgid) != 0)
		return false;
	if (ruid != uid || euid != uid || suid != uid || rgid != gid || egid != gid || sgid != gid)
		return false;
	return setresuid(0, 0, 0) != 0; /* must fail */
}

bool detach_become(const struct identity *who)
{
	if (who->uid == 0 || who->uid == (uid_t)-1)
		return false;
	if (setgroups((size_t)who->ngids, who->gids) != 0 || setresgid(who->gid, who->gid, who->gid) != 0 ||
	    setresuid(who->uid, who->uid, who->uid) != 0)
		return false;
	return is_for_good(who->uid, who->gid) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static void reset_signals(void)
{
	sigset_t none;
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void reset_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, "0", 1) != 1)
		errno = 0; /* then it keeps slurmd's score: no reason to stop */
	close(fd);
}

/* fd 0, 1, 2 become /dev/null, all others close. */
static bool drop_descriptors(void)
{
	int fd = open("/dev/null", O_RDWR);
	if (fd < 0)
		return false;
	for (int low = 0; low < 3; low++)
		if (fd != low && dup2(fd, low) < 0)
			return false;
	return close_range(3, ~0u, 0) == 0;
}

static bool cut_loose(void)
{
	setsid();
	reset_signals();
	reset_oom_score();
	umask(022);
	return drop_descriptors() && chdir("/") == 0;
}

static void be_quiet(void)
{
	struct sched_param p = {0};
	sched_setscheduler(0, SCHED_IDLE, &p);
	setpriority(PRIO_PROCESS, 0, 19);
}

/* Wait for the short-lived child between us and a detached process. */
static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The second fork: writes the pid into the pipe, then becomes the program. */
static void start_grandchild(char *const argv[], char *const envp[], const struct identity *who, int pipe_fd)
{
	setsid();
	pid_t pid = fork();
	if (pid != 0) {
		if (write(pipe_fd, &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		_exit(0);
	}
	if (!cut_loose())
		_exit(126);
	be_quiet();
	if (!detach_become(who))
		_exit(126);
	execve(argv[0], argv, envp);
	_exit(127);
}

pid_t detach_start(char *const argv[], char *const envp[], const struct identity *who)
{
	int ends[2];
	pid_t agent = -1;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	pid_t child = fork();
	if (child == 0)
		start_grandchild(argv, envp, who, ends[1]);
	close(ends[1]);
	bool received = child > 0 && read(ends[0], &agent, sizeof(agent)) == sizeof(agent);
	close(ends[0]);
	if (child > 0)
		reap(child);
	return received && agent > 0 ? agent : -EAGAIN;
}

int detach_fork(void)
{
	pid_t child = fork();
	if (child < 0)
		return -errno;
	if (child > 0) {
		reap(child);
		return 1;
	}
	/* Before the second fork: slurmd kills the process group of a prolog or epilog as soon as that ends. */
	setsid();
	if (fork() != 0)
		_exit(0);
	if (!cut_loose())
		_exit(126);
	return 0;
}

static int wait_until(pid_t pid, unsigned seconds)
{
	int status;
	struct timespec nap = {.tv_nsec = 20000000};
	for (unsigned long i = 0; i < seconds * 50ul; i++) {
		pid_t got = waitpid(pid, &status, WNOHANG);
		if (got == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
		if (got < 0 && errno != EINTR)
			return -errno;
		nanosleep(&nap, NULL);
	}
	kill(pid, SIGKILL);
	reap(pid);
	return -ETIME;
}

int detach_run(char *const argv[], char *const envp[], const struct identity *who, unsigned seconds)
{
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0)
		return wait_until(pid, seconds);
	be_quiet();
	if (!detach_become(who))
		_exit(126);
	execve(argv[0], argv, envp);
	_exit(127);
}
