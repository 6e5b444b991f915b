/* finish.c - see finish.h. In: out/<node>.mpic.  Out: out/job.mpix, out/report.html, out/log.txt.
 * First a page from totals, then, as far as the time goes, the whole analysis in its place. */
#include "collect/finish.h"
#include "base/clock.h"
#include "base/path.h"
#include "collect/queue.h"
#include "collect/traces.h"

#include "base/atomic_file.h"
#include "base/become.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOCK ".finish.lock"
#define OUTCOME "mpitrace-outcome" /* postproc/read/outcome.c */
#define POLL_NS 10000000
#define REAP_TRIES 100 /* of POLL_NS */
#define GIVE_WAY_NS 100000000
#define SETTLE_S 1.0		     /* no new trace for so long, when their number is unknown */
#define ANALYZE_SECONDS 1800	     /* then the analysis is killed */
#define TOTALS_SECONDS 10.0	     /* then the page from totals is, where there is a budget */
#define MISSING_PATIENCE_SHARE 0.006 /* of wait_s, for a directory that is not there */
#define ABSENT_PATIENCE_S 1.0	     /* for nodes without a file when all others have ended theirs */
#define AT_WORK_S 8.0		     /* an agent that has written nothing for so long after the step is dead */
#define NS_PER_EVENT 1500.0	     /* of an analysis on one processor (docs/PERFORMANCE.md) */
#define THREADS_MAX 16

enum { EXIT_CODE_PARTIAL = 4 }; /* cli/cli.h: EXIT_PARTIAL */

static volatile sig_atomic_t stopped; /* SIGINT, SIGTERM, SIGHUP */

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

/* A regular file of ours and of one name, whatever lies there under this one: a FIFO would keep us waiting. */
static int open_log(int dir_fd)
{
	struct stat st;
	int fd = openat(dir_fd, "log.txt", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink > 1)) {
		close(fd);
		return -1;
	}
	return fd;
}

void finish_log(int dir_fd, const char *fmt, ...)
{
	char when[32] = "";
	time_t t = time(NULL);
	struct tm tm;
	va_list ap;
	int fd = open_log(dir_fd);
	if (fd < 0)
		return;
	if (localtime_r(&t, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S%z", &tm);
	dprintf(fd, "%s finish: ", when);
	va_start(ap, fmt);
	vdprintf(fd, fmt, ap);
	va_end(ap);
	dprintf(fd, "\n");
	close(fd);
}

/* NFS may remember for a while that a name is not there; opening the directories above makes it
 * look. */
static void refresh_parents(const char *path)
{
	char above[PATH_MAX];
	snprintf(above, sizeof(above), "%s", path);
	for (int levels = 0; levels < 2; levels++) {
		char *slash = strrchr(above, '/');
		if (slash == NULL || slash == above)
			return;
		*slash = '\0';
		int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
	}
}

/* The agents make the directory when the first process uses MPI, so there is little to wait for. */
static int open_out(const struct finish *f)
{
	double end = now_s() + (double)f->wait_s * MISSING_PATIENCE_SHARE;
	for (;;) {
		refresh_parents(f->out);
		int fd = open(f->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 || errno != ENOENT)
			return fd >= 0 ? fd : -errno;
		if (now_s() >= end || stopped)
			return -ENOENT;
		nap();
	}
}

/* A finisher that ends removes its lock's name, so a lock on a nameless file is worth nothing: try
 * again. A descriptor, -EBUSY, or -errno. File systems without locks: go on, two analyses are only
 * wasteful. */
static int try_lock(int dir_fd)
{
	struct stat st;
	int fd = openat(dir_fd, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno == ENOSYS || errno == ENOLCK || errno == EOPNOTSUPP) {
		if (fstat(fd, &st) == 0 && st.st_nlink > 0)
			return fd;
		errno = EWOULDBLOCK;
	}
	int rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	close(fd);
	return rc;
}

static int lock(int dir_fd, double end)
{
	for (;;) {
		int fd = try_lock(dir_fd);
		if (fd != -EBUSY || now_s() >= end || stopped)
			return fd;
		nap();
	}
}

static void unlock(int dir_fd, int lock_fd)
{
	unlinkat(dir_fd, LOCK, 0);
	close(lock_fd);
}

/* A node may have one without end beside, of an agent that was ended. */
static bool all_nodes_finished(const struct finish *f, const struct traces *t)
{
	return f->nodes > 0 && t->finished >= f->nodes;
}

/* Nothing more can be expected: all nodes' traces have their end, or those that are there have, and for a while no
 * other has come. Where there is none the agents have said in the log why (collect/agent.c). */
static bool complete(const struct finish *f, int dir_fd, const struct traces *t, double unchanged_s)
{
	if (all_nodes_finished(f, t))
		return true;
	return (t->n > 0 || faccessat(dir_fd, "log.txt", F_OK, 0) == 0) && t->finished == t->n &&
	       unchanged_s >= (f->nodes > 0 ? ABSENT_PATIENCE_S : SETTLE_S);
}

static double patience(const struct finish *f)
{
	return f->nodes > 0 ? ABSENT_PATIENCE_S : SETTLE_S;
}

/* True when all traces are complete; false when the time is over. */
static bool wait_for_traces(const struct finish *f, int dir_fd, struct traces *t, double end)
{
	double changed = f->wait_s > 0 ? now_s() : -patience(f);
	for (;;) {
		unsigned before = t->n, finished = t->finished;
		traces_scan(dir_fd, f->out, t);
		if ((t->n != before || t->finished != finished) && f->wait_s > 0)
			changed = now_s();
		if (complete(f, dir_fd, t, now_s() - changed))
			return t->finished >= f->nodes;
		if (now_s() >= end || stopped)
			return false;
		nap();
	}
}

/* The child: the analysis, its words in the log. Not another program: as it is nobody can look into it (base/become.h),
 * and a new one could be. But in a job of the user's nothing is to be hidden from them. */
static void analyze(const struct finish *f, int (*work)(const struct finish *), int dir_fd)
{
	struct rlimit none = {0, 0};
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &none);
	if (work != f->analyze_by_job)
		become_confined(CONFINED_THREADS);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), log = open_log(dir_fd), fd = log >= 0 ? log : null;
	if (null >= 0 && dup2(null, 0) == 0 && dup2(fd, 1) == 1 && dup2(fd, 2) == 2) {
		int code = work(f);
		fflush(NULL);
		_exit(code);
	}
	_exit(127);
}

