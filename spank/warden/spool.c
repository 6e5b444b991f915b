/* spool.c - see spool.h. */
#include "spank/warden/spool.h"
#include "spank/warden/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define RUNS_MAX 10000u
#define ENDED "ended"
#define TASKS_UNKNOWN 64u /* so many are given room for when nobody knows */
#define NODE_SHARE 8	  /* an eighth of the memory */
#define INODES_PER_TASK 8u

void spool_step_name(uint32_t step_id, char ret_name[SPOOL_NAME_MAX])
{
	if (step_id == 0xfffffffbu) /* SLURM_BATCH_SCRIPT */
		snprintf(ret_name, SPOOL_NAME_MAX, "batch");
	else
		snprintf(ret_name, SPOOL_NAME_MAX, "%u", step_id);
}

bool spool_has(int dir_fd, const char *name)
{
	struct stat st;
	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

typedef int each_fn(int dir_fd, const char *name, void *context);

static bool is_visited(const char *name, bool hidden)
{
	return name[0] != '.' || (hidden && strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
}

static int each_of(int dir_fd, bool hidden, each_fn *each, void *context)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), kept = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	if (dir == NULL) {
		kept = -errno;
		if (fd >= 0)
			close(fd);
		return kept;
	}
	while ((errno = 0, entry = readdir(dir)) != NULL) {
		int rc = is_visited(entry->d_name, hidden) ? each(dir_fd, entry->d_name, context) : 0;
		kept = kept != 0 ? kept : rc;
	}
	kept = kept == 0 && errno != 0 ? -errno : kept;
	closedir(dir);
	return kept;
}

int spool_each(int dir_fd, each_fn *each, void *context)
{
	return each_of(dir_fd, false, each, context);
}

int spool_each_hidden(int dir_fd, each_fn *each, void *context)
{
	return each_of(dir_fd, true, each, context);
}

/* Open name below at_fd if it is a directory that only we may write. */
static int open_ours(int at_fd, const char *name, struct error *e)
{
	struct stat st;
	int fd = openat(at_fd, name, OPEN_DIRECTORY);
	if (fd < 0)
		return fail(e, -errno, "%s: cannot open it: %s", name, strerror(errno));
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 022) == 0)
		return fd;
	close(fd);
	return fail(e, -EPERM, "%s: must belong to root and be writable by nobody else", name);
}

int spool_make_directory(int at_fd, const char *name, struct error *e)
{
	if (mkdirat(at_fd, name, 0711) == 0) {
		int fd = open_ours(at_fd, name, e);
		if (fd >= 0)
			fchmod(fd, 0711); /* whatever the umask */
		return fd;
	}
	if (errno != EEXIST)
		return fail(e, -errno, "%s: cannot make it: %s", name, strerror(errno));
	return open_ours(at_fd, name, e);
}

int spool_open(const char *spool, const char *area, bool make, struct error *e)
{
	int spool_fd = make ? spool_make_directory(AT_FDCWD, spool, e) : open_ours(AT_FDCWD, spool, e);
	if (spool_fd < 0)
		return spool_fd;
	int fd = make ? spool_make_directory(spool_fd, area, e) : open_ours(spool_fd, area, e);
	close(spool_fd);
	return fd;
}

static int make_ranks(int step_fd, uid_t uid, gid_t gid, struct error *e)
{
	if (mkdirat(step_fd, "ranks", 0700) != 0)
		return fail(e, -errno, "ranks: cannot make it: %s", strerror(errno));
	int fd = openat(step_fd, "ranks", OPEN_DIRECTORY);
	int rc = fd < 0 || fchown(fd, uid, gid) != 0 || fchmod(fd, 0700) != 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return rc < 0 ? fail(e, rc, "ranks: cannot give it to user %u: %s", uid, strerror(-rc)) : 0;
}

/* The run of the job that goes on: the first that has not ended. */
static int open_run(int live_fd, uint32_t job_id, char ret_run[SPOOL_NAME_MAX], struct error *e)
{
	for (unsigned run = 0; run < RUNS_MAX; run++) {
		snprintf(ret_run, SPOOL_NAME_MAX, "%u.%u", job_id, run);
		int fd = spool_make_directory(live_fd, ret_run, e);
		if (fd < 0 || !spool_has(fd, ENDED))
			return fd;
		close(fd);
	}
	return fail(e, -EEXIST, "%u: more than %u runs of it lie here", job_id, RUNS_MAX);
}

void spool_end_run(int live_fd, const char *run)
{
	int fd = open_ours(live_fd, run, NULL);
	if (fd < 0)
		return;
	spool_mark(fd, ENDED);
	close(fd);
}

