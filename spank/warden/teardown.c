/* teardown.c - see teardown.h. */
#include "spank/warden/teardown.h"
#include "base/clock.h"
#include "base/command.h"
#include "format/layout.h"
#include "spank/warden/child.h"
#include "spank/warden/keep.h"
#include "spank/warden/quota.h"
#include "spank/warden/remove.h"
#include "spank/warden/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define AGENT_BYTES (512ull << 20)	 /* of memory, beside what it maps of the step's file system */
#define ANALYSIS_BYTES (4ull << 30)	 /* of address space */
#define ANALYSIS_DATA_BYTES (2ull << 30) /* of memory */
#define FINISH_WAIT "10"		 /* seconds for the traces of other nodes */
#define FINISH_WAIT_SECONDS 10.0
#define RUN_SHARE 50	  /* a report may take a 50th of the step's time */
#define SRUN_SECONDS 2.0  /* for srun to begin with a report that it makes; it holds a lock then */
#define TURN_SECONDS 20.0 /* for reports of other steps of this node to be made before */

static uint64_t mapped_bytes(int step_fd)
{
	struct statvfs fs;
	int fd = openat(step_fd, "ranks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t bytes = 0;
	if (fd >= 0 && fstatvfs(fd, &fs) == 0)
		bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	if (fd >= 0)
		close(fd);
	return bytes < ANALYSIS_BYTES ? bytes : ANALYSIS_BYTES;
}

int teardown_start_agent(const struct teardown *s, bool idle)
{
	int layout = openat(s->step_fd, "layout", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int exits = openat(s->step_fd, "exits", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct child c = {
		.program = s->program,
		.who = &s->step_facts->who,
		.args = {"collect", s->dir, "--given"},
		.fds = {layout, exits},
		.nfds = 2,
		.address_bytes = AGENT_BYTES + 2 * mapped_bytes(s->step_fd),
		.data_bytes = AGENT_BYTES,
		.alone = true,
		.idle = idle,
	};
	int pid = layout >= 0 && exits >= 0 ? child_start(&c) : -errno;
	if (layout >= 0)
		close(layout);
	if (exits >= 0)
		close(exits);
	return pid;
}

bool teardown_is_sealed(const struct teardown *s)
{
	return spool_has(s->step_fd, "ranks/sealed");
}

static void seal(const struct teardown *s)
{
	int pid = teardown_is_sealed(s) ? -1 : teardown_start_agent(s, false);
	if (pid > 0)
		child_wait(pid, SEAL_SECONDS);
}

/* The last two components of the directory, as one name. */
static void name_of(const char *dir, char *ret_name, size_t cap_bytes)
{
	const char *at = strrchr(dir, '/');
	while (at > dir && at[-1] != '/')
		at--;
	snprintf(ret_name, cap_bytes, "%s", at != NULL ? at : dir);
	for (char *c = ret_name; *c != '\0'; c++)
		*c = *c == '/' ? '.' : *c;
}

/* One report at a time on a node. */
static int take_turn(const char *spool, double seconds)
{
	char path[PATH_MAX];
	double end = now_s() + seconds;
	if (snprintf(path, sizeof(path), "%s/turn", spool) >= (int)sizeof(path))
		return -1;
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (now_s() >= end) {
			close(fd);
			return -1;
		}
		poll(NULL, 0, 20);
	}
	return fd;
}

static const char *policy_file;

void teardown_policy(const char *file)
{
	policy_file = file;
}

int teardown_report(const char *program, const struct step_facts *b, double seconds, double give_way_seconds, bool wait,
		    bool job_is_over)
{
	char nodes[16], budget[32], give_way[32];
	snprintf(nodes, sizeof(nodes), "%u", b->nnodes);
	snprintf(budget, sizeof(budget), "%.1f", seconds);
	snprintf(give_way, sizeof(give_way), "%.1f", give_way_seconds);
	struct child c = {
		.program = program,
		.who = &b->who,
		.args = {"finish", b->out, "--wait", wait ? FINISH_WAIT : "0", "--budget", budget, "--give-way",
			 give_way},
		.address_bytes = ANALYSIS_BYTES,
		.data_bytes = ANALYSIS_DATA_BYTES,
		.idle = true,
	};
	int n = 8;
	if (b->nnodes > 0) {
		c.args[n++] = "--nodes";
		c.args[n++] = nodes;
	}
	if (job_is_over)
		c.args[n++] = "--job-is-over";
	if (policy_file != NULL) {
		c.args[n++] = "--policy";
		c.args[n++] = policy_file;
	}
	pid_t pid = child_start(&c);
	return pid > 0 ? child_wait(pid, (wait ? FINISH_WAIT_SECONDS : 0) + seconds + give_way_seconds + 2) : pid;
}

/* What step_facts_read() wants, and who reads it: no command line, which may be long. */
static int write_short_record(int step_fd)
{
	static const enum layout_key keys[] = {LAYOUT_UID,    LAYOUT_GID,    LAYOUT_GIDS,   LAYOUT_JOB_ID,
					       LAYOUT_NODEID, LAYOUT_NNODES, LAYOUT_REPORT, LAYOUT_BUDGET_S,
					       LAYOUT_OUT,    LAYOUT_STEP_ID};
	struct layout whole, part = {0};
	int rc = layout_read(step_fd, true, &whole, NULL);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (layout_has(&whole, keys[i]))
			layout_set(&part, keys[i], layout_text(&whole, keys[i]));
	rc = layout_write(step_fd, &part, NULL);
	layout_done(&whole);
	layout_done(&part);
	return rc;
}

/* The record goes to <spool>/late, where `mpitrace sweep` finds it, if there is room for it. */
static void leave_for_later(const struct teardown *s)
{
	char name[SPOOL_NAME_MAX * 2];
	struct stat st;
	int deferred_fd = spool_open(s->spool, "late", true, NULL);
	name_of(s->dir, name, sizeof(name));
	if (deferred_fd < 0)
		return;
	if (write_short_record(s->step_fd) < 0 || fstatat(s->step_fd, "layout", &st, AT_SYMLINK_NOFOLLOW) != 0)
		quota_refuse(QUOTA_DEFERRED, deferred_fd); /* a full file system */
	else if (quota_admit(QUOTA_DEFERRED, deferred_fd, s->step_facts->who.uid, (uint64_t)st.st_blocks * 512, NULL) ==
			 0 &&
		 renameat(s->step_fd, "layout", deferred_fd, name) != 0)
		quota_refuse(QUOTA_DEFERRED, deferred_fd);
	close(deferred_fd);
}

static double budget_of(const struct teardown *s)
{
	if (s->step_facts->report_seconds > 0)
		return (double)s->step_facts->report_seconds;
	double share = s->ran_seconds / RUN_SHARE;
	return share > 1 ? share : 1;
}

static void report(const struct teardown *s)
{
	bool srun = s->step_facts->report == STEP_REPORT_SRUN; /* is at it, as a rule */
	int turn = take_turn(s->spool, TURN_SECONDS);
	int code = turn >= 0 ? teardown_report(s->program, s->step_facts, budget_of(s), srun ? SRUN_SECONDS : 0, true,
					       s->job_is_over)
			     : -ETIME;
	if (code < 0 || (code == EXIT_LATER && !s->step_facts->leave))
		leave_for_later(s);
	if (turn >= 0)
		close(turn);
}

bool teardown_step(const struct teardown *s)
{
	char name[SPOOL_NAME_MAX * 2];
	seal(s);
	name_of(s->dir, name, sizeof(name));
	keep_traces(s->spool, s->step_fd, name, &s->step_facts->who);
	spool_unmount(s->step_fd);
	if (s->step_facts->nodeid != 0 || s->step_facts->report == STEP_REPORT_NONE)
		return true;
	if (s->step_facts->report == STEP_REPORT_SRUN && !s->job_is_over)
		return false;
	report(s);
	return true;
}

static int is_step(int dir_fd, const char *name, void *context)
{
	(void)dir_fd, (void)context;
	return strncmp(name, "step-", 5) == 0;
}

void teardown_remove(int step_fd, const char *dir)
{
	char run[PATH_MAX];
	const char *name = strrchr(dir, '/');
	spool_unmount(step_fd);
	if (name == NULL || name == dir || name - dir >= (int)sizeof(run))
		return;
	snprintf(run, sizeof(run), "%.*s", (int)(name - dir), dir);
	int run_fd = open(run, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (run_fd < 0)
		return;
	remove_tree(run_fd, name + 1);
	if (spool_each(run_fd, is_step, NULL) == 0)
		unlinkat(run_fd, "ended", 0);
	close(run_fd);
	rmdir(run); /* when no other step lies there */
}
