/* step.c - see step.h. In: Slurm's items and the request.  Out: the step's directory in the spool,
 * a warden. */
#include "spank/step.h"
#include "base/path.h"
#include "base/tick.h"
#include "format/segment.h"
#include "spank/het.h"
#include "spank/namespace.h"
#include "spank/origin.h"
#include "spank/place.h"
#include "spank/record.h"
#include "spank/start.h"
#include "spank/submit.h"
#include "spank/task.h"
#include "spank/unrecorded.h"
#include "spank/warden/quota.h"
#include "spank/warden/teardown.h"
#include "spank/warden/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_FDS_MAX 256
#define MPIRUN_LEAST 8u
#define BATCH_SHARE 4u /* most scripts have no mpirun: the steps they start shall find room */
#define TASKS_HERE_MAX 65536u
#define RECORD_BYTES 4096u
#define RECORD_TASK_BYTES 40u
#define SAID_PATH_MAX 2048 /* with more a line is none that a pipe takes at once */
#define DAEMON_STEP_SUFFIX "/step-batch/ranks"

/* Steps that srun made for somebody: not the extern and the interactive one. */
static bool is_traceable(uint32_t step_id)
{
	return step_id != STEP_EXTERN && step_id != STEP_INTERACTIVE;
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t n = text != NULL ? strlen(text) : 0, m = strlen(suffix);
	return n >= m && strcmp(text + n - m, suffix) == 0;
}

/* mpirun in a traced batch script starts its daemons by srun: their ranks and those that mpirun
 * starts itself, in the batch step, are one program and belong into one report, the batch step's.
 */
static bool is_daemon_of_mpirun(spank_t sp, const struct record *rec)
{
	static const char *const daemons[] = {"orted", "prted", "hydra_pmi_proxy"};
	const char *program = path_name(rec->argc > 0 ? rec->argv[0] : "");
	if (!ends_with(sl_env(sp, "MPITRACE_DIR"), DAEMON_STEP_SUFFIX))
		return false;
	for (size_t i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++)
		if (strcmp(program, daemons[i]) == 0)
			return true;
	return false;
}

/* slurmd tells the count to the batch step only; steps inherit it from the script. There it is the
 * user's to change, so that it may be a name of their own job's directory and nothing else. */
static uint32_t read_restart(spank_t sp)
{
	uint32_t count = 0;
	const char *text = sl_env(sp, "SLURM_RESTART_COUNT");
	if (sl_number(sp, S_SLURM_RESTART_COUNT, &count) && count != 0)
		return count;
	return output_restart(text);
}

/* As many as there are processors, as a rule: room for more would be taken from other jobs on the node. */
static uint32_t processes_of_mpirun(spank_t sp)
{
	uint32_t cpus = sl_cpus(sp);
	return cpus > 0 && cpus < MPIRUN_LEAST ? MPIRUN_LEAST : cpus;
}

static bool read_numbers(spank_t sp, struct record *rec)
{
	uint32_t uid, gid, here;
	if (!sl_number(sp, S_JOB_ID, &rec->job_id) || !sl_number(sp, S_JOB_STEPID, &rec->step_id) ||
	    !sl_number(sp, S_JOB_UID, &uid) || !sl_number(sp, S_JOB_GID, &gid))
		return false;
	rec->uid = uid;
	rec->gid = gid;
	rec->restart = read_restart(sp);
	if (!sl_number(sp, S_JOB_NODEID, &rec->nodeid) || !sl_number(sp, S_JOB_NNODES, &rec->nnodes) ||
	    !sl_number(sp, S_JOB_TOTAL_TASK_COUNT, &rec->ntasks) || !sl_number(sp, S_JOB_LOCAL_TASK_COUNT, &here))
		return false;
	rec->ntasks_here = rec->step_id == STEP_BATCH ? 0 : here;
	rec->processes = rec->step_id == STEP_BATCH ? processes_of_mpirun(sp) : here;
	return is_traceable(rec->step_id) && uid != 0 && here <= TASKS_HERE_MAX;
}

