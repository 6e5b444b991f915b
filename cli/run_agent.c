/* run_agent.c - the agent of `mpitrace run`: started before the program, waited for behind it, and not for ever. */
#include "cli/run.h"
#include "base/error.h"
#include "format/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AGENTS_MAX 3
#define PATIENCE_MS 300
#define HANGING_MS 60000 /* without processor time, which an agent at work needs */
#define DYING_MS 1000
#define NAP_MS 2

void run_agent_start(struct run *r)
{
	char watch[32];
	snprintf(watch, sizeof(watch), "%d", (int)getpid());
	char *const words[] = {r->self, WORD("collect"), r->stepdir, WORD("--watch"), watch, NULL};
	fflush(NULL);
	sigset_t told, before; /* it may be told that all is over before it listens */
	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	sigprocmask(SIG_BLOCK, &told, &before);
	r->agent = fork();
	if (r->agent == 0) {
		setsid();		  /* Ctrl-C is for the program */
		signal(SIGPIPE, SIG_IGN); /* nobody reads our words any more: no reason to record no more */
		execv(words[0], words);
		_exit(127);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Its file says so to whoever comes later, but cannot be made in every directory. */
static void signal_agent(const struct run *r)
{
	if (r->agent > 0)
		kill(r->agent, SIGUSR1);
}

static int64_t cpu_time_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec t;
	return clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &t) == 0
		       ? t.tv_sec * 1000000000ll + t.tv_nsec
		       : 0;
}

static bool is_idle_class(pid_t pid)
{
	siginfo_t info = {0};
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0 &&
	       sched_getscheduler(pid) == SCHED_IDLE;
}

/* Of a file whose name the program has removed nobody else ever sees the contents (proc(5), /proc/PID/fd). */
static bool has_unnamed(pid_t pid)
{
	static const char gone[] = SEGFILE_SUFFIX " (deleted)";
	char path[64], file[PATH_MAX];
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *d = opendir(path);
	const struct dirent *entry;
	bool found = false;
	while (d != NULL && !found && (entry = readdir(d)) != NULL) {
		ssize_t n = readlinkat(dirfd(d), entry->d_name, file, sizeof(file));
		size_t suffix = sizeof(gone) - 1;
		found = n > (ssize_t)suffix && memcmp(file + n - suffix, gone, suffix) == 0;
	}
	if (d != NULL)
		closedir(d);
	return found;
}

/* On a busy machine an agent of idle class may not get to see that all is over, and an ordinary user cannot raise
 * it (sched(7)): its successor never becomes idle. */
static void replace_when_starved(pid_t agent)
{
	for (;;) {
		int64_t before_ns = cpu_time_ns(agent);
		for (int ms = 0; ms < PATIENCE_MS; ms++) {
			if (!is_idle_class(agent))
				return;
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		}
		if (cpu_time_ns(agent) - before_ns < PATIENCE_MS * 1000000ll / 2)
			break;
	}
	if (!has_unnamed(agent))
		kill(agent, SIGKILL);
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = NAP_MS * 1000000}, NULL);
}

static bool is_over(pid_t agent, int *ret_status)
{
	pid_t got = waitpid(agent, ret_status, WNOHANG);
	return got == agent || (got < 0 && errno != EINTR);
}

enum end { END_GOOD, END_BAD, END_HANGS };

static enum end end_of(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? END_GOOD : END_BAD;
}

/* One that gets no further, as in a file system that does not answer, is ended; the kernel may not let go of it. */
static enum end wait_for(pid_t agent)
{
	int status = W_EXITCODE(1, 0);
	int64_t had_ns = cpu_time_ns(agent);
	for (int idle_ms = 0; idle_ms < HANGING_MS; idle_ms += NAP_MS) {
		if (is_over(agent, &status))
			return end_of(status);
		int64_t has_ns = cpu_time_ns(agent);
		if (has_ns != had_ns)
			idle_ms = 0;
		had_ns = has_ns;
		nap();
	}
	kill(agent, SIGKILL);
	for (int ms = 0; ms < DYING_MS; ms += NAP_MS, nap())
		if (is_over(agent, &status))
			return END_BAD;
	return END_HANGS;
}

/* An agent that was killed has a successor, which goes on where it stopped. */
static void wait_for_agents(struct run *r)
{
	char sealed[PATH_MAX + 16];
	enum end end = END_BAD;
	snprintf(sealed, sizeof(sealed), "%s/ranks/sealed", r->stepdir);
	if (r->agent > 0)
		replace_when_starved(r->agent);
	for (int i = 0; i < AGENTS_MAX && end == END_BAD; i++) {
		end = r->agent > 0 ? wait_for(r->agent) : END_BAD;
		r->agent_failed = end == END_BAD; /* a successor that ends well says nothing */
		if (end == END_BAD && access(sealed, F_OK) == 0)
			return;
		if (end == END_BAD && i + 1 < AGENTS_MAX) {
			run_agent_start(r);
			signal_agent(r);
		}
	}
	if (end == END_HANGS)
		print_plain("mpitrace run: %s: the file system does not answer for %d s: the trace may lack its end\n",
			    r->dir, HANGING_MS / 1000);
}

void run_agent_end(struct run *r)
{
	char path[PATH_MAX + 16];
	snprintf(path, sizeof(path), "%s/done", r->stepdir);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600); /* its name is enough */
	if (fd >= 0)
		close(fd);
	signal_agent(r);
	wait_for_agents(r);
}
