/* atomic_file.c - see atomic_file.h. */
#include "base/atomic_file.h"

#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum target { TARGET_FILE, TARGET_DEVICE, TARGET_OTHER };

/* What a rename may replace is a file, or nothing yet. A device (/dev/null, a terminal, /dev/stdout on one) is
 * written to as it is: who is root would replace it by a file otherwise. */
static enum target target_of(const char *path)
{
	struct stat st;
	bool link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
	if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
		return TARGET_FILE;
	if (S_ISCHR(st.st_mode))
		return TARGET_DEVICE;
	return S_ISFIFO(st.st_mode) && !link ? TARGET_FILE : TARGET_OTHER; /* nobody waits for a reader */
}

/* What appears as it is written. fd: -1 with errno, or taken. */
static int open_at_once(struct atomic_file *ret_f, const char *name, int fd, const char *mode, struct error *e)
{
	struct atomic_file f = {.stream = fd >= 0 ? fdopen(fd, mode) : NULL};
	int code = -errno;
	if (f.stream != NULL && (f.path = strdup(name)) != NULL) {
		*ret_f = f;
		return 0;
	}
	if (f.stream != NULL) {
		fclose(f.stream);
		code = -ENOMEM;
	} else if (fd >= 0) {
		close(fd);
	}
	return fail(e, code, "%s: cannot open: %s", name, strerror(-code));
}

static int open_device(struct atomic_file *ret_f, const char *path, struct error *e)
{
	return open_at_once(ret_f, path, open(path, O_RDWR | O_CLOEXEC | O_NOCTTY), "w+", e);
}

/* "-" */
static int open_output(struct atomic_file *ret_f, struct error *e)
{
	return open_at_once(ret_f, "standard output", fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w", e);
}

/* Made and locked. Who sweeps in between takes it away: then once more. */
static int create(const char *name)
{
	struct stat st;
	for (;;) {
		int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0664);
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &st) != 0 || st.st_nlink > 0)
			return fd;
		close(fd);
	}
}

/* base.PID.tmp */
static bool is_temporary(const char *name, const char *base)
{
	size_t n = strlen(base), digits;
	if (strncmp(name, base, n) != 0 || name[n] != '.')
		return false;
	digits = strspn(name + n + 1, "0123456789");
	return digits > 0 && strcmp(name + n + 1 + digits, ".tmp") == 0;
}

void atomic_file_temporary(char *ret_name, size_t cap_bytes, const char *path)
{
	snprintf(ret_name, cap_bytes, "%s.%d.tmp", path, (int)getpid());
}

static void remove_dead(int dir_fd, const char *name)
{
	struct stat st;
	int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(dir_fd, name, 0);
	if (fd >= 0)
		close(fd);
}

void atomic_file_sweep(const char *path)
{
	const char *base = path_name(path);
	char *dir = base != path ? strndup(path, (size_t)(base - path)) : strdup(".");
	DIR *d = dir != NULL ? opendir(dir) : NULL;
	const struct dirent *entry;
	while (d != NULL && (entry = readdir(d)) != NULL)
		if (is_temporary(entry->d_name, base))
			remove_dead(dirfd(d), entry->d_name);
	if (d != NULL)
		closedir(d);
	free(dir);
}

/* Does what is there begin as a recording does, or as an analysed trace (format/)? Then it may have cost hours. */
static bool holds_trace(const char *path, bool analysed_may_go)
{
	static const char recording[] = "mpic\r\n\x1a\n", analysed[] = "\x89MPIX\r\n\x1a";
	char begins[8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool whole = fd >= 0 && read(fd, begins, sizeof(begins)) == (ssize_t)sizeof(begins);
	if (fd >= 0)
		close(fd);
	return whole && (memcmp(begins, recording, 8) == 0 || (!analysed_may_go && memcmp(begins, analysed, 8) == 0));
}

int atomic_file_open(struct atomic_file *ret_f, const char *path, struct error *e)
{
	if (target_of(path) == TARGET_FILE && strcmp(path, "-") != 0 && holds_trace(path, false))
		return fail(e, -EEXIST, "%s: is a trace: name another file to write", path);
	return atomic_file_open_trace(ret_f, path, e);
}

int atomic_file_open_trace(struct atomic_file *ret_f, const char *path, struct error *e)
{
	struct atomic_file f = {0};
	int fd = -1;
	enum target target = target_of(path);

	if (strcmp(path, "-") == 0)
		return open_output(ret_f, e);
	if (target == TARGET_DEVICE)
		return open_device(ret_f, path, e);
	if (target == TARGET_OTHER)
		return fail(e, -EINVAL, "%s: not a regular file; name a file, or one that does not exist yet", path);

	if (holds_trace(path, true))
		return fail(e, -EEXIST, "%s: is a recording: name another file to write", path);
	f.path = strdup(path);
	if (f.path == NULL || asprintf(&f.temporary, "%s.%d.tmp", path, (int)getpid()) < 0) {
		free(f.path);
		return fail(e, -ENOMEM, "%s: out of memory", path);
	}
	unlink(f.temporary); /* left by a process of the same pid that died */
	fd = create(f.temporary);
	if (fd >= 0)
		f.stream = fdopen(fd, "w+");
	if (f.stream == NULL) {
		int code = -errno;
		fail(e, code, "%s: cannot create: %s", f.temporary, strerror(-code));
		if (fd >= 0) {
			close(fd);
			unlink(f.temporary);
		}
		free(f.path);
		free(f.temporary);
		return code;
	}
	*ret_f = f;
	return 0;
}

int atomic_file_commit(struct atomic_file *f, struct error *e)
{
	int code = 0;
	if (ferror(f->stream))
		code = -EIO;
	if (fflush(f->stream) != 0 || (f->temporary != NULL && !f->unsynced && fsync(fileno(f->stream)) != 0))
		code = -errno;
	if (fclose(f->stream) != 0 && code == 0)
		code = -errno;
	f->stream = NULL;
	if (code == 0 && f->temporary != NULL && rename(f->temporary, f->path) != 0)
		code = -errno;
	if (code != 0)
		fail(e, code, "%s: cannot write: %s; nothing was left behind", f->path, strerror(-code));
	else {
		free(f->temporary);
		f->temporary = NULL;
	}
	atomic_file_abandon(f);
	return code;
}

void atomic_file_abandon(struct atomic_file *f)
{
	if (f->stream != NULL)
		fclose(f->stream);
	if (f->temporary != NULL)
		unlink(f->temporary);
	free(f->temporary);
	free(f->path);
	*f = (struct atomic_file){0};
}
