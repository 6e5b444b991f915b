/* permissions.c - see permissions.h. */
#include "collect/permissions.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files made in it later then have the group as well (setgid). */
static void share_directory(const char *path, gid_t group)
{
	char dir[PATH_MAX];
	struct stat st;
	const char *slash = strrchr(path, '/');
	if (slash == NULL || slash - path >= (long)sizeof(dir))
		return;
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	if (lstat(dir, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_gid == group)
		return; /* inherited: a chmod(2) by one who is no member would take setgid away */
	if (lchown(dir, (uid_t)-1, group) == 0)
		chmod(dir, (st.st_mode & 0777) | S_ISGID);
}

void permissions_share(const struct layout *l, const char *path)
{
	uint64_t group = layout_number(l, LAYOUT_READERS, UINT64_MAX);
	if (path == NULL || group >= UINT32_MAX)
		return;
	share_directory(path, (gid_t)group);
	if (lchown(path, (uid_t)-1, (gid_t)group) != 0)
		return; /* no member of it: the directory's group stays */
}
