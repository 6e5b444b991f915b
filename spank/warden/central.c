/* central.c - see central.h. In: <directory>, root's alone, and in it a directory of each user's own.  Out: results
 * that are too old are gone; <directory>/.usage/<user>, by which the next step is bounded (spank/policy_directory.c).
 * Root reads and writes in its own two directories only. What is a user's, a child looks through that has become the
 * user: it can remove nothing that this user could not, whatever was renamed or linked meanwhile. */
#include "spank/warden/central.h"
#include "base/clock.h"
#include "spank/warden/child.h"
#include "spank/warden/remove.h"
#include "spank/warden/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define USER_SECONDS 60.0     /* to look through what one user has */
#define AGAIN_SECONDS 600     /* every node may sweep: one does */
#define DEPTH_MAX 16	      /* ours are 3 deep */
#define NOBODY ((gid_t)65534) /* no group's rights are needed to remove one's own */
#define DAY (24 * 3600)
#define NOTE_BYTES 64
#define AT_LEAST " at least" /* behind the number of a user of whose files not all could be counted */
#define NO_ROOM ": under a quota this user is not traced until they are\n"
#define NEW ".new-" /* what somebody was making: a directory of a user's (spank/policy_directory.c), or a note */

/* ---- the child, who is the user ---- */

struct account {
	uint64_t bytes;
	uint32_t removed, kept; /* results that are too old; kept: that could not be removed */
	bool partly;		/* there was no time for more: bytes is what was seen */
	bool hidden;		/* so is it where directories are too deep, closed, or file systems of their own */
};

struct scan {
	struct account account;
	time_t limit; /* older than that may go; 0: nothing */
	mode_t needs; /* of a directory, to do so */
	dev_t device;
	double end;
};

/* One directory and all below it. */
struct tree {
	time_t newest;	/* status change of a file: a time that its user cannot set back */
	uint64_t bytes; /* files only */
	bool is_result, emptied;
};

struct walk {
	struct scan *scan;
	struct tree tree;
	unsigned depth;
};

static bool is_trace(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot != NULL && (strcmp(dot, ".mpic") == 0 || strcmp(dot, ".mpix") == 0);
}

static int scan_entry(int dir_fd, const char *name, void *context);

static bool lacks(const struct scan *l, const struct stat *st)
{
	return (st->st_mode & l->needs) != l->needs;
}

/* One that its user has closed to themselves is opened to them: else it would be neither counted nor removed. -1 and
 * errno where it is not theirs, or what it holds is not to be counted here. */
static int open_directory(int dir_fd, const char *name, const struct stat *seen, const struct walk *w)
{
	struct stat st;
	const struct scan *l = w->scan;
	errno = EXDEV;
	if (w->depth > DEPTH_MAX)
		return -1;
	if (lacks(l, seen) && seen->st_dev == l->device)
		fchmodat(dir_fd, name, (seen->st_mode | l->needs) & 07777, AT_SYMLINK_NOFOLLOW);
	int fd = openat(dir_fd, name, OPEN_DIRECTORY);
	if (fd < 0 || (fstat(fd, &st) == 0 && st.st_dev == l->device))
		return fd;
	close(fd);
	errno = EXDEV;
	return -1;
}

/* True when it is gone. */
static bool remove_result(int dir_fd, const char *name, const struct walk *w)
{
	struct account *a = &w->scan->account;
	if (!w->tree.is_result || a->partly || w->tree.newest >= w->scan->limit)
		return false;
	bool gone = remove_tree(dir_fd, name) == 0;
	a->removed += gone;
	a->kept += !gone;
	return gone;
}

/* A directory in which traces lie is a result, with all that is below it. */
static void scan_directory(int dir_fd, const char *name, const struct stat *seen, struct walk *above)
{
	struct scan *l = above->scan;
	struct walk here = {.scan = l, .depth = above->depth + 1};
	int fd = open_directory(dir_fd, name, seen, &here);
	if (fd < 0) {
		l->account.hidden |= errno != ENOENT;
		return;
	}
	if (spool_each_hidden(fd, scan_entry, &here) < 0)
		l->account.hidden = true;
	close(fd);
	if (remove_result(dir_fd, name, &here)) {
		above->tree.emptied = true;
		return;
	}
	if (here.tree.emptied && unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
		above->tree.emptied = true;
	above->tree.bytes += here.tree.bytes;
	above->tree.newest = here.tree.newest > above->tree.newest ? here.tree.newest : above->tree.newest;
}

static int scan_entry(int dir_fd, const char *name, void *context)
{
	struct walk *w = context;
	struct stat st;
	w->scan->account.partly |= now_s() > w->scan->end;
	if (w->scan->account.partly)
		return 0;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		w->scan->account.hidden |= errno != ENOENT;
		return 0;
	}
	if (S_ISDIR(st.st_mode)) {
		scan_directory(dir_fd, name, &st, w);
		return 0;
	}
	w->tree.bytes += (uint64_t)st.st_blocks * 512;
	w->tree.newest = st.st_ctime > w->tree.newest ? st.st_ctime : w->tree.newest;
	w->tree.is_result |= S_ISREG(st.st_mode) && is_trace(name);
	return 0;
}

