/* directories.c - see directories.h. */
#include "base/directories.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

int directories_make(const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, len + 1);
	for (char *p = part + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0777) != 0 && errno != EEXIST && errno != EACCES && errno != EROFS)
			return -errno;
		*p = '/';
	}
	return mkdir(part, 0777) != 0 && errno != EEXIST ? -errno : 0;
}
