/* lock.c - see lock.h. The file is root's, so the pid in it is to be believed while the lock is held. */
#include "warden/lock.h"
#include "warden/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static int try(int step_fd)
{
	char text[32];
	int fd = openat(step_fd, "warden", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		return -EBUSY;
	}
	int n = snprintf(text, sizeof(text), "%-10d\n", getpid());
	if (pwrite(fd, text, (size_t)n, 0) != n)
		errno = 0; /* a full disk: nobody can end us by it */
	return fd;
}

int lock_take(int step_fd, double seconds)
{
	double end = seconds_now() + seconds;
	int fd;
	while ((fd = try(step_fd)) == -EBUSY && seconds_now() < end)
		poll(NULL, 0, 20);
	return fd;
}

int lock_take_over(int step_fd, double seconds)
{
	char text[32] = "";
	int got = lock_take(step_fd, seconds);
	if (got != -EBUSY)
		return got;
	int fd = openat(step_fd, "warden", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && atoi(text) > 1)
		kill(atoi(text), SIGKILL);
	if (fd >= 0)
		close(fd);
	return lock_take(step_fd, 1);
}
