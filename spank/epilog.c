/* epilog.c - see epilog.h. In: the job's directories in this node's spool.  Out: sealed traces,
 * reports, no directory. The detached process is root and touches names and the root-owned records
 * only; everything about the trace itself is done by children that have become the user. What could
 * not be sealed stays for a week, then any epilog removes it. */
#include "spank/epilog.h"
#include "spank/agent.h"
#include "spank/detach.h"
#include "spank/record.h"
#include "spank/remove.h"
#include "spank/spool.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SEAL_SECONDS 60u     /* for the agent to end by itself */
#define COLLECT_SECONDS 300u /* for one that we start because the first died */
#define FINISH_SECONDS 900u
#define FINISH_WAIT "60"
#define RESTARTS_MAX 64
#define OLD_SECONDS (7 * 24 * 3600)

struct visit {
	const struct config *config;
	const char *job;			 /* "<job>.<restart>" */
	char prefix[32];			 /* "<job>." */
	char jobs[RESTARTS_MAX][SPOOL_NAME_MAX]; /* what was there when the epilog began */
	unsigned njobs;
};

/* Call each for every name in the directory; a non-zero return of each is kept. */
static int each_name(int dir_fd, int (*each)(int dir_fd, const char *name, struct visit *v), struct visit *v)
{
	int kept = 0;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		int rc = entry->d_name[0] != '.' ? each(dir_fd, entry->d_name, v) : 0;
		kept = kept != 0 ? kept : rc;
	}
	if (dir != NULL)
		closedir(dir);
	return kept;
}

static bool is_sealed(int step_fd)
{
	struct stat st;
	return fstatat(step_fd, "ranks/sealed", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void wait_for_agent(int step_fd, uid_t uid)
{
	struct timespec nap = {.tv_nsec = 50000000};
	agent_hurry(step_fd, uid);
	for (unsigned i = 0; i < SEAL_SECONDS * 20; i++) {
		if (is_sealed(step_fd) || !agent_lives(step_fd, uid))
			return;
		nanosleep(&nap, NULL);
	}
}

static int run(const struct config *c, char *argv[], const struct record_brief *b, unsigned seconds)
{
	char program[PATH_MAX + 16];
	char *envp[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
	struct identity who = {.uid = b->uid, .gid = b->gid, .gids = b->gids, .ngids = b->ngids};
	snprintf(program, sizeof(program), "%s/mpitrace", c->bindir);
	argv[0] = program;
	return detach_run(argv, envp, &who, seconds);
}

static void collect(struct visit *v, const char *step, const struct record_brief *b)
{
	char dir[PATH_MAX + 512];
	snprintf(dir, sizeof(dir), "%s/live/%s/%s", v->config->spool, v->job, step);
	char *argv[] = {NULL, "collect", dir, NULL};
	run(v->config, argv, b, COLLECT_SECONDS);
}

/* The first node of the step makes the report, unless srun has: `finish` sees that by itself. */
static void finish(struct visit *v, const struct record_brief *b)
{
	char nodes[16];
	snprintf(nodes, sizeof(nodes), "%u", b->nnodes);
	char *argv[] = {NULL, "finish", (char *)b->out, "--wait", FINISH_WAIT, "--nodes", nodes, NULL};
	if (b->nnodes == 0)
		argv[5] = NULL;
	if (b->nodeid == 0 && b->report && b->out[0] == '/')
		run(v->config, argv, b, FINISH_SECONDS);
}

static int is_trace(int dir_fd, const char *name, struct visit *v)
{
	(void)dir_fd, (void)v;
	return strcmp(name, "sealed") != 0;
}

/* Traces, or segments, that could not be written to the output directory wait in ranks/ for their
 * owner. */
static bool holds_trace(int step_fd)
{
	int fd = openat(step_fd, "ranks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool holds = fd >= 0 && each_name(fd, is_trace, NULL) != 0;
	if (fd >= 0)
		close(fd);
	return holds;
}

/* 0 when nothing of the step is needed here any more. */
static int settle_step(int job_fd, const char *name, struct visit *v)
{
	struct record_brief b;
	int step_fd = openat(job_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (step_fd < 0)
		return 0;
	int left = 0;
	if (record_read(step_fd, &b) == 0) {
		spool_mark(step_fd, "done"); /* slurmstepd may have died without saying so */
		wait_for_agent(step_fd, b.uid);
		if (!is_sealed(step_fd) && !agent_lives(step_fd, b.uid))
			collect(v, name, &b);
		left = !is_sealed(step_fd) || holds_trace(step_fd);
		finish(v, &b);
	}
	close(step_fd);
	return left;
}

static void settle_job(int live_fd, const char *name, struct visit *v)
{
	int job_fd = openat(live_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (job_fd < 0)
		return;
	v->job = name;
	int left = each_name(job_fd, settle_step, v);
	close(job_fd);
	if (left == 0)
		remove_tree(live_fd, name);
}

/* Asked before the epilog returns: a requeued run of the job may begin right after, and is not ours
 * to end. */
static int note_job(int live_fd, const char *name, struct visit *v)
{
	(void)live_fd;
	if (strncmp(name, v->prefix, strlen(v->prefix)) == 0 && v->njobs < RESTARTS_MAX &&
	    snprintf(v->jobs[v->njobs], SPOOL_NAME_MAX, "%s", name) < SPOOL_NAME_MAX)
		v->njobs++;
	return 0;
}

static int is_running(int job_fd, const char *name, struct visit *v)
{
	struct record_brief b;
	(void)v;
	int step_fd = openat(job_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int running = step_fd >= 0 && record_read(step_fd, &b) == 0 && agent_lives(step_fd, b.uid);
	if (step_fd >= 0)
		close(step_fd);
	return running;
}

/* What an earlier epilog had to leave. */
static int remove_old(int live_fd, const char *name, struct visit *v)
{
	struct stat st;
	if (!isdigit((unsigned char)*name) || fstatat(live_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	int job_fd = openat(live_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool running = job_fd >= 0 && each_name(job_fd, is_running, v) != 0;
	if (job_fd >= 0)
		close(job_fd);
	if (!running && time(NULL) - st.st_mtime > OLD_SECONDS)
		remove_tree(live_fd, name);
	return 0;
}

void epilog_begin(const struct config *c, uint32_t job_id)
{
	struct visit v = {.config = c};
	int live_fd = spool_open_live(c->spool, false, NULL);
	if (live_fd < 0)
		return; /* nothing was ever traced here */
	snprintf(v.prefix, sizeof(v.prefix), "%u.", job_id);
	each_name(live_fd, note_job, &v);
	close(live_fd);
	if (detach_fork() != 0)
		return;
	live_fd = spool_open_live(c->spool, false, NULL);
	for (unsigned i = 0; live_fd >= 0 && i < v.njobs; i++)
		settle_job(live_fd, v.jobs[i], &v);
	if (live_fd >= 0)
		each_name(live_fd, remove_old, &v);
	_exit(0);
}
