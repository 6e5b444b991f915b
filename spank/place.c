/* place.c - see place.h. */
#include "spank/place.h"
#include "base/ask.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK_MS 1000u
#define OWN_LEVELS 2 /* mpitrace-<job>/step-<step> */

struct question {
	const struct identity *who;
	const char *path;
	bool tries;
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

static void say(int fd, const char *path, const char *why)
{
	dprintf(fd, "%s: %s", path, why);
}

/* What a file system that is full, or makes no directories, only says when asked. */
static void try_in(const char *dir, int fd)
{
	char name[PATH_MAX];
	if (snprintf(name, sizeof(name), "%s/.mpitrace-XXXXXX", dir) >= (int)sizeof(name))
		return;
	if (mkdtemp(name) == NULL)
		say(fd, dir, strerror(errno));
	else
		rmdir(name);
}

/* Where a name is that leads nowhere, none can be made. */
static const char *in_the_way(const char *path, bool is_there, bool is_first)
{
	struct stat st;
	if (is_there)
		return is_first && access(path, W_OK | X_OK) != 0 ? strerror(errno) : NULL;
	if (errno != ENOENT)
		return strerror(errno);
	return lstat(path, &st) == 0 ? "a link to what is not there" : NULL;
}

/* From the step's directory up to the first that is there, and at least past those that must be the user's own. */
static void probe_path(const char *path, bool tries, int fd)
{
	char part[PATH_MAX];
	struct stat st;
	bool there = false;
	snprintf(part, sizeof(part), "%s", path);
	for (int level = 0; level < OWN_LEVELS || !there; level++) {
		bool own = level < OWN_LEVELS, found = (own ? lstat(part, &st) : stat(part, &st)) == 0;
		const char *why = in_the_way(part, found, !there);
		if (found && own && !is_own(&st))
			why = "belongs to somebody else, or all may write in it";
		if (why != NULL) {
			say(fd, part, why);
			return;
		}
		if (found && !there && tries)
			try_in(part, fd);
		there |= found;
		if (!climb(part))
			return;
	}
}

static void answer(const void *question, int fd)
{
	const struct question *q = question;
	if (q->who != NULL && !become(q->who))
		_exit(1);
	probe_path(q->path, q->tries, fd);
}

int place_check(const struct identity *who, const char *path, bool tries, struct error *e)
{
	_cleanup_buf_ struct buf text = {0};
	struct question q = {who, path, tries};
	bool whole = ask_in_child(answer, &q, CHECK_MS, PATH_MAX + 256, &text);
	buf_u8(&text, '\0');
	if (!whole || buf_failed(&text) || text.len_bytes == 1)
		return 0;
	return fail(e, -EACCES, "%s", (const char *)text.data);
}
