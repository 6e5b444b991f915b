/* stepdir.c - see stepdir.h. */
#include "collect/stepdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int join(char *ret_path, const char *dir, const char *name)
{
	int n = snprintf(ret_path, PATH_MAX, "%s/%s", dir, name);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int stepdir_layout(const char *stepdir, struct layout *ret_layout, struct error *e)
{
	struct error why;
	int fd = open(stepdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? fail(&why, -errno, "cannot open: %s", strerror(errno))
			: layout_read(fd, false, ret_layout, &why);
	if (fd >= 0)
		close(fd);
	return rc < 0 ? fail(e, rc, "%s: %s", stepdir, why.text) : 0;
}

bool stepdir_has(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	return join(path, dir, name) == 0 && lstat(path, &st) == 0;
}

bool stepdir_is_gone(const char *dir)
{
	struct stat st;
	return lstat(dir, &st) != 0 && errno == ENOENT;
}

int stepdir_mark(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	int rc = join(path, dir, name);
	if (rc < 0)
		return rc;
	unlink(path); /* not written through: it may be a second name of any file of its user */
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	rc = text != NULL && write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}
