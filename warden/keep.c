/* keep.c - see keep.h. What is read is the user's, so a child that has become the user reads it; what is written is
 * root's, and comes to the child as a descriptor. */
#include "warden/keep.h"
#include "warden/child.h"
#include "warden/remove.h"
#include "warden/spool.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define FILES_MAX 4096
#define BYTES_MAX (256ull << 20)      /* of a step */
#define USER_BYTES_MAX (512ull << 20) /* of a user */
#define FREE_SHARE 10		      /* a tenth of the spool's file system stays free */
#define COPY_SECONDS 20.0

struct keep {
	int to_fd;
	const struct identity *who;
	unsigned files;
	uint64_t left_bytes;
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
	if (!is_trace(dir_fd, name, NULL) || k->files++ >= FILES_MAX)
		return 0;
	int to = openat(k->to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
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
	}
	close(to);
	return 0;
}

static uint64_t room_bytes(int fd)
{
	struct statvfs fs;
	if (fstatvfs(fd, &fs) != 0)
		return 0;
	uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize,
		 stays = (uint64_t)fs.f_blocks * fs.f_frsize / FREE_SHARE;
	uint64_t room = free_bytes > stays ? free_bytes - stays : 0;
	return room < BYTES_MAX ? room : BYTES_MAX;
}

struct oldest {
	uint64_t sum_bytes;
	time_t since;
	char name[SPOOL_NAME_MAX * 2];
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
	struct oldest *o = context;
	struct stat st;
	int fd = openat(user_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	spool_each(fd, add_file, &o->sum_bytes);
	if (fstat(fd, &st) == 0 && (o->name[0] == '\0' || st.st_mtime < o->since)) {
		o->since = st.st_mtime;
		snprintf(o->name, sizeof(o->name), "%s", name);
	}
	close(fd);
	return 0;
}

/* What is oldest of the user's goes, until one more step has its place. */
static void make_place(int user_fd)
{
	for (unsigned i = 0; i < FILES_MAX; i++) {
		struct oldest o = {.name = ""};
		spool_each(user_fd, add_step, &o);
		if (o.sum_bytes <= USER_BYTES_MAX - BYTES_MAX || o.name[0] == '\0' || remove_tree(user_fd, o.name) != 0)
			return;
	}
}

static int open_user(const char *spool, uid_t uid)
{
	char user[32];
	int kept_fd = spool_open(spool, "kept", true, NULL);
	snprintf(user, sizeof(user), "%u", uid);
	int fd = kept_fd >= 0 ? spool_make_directory(kept_fd, user, NULL) : -1;
	if (kept_fd >= 0)
		close(kept_fd);
	return fd;
}

bool keep_traces(const char *spool, int step_fd, const char *name, const struct identity *who)
{
	if (!keep_is_needed(step_fd))
		return false;
	struct keep k = {.to_fd = -1, .who = who};
	int user_fd = open_user(spool, who->uid);
	int ranks_fd = openat(step_fd, "ranks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (user_fd >= 0) {
		make_place(user_fd);
		k.to_fd = spool_make_directory(user_fd, name, NULL);
	}
	if (k.to_fd >= 0 && ranks_fd >= 0) {
		k.left_bytes = room_bytes(k.to_fd);
		spool_each(ranks_fd, keep_one, &k);
	}
	if (k.to_fd >= 0)
		close(k.to_fd);
	if (ranks_fd >= 0)
		close(ranks_fd);
	if (user_fd >= 0) {
		unlinkat(user_fd, name, AT_REMOVEDIR); /* if nothing came of it */
		close(user_fd);
	}
	return true;
}
