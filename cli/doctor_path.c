/* doctor_path.c - see doctor_path.h. In: modes of a path's components, each asked by itself.  Out: the first that is
 * wrong. */
#include "cli/doctor_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_WRITE 02u
#define GROUP_WRITE 020u

/* path, and all directories above it, from the root on: the first for which `wrong` has something to say. */
static bool each_component(const char *path, bool (*wrong)(const char *at, bool last, void *context), void *context)
{
	char at[PATH_MAX];
	size_t n = strlen(path);
	for (size_t i = 1; i <= n && n < sizeof(at); i++) {
		if (i < n && path[i] != '/')
			continue;
		snprintf(at, sizeof(at), "%.*s", (int)i, path);
		if (wrong(at, i == n, context))
			return true;
	}
	return false;
}

struct question {
	const char *path;
	enum path_use use;
	struct hindrance *h;
};

static const char *verb(mode_t needs, bool is_directory)
{
	return is_directory ? "entered" : needs == PATH_READ ? "read" : "run";
}

static bool denies(const struct stat *st, mode_t needs, const char *at, bool *ret_some)
{
	*ret_some = false;
	if (geteuid() != 0)
		return faccessat(AT_FDCWD, at, (int)needs, AT_EACCESS) != 0;
	*ret_some = (st->st_mode >> 3 & needs) == needs && st->st_gid != 0;
	return (st->st_mode & needs) != needs;
}

static bool is_closed(const char *at, bool last, void *context)
{
	const struct question *q = context;
	struct hindrance *h = q->h;
	struct stat st;
	if (stat(at, &st) != 0) {
		snprintf(h->what, sizeof(h->what), "%s %s%s", q->path,
			 errno == ENOENT ? "is not there" : "cannot be accessed: ",
			 errno == ENOENT ? "" : strerror(errno));
		h->next[0] = '\0';
		h->some = false;
		return true;
	}
	bool is_directory = !last || q->use == PATH_ENTER;
	mode_t needs = is_directory ? PATH_ENTER : (mode_t)q->use;
	if (!denies(&st, needs, at, &h->some))
		return false;
	snprintf(h->what, sizeof(h->what), "%s (mode %04o) cannot be %s by %s", at, (unsigned)st.st_mode & 07777u,
		 verb(needs, is_directory), h->some ? "users outside of its group" : "ordinary users");
	snprintf(h->next, sizeof(h->next), "chmod a+%s %s", needs == PATH_READ ? "r" : "rx", at);
	return true;
}

bool path_hinders(const char *path, enum path_use use, struct hindrance *ret_h)
{
	struct question q = {path, use, ret_h};
	char real[PATH_MAX];
	return each_component(path, is_closed, &q) ||
	       (realpath(path, real) != NULL && strcmp(real, path) != 0 && each_component(real, is_closed, &q));
}

/* A sticky directory lets nobody exchange what is another's. */
static bool is_writable(const char *at, bool last, void *context)
{
	struct hindrance *h = context;
	struct stat st;
	if (stat(at, &st) != 0 || (S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0))
		return false;
	if ((st.st_mode & OTHERS_WRITE) == 0 && ((st.st_mode & GROUP_WRITE) == 0 || (!last && st.st_gid == 0)))
		return false;
	snprintf(h->what, sizeof(h->what), "%s (mode %04o) is writable by others than root%s", at,
		 (unsigned)st.st_mode & 07777u, last ? "" : ", who could replace what is in it");
	snprintf(h->next, sizeof(h->next), "chmod go-w %s", at);
	h->some = false;
	return true;
}

bool path_is_writable(const char *path, struct hindrance *ret_h)
{
	char real[PATH_MAX];
	return each_component(path, is_writable, ret_h) ||
	       (realpath(path, real) != NULL && strcmp(real, path) != 0 && each_component(real, is_writable, ret_h));
}