/* Somebody sees to what lies there: the slurmstepd that made it holds the directory, its warden a file (lock.h). */
static bool is_in_use(int step_fd)
{
	if (flock(step_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return true; /* before the other is tried: a warden that begins finds it free */
	int fd = openat(step_fd, "warden", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	bool in_use = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	if (fd >= 0)
		close(fd);
	return in_use;
}

/* Of an earlier job with this number, whose epilog never ran. */
static int forget_stale(int run_fd, const char *name, struct error *e)
{
	int fd = open_ours(run_fd, name, NULL);
	if (fd < 0)
		return 0;
	if (is_in_use(fd)) {
		close(fd);
		return fail(e, -EBUSY, "%s: another node records it in this spool; give each a spool of its own", name);
	}
	spool_unmount(fd);
	close(fd);
	remove_tree(run_fd, name);
	return 0;
}

/* Held, so that nobody takes it for stale, until the last who has it ends; by one at a time. */
static int make_held(int run_fd, const char *name, struct error *e)
{
	flock(run_fd, LOCK_EX);
	int rc = forget_stale(run_fd, name, e);
	int fd = rc < 0 ? rc : spool_make_directory(run_fd, name, e);
	if (fd >= 0)
		flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

int spool_make_step(int live_fd, uint32_t job_id, uint32_t step_id, uid_t uid, gid_t gid, char ret_run[SPOOL_NAME_MAX],
		    struct error *e)
{
	char step[SPOOL_NAME_MAX], name[SPOOL_NAME_MAX + 8];
	spool_step_name(step_id, step);
	snprintf(name, sizeof(name), "step-%s", step);
	int run_fd = open_run(live_fd, job_id, ret_run, e);
	if (run_fd < 0)
		return run_fd;
	int step_fd = make_held(run_fd, name, e);
	close(run_fd);
	if (step_fd < 0)
		return step_fd;
	int rc = make_ranks(step_fd, uid, gid, e);
	if (rc < 0)
		close(step_fd);
	return rc < 0 ? rc : step_fd;
}

/* ---- room ---- */

static int add_mount(int run_fd, const char *name, void *context)
{
	uint64_t *sum_bytes = context;
	char ranks[NAME_MAX + 16];
	struct stat here, there;
	struct statvfs fs;
	snprintf(ranks, sizeof(ranks), "%s/ranks", name);
	int fd = openat(run_fd, ranks, OPEN_DIRECTORY);
	if (fd < 0)
		return 0;
	if (fstat(run_fd, &here) == 0 && fstat(fd, &there) == 0 && here.st_dev != there.st_dev &&
	    fstatvfs(fd, &fs) == 0)
		*sum_bytes += (uint64_t)fs.f_blocks * fs.f_frsize;
	close(fd);
	return 0;
}

static int add_run(int live_fd, const char *name, void *context)
{
	int fd = openat(live_fd, name, OPEN_DIRECTORY);
	if (fd < 0)
		return 0;
	spool_each(fd, add_mount, context);
	close(fd);
	return 0;
}

static uint64_t memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 1ull << 30;
}

static uint64_t wanted_bytes(const struct spool_room *room, uint32_t ntasks)
{
	return room->step_bytes > 0 ? room->step_bytes : SPOOL_STEP_BYTES + ntasks * SPOOL_TASK_BYTES;
}

static int mount_on_ranks(int step_fd, uint64_t bytes, unsigned inodes, uid_t uid, gid_t gid)
{
	char target[64], options[160];
	int fd = openat(step_fd, "ranks", OPEN_DIRECTORY);
	if (fd < 0)
		return -errno;
	snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
	snprintf(options, sizeof(options), "mode=0700,uid=%u,gid=%u,size=%llu,nr_inodes=%u", uid, gid,
		 (unsigned long long)bytes, inodes);
	int rc = mount("mpitrace", target, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME, options) != 0
			 ? -errno
			 : 0;
	close(fd);
	return rc;
}

int spool_mount(const char *spool, int live_fd, int step_fd, const struct spool_room *room, uid_t uid, gid_t gid,
		uint64_t *ret_bytes, struct error *e)
{
	uint32_t ntasks = room->ntasks > 0 ? room->ntasks : TASKS_UNKNOWN;
	uint64_t used = 0, limit = room->node_bytes > 0 ? room->node_bytes : memory_bytes() / NODE_SHARE;
	int turn_fd = openat(live_fd, "../room", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (turn_fd >= 0)
		flock(turn_fd,
		      LOCK_EX); /* steps that begin at once would all see the same room; held for microseconds */
	spool_each(live_fd, add_run, &used);
	uint64_t left = limit > used ? (limit - used) / (room->share > 0 ? room->share : 1) : 0,
		 bytes = wanted_bytes(room, ntasks);
	bytes = bytes < left ? bytes : left;
	int rc = bytes < ntasks * SPOOL_LEAST_BYTES && bytes < wanted_bytes(room, ntasks) ? -ENOSPC : 0;
	if (rc == 0)
		rc = mount_on_ranks(step_fd, bytes, 256 + INODES_PER_TASK * ntasks, uid, gid);
	if (turn_fd >= 0)
		close(turn_fd);
	*ret_bytes = bytes;
	if (rc == -ENOSPC)
		return fail(e, -ENOSPC, "%s: other steps have %llu of the node's %llu MiB", spool,
			    (unsigned long long)used >> 20, (unsigned long long)limit >> 20);
	return rc < 0 ? fail(e, rc, "ranks: cannot mount a tmpfs on it: %s; spool_fs=none does without", strerror(-rc))
		      : 0;
}

void spool_unmount(int step_fd)
{
	char target[64];
	snprintf(target, sizeof(target), "/proc/self/fd/%d/ranks", step_fd);
	struct stat here, there;
	if (fstat(step_fd, &here) == 0 && fstatat(step_fd, "ranks", &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    here.st_dev != there.st_dev)
		umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW);
}

int spool_mark(int step_fd, const char *name)
{
	int fd = openat(step_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}