static uint32_t *read_tasks(spank_t sp, uint32_t count)
{
	uint32_t *tasks = calloc(count + 1, sizeof(*tasks));
	for (uint32_t i = 0; tasks != NULL && i < count; i++)
		if (!sl_global_task(sp, i, &tasks[i]))
			tasks[i] = 0;
	return tasks;
}

struct names {
	char node[256];
	char switches[2048];
	char out[PATH_MAX];
	struct error no_out; /* why there is none */
	struct origin origin;
};

static void read_names(spank_t sp, const struct request *r, struct record *rec, struct names *n)
{
	const char *addr = sl_env(sp, "SLURM_TOPOLOGY_ADDR");
	const char *pattern = sl_env(sp, "SLURM_TOPOLOGY_ADDR_PATTERN");
	const char *nodes = sl_env(sp, "SLURM_STEP_NODELIST");
	n->switches[0] = n->out[0] = n->no_out.text[0] = '\0';
	if (gethostname(n->node, sizeof(n->node)) != 0)
		snprintf(n->node, sizeof(n->node), "localhost");
	n->node[sizeof(n->node) - 1] = '\0';
	n->node[strcspn(n->node, ".")] = '\0';
	if (addr != NULL && pattern != NULL)
		snprintf(n->switches, sizeof(n->switches), "%s %s", addr, pattern);
	/* not in every step: a job of salloc --no-shell, whose steps are started elsewhere, has none */
	rec->submit = n->origin.submit[0] != '\0' ? n->origin.submit : sl_env(sp, "SLURM_SUBMIT_DIR");
	het_join(sp, n->node, rec);
	if (output_path(r, rec->submit, rec->called, rec->restart, rec->step_id, n->out, &n->no_out) < 0)
		n->out[0] = '\0';
	rec->node = n->node;
	rec->switches = n->switches;
	rec->out = n->out;
	rec->cluster = sl_env(sp, "SLURM_CLUSTER_NAME");
	rec->nodelist = nodes != NULL ? nodes : sl_env(sp, "SLURM_JOB_NODELIST");
	rec->slurm = sl_version(sp);
	rec->loaded = sl_env(sp, "LOADEDMODULES");
}

/* Its tasks are the daemons; the ranks are their children, as unknown in number as those of the
 * batch step. */
static void pose_as_batch_step(spank_t sp, struct record *rec, struct request *r)
{
	rec->step_id = STEP_BATCH;
	rec->nnodes = rec->ntasks = rec->ntasks_here = 0;
	rec->processes = processes_of_mpirun(sp);
	r->report = REPORT_NONE; /* the batch step's node makes it */
}

/* Everything the record says; rec points into n, Slurm's memory and *ret_tasks (free it). */
static bool describe(spank_t sp, struct request *r, const struct config *c, struct record *rec, struct names *n,
		     uint32_t **ret_tasks)
{
	gid_t *gids = NULL;
	char **argv = NULL;
	memset(rec, 0, sizeof(*rec));
	if (!read_numbers(sp, rec))
		return false;
	rec->argc = sl_argv(sp, &argv);
	rec->argv = argv;
	rec->ngids = sl_gids(sp, &gids);
	rec->gids = gids;
	rec->request = r;
	rec->config = c;
	rec->srun_reports = sl_env(sp, SUBMIT_REPORTS) != NULL;
	rec->umask = sl_env(sp, "SLURM_UMASK");
	if (is_daemon_of_mpirun(sp, rec))
		pose_as_batch_step(sp, rec, r);
	read_names(sp, r, rec, n);
	*ret_tasks = read_tasks(sp, rec->ntasks_here);
	rec->tasks = *ret_tasks;
	return *ret_tasks != NULL;
}

