/* spool.c - see spool.h. */
#include "spank/spool.h"
#include "spank/remove.h"
#include "spank/slurm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

void spool_step_name(uint32_t step_id, char ret_name[SPOOL_NAME_MAX])
{
	if (step_id == STEP_BATCH)
		snprintf(ret_name, SPOOL_NAME_MAX, "batch");
	else
		snprintf(ret_name, SPOOL_NAME_MAX, "%u", step_id);
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

static int make_ours(int at_fd, const char *name, struct error *e)
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

int spool_open_live(const char *spool, bool make, struct error *e)
{
	int spool_fd = make ? make_ours(AT_FDCWD, spool, e) : open_ours(AT_FDCWD, spool, e);
	if (spool_fd < 0)
		return spool_fd;
	int live_fd = make ? make_ours(spool_fd, "live", e) : open_ours(spool_fd, "live", e);
	close(spool_fd);
	return live_fd;
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

int spool_make_step(int live_fd, uint32_t job_id, uint32_t restart, uint32_t step_id, uid_t uid, gid_t gid,
		    struct error *e)
{
	char job[SPOOL_NAME_MAX], step[SPOOL_NAME_MAX], name[SPOOL_NAME_MAX + 8];
	snprintf(job, sizeof(job), "%u.%u", job_id, restart);
	spool_step_name(step_id, step);
	snprintf(name, sizeof(name), "step-%s", step);
	int job_fd = make_ours(live_fd, job, e);
	if (job_fd < 0)
		return job_fd;
	remove_tree(job_fd, name); /* of an earlier job with this number, whose epilog never ran */
	int step_fd = make_ours(job_fd, name, e);
	close(job_fd);
	if (step_fd < 0)
		return step_fd;
	int rc = make_ranks(step_fd, uid, gid, e);
	if (rc < 0)
		close(step_fd);
	return rc < 0 ? rc : step_fd;
}

int spool_mark(int step_fd, const char *name)
{
	int fd = openat(step_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}
