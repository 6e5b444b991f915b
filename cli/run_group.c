/* run_group.c - see run_group.h. The member blocks all signals: what the group is sent is pending there, however
 * busy the machine is, and is read from /proc. Then it is told to take it, so that the next one can be told from
 * it. */
#include "cli/run_group.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TAKE SIGRTMIN	   /* the signal whose number comes with it */
#define SENT_NS 5000000	   /* a group's members are sent a signal one after the other */
#define TAKEN_MS 1000	   /* at most, on a busy machine */
#define MERGED_NS 10000000 /* what is sent again so soon may be one, as the kernel has it (signal(7)) */
#define STATUS_BYTES 4096  /* of proc_pid_status(5) */
#define SIGNALS 65

static pid_t member;
static int64_t had_ns[SIGNALS]; /* when the group last had it */

static void hold(pid_t parent)
{
	sigset_t take, taken;
	siginfo_t info;
	syscall(SYS_close_range, 0u, ~0u, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&take);
	sigaddset(&take, TAKE);
	while (getppid() == parent && (sigwaitinfo(&take, &info) == TAKE || errno == EINTR)) {
		sigemptyset(&taken);
		sigaddset(&taken, info.si_value.sival_int);
		sigtimedwait(&taken, &info, &(struct timespec){0});
	}
	_exit(0);
}

void run_group_begin(void)
{
	sigset_t all, before;
	pid_t parent = getpid();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	member = fork();
	if (member == 0)
		hold(parent);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

bool run_process_has(pid_t pid, const char *set, int signal_number)
{
	char path[32], key[16], text[STATUS_BYTES + 1];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	snprintf(key, sizeof(key), "\n%s:\t", set);
	int saved = errno, fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, STATUS_BYTES) : 0;
	if (fd >= 0)
		close(fd);
	errno = saved;
	text[n > 0 ? n : 0] = '\0';
	const char *at = strstr(text, key);
	return at != NULL && (strtoull(at + strlen(key), NULL, 16) >> (signal_number - 1) & 1) != 0;
}

static bool is_pending(int signal_number)
{
	return run_process_has(member, "ShdPnd", signal_number);
}

bool run_group_has(int signal_number)
{
	int saved = errno;
	int64_t heard_ns = now_ns();
	if (member > 0)
		nanosleep(&(struct timespec){.tv_nsec = SENT_NS}, NULL);
	bool has = member > 0 && is_pending(signal_number);
	if (has)
		sigqueue(member, TAKE, (union sigval){.sival_int = signal_number});
	for (int ms = 0; has && ms < TAKEN_MS && is_pending(signal_number); ms++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	int64_t before_ns = had_ns[signal_number];
	if (has)
		had_ns[signal_number] = now_ns();
	errno = saved;
	return has || (before_ns > 0 && heard_ns - before_ns < MERGED_NS);
}

void run_group_end(void)
{
	pid_t ended = member;
	member = 0;
	if (ended <= 0)
		return;
	kill(ended, SIGKILL);
	while (waitpid(ended, NULL, 0) < 0 && errno == EINTR)
		;
}
