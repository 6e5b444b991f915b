/* sweep.c - see warden.h. */
#include "spank/warden/central.h"
#include "spank/warden/child.h"
#include "spank/warden/epilog.h"
#include "spank/warden/deferred.h"
#include "spank/warden/quota.h"
#include "spank/warden/remove.h"
#include "spank/warden/teardown.h"
#include "spank/warden/spool.h"
#include "spank/warden/warden.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define YOUNG_SECONDS 60 /* a run so young is somebody's */
#define TITLE "slurmstepd: ["

struct sweep {
	const char *spool, *program;
	unsigned runs, removed, left;
	struct deferred_count late;
};

static double age_of(int dir_fd, const char *name)
{
	struct stat st;
	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? difftime(time(NULL), st.st_mtime) : 0;
}

/* Has the job a slurmstepd here? Its title is "slurmstepd: [JOB.STEP]", and it is root's. */
static bool is_stepd_of(const char *pid, const char *job, size_t len)
{
	char path[300], text[128] = "";
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	size_t title = strlen(TITLE);
	return n > 0 && strncmp(text, TITLE, title) == 0 && strncmp(text + title, job, len) == 0 &&
	       text[title + len] == '.';
}

static bool job_runs(const char *run)
{
	const struct dirent *entry;
	bool runs = false;
	DIR *dir = opendir("/proc");
	while (dir != NULL && !runs && (entry = readdir(dir)) != NULL)
		runs = isdigit((unsigned char)entry->d_name[0]) && is_stepd_of(entry->d_name, run, strcspn(run, "."));
	if (dir != NULL)
		closedir(dir);
	return runs || dir == NULL;
}

/* A run whose epilog never came: the node was cut off, or started anew. */
static int sweep_run(int live_fd, const char *name, void *context)
{
	struct sweep *s = context;
	if (!isdigit((unsigned char)*name) || age_of(live_fd, name) < YOUNG_SECONDS || job_runs(name))
		return 0;
	if (epilog_run(s->spool, live_fd, name, s->program, 0)) {
		printf("%s: ended and removed\n", name);
		s->runs++;
	} else {
		s->left++;
	}
	return 0;
}

static int sweep_kept(int user_fd, const char *name, void *context)
{
	struct sweep *s = context;
	if (age_of(user_fd, name) <= quotas[QUOTA_KEPT].age_seconds)
		return 0;
	printf("%s: kept for a week, removed\n", name);
	s->removed += remove_tree(user_fd, name) == 0;
	return 0;
}

static int sweep_user(int kept_fd, const char *name, void *context)
{
	int fd = openat(kept_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	spool_each(fd, sweep_kept, context);
	close(fd);
	unlinkat(kept_fd, name, AT_REMOVEDIR); /* if it is empty now */
	return 0;
}

/* Facts of a job whose epilog never came, or a prolog that was killed. */
static int sweep_job(int jobs_fd, const char *name, void *context)
{
	(void)context;
	if (age_of(jobs_fd, name) > quotas[QUOTA_JOBS].age_seconds && !job_runs(name + (name[0] == '.')) &&
	    unlinkat(jobs_fd, name, 0) == 0)
		printf("jobs/%s: no such job has run for a month, removed\n", name);
	return 0;
}

/* The area of the spool, or -1: there is none, or another sweep is at it. */
static int lock_area(const struct sweep *s, const char *area)
{
	int fd = spool_open(s->spool, area, false, NULL);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void sweep_deferred(struct sweep *s)
{
	int fd = lock_area(s, "late");
	if (fd < 0)
		return;
	deferred_sweep(fd, s->program, &s->late);
	close(fd);
}

static void each_of(struct sweep *s, const char *area, int (*each)(int dir_fd, const char *name, void *context))
{
	int fd = lock_area(s, area);
	if (fd < 0)
		return;
	spool_each_hidden(fd, each, s);
	close(fd);
}

static void say_refused(const struct sweep *s, enum quota_area area)
{
	const struct quota *q = &quotas[area];
	int fd = spool_open(s->spool, q->directory, false, NULL);
	uint64_t n = fd >= 0 ? quota_take_refused(area, fd) : 0;
	if (n > 0)
		printf("%s/%s: %llu times something was not kept: a user may have %.1f MB in %u entries, all %.1f MB "
		       "in %u, "
		       "a %uth of the file system stays free\n",
		       s->spool, q->directory, (unsigned long long)n, (double)q->user.bytes / 1e6, q->user.entries,
		       (double)q->all.bytes / 1e6, q->all.entries, q->free_part);
	if (fd >= 0)
		close(fd);
}

int warden_sweep(const char *spool, const char *program, const char *directory, uint64_t retention_seconds)
{
	struct sweep s = {.spool = spool, .program = program};
	each_of(&s, "live", sweep_run);
	each_of(&s, "kept", sweep_user);
	each_of(&s, "jobs", sweep_job);
	for (int area = 0; area < QUOTA_AREAS; area++)
		say_refused(&s, (enum quota_area)area);
	if (directory != NULL)
		central_sweep(directory, retention_seconds);
	sweep_deferred(&s); /* at last: how long it takes is up to users */
	printf("%s: %u runs ended, %u reports made, %u kept traces removed, %u left\n", spool, s.runs, s.late.made,
	       s.removed, s.left + s.late.left);
	return s.left + s.late.left > 0 ? 4 : 0;
}