/* What an analysis that was killed leaves (base/atomic_file.c). */
static void remove_temporary(int dir_fd, pid_t pid)
{
	static const char *const names[] = {"job.mpix", "report.html"};
	char name[64];
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "%s.%d.tmp", names[i], (int)pid);
		unlinkat(dir_fd, name, 0);
	}
}

/* One that waits for a dead file server ends when it likes. */
static void end_analysis(pid_t pid)
{
	kill(pid, SIGKILL);
	for (int i = 0; i < REAP_TRIES && waitpid(pid, NULL, WNOHANG) == 0; i++)
		nap();
}

/* The analysis' exit code; -ETIME when its time was over, -EINTR when we were told to stop or a signal ended it. */
static int run_analysis(const struct finish *f, int (*work)(const struct finish *), int dir_fd, double seconds)
{
	int status;
	double end = now_s() + (f->budget_s > 0 ? seconds : ANALYZE_SECONDS);
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		analyze(f, work, dir_fd);
	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG | WUNTRACED);
		bool halted = got == pid && WIFSTOPPED(status);
		if (halted)
			kill(pid, SIGCONT); /* its time is counted all the same */
		if (got == pid && WIFEXITED(status))
			return WEXITSTATUS(status);
		if (got == pid && WIFSIGNALED(status))
			finish_log(dir_fd, "the analysis was ended by signal %d (%s): the traces stay as they are",
				   WTERMSIG(status), strsignal(WTERMSIG(status)));
		if ((got == pid && !halted) || (got < 0 && errno != EINTR))
			break;
		if (now_s() >= end || stopped) {
			end_analysis(pid);
			break;
		}
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	remove_temporary(dir_fd, pid);
	return !stopped && now_s() >= end ? -ETIME : -EINTR;
}

/* Seconds that the analysis of so many events takes here. */
static double estimate_s(uint64_t events)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return (double)events * NS_PER_EVENT / 1e9 / (double)(n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : n);
}

static const char *page_note(bool page)
{
	return page ? ", report.html is from totals" : "";
}

static const char *remaining(bool page)
{
	return page ? "it whole" : "the report";
}

/* The numbers in .../mpitrace-<job>.<run>/step-<step>: the first run has no number, and is 0. */
static bool job_of(const char *out, char ret_job[QUEUE_JOB_MAX], unsigned long *ret_run)
{
	char real[PATH_MAX], *slash = realpath(out, real) != NULL ? strrchr(real, '/') : NULL;
	if (slash == NULL)
		return false;
	*slash = '\0';
	slash = strrchr(real, '/');
	if (slash == NULL || strncmp(slash, "/mpitrace-", strlen("/mpitrace-")) != 0)
		return false;
	const char *number = slash + strlen("/mpitrace-");
	size_t digits = strspn(number, "0123456789");
	snprintf(ret_job, QUEUE_JOB_MAX, "%.*s", (int)(digits < QUEUE_JOB_MAX ? digits : 0), number);
	*ret_run = number[digits] == '.' ? strtoul(number + digits + 1, NULL, 10) : 0;
	return *ret_job != '\0';
}

