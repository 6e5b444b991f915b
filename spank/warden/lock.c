/* lock.c - see lock.h. The file is root's, so the pid in it is to be believed while the lock is held. */
#include "spank/warden/lock.h"
#include "base/clock.h"
#include "spank/warden/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
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
	double end = now_s() + seconds;
	int fd;
	while ((fd = try(step_fd)) == -EBUSY && now_s() < end)
		poll(NULL, 0, 20);
	return fd;
}

/* The number in the file is the holder's; asked all the same, for it can be that of one whose word found no room. */
static bool is_warden(pid_t pid)
{
	char path[64], text[32] = "";
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == 0 && read(fd, text, sizeof(text) - 1) > 0 &&
		  strcmp(text, "mpitrace-warden\n") == 0;
	if (fd >= 0)
		close(fd);
	return is;
}

static void signal_holder(int step_fd, int number)
{
	char text[32] = "";
	int fd = openat(step_fd, "warden", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && atoi(text) > 1 && is_warden(atoi(text)))
		kill(atoi(text), number);
	if (fd >= 0)
		close(fd);
}

int lock_take_over(int step_fd, double seconds)
{
	double end = now_s() + seconds;
	int fd = lock_take(step_fd, 0);
	while (fd == -EBUSY && now_s() < end) {
		signal_holder(step_fd, SIGCONT); /* one that is stopped would hold it to the end */
		fd = lock_take(step_fd, 1);
	}
	if (fd != -EBUSY)
		return fd;
	signal_holder(step_fd, SIGKILL);
	return lock_take(step_fd, 1);
}