static void scan_as_user(int user_fd, int answer_fd, uid_t uid, time_t limit)
{
	enum { USER_FD = 3, ANSWER_FD };
	struct identity who = {.uid = uid, .gid = NOBODY};
	struct stat st;
	if (!detach_self((int[]){user_fd, answer_fd}, 2) || !become(&who) || fstat(USER_FD, &st) != 0)
		_exit(126);
	alarm((unsigned)USER_SECONDS * 2);
	struct scan l = {
		.limit = limit, .needs = limit > 0 ? 0700 : 0500, .device = st.st_dev, .end = now_s() + USER_SECONDS};
	struct walk top = {.scan = &l};
	if (lacks(&l, &st))
		fchmod(USER_FD, (st.st_mode | l.needs) & 07777);
	if (spool_each_hidden(USER_FD, scan_entry, &top) < 0)
		l.account.hidden = true;
	l.account.bytes = top.tree.bytes;
	_exit(write(ANSWER_FD, &l.account, sizeof(l.account)) == (ssize_t)sizeof(l.account) ? 0 : 1);
}

/* ---- root ---- */

struct sweep {
	const char *directory;
	int usage_fd;
	time_t limit;
	uint64_t retention_seconds, all_bytes;
};

static bool is_roots(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && st.st_uid == 0 && (st.st_mode & 022) == 0;
}

static bool ask_user(int user_fd, uid_t uid, time_t limit, struct account *ret_account)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return false;
	pid_t pid = fork();
	if (pid == 0)
		scan_as_user(user_fd, ends[1], uid, limit);
	close(ends[1]);
	int rc = pid > 0 ? child_wait(pid, 2 * USER_SECONDS) : -errno;
	bool told = rc == 0 && read(ends[0], ret_account, sizeof(*ret_account)) == (ssize_t)sizeof(*ret_account);
	close(ends[0]);
	return told;
}