/* Of a step that did not end well, what Slurm says of its job goes to the analysis beside the traces: once. */
static void ask_outcome(const struct finish *f, int dir_fd)
{
	char state[32], job[QUEUE_JOB_MAX];
	unsigned long run;
	if (!job_of(f->out, job, &run) || faccessat(dir_fd, OUTCOME, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	    !queue_outcome(job, run, f->unattended, state))
		return;
	int fd = openat(dir_fd, OUTCOME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	dprintf(fd, "state %s\n", state);
	close(fd);
	finish_log(dir_fd, "Slurm says of the job: %s", state);
}

/* The page that is there until somebody has the time for the whole analysis, or afterwards, if there is none. True when
 * it is there. */
static bool make_page(const struct finish *f, int dir_fd, const struct traces *t)
{
	double begin = now_s();
	if (traces_have_page(dir_fd, t))
		return true;
	if (stopped)
		return false;
	int code = run_analysis(f, f->totals, dir_fd, fmax(TOTALS_SECONDS, f->budget_s));
	bool made = code == 0 || code == EXIT_CODE_PARTIAL;
	if (code == EXIT_CODE_PARTIAL && !stopped)
		ask_outcome(f, dir_fd);
	if (made)
		finish_log(dir_fd, "report.html from totals after %.2f s%s", now_s() - begin,
			   code == EXIT_CODE_PARTIAL ? ": partial" : "");
	else
		finish_log(dir_fd, "report.html from totals could not be made (%d) in %.2f s", code, now_s() - begin);
	return made;
}

static int report_outcome(const struct finish *f, int dir_fd, int code, double took_s, bool whole, bool page,
			  struct error *e)
{
	if (code == -ETIME || stopped) {
		finish_log(
			dir_fd,
			"the analysis was ended after %.2f s; the traces stay as they are%s, and `mpitrace finish %s` "
			"makes %s",
			took_s, page_note(page), f->out, remaining(page));
		return stopped ? FINISH_STOPPED : FINISH_LATER;
	}
	finish_log(dir_fd, "analysis took %.2f s and ended with %d", took_s, code);
	if (code == 0)
		return whole ? FINISH_DONE : FINISH_PARTIAL;
	if (code == EXIT_CODE_PARTIAL)
		return FINISH_PARTIAL;
	return fail(e, code < 0 ? code : -EIO, "%s: the analysis failed (%d); see log.txt there", f->out, code);
}

/* Who may read the traces may read the report. */
static void take_mode(int dir_fd, const struct traces *t)
{
	struct stat st;
	if (t->n > 0 && fstatat(dir_fd, t->list[0].name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		umask(0666 & ~st.st_mode);
}

/* The page from totals, then the whole analysis, if it may be made here and now. */
static int report(const struct finish *f, int dir_fd, const struct traces *t, bool whole, struct error *e)
{
	unsigned growing = all_nodes_finished(f, t) ? 0 : traces_growing(t, AT_WORK_S);
	double needs_s = estimate_s(t->events);
	bool page = make_page(f, dir_fd, t);
	if (stopped) {
		finish_log(dir_fd, "stopped before the analysis%s; `mpitrace finish %s` makes %s", page_note(page),
			   f->out, remaining(page));
		return FINISH_STOPPED;
	}
	if (f->budget_s > 0 && growing > 0) {
		finish_log(dir_fd, "agents are still at work on %u traces%s: `mpitrace finish %s` makes %s", growing,
			   page_note(page), f->out, remaining(page));
		return FINISH_LATER;
	}
	if (f->budget_s > 0 && needs_s > f->budget_s) {
		finish_log(dir_fd,
			   "the analysis of %llu events needs about %.0f s, more than the %.1f s it may have here%s: "
			   "`mpitrace finish %s` makes %s",
			   (unsigned long long)t->events, needs_s, f->budget_s, page_note(page), f->out,
			   remaining(page));
		return FINISH_LATER;
	}
	double begin = now_s();
	int code = f->processes > 1 && f->budget_s == 0 ? run_analysis(f, f->analyze_by_job, dir_fd, 0) : -1;
	if (code != 0 && code != EXIT_CODE_PARTIAL && !stopped)
		code = run_analysis(f, f->analyze, dir_fd, f->budget_s);
	return report_outcome(f, dir_fd, code, now_s() - begin, whole, page, e);
}

/* No process is in the traces: the program was not MPI, or nothing of it can be read, which is said. */
static int report_nothing(const struct finish *f, int dir_fd, const struct traces *t, struct error *e)
{
	traces_remove_empty(dir_fd, t);
	if (t->unreadable == 0)
		return FINISH_NOTHING;
	bool page = make_page(f, dir_fd, t);
	return fail(e, -EBADMSG, "%s: of %u traces none can be read%s", f->out, t->unreadable,
		    page ? "; report.html there says why" : "");
}

/* Of a finisher that was killed, or of an analysis. */
static void remove_left(const struct finish *f)
{
	static const char *const names[] = {"job.mpix", "report.html", "../index.html"};
	char path[PATH_MAX + 16];
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->out, names[i]);
		atomic_file_sweep(path);
	}
}

static int finish_traces(const struct finish *f, int dir_fd, double end, struct error *e)
{
	struct traces t = {0};
	double begin = now_s();
	bool whole = wait_for_traces(f, dir_fd, &t, end);
	int rc = whole ? FINISH_DONE : FINISH_PARTIAL;
	traces_read_unfinished(f->out, &t);
	take_mode(dir_fd, &t);
	if (t.processes == 0) {
		rc = report_nothing(f, dir_fd, &t, e);
	} else if (!traces_have_report(dir_fd, &t)) {
		finish_log(dir_fd, "%u of %u traces complete after %.2f s, %u processes%s", t.finished,
			   f->nodes > t.n ? f->nodes : t.n, now_s() - begin, t.processes, whole ? "" : ": partial");
		rc = report(f, dir_fd, &t, whole, e);
	}
	traces_done(&t);
	return rc;
}

/* Leave no empty directory of ours behind; both fail harmlessly when something is in them. */
static void remove_directories(const char *out)
{
	char job[PATH_MAX];
	if (rmdir(out) != 0)
		return;
	snprintf(job, sizeof(job), "%s", out);
	char *slash = strrchr(job, '/');
	if (slash == NULL || slash == job)
		return;
	*slash = '\0';
	if (strncmp(path_name(job), "mpitrace-", 9) == 0)
		rmdir(job);
}

/* Somebody else's directory may hold anything, and change while we look. */
static bool is_ours(int dir_fd)
{
	struct stat st;
	return fstat(dir_fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & S_IWOTH) == 0;
}

static void listen_to_signals(void)
{
	struct sigaction a = {.sa_handler = stop};
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

static bool has_report(const struct finish *f, int dir_fd)
{
	struct traces t = {0};
	traces_scan(dir_fd, f->out, &t);
	bool has = t.n > 0 && traces_have_report(dir_fd, &t);
	traces_done(&t);
	return has;
}

static void wait_for_report(const struct finish *f, int dir_fd)
{
	double end = now_s() + f->give_way_s;
	while (now_s() < end && !stopped && !has_report(f, dir_fd))
		nanosleep(&(struct timespec){.tv_nsec = GIVE_WAY_NS}, NULL);
}

/* The report is left to a job, which must find no lock of ours. */
static int queue(const struct finish *f, int dir_fd)
{
	char job[QUEUE_JOB_MAX];
	struct error e;
	if (queue_submit(f->out, f->processes, job, &e) < 0) {
		finish_log(dir_fd, "no job makes the report: %s", e.text);
		return FINISH_LATER;
	}
	finish_log(dir_fd, "job %s makes the report", job);
	return FINISH_QUEUED;
}

int finish_run(const struct finish *f, struct error *e)
{
	listen_to_signals();
	int dir_fd = open_out(f);
	if (dir_fd == -ENOENT)
		return FINISH_NOTHING;
	if (dir_fd < 0)
		return fail(e, dir_fd, "%s: cannot open it: %s", f->out, strerror(-dir_fd));
	if (!is_ours(dir_fd)) {
		close(dir_fd);
		return fail(
			e, -EPERM,
			"%s: belongs to somebody else, or all may write in it: copy the traces to a directory of yours",
			f->out);
	}
	wait_for_report(f, dir_fd);
	double end = now_s() + f->wait_s;
	int lock_fd = lock(dir_fd, end), rc;
	if (lock_fd < 0) {
		close(dir_fd);
		if (lock_fd == -EBUSY)
			return FINISH_BUSY;
		return fail(e, lock_fd, "%s/%s: cannot lock it: %s", f->out, LOCK, strerror(-lock_fd));
	}
	remove_left(f);
	rc = finish_traces(f, dir_fd, end, e);
	unlock(dir_fd, lock_fd);
	if (rc == FINISH_LATER && f->queue)
		rc = queue(f, dir_fd);
	close(dir_fd);
	if (rc == FINISH_NOTHING)
		remove_directories(f->out);
	return rc;
}
