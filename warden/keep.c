/* keep.c - see keep.h. What is read is the user's, so a child that has become the user reads it; what is written is
 * root's, and comes to the child as a descriptor. */
#include "warden/keep.h"
#include "warden/child.h"
#include "warden/spool.h"

#include <errno.h>
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
#include <unistd.h>

#define FILES_MAX 4096
#define BYTES_MAX (256ull << 20) /* of a step */
#define FREE_SHARE 10		 /* a tenth of the spool's file system stays free */
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

static void copy_as_user(int from_dir_fd, const char *name, int to_fd, const struct keep *k)
{
	struct stat st;
	struct rlimit r = {k->left_bytes, k->left_bytes};
	if (setrlimit(RLIMIT_FSIZE, &r) != 0 || !become(k->who))
		_exit(126);
	int from = openat(from_dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != k->who->uid ||
	    (uint64_t)st.st_size > k->left_bytes)
		_exit(1);
	while (sendfile(to_fd, from, NULL, 1u << 20) > 0)
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

bool keep_traces(const char *spool, int step_fd, const char *name, const struct identity *who)
{
	if (!keep_is_needed(step_fd))
		return false;
	int kept_fd = spool_open(spool, "kept", true, NULL);
	int ranks_fd = openat(step_fd, "ranks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct keep k = {.to_fd = -1, .who = who};
	if (kept_fd >= 0 && (mkdirat(kept_fd, name, 0711) == 0 || errno == EEXIST))
		k.to_fd = openat(kept_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (k.to_fd >= 0 && ranks_fd >= 0) {
		fchmod(k.to_fd, 0711);
		k.left_bytes = room_bytes(k.to_fd);
		spool_each(ranks_fd, keep_one, &k);
		close(k.to_fd);
		unlinkat(kept_fd, name, AT_REMOVEDIR); /* if nothing came of it */
	}
	if (ranks_fd >= 0)
		close(ranks_fd);
	if (kept_fd >= 0)
		close(kept_fd);
	return true;
}