/* The socket on which slurmstepd listens lies in slurmd's own spool. */
static bool is_slurmds(dev_t device)
{
	struct sockaddr_un address;
	struct stat st;
	for (int fd = 0; fd < SOCKET_FDS_MAX; fd++) {
		socklen_t len = sizeof(address);
		memset(&address, 0, sizeof(address));
		if (getsockname(fd, (struct sockaddr *)&address, &len) == 0 && address.sun_family == AF_UNIX &&
		    address.sun_path[0] == '/' && lstat(address.sun_path, &st) == 0 && st.st_dev == device)
			return true;
	}
	return false;
}

static int make_room(const struct config *c, const struct record *rec, int live_fd, const struct step *s,
		     struct error *e)
{
	struct spool_room room = {.step_bytes = c->spool_bytes,
				  .node_bytes = c->node_bytes,
				  .share = rec->ntasks_here == 0 ? BATCH_SHARE : 0,
				  .ntasks = rec->processes};
	uint64_t bytes;
	struct stat st;
	if (c->own_mount)
		return spool_mount(c->spool, live_fd, s->dir_fd, &room, rec->uid, rec->gid, &bytes, e);
	if (!c->share_with_slurmd && fstat(s->dir_fd, &st) == 0 && is_slurmds(st.st_dev))
		return fail(e, -EXDEV,
			    "%s is on the file system that slurmd needs for itself: full, it drains the node; "
			    "use spool_fs=tmpfs or another file system, or say spool_shared=yes",
			    c->spool);
	return 0;
}

