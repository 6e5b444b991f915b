/* regular.c - see regular.h. */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int regular_open(const char *path, struct error *e)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fail(e, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return fail(e, -EINVAL, "%s: not a regular file", path);
}

FILE *regular_stream(const char *path, struct error *e)
{
	int fd = regular_open(path, e);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	int why = fd < 0 ? -fd : errno;
	if (f == NULL && fd >= 0) {
		close(fd);
		fail(e, -why, "%s: %s", path, strerror(why));
	}
	errno = why;
	return f;
}
