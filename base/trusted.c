/* trusted.c - see trusted.h. */
#include "base/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(const char *path, enum trusted how, struct error *e)
{
	if (how == TRUSTED_SECRET)
		return fail(e, -EPERM,
			    "%s: must be a file of root's or your own that others can neither read nor write: chmod "
			    "0600 (or 0640 for its group)",
			    path);
	return fail(e, -EPERM, "%s: must be a file of root's or your own that nobody else may write: chmod 0644", path);
}

int trusted_open(const char *path, enum trusted how, struct error *e)
{
	struct stat st;
	mode_t nobody = how == TRUSTED_SECRET ? S_IRWXO | S_IWGRP | S_IXGRP : S_IWGRP | S_IWOTH;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fail(e, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	    (st.st_mode & nobody) == 0)
		return fd;
	close(fd);
	return refuse(path, how, e);
}