static void note(const struct sweep *s, const char *name, uint64_t bytes, bool all)
{
	char text[NOTE_BYTES], temporary[300];
	int usage_fd = s->usage_fd,
	    n = snprintf(text, sizeof(text), "%llu%s\n", (unsigned long long)bytes, all ? "" : AT_LEAST);
	if (snprintf(temporary, sizeof(temporary), NEW "%s", name) >= (int)sizeof(temporary))
		return;
	unlinkat(usage_fd, temporary, 0);
	int fd = openat(usage_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	bool written = fd >= 0 && fchmod(fd, 0644) == 0 && write(fd, text, (size_t)n) == n;
	if (fd >= 0)
		close(fd);
	if (written && renameat(usage_fd, temporary, usage_fd, name) == 0)
		return;
	printf("%s/" CENTRAL_USAGE "/%s: %s: the number from before stays\n", s->directory, name, strerror(errno));
	unlinkat(usage_fd, temporary, 0);
}

/* Of a user who has no directory any more. */
static int forget_note(int usage_fd, const char *name, void *context)
{
	const int *directory_fd = context;
	struct stat st;
	if (strcmp(name, CENTRAL_ALL) != 0 && fstatat(*directory_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
	    errno == ENOENT)
		unlinkat(usage_fd, name, 0);
	return 0;
}

/* Of a step whose start was killed in between. */
static int forget_new(int directory_fd, const char *name, void *context)
{
	struct stat st;
	(void)context;
	if (strncmp(name, NEW, strlen(NEW)) == 0 && fstatat(directory_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    difftime(time(NULL), st.st_mtime) > DAY)
		unlinkat(directory_fd, name, AT_REMOVEDIR);
	return 0;
}

/* What a note says; *ret_all: that this is all there is. A user of whom nothing was counted yet has nothing; a note
 * that is not root's alone, or not to be read, says nothing. */
static uint64_t read_note(int directory_fd, const char *name, bool *ret_all)
{
	char text[NOTE_BYTES] = "", *end = text;
	struct stat st;
	uint64_t bytes = 0;
	int usage_fd = openat(directory_fd, CENTRAL_USAGE, OPEN_DIRECTORY), fd = -1;
	if (usage_fd >= 0)
		fd = openat(usage_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	*ret_all = fd < 0 && errno == ENOENT;
	if (fd >= 0 && is_roots(directory_fd) && is_roots(usage_fd) && is_roots(fd) && fstat(fd, &st) == 0 &&
	    S_ISREG(st.st_mode) && read(fd, text, sizeof(text) - 1) > 0) {
		bytes = strtoull(text, &end, 10);
		*ret_all = end > text && *end == '\n';
	}
	if (fd >= 0)
		close(fd);
	if (usage_fd >= 0)
		close(usage_fd);
	return bytes;
}

uint64_t central_usage(int directory_fd, const char *name)
{
	bool all;
	uint64_t bytes = read_note(directory_fd, name, &all);
	return all ? bytes : CENTRAL_UNKNOWN;
}

static void print_account(const struct sweep *s, const char *name, const struct account *a)
{
	double days = (double)s->retention_seconds / DAY;
	if (a->removed > 0)
		printf("%s/%s: %u results older than %.1f days removed\n", s->directory, name, a->removed, days);
	if (a->kept > 0)
		printf("%s/%s: %u results older than %.1f days could not be removed\n", s->directory, name, a->kept,
		       days);
	if (a->hidden)
		printf("%s/%s: directories closed to their user, deeper than %d levels or of another file system "
		       "could not be counted" NO_ROOM,
		       s->directory, name, DEPTH_MAX);
	if (a->partly)
		printf("%s/%s: more files than can be counted in %.0f s" NO_ROOM, s->directory, name, USER_SECONDS);
}

static int sweep_user(int directory_fd, const char *name, void *context)
{
	struct sweep *s = context;
	struct account a = {0};
	struct stat st;
	int fd = openat(directory_fd, name, OPEN_DIRECTORY);
	bool users = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid != 0, all = false;
	if (users && ask_user(fd, st.st_uid, s->limit, &a)) {
		all = !a.partly && !a.hidden;
		print_account(s, name, &a);
	} else if (users) {
		printf("%s/%s: could not be looked through as its user (%u)" NO_ROOM, s->directory, name, st.st_uid);
		a.bytes = read_note(directory_fd, name, &all);
		all = false;
	}
	if (users)
		note(s, name, a.bytes, all);
	if (fd >= 0)
		close(fd);
	s->all_bytes += a.bytes;
	return 0;
}

static bool was_just_done(int usage_fd)
{
	struct stat st;
	time_t now = time(NULL);
	return fstatat(usage_fd, CENTRAL_ALL, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime <= now &&
	       st.st_mtime > now - AGAIN_SECONDS;
}

static void sweep_users(int directory_fd, struct sweep *s)
{
	if (flock(s->usage_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return;
	if (was_just_done(s->usage_fd))
		return;
	spool_each(directory_fd, sweep_user, s);
	note(s, CENTRAL_ALL, s->all_bytes, true);
	spool_each_hidden(s->usage_fd, forget_note, &directory_fd);
	spool_each_hidden(directory_fd, forget_new, NULL);
	printf("%s: %.1f MB\n", s->directory, (double)s->all_bytes / 1e6);
}

void central_sweep(const char *directory, uint64_t retention_seconds)
{
	struct sweep s = {.directory = directory,
			  .retention_seconds = retention_seconds,
			  .limit = retention_seconds > 0 ? time(NULL) - (time_t)retention_seconds : 0};
	int fd = open(directory, OPEN_DIRECTORY);
	if (fd < 0 || !is_roots(fd)) {
		printf("%s: %s: not swept\n", directory,
		       fd < 0 ? strerror(errno) : "must belong to root and be writable by nobody else");
	} else if ((mkdirat(fd, CENTRAL_USAGE, 0755) != 0 && errno != EEXIST) ||
		   (s.usage_fd = openat(fd, CENTRAL_USAGE, OPEN_DIRECTORY)) < 0) {
		printf("%s/" CENTRAL_USAGE ": %s: not swept; a host where root may write there can do it\n", directory,
		       strerror(errno));
	} else {
		if (is_roots(s.usage_fd))
			sweep_users(fd, &s);
		close(s.usage_fd);
	}
	if (fd >= 0)
		close(fd);
}
