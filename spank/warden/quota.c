/* quota.c - see quota.h. */
#include "spank/warden/quota.h"
#include "spank/warden/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define REFUSED "../refused." /* beside the area */
#define HEAD_BYTES 8192u      /* of a record, in which its user is named: the first lines */

const struct quota quotas[QUOTA_AREAS] = {
#define QUOTA_ROW(id, directory, user_bytes, user_part, user_entries, all_bytes, all_part, all_entries, free_bytes, \
		  free_part, age) \
	[QUOTA_##id] = {directory, \
			{user_bytes, user_part, user_entries}, \
			{all_bytes, all_part, all_entries}, \
			free_bytes, \
			free_part, \
			age},
	QUOTA_TABLE(QUOTA_ROW)
#undef QUOTA_ROW
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t part_of(const struct statvfs *fs, unsigned part)
{
	return (uint64_t)fs->f_blocks * fs->f_frsize / part;
}

uint64_t quota_bytes(const struct quota_bound *b, const struct statvfs *fs)
{
	return least(b->bytes, part_of(fs, b->part));
}

uint64_t quota_room(const struct quota *q, const struct statvfs *fs)
{
	uint64_t free_bytes = (uint64_t)fs->f_bavail * fs->f_frsize;
	uint64_t stays = least(q->free_bytes, part_of(fs, q->free_part));
	if (fs->f_files > 0 && fs->f_favail < fs->f_files / q->free_part)
		return 0;
	return free_bytes > stays ? free_bytes - stays : 0;
}

/* ---- who has what ---- */

struct count {
	uid_t uid;
	struct quota_use *user, *all;
};

/* Its number, or -1: then it is nobody's and counts for all. */
static uid_t user_of(int fd)
{
	char head[HEAD_BYTES + 1] = "\n";
	ssize_t n = pread(fd, head + 1, HEAD_BYTES - 1, 0);
	head[n > 0 ? n + 1 : 1] = '\0';
	const char *line = strstr(head, "\nuid=");
	return line != NULL ? (uid_t)strtoul(line + 5, NULL, 10) : (uid_t)-1;
}

static int count_file(int dir_fd, const char *name, void *context)
{
	struct count *c = context;
	struct stat st;
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		struct quota_use *all[2] = {c->all, user_of(fd) == c->uid ? c->user : NULL};
		for (int i = 0; i < 2 && all[i] != NULL; i++) {
			all[i]->bytes += (uint64_t)st.st_blocks * 512;
			all[i]->entries++;
		}
	}
	if (fd >= 0)
		close(fd);
	return 0;
}

static int in_directory(int dir_fd, const char *name, int (*each)(int dir_fd, const char *name, void *context),
			void *context)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	spool_each(fd, each, context);
	close(fd);
	return 0;
}

static int count_step(int run_fd, const char *name, void *context)
{
	int fd = openat(run_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	count_file(fd, "layout", context);
	close(fd);
	return 0;
}

static int count_run(int live_fd, const char *name, void *context)
{
	return in_directory(live_fd, name, count_step, context);
}

void quota_count(enum quota_area area, int area_fd, uid_t uid, struct quota_use *ret_user, struct quota_use *ret_all)
{
	struct count c = {uid, ret_user, ret_all};
	*ret_user = *ret_all = (struct quota_use){0};
	spool_each(area_fd, area == QUOTA_LIVE ? count_run : count_file, &c);
}

static bool is_within(const struct quota_bound *b, const struct statvfs *fs, const struct quota_use *use,
		      uint64_t need_bytes)
{
	return use->entries < b->entries && use->bytes + need_bytes <= quota_bytes(b, fs);
}

int quota_admit(enum quota_area area, int area_fd, uid_t uid, uint64_t need_bytes, struct error *e)
{
	const struct quota *q = &quotas[area];
	struct quota_use user, all;
	struct statvfs fs;
	if (fstatvfs(area_fd, &fs) != 0)
		return fail(e, -errno, "%s: %s", q->directory, strerror(errno));
	quota_count(area, area_fd, uid, &user, &all);
	bool fits = quota_room(q, &fs) >= need_bytes, users = is_within(&q->user, &fs, &user, need_bytes);
	if (fits && users && is_within(&q->all, &fs, &all, need_bytes))
		return 0;
	quota_refuse(area, area_fd);
	if (!fits)
		return fail(e, -ENOSPC, "%s: the spool's file system has %.1f MB free, which are to stay so",
			    q->directory, (double)fs.f_bavail * (double)fs.f_frsize / 1e6);
	return fail(e, -EDQUOT, "%s: %s of %.1f MB there already: no room for %.1f kB more", q->directory,
		    users ? "all users have records" : "the user has records",
		    (double)(users ? all.bytes : user.bytes) / 1e6, (double)need_bytes / 1e3);
}

/* ---- what was refused ---- */

static void refused_name(enum quota_area area, char ret_name[32])
{
	snprintf(ret_name, 32, REFUSED "%s", quotas[area].directory);
}

/* The number is the file's length, which has no content: a file system that is full takes that, too. */
void quota_refuse(enum quota_area area, int area_fd)
{
	char name[32];
	struct stat st;
	refused_name(area, name);
	int fd = openat(area_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX) == 0 && fstat(fd, &st) == 0 && ftruncate(fd, st.st_size + 1) != 0)
		errno = 0; /* nothing is left to say it with */
	close(fd);
}

uint64_t quota_take_refused(enum quota_area area, int area_fd)
{
	char name[32];
	struct stat st;
	refused_name(area, name);
	if (fstatat(area_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	unlinkat(area_fd, name, 0);
	return (uint64_t)st.st_size;
}
