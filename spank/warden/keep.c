/* keep.c - see keep.h. What is read is the user's, so a child that has become the user reads it; what is written is
 * root's, and comes to the child as a descriptor. */
#include "spank/warden/keep.h"
#include "base/clock.h"
#include "spank/warden/child.h"
#include "spank/warden/quota.h"
#include "spank/warden/remove.h"
#include "spank/warden/spool.h"

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FILES_MAX 4096
#define BYTES_MAX (256ull << 20) /* of a step */
#define COPY_SECONDS 20.0
#define STEP_SECONDS 30.0

struct keep {
	int to_fd;
	const struct identity *who;
	unsigned files;
	uint64_t left_bytes;
	double end;  /* by then all is copied */
	bool missed; /* a trace was not */
};

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n > m && strcmp(name + n - m, suffix) == 0;
}

static int is_trace(int dir_fd, const char *name, void *context)
{
	(void)dir_fd, (void)context;
	return has_suffix(name, ".mpic") || has_suffix(name, ".mpit") || has_suffix(name, ".spill");
}

bool keep_is_needed(int step_fd)
{
	int fd = openat(step_fd, "ranks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool needed = fd >= 0 && spool_each(fd, is_trace, NULL) != 0;
	if (fd >= 0)
		close(fd);
	return needed;
}

/* acl(5), in the form of the extended attribute: the owner reads and writes, this user reads, nobody else. */
static void let_read(int fd, uid_t uid)
{
	struct {
		uint32_t version;
		struct {
			uint16_t tag, perm;
			uint32_t id;
		} entries[5];
	} acl = {2, {{0x01, 6, ~0u}, {0x02, 4, uid}, {0x04, 0, ~0u}, {0x10, 4, ~0u}, {0x20, 0, ~0u}}};
	if (fsetxattr(fd, "system.posix_acl_access", &acl, sizeof(acl), 0) != 0)
		fchmod(fd, 0600); /* then root hands it out */
}

/* In the child, which has nothing else of the warden's: neither its lock, nor a way to outlive its time. */
static void copy_as_user(int from_dir_fd, const char *name, int to_fd, const struct keep *k)
{
	enum { FROM_DIR_FD = 3, TO_FD };
	struct stat st;
	struct rlimit r = {k->left_bytes, k->left_bytes};
	if (!detach_self((int[]){from_dir_fd, to_fd}, 2) || setrlimit(RLIMIT_FSIZE, &r) != 0 || !become(k->who))
		_exit(126);
	alarm((unsigned)COPY_SECONDS);
	int from = openat(FROM_DIR_FD, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != k->who->uid ||
	    (uint64_t)st.st_size > k->left_bytes)
		_exit(1);
	while (sendfile(TO_FD, from, NULL, 1u << 20) > 0)
		;
	_exit(0);
}

static int keep_one(int dir_fd, const char *name, void *context)
{
	struct keep *k = context;
	struct stat st;
	if (!is_trace(dir_fd, name, NULL))
		return 0;
	int to = k->files++ < FILES_MAX && now_s() < k->end
			 ? openat(k->to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
			 : -1;
	k->missed |= to < 0;
	if (to < 0)
		return 0;
	pid_t pid = fork();
	if (pid == 0)
		copy_as_user(dir_fd, name, to, k);
	int rc = pid > 0 ? child_wait(pid, COPY_SECONDS) : -1;
	if (rc == 0 && fstat(to, &st) == 0) {
		k->left_bytes -= (uint64_t)st.st_size < k->left_bytes ? (uint64_t)st.st_size : k->left_bytes;
		let_read(to, k->who->uid);
	} else {
		unlinkat(k->to_fd, name, 0);
		k->missed = true;
	}
	close(to);
	return 0;
}

static const struct quota *const quota = &quotas[QUOTA_KEPT];

struct held {
	uint64_t sum_bytes;
	unsigned steps;
	int64_t since_ns; /* of the oldest step */
	char oldest[SPOOL_NAME_MAX * 2];
};

static int add_file(int dir_fd, const char *name, void *context)
{
	struct stat st;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*(uint64_t *)context += (uint64_t)st.st_blocks * 512;
	return 0;
}

static int add_step(int user_fd, const char *name, void *context)
{
	struct held *h = context;
	struct stat st;
	int fd = openat(user_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	spool_each(fd, add_file, &h->sum_bytes);
	h->steps++;
	int64_t since_ns = fstat(fd, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec : 0;
	if (h->oldest[0] == '\0' || since_ns < h->since_ns) {
		h->since_ns = since_ns;
		snprintf(h->oldest, sizeof(h->oldest), "%s", name);
	}
	close(fd);
	return 0;
}

static struct held held_by(int user_fd)
{
	struct held h = {.oldest = ""};
	spool_each(user_fd, add_step, &h);
	return h;
}

/* The user's own oldest steps go, until this one is within the user's bounds. */
static void make_place_of_own(int user_fd, uint64_t need_bytes, uint64_t most_bytes)
{
	struct held h;
	while (h = held_by(user_fd), h.steps > 0)
		if ((h.steps < quota->user.entries && h.sum_bytes + need_bytes <= most_bytes) ||
		    remove_tree(user_fd, h.oldest) != 0)
			return;
}

struct most {
	struct held held;
	char user[32];
	struct quota_use all;
};

static int find_largest(int kept_fd, const char *name, void *context)
{
	struct most *m = context;
	int fd = openat(kept_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	struct held h = held_by(fd);
	close(fd);
	m->all.bytes += h.sum_bytes;
	m->all.entries += h.steps;
	if (h.sum_bytes > m->held.sum_bytes && snprintf(m->user, sizeof(m->user), "%s", name) < (int)sizeof(m->user))
		m->held = h;
	return 0;
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* What may come to what all have. */
static uint64_t room_for_all(const struct statvfs *fs, const struct quota_use *all)
{
	uint64_t room = quota_room(quota, fs), bound = less(quota_bytes(&quota->all, fs), all->bytes);
	return all->entries >= quota->all.entries ? 0 : room < bound ? room : bound;
}

/* There is as much as there may be: who holds most of it gives their oldest. So whoever holds little never gives
 * anything for somebody who holds much. What there is room for then. */
static uint64_t make_place_of_all(int kept_fd, uint64_t need_bytes)
{
	struct statvfs fs;
	while (fstatvfs(kept_fd, &fs) == 0) {
		struct most m = {.user = ""};
		spool_each(kept_fd, find_largest, &m);
		uint64_t room_bytes = room_for_all(&fs, &m.all);
		int fd = room_bytes < need_bytes && m.user[0] != '\0'
				 ? openat(kept_fd, m.user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
				 : -1;
		int rc = fd >= 0 ? remove_tree(fd, m.held.oldest) : -1;
		if (fd >= 0)
			close(fd);
		if (rc != 0)
			return room_bytes;
	}
	return 0;
}

/* Steps that end at the same time make their places one after the other; so does the sweep. */
static bool lock_within(int fd, double seconds)
{
	double end = now_s() + seconds;
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (now_s() >= end)
			return false;
		poll(NULL, 0, 20);
	}
	return true;
}

static int add_trace(int dir_fd, const char *name, void *context)
{
	struct stat st;
	uint64_t *sum_bytes = context;
	if (is_trace(dir_fd, name, NULL) && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && (uint64_t)st.st_size <= BYTES_MAX) /* else it is not kept */
		*sum_bytes += (uint64_t)st.st_size;
	return 0;
}

/* The step's directory in kept/<uid>/, and how much of what lies in ranks_fd may come into it. */
static int make_place(int kept_fd, int ranks_fd, const char *name, struct keep *k)
{
	char user[32];
	struct statvfs fs;
	uint64_t need_bytes = 0;
	snprintf(user, sizeof(user), "%u", k->who->uid);
	int user_fd = fstatvfs(kept_fd, &fs) == 0 ? spool_make_directory(kept_fd, user, NULL) : -1;
	if (user_fd < 0)
		return -1;
	spool_each(ranks_fd, add_trace, &need_bytes);
	uint64_t users = quota_bytes(&quota->user, &fs), most = users < BYTES_MAX ? users : BYTES_MAX;
	uint64_t wants = need_bytes < most ? need_bytes : most;
	make_place_of_own(user_fd, wants, users);
	uint64_t room = make_place_of_all(kept_fd, wants);
	k->left_bytes = room < wants ? room : wants;
	int fd = room > 0 ? spool_make_directory(user_fd, name, NULL) : -1;
	close(user_fd);
	return fd;
}

static void forget_if_empty(int kept_fd, uid_t uid, const char *name)
{
	char path[SPOOL_NAME_MAX * 2 + 32];
	if (snprintf(path, sizeof(path), "%u/%s", uid, name) < (int)sizeof(path))
		unlinkat(kept_fd, path, AT_REMOVEDIR);
}

bool keep_traces(const char *spool, int step_fd, const char *name, const struct identity *who)
{
	if (!keep_is_needed(step_fd))
		return false;
	struct keep k = {.to_fd = -1, .who = who, .end = now_s() + STEP_SECONDS};
	int kept_fd = spool_open(spool, "kept", true, NULL);
	int ranks_fd = openat(step_fd, "ranks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (kept_fd >= 0 && ranks_fd >= 0 && lock_within(kept_fd, STEP_SECONDS)) {
		k.to_fd = make_place(kept_fd, ranks_fd, name, &k);
		if (k.to_fd >= 0)
			spool_each(ranks_fd, keep_one, &k);
		forget_if_empty(kept_fd, who->uid, name);
	}
	if (kept_fd >= 0 && (k.to_fd < 0 || k.missed))
		quota_refuse(QUOTA_KEPT, kept_fd);
	if (k.to_fd >= 0)
		close(k.to_fd);
	if (ranks_fd >= 0)
		close(ranks_fd);
	if (kept_fd >= 0)
		close(kept_fd);
	return true;
}
