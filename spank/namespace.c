/* namespace.c - see namespace.h. In: open_tree(2) as the step begins.  Out: move_mount(2) in its first task. */
#include "spank/namespace.h"
#include "spank/slurm.h"
#include "spank/warden/elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

int namespace_prepare(int step_fd)
{
	struct stat above, ranks;
	if (fstat(step_fd, &above) != 0 || fstatat(step_fd, "ranks", &ranks, AT_SYMLINK_NOFOLLOW) != 0 ||
	    above.st_dev == ranks.st_dev)
		return -1;
	return open_tree(step_fd, "ranks", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
}

static void hand_over(int warden_fd)
{
	int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !elsewhere_send(warden_fd, fd))
		sl_error("the step's file system stays mounted in the job's namespace until the job ends: %s",
			 strerror(errno));
	if (fd >= 0)
		close(fd);
}

void namespace_enter(int mount_fd, const char *dir, int warden_fd)
{
	char ranks[PATH_MAX + 8];
	struct stat here, there;
	if (mount_fd < 0 || fstat(mount_fd, &there) != 0)
		return;
	snprintf(ranks, sizeof(ranks), "%s/ranks", dir);
	/* Not there at all: then nothing is traced. There already: the same namespace, or a task before us. */
	if (lstat(ranks, &here) != 0 || !S_ISDIR(here.st_mode) || here.st_uid != 0 || here.st_dev == there.st_dev)
		return;
	if (move_mount(mount_fd, "", AT_FDCWD, ranks, MOVE_MOUNT_F_EMPTY_PATH) == 0)
		hand_over(warden_fd);
}