/* Root's files in it: nobody else reads a command line or an exit code. */
static int make_exits(const struct step *s, struct error *e)
{
	int fd = openat(s->dir_fd, "exits", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(e, -errno, "%s/exits: cannot make it: %s", s->dir, strerror(errno));
	close(fd);
	return 0;
}

/* What its record takes, about: paths and numbers, and what a user can make long. */
static uint64_t record_bytes(const struct record *rec)
{
	uint64_t argv_bytes = 0;
	for (int i = 0; i < rec->argc && argv_bytes < LAYOUT_ARGV_MAX; i++)
		argv_bytes += strlen(rec->argv[i]) + 3;
	return RECORD_BYTES + (argv_bytes < LAYOUT_ARGV_MAX ? argv_bytes : LAYOUT_ARGV_MAX) +
	       (rec->nodelist != NULL ? strlen(rec->nodelist) : 0) + (uint64_t)rec->ntasks_here * RECORD_TASK_BYTES;
}

static int open_live(const struct config *c, const struct record *rec, struct error *e)
{
	int fd = spool_open(c->spool, "live", true, e);
	int rc = fd >= 0 ? quota_admit(QUOTA_LIVE, fd, rec->uid, record_bytes(rec), e) : fd;
	if (fd >= 0 && rc < 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

static int make_directory(const struct config *c, const struct record *rec, struct step *s, struct error *e)
{
	char step[SPOOL_NAME_MAX], run[SPOOL_NAME_MAX];
	int live_fd = open_live(c, rec, e);
	if (live_fd < 0)
		return live_fd;
	bool users = !c->own_mount; /* else it is root's: who does not see the mount on it writes nothing */
	s->dir_fd =
		spool_make_step(live_fd, rec->job_id, s->step_id, users ? rec->uid : 0, users ? rec->gid : 0, run, e);
	spool_step_name(s->step_id, step);
	int n = snprintf(s->dir, sizeof(s->dir), "%s/live/%s/step-%s", c->spool, run, step);
	int rc = s->dir_fd < 0		    ? s->dir_fd
		 : n >= (int)sizeof(s->dir) ? fail(e, -ENAMETOOLONG, "spool=%s is too long", c->spool)
					    : make_room(c, rec, live_fd, s, e);
	if (rc == 0)
		rc = make_exits(s, e);
	close(live_fd);
	return rc < 0 ? rc : record_write(s->dir_fd, rec, e);
}

static int start(const struct config *c, struct step *s, struct error *e)
{
	const char *args[] = {"step", s->dir, NULL};
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return fail(e, -errno, "no socket: %s", strerror(errno));
	int rc = start_warden(c, args, ends[0], e);
	close(ends[0]);
	if (rc < 0)
		close(ends[1]);
	else
		s->warden_fd = ends[1];
	return rc;
}

/* Whether users can read it the task finds out. */
static int has_tracer(const struct config *c, struct error *e)
{
	char library[PATH_MAX + 32];
	snprintf(library, sizeof(library), "%s/" TASK_TRACER, c->libdir);
	return access(library, R_OK) == 0
		       ? 0
		       : fail(e, -ENOENT, "%s: %s; set libdir= in plugstack.conf", library, strerror(errno));
}

static int is_admitted(const struct request *r, struct notice *n, struct error *e)
{
	if (r->site.refusal[0] == '\0')
		return 0;
	notice_set(n, NOTICE_REFUSED, "%s", r->site.refusal);
	return fail(e, -EDQUOT, "%s", r->site.refusal);
}

/* The agent keeps in the spool what it cannot write there; its user should know before the program runs for hours. */
static void check_place(const struct config *c, const struct record *rec, const struct names *names, struct step *s,
			struct notice *n)
{
	struct identity who = {.uid = rec->uid, .gid = rec->gid, .gids = rec->gids, .ngids = rec->ngids};
	struct error e = names->no_out;
	if (!n->wanted || rec->nodeid != 0)
		return;
	if (who.ngids > IDENTITY_GROUPS_MAX)
		who.ngids = IDENTITY_GROUPS_MAX;
	if (who.ngids < 0)
		who.ngids = 0;
	if (rec->out[0] == '\0' || place_check(&who, rec->out, false, &e) < 0)
		notice_set(n, NOTICE_PLACE, "%s: traces are kept in %s/kept/%u on each node, for a week", e.text,
			   c->spool, rec->uid);
	else
		s->elsewhere = origin_is_elsewhere(&names->origin, &who, rec->out);
}

/* As if it had never been made. */
static void give_up(struct step *s)
{
	if (s->dir_fd < 0)
		return;
	teardown_remove(s->dir_fd, s->dir);
	close(s->dir_fd);
}

/* Which step this is, and whether this node speaks for it. False: nobody traces it, whatever was asked. */
static bool know(spank_t sp, struct request *r, const struct config *c, struct record *rec, struct names *names,
		 uint32_t **ret_tasks, struct step *s, struct notice *n)
{
	uint32_t uid = UINT32_MAX;
	bool traceable = sl_number(sp, S_JOB_STEPID, &s->step_id) && is_traceable(s->step_id);
	bool known = traceable && describe(sp, r, c, rec, names, ret_tasks);
	s->job_id = rec->job_id;
	s->leads = known && rec->nodeid == 0;
	if (known)
		snprintf(s->node, sizeof(s->node), "%s", rec->node);
	if (traceable && !known && sl_number(sp, S_JOB_UID, &uid) && uid == 0) {
		s->leads = rec->nodeid == 0;
		notice_set(n, NOTICE_ROOT, "steps of root are not traced");
	}
	return known;
}

void step_begin(spank_t sp, const struct config *c, const struct request *r, bool on, struct notice *n,
		struct step *ret_step)
{
	struct error e = {""};
	struct record rec;
	struct names names;
	struct request request = *r;
	uint32_t *tasks = NULL;
	origin_take(sp, &names.origin);
	struct step s = {.dir_fd = -1, .warden_fd = -1, .mount_fd = -1};
	bool known = know(sp, &request, c, &rec, &names, &tasks, &s, n);
	if (known && on) {
		s.active = is_admitted(r, n, &e) == 0 && has_tracer(c, &e) == 0 &&
			   make_directory(c, &rec, &s, &e) >= 0 && start(c, &s, &e) >= 0;
		if (s.active) {
			s.mount_fd = namespace_prepare(s.dir_fd);
			s.tasks_left = s.step_id == STEP_BATCH ? 1 : rec.ntasks_here;
			s.srun_reports = rec.srun_reports;
			s.user = (struct identity){.uid = rec.uid, .gid = rec.gid};
			snprintf(s.out, sizeof(s.out), "%s", rec.out);
			check_place(c, &rec, &names, &s, n);
		} else {
			sl_error("step %u.%u runs untraced: %s", rec.job_id, s.step_id, e.text);
			notice_set(n, NOTICE_SETUP, "%s", e.text);
			give_up(&s);
		}
	}
	free(tasks);
	*ret_step = s;
}

void step_task_enter(const struct step *s)
{
	if (s->active)
		namespace_enter(s->mount_fd, s->dir, s->warden_fd);
}

static int open_ranks(const struct step *s)
{
	return s->mount_fd >= 0 ? openat(s->mount_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				: openat(s->dir_fd, "ranks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Has a process called MPI? */
static bool has_segments(const struct step *s)
{
	const size_t suffix = strlen(SEGFILE_SUFFIX);
	int fd = open_ranks(s);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	bool found = false;
	while (d != NULL && !found && (entry = readdir(d)) != NULL) {
		size_t len = strlen(entry->d_name);
		found = len > suffix && strcmp(entry->d_name + len - suffix, SEGFILE_SUFFIX) == 0;
	}
	if (d != NULL)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return found;
}

/* Until all tasks have ended, the standard error of a step's slurmstepd is that of its first task; nobody waits for who
 * reads it. */
static bool is_heard(void)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
	return poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0;
}

/* srun finds nothing, as after a program without MPI; what was recorded only this node knows. */
static void note_elsewhere(const struct step *s, struct notice *n)
{
	if (s->elsewhere && strlen(s->out) <= SAID_PATH_MAX)
		notice_set(n, NOTICE_ELSEWHERE, "%s, a directory of each node's own, which srun does not have", s->out);
}

/* An srun that makes the report says it itself. */
static void note_unrecorded(const struct step *s, struct notice *n)
{
	char why[512];
	int fd = s->leads && !s->srun_reports ? open_ranks(s) : -1;
	if (fd >= 0 && unrecorded_why(fd, &s->user, why, sizeof(why)))
		notice_set(n, NOTICE_UNTRACED, "%s", why);
	if (fd >= 0)
		close(fd);
}

static void say_at_end(const struct step *s, struct notice *n)
{
	if (!n->wanted || n->cause != NOTICE_NONE)
		return;
	if (has_segments(s))
		note_elsewhere(s, n);
	else
		note_unrecorded(s, n);
	if (is_heard())
		notice_say(n, s->node);
}

void step_task_exit(spank_t sp, struct step *s, struct notice *n)
{
	char line[96];
	uint32_t task;
	int status;
	tick_choose();
	if (!s->active || !sl_number(sp, S_TASK_GLOBAL_ID, &task) || !sl_exit_status(sp, &status))
		return;
	int len = snprintf(line, sizeof(line), "%u %d %" PRIu64 "\n", task, status, tick_now());
	int fd = openat(s->dir_fd, "exits", O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || write(fd, line, (size_t)len) != len)
		sl_error("cannot record the exit of task %u: %s", task, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (s->tasks_left > 0 && --s->tasks_left == 0)
		say_at_end(s, n);
}

void step_end(struct step *s)
{
	if (!s->active)
		return;
	int rc = spool_mark(s->dir_fd, "done");
	if (rc < 0)
		sl_error("cannot mark %s as done: %s", s->dir, strerror(-rc));
	if (s->mount_fd >= 0)
		close(s->mount_fd);
	close(s->warden_fd);
	close(s->dir_fd);
	s->active = false;
}
