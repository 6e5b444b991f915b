/* ask.c - see ask.h. The child's last byte is a '\0', by which an answer is known to be whole. */
#include "base/ask.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REAP_TRIES 100 /* of 1 ms: one that the kernel does not let go is left to it */

static bool listen_until(int fd, int64_t end_ms, size_t cap_bytes, struct buf *text)
{
	char part[4096];
	struct pollfd p = {.fd = fd, .events = POLLIN};
	for (size_t all = 0; all <= cap_bytes;) {
		int64_t left_ms = end_ms - now_ms();
		int ready = left_ms > 0 ? poll(&p, 1, (int)left_ms) : 0;
		if (ready < 0 && errno == EINTR)
			continue;
		ssize_t n = ready > 0 ? read(fd, part, sizeof(part)) : 0;
		if (n <= 0)
			return false;
		bool whole = part[n - 1] == '\0';
		buf_bytes(text, part, (size_t)n - whole);
		if (whole)
			return !buf_failed(text);
		all += (size_t)n;
	}
	return false;
}

static void end(pid_t pid, bool by_itself)
{
	if (!by_itself)
		kill(pid, SIGKILL);
	for (int i = 0; i < REAP_TRIES && waitpid(pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

bool ask_in_child(void (*answer)(const void *question, int fd), const void *question, unsigned deadline_ms,
		  size_t cap_bytes, struct buf *text)
{
	int ends[2];
	int64_t end_ms = now_ms() + deadline_ms;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_DFL); /* who is not listened to any more ends */
		answer(question, ends[1]);
		_exit(write(ends[1], "", 1) == 1 ? 0 : 1);
	}
	close(ends[1]);
	bool whole = pid > 0 && listen_until(ends[0], end_ms, cap_bytes, text);
	close(ends[0]);
	if (pid > 0)
		end(pid, whole);
	return whole;
}
