/* capture.c - see capture.h. */
#include "cli/capture.h"

#include "base/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 10000

static void become(char *const words[], int out)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null >= 0)
		dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	execvp(words[0], words);
	_exit(127);
}

/* False: time is over. All is read, also what finds no room, so that nobody is stopped by a full pipe. */
static bool read_all(int fd, char *to, size_t size)
{
	char rest[4096];
	size_t n = 0;
	int64_t end_ms = now_ms() + PATIENCE_MS, left_ms;
	while ((left_ms = end_ms - now_ms()) > 0) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (poll(&p, 1, (int)left_ms) <= 0)
			continue;
		bool room = n + 1 < size;
		ssize_t got = read(fd, room ? to + n : rest, room ? size - 1 - n : sizeof(rest));
		if (got <= 0)
			return true;
		if (room) {
			n += (size_t)got;
			to[n] = '\0';
		}
	}
	return false;
}

int capture(char *const words[], char *to, size_t size)
{
	int fd[2], status = 0;
	to[0] = '\0';
	if (pipe2(fd, O_CLOEXEC) != 0)
		return -1;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		become(words, fd[1]);
	close(fd[1]);
	bool whole = pid > 0 && read_all(fd[0], to, size);
	close(fd[0]);
	if (pid > 0 && !whole)
		kill(pid, SIGKILL);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}
