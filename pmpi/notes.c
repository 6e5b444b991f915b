/* notes.c - see notes.h. */
#include "pmpi/notes.h"

#include "format/limits.h"
#include "pmpi/lock.h"
#include "pmpi/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STREAMS 3
#define LOCK_TRIES 1000 /* somebody who keeps the lock must not keep the program */

/* What in glibc has a new name or version (fcntl64, and stat64 and the like of 2.33), which others do not have. */
static int descriptor_control(int fd, int command, long argument)
{
	return (int)syscall(SYS_fcntl, fd, command, argument);
}

static int status_of(int fd, struct stat *ret_st)
{
	return (int)syscall(SYS_fstat, fd, ret_st);
}

static int status_at(const char *path, struct stat *ret_st)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret_st, AT_SYMLINK_NOFOLLOW);
}

static bool has_dots(const char *dir)
{
	for (const char *p = strstr(dir, "/.."); p != NULL; p = strstr(p + 1, "/.."))
		if (p[3] == '/' || p[3] == '\0')
			return true;
	return false;
}

/* It is a directory of root's own, but no step's. */
static bool is_top(const char *dir)
{
	return dir[strspn(dir, "/.")] == '\0';
}

bool note_directory_is_ours(const char *dir)
{
	struct stat st;
	return dir[0] == '/' && !has_dots(dir) && !is_top(dir) && status_at(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Where the program has closed its standard streams a file would get the number of one, and what another thread of the
 * program writes there. Until the file has its number they are held by descriptors that refuse to be read or written,
 * as closed ones do (O_PATH in open(2)). */
static int open_above_streams(const char *path, int flags)
{
	int held[STREAMS], n = 0, above;
	while ((above = open("/", O_PATH | O_CLOEXEC)) >= 0 && above < STREAMS && n < STREAMS)
		held[n++] = above;
	if (above >= 0)
		close(above);
	int fd = open(path, flags, 0600), why = errno;
	if (fd >= 0 && fd < STREAMS) { /* the program has closed one meanwhile */
		above = descriptor_control(fd, F_DUPFD_CLOEXEC, STREAMS);
		why = errno;
		close(fd);
		fd = above;
	}
	while (n > 0)
		if ((descriptor_control(held[--n], F_GETFL, 0) & O_PATH) !=
		    0) /* the program may have put a file there meanwhile */
			close(held[n]);
	errno = why;
	return fd;
}

int note_open(const char *path, int flags, uid_t owner)
{
	struct stat st;
	/* a fifo in its place must not stop us */
	int fd = open_above_streams(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (status_of(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != owner || st.st_nlink != 1) {
		close(fd);
		errno = EACCES;
		return -1;
	}
	if ((flags & O_CREAT) != 0 && (st.st_mode & 0600) != 0600)
		(void)!fchmod(fd, 0600);
	return fd;
}

static int open_note(const char *name, int flags)
{
	char path[4096];
	const char *dir = setting("MPITRACE_DIR");
	int len = dir != NULL ? snprintf(path, sizeof(path), "%s/%s", dir, name) : -1;
	return len > 0 && len < (int)sizeof(path) && note_directory_is_ours(dir)
		       ? note_open(path, O_WRONLY | O_CREAT | flags, geteuid())
		       : -1;
}

bool note_fits_limit(uint64_t len_bytes)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || len_bytes <= limit.rlim_cur);
}

bool note_append(const char *name, size_t max_bytes, const char *line, size_t len_bytes)
{
	UNCANCELLED;
	struct stat st;
	bool whole = false;
	int before = errno, fd = open_note(name, O_APPEND);
	if (fd >= 0 && status_of(fd, &st) == 0 && (size_t)st.st_size + len_bytes <= max_bytes &&
	    note_fits_limit((uint64_t)st.st_size + len_bytes)) {
		whole = write(fd, line, len_bytes) == (ssize_t)len_bytes;
		if (!whole)
			(void)!ftruncate(fd, st.st_size);
	}
	if (fd >= 0)
		close(fd);
	errno = before;
	return whole;
}

/* A name takes no bytes of a file: where the program's limit of them leaves no room for one more. */
static void name_unsaid(void)
{
	char name[32];
	snprintf(name, sizeof(name), "unsaid.%d", (int)getpid());
	int fd = open_note(name, 0);
	if (fd >= 0)
		close(fd);
}

static void count_unsaid(void)
{
	struct stat st;
	bool fits = true;
	int before = errno, fd = open_note("unsaid", 0);
	for (int i = 0; i < LOCK_TRIES && fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++)
		sched_yield();
	if (fd >= 0 && status_of(fd, &st) == 0 && st.st_size < UNTRACED_UNSAID_MAX) {
		fits = note_fits_limit((uint64_t)st.st_size + 1);
		if (fits)
			(void)!ftruncate(fd, st.st_size + 1);
	}
	if (fd >= 0)
		close(fd);
	if (!fits)
		name_unsaid();
	errno = before;
}

void note_untraced(const char *kind, const char *before, const char *why)
{
	UNCANCELLED;
	char line[512];
	int len = snprintf(line, sizeof(line) - 1, "%d %s %s%s", (int)getpid(), kind, before, why);
	size_t n = len < 0 ? 0 : len < (int)sizeof(line) - 1 ? (size_t)len : sizeof(line) - 2;
	for (size_t i = 0; i < n; i++)
		line[i] = (unsigned char)line[i] < ' ' || line[i] == 127 ? '?' : line[i];
	line[n] = '\n';
	bool said = note_append("untraced", UNTRACED_BYTES_MAX, line, n + 1);
	if (!said && strcmp(kind, "failed") == 0) /* else it may have made no call */
		count_unsaid();
}
