/* remove.c - see remove.h. Each level is opened by O_NOFOLLOW relative to the one above, so
 * swapping a directory for a link while we work makes an open fail and nothing else. Runs when the
 * job's processes are gone, or might be. */
#include "spank/warden/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 200 /* ours are 4 deep; deeper ones are left and reported */

static int remove_at(int at_fd, const char *name, dev_t device, unsigned depth);

static int empty_directory(int fd, dev_t device, unsigned depth)
{
	int first = 0;
	const struct dirent *entry;
	DIR *dir = fdopendir(fd);
	if (dir == NULL) {
		first = -errno;
		close(fd);
		return first;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		int rc = remove_at(dirfd(dir), entry->d_name, device, depth + 1);
		first = first != 0 ? first : rc;
	}
	closedir(dir);
	return first;
}

static int remove_directory(int at_fd, const char *name, dev_t device, unsigned depth)
{
	struct stat st;
	int fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (depth >= DEPTH_MAX || fstat(fd, &st) != 0 || st.st_dev != device) {
		close(fd);
		return -EXDEV;
	}
	int rc = empty_directory(fd, device, depth);
	if (unlinkat(at_fd, name, AT_REMOVEDIR) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

/* A file by unlink; what unlink refuses as a directory, as one. Linux says EISDIR, POSIX allows
 * EPERM. */
static int remove_at(int at_fd, const char *name, dev_t device, unsigned depth)
{
	if (unlinkat(at_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return remove_directory(at_fd, name, device, depth);
}

int remove_tree(int at_fd, const char *name)
{
	struct stat st;
	if (fstat(at_fd, &st) != 0)
		return -errno;
	return remove_at(at_fd, name, st.st_dev, 0);
}
