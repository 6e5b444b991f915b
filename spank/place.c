/* place.c - see place.h. */
#include "spank/place.h"
#include "base/ask.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK_MS 1000u
#define OWN_LEVELS 2 /* mpitrace-<job>/step-<step> */

struct question {
	const struct identity *who;
	const char *path;
};

/* The directory above; false when there is none. */
static bool climb(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash == NULL || slash[1] == '\0')
		return false;
	slash[slash == path] = '\0';
	return true;
}

static bool is_own(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && (st->st_mode & S_IWOTH) == 0;
}

/* From the step's directory up to the first that is there, and at least past those that must be the user's own. */
static void look(const char *path, int fd)
{
	char part[PATH_MAX];
	struct stat st;
	bool there = false;
	snprintf(part, sizeof(part), "%s", path);
	for (int level = 0; level < OWN_LEVELS || !there; level++) {
		int rc = level < OWN_LEVELS ? lstat(part, &st) : stat(part, &st);
		if (rc == 0 && level < OWN_LEVELS && !is_own(&st)) {
			dprintf(fd, "%s: belongs to somebody else, or all may write in it", part);
			return;
		}
		if (rc == 0 ? !there && access(part, W_OK | X_OK) != 0 : errno != ENOENT) {
			dprintf(fd, "%s: %s", part, strerror(errno));
			return;
		}
		there |= rc == 0;
		if (!climb(part))
			return;
	}
}

static void answer(const void *question, int fd)
{
	const struct question *q = question;
	if (!become(q->who))
		_exit(1);
	look(q->path, fd);
}

int place_check(const struct identity *who, const char *path, struct error *e)
{
	_cleanup_buf_ struct buf text = {0};
	struct question q = {who, path};
	bool whole = ask_in_child(answer, &q, CHECK_MS, PATH_MAX + 256, &text);
	buf_u8(&text, '\0');
	if (!whole || buf_failed(&text) || text.len_bytes == 1)
		return 0;
	return fail(e, -EACCES, "%s", (const char *)text.data);
}
