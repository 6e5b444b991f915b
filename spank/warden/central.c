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
#define NEW ".new-" /* what somebody was making: a directory of a user's (spank/policy_directory.c), or a note */

/* ---- the child, who is the user ---- */

struct account {
	uint64_t bytes;
	uint32_t removed;
	bool partly; /* there was no time for more: bytes is what was seen */
	bool deep;   /* so is it where directories are too deep */
};

struct look {
	struct account account;
	time_t limit; /* older than that may go; 0: nothing */
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
	struct look *look;
	struct tree tree;
	unsigned depth;
};

static bool is_trace(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot != NULL && (strcmp(dot, ".mpic") == 0 || strcmp(dot, ".mpix") == 0);
}

static int look_at(int dir_fd, const char *name, void *context);

/* A directory in which traces lie is a result, with all that is below it. */
static void look_into(int dir_fd, const char *name, struct walk *above)
{
	struct stat st;
	struct look *l = above->look;
	struct walk here = {.look = l, .depth = above->depth + 1};
	int fd = openat(dir_fd, name, OPEN_DIRECTORY);
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_dev != l->device || here.depth > DEPTH_MAX) {
		l->account.deep |= here.depth > DEPTH_MAX;
		if (fd >= 0)
			close(fd);
		return;
	}
	spool_each_hidden(fd, look_at, &here);
	close(fd);
	if (here.tree.is_result && !l->account.partly && here.tree.newest < l->limit &&
	    remove_tree(dir_fd, name) == 0) {
		l->account.removed++;
		above->tree.emptied = true;
		return;
	}
	if (here.tree.emptied && unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
		above->tree.emptied = true;
	above->tree.bytes += here.tree.bytes;
	above->tree.newest = here.tree.newest > above->tree.newest ? here.tree.newest : above->tree.newest;
}

static int look_at(int dir_fd, const char *name, void *context)
{
	struct walk *w = context;
	struct stat st;
	w->look->account.partly |= now_s() > w->look->end;
	if (w->look->account.partly || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	if (S_ISDIR(st.st_mode)) {
		look_into(dir_fd, name, w);
		return 0;
	}
	w->tree.bytes += (uint64_t)st.st_blocks * 512;
	w->tree.newest = st.st_ctime > w->tree.newest ? st.st_ctime : w->tree.newest;
	w->tree.is_result |= S_ISREG(st.st_mode) && is_trace(name);
	return 0;
}

static void look_as_user(int user_fd, int answer_fd, uid_t uid, time_t limit)
{
	enum { USER_FD = 3, ANSWER_FD };
	struct identity who = {.uid = uid, .gid = NOBODY};
	struct stat st;
	if (!detach_self((int[]){user_fd, answer_fd}, 2) || !become(&who) || fstat(USER_FD, &st) != 0)
		_exit(126);
	alarm((unsigned)USER_SECONDS * 2);
	struct look l = {.limit = limit, .device = st.st_dev, .end = now_s() + USER_SECONDS};
	struct walk top = {.look = &l};
	spool_each_hidden(USER_FD, look_at, &top);
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
		look_as_user(user_fd, ends[1], uid, limit);
	close(ends[1]);
	int rc = pid > 0 ? child_wait(pid, 2 * USER_SECONDS) : -errno;
	bool told = rc == 0 && read(ends[0], ret_account, sizeof(*ret_account)) == (ssize_t)sizeof(*ret_account);
	close(ends[0]);
	return told;
}

static void note(const struct sweep *s, const char *name, uint64_t bytes)
{
	char text[32], temporary[300];
	int usage_fd = s->usage_fd, n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)bytes);
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

static int sweep_user(int directory_fd, const char *name, void *context)
{
	struct sweep *s = context;
	struct account a = {0};
	struct stat st;
	int fd = openat(directory_fd, name, OPEN_DIRECTORY);
	bool users = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid != 0;
	if (users && ask_user(fd, st.st_uid, s->limit, &a)) {
		note(s, name, a.bytes);
		if (a.removed > 0)
			printf("%s/%s: %u results older than %.1f days removed\n", s->directory, name, a.removed,
			       (double)s->retention_seconds / DAY);
		if (a.partly || a.deep)
			printf("%s/%s: more than can be looked through: only a part was counted\n", s->directory, name);
	} else if (users) {
		printf("%s/%s: could not be looked through as its user (%u)\n", s->directory, name, st.st_uid);
		a.bytes = central_usage(directory_fd, name);
	}
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

uint64_t central_usage(int directory_fd, const char *name)
{
	char text[32] = "";
	struct stat st;
	uint64_t bytes = 0;
	int usage_fd = openat(directory_fd, CENTRAL_USAGE, OPEN_DIRECTORY);
	int fd = usage_fd >= 0 && is_roots(directory_fd) && is_roots(usage_fd)
			 ? openat(usage_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			 : -1;
	if (fd >= 0 && is_roots(fd) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    read(fd, text, sizeof(text) - 1) > 0)
		bytes = strtoull(text, NULL, 10);
	if (fd >= 0)
		close(fd);
	if (usage_fd >= 0)
		close(usage_fd);
	return bytes;
}

static void sweep_users(int directory_fd, struct sweep *s)
{
	if (flock(s->usage_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return;
	if (was_just_done(s->usage_fd))
		return;
	spool_each(directory_fd, sweep_user, s);
	note(s, CENTRAL_ALL, s->all_bytes);
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
