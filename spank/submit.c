/* submit.c - see submit.h. Runs inside srun as the user. srun makes the report when the allocation
 * is its own, so that the report is there when srun returns, or when somebody watches; else the
 * epilog does. Only a terminal is told where the report is: what a program's output is piped into
 * must not differ with --mpitrace. */
#include "spank/submit.h"
#include "base/ask.h"
#include "base/clock.h"
#include "base/command.h"
#include "spank/policy/policy.h"
#include "spank/origin.h"
#include "spank/output.h"
#include "spank/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SECONDS 10.0 /* at most, for the agents to deliver */
#define QUEUE_SECONDS 4.0 /* to submit a job in its place */
#define RUN_SHARE 50	  /* a report may take a 50th of the step's time */
#define CODE_NO_PROGRAM 127
#define END_TRIES 200 /* of 10 ms */
#define REAP_TRIES 100
#define LOOK_MS 10000 /* a busy machine may take seconds for what takes a millisecond */
#define CODE_STOPPED (-1)

static struct {
	bool own_allocation;
	bool wanted;	    /* the report, when the step has ended */
	bool queue;	    /* the site wants long analyses to be jobs */
	unsigned processes; /* of such a job */
	bool quiet, hides_hosts;
	bool has_place; /* when it began; else its first node has told so */
	uint32_t nnodes;
	double begin;
	char directory[PATH_MAX]; /* where srun was called */
	char out[PATH_MAX];
} local;

/* srun takes options of the job around it from there, as it shall; sbatch and salloc would as well. */
void submit_forget_outer(void)
{
	if (spank_context() == S_CTX_ALLOCATOR && getenv("SLURM_JOB_ID") != NULL) {
		unsetenv("_SLURM_SPANK_OPTION_mpitrace_mpitrace");
		unsetenv("SLURM_SPANK__SLURM_SPANK_OPTION_mpitrace_mpitrace");
	}
}

static bool reports(const struct request *r)
{
	return r->report == REPORT_SRUN && (local.own_allocation || isatty(STDERR_FILENO));
}

/* Where none was open, something of srun's has its number: the socket that it listens at, or the end of a pipe that it
 * reads from (26.05). */
static bool is_heard(void)
{
	int listens = 0, flags = fcntl(STDERR_FILENO, F_GETFL);
	socklen_t len = sizeof(listens);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return false;
	return getsockopt(STDERR_FILENO, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) != 0 || listens == 0;
}

void submit_prepare(const struct request *r, bool wanted, struct notice *n)
{
	if (is_heard()) {
		unsetenv(SUBMIT_UNHEARD);
	} else {
		n->wanted = false;
		setenv(SUBMIT_UNHEARD, "1", 1);
	}
	local.own_allocation = getenv("SLURM_JOB_ID") == NULL;
	if (getcwd(local.directory, sizeof(local.directory)) == NULL)
		local.directory[0] = '\0';
	if (wanted && reports(r))
		setenv(SUBMIT_REPORTS, "1", 1);
	else
		unsetenv(SUBMIT_REPORTS);
}

void submit_step_known(spank_t sp, const struct request *r, bool asked)
{
	uint32_t job_id, step_id;
	const char *submit_dir = getenv("SLURM_SUBMIT_DIR"), *restart = getenv("SLURM_RESTART_COUNT");
	if (local.own_allocation || submit_dir == NULL)
		submit_dir = local.directory;
	local.begin = now_s();
	bool known = sl_number(sp, S_JOB_ID, &job_id) && sl_number(sp, S_JOB_STEPID, &step_id) &&
		     output_path(r, submit_dir, job_id, output_restart(restart), step_id, local.out, NULL) == 0;
	origin_tell(submit_dir, known && asked ? local.out : NULL);
	local.wanted = known && reports(r);
	local.quiet = r->quiet;
	local.hides_hosts = (r->site.redact & POLICY_REDACT_HOSTS) != 0;
	local.queue = strcmp(r->site.finish, "queue") == 0;
	local.processes = r->site.finish_processes;
	local.has_place =
		known && (asked || local.wanted) && place_check(NULL, local.out, false, &(struct error){""}) == 0;
	if (!local.wanted || !sl_number(sp, S_JOB_NNODES, &local.nnodes))
		local.nnodes = 0;
}

/* Of a heterogeneous step, srun's own part is all that Slurm tells a plugin; by now it has told its environment of
 * all. */
static uint32_t nodes_of_step(void)
{
	const char *text = getenv("SLURM_HET_SIZE") != NULL ? getenv("SLURM_JOB_NUM_NODES") : NULL;
	unsigned long all = text != NULL ? strtoul(text, NULL, 10) : 0;
	return local.nnodes > 0 && all > local.nnodes && all < UINT32_MAX ? (uint32_t)all : local.nnodes;
}

/* What ld.so(8) heeds is meant for the user's programs: their libraries are not ours. */
static void forget_loader(void)
{
	char **to = environ;
	for (char **from = environ; *from != NULL; from++)
		if (strncmp(*from, "LD_", 3) != 0 && strncmp(*from, "GLIBC_TUNABLES=", 15) != 0)
			*to++ = *from;
	*to = NULL;
}

/* A group of its own: srun is told by the terminal that somebody wants to end, and tells us. */
static void run_finisher(const struct config *c, double budget_s, int failed_fd)
{
	char program[PATH_MAX + 16], nodes[16], processes[16], budget[32], wait[32];
	snprintf(program, sizeof(program), "%s/mpitrace", c->bindir);
	snprintf(nodes, sizeof(nodes), "%u", nodes_of_step());
	snprintf(budget, sizeof(budget), "%.1f", budget_s);
	snprintf(wait, sizeof(wait), "%.0f", budget_s < WAIT_SECONDS ? budget_s + 0.49 : WAIT_SECONDS);
	char *argv[13] = {program, "finish", local.out, "--wait", wait, "--budget", budget};
	int n = 7;
	snprintf(processes, sizeof(processes), "%u", local.processes);
	if (local.queue) {
		argv[n++] = "--queue";
		argv[n++] = "--processes";
		argv[n++] = processes;
	}
	if (local.nnodes > 0) {
		argv[n++] = "--nodes";
		argv[n++] = nodes;
	}
	setpgid(0, 0);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	forget_loader();
	if (freopen("/dev/null", "r+", stdin) != NULL && dup2(0, 1) == 1 && dup2(0, 2) == 2)
		execv(program, argv);
	int why = errno;
	ssize_t told_bytes = write(failed_fd, &why, sizeof(why));
	(void)told_bytes;
	_exit(CODE_NO_PROGRAM);
}

/* srun keeps these signals blocked in all but one of its threads, and that one has ended or takes them without ending
 * us: so we ask what is pending, and handle what is not blocked. */
static volatile sig_atomic_t told;

static void note_signal(int number)
{
	(void)number;
	told = 1;
}

static bool shall_stop(void)
{
	sigset_t pending;
	return told || (sigpending(&pending) == 0 &&
			(sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
			 sigismember(&pending, SIGHUP) == 1));
}

static bool has_ended(pid_t pid, int tries)
{
	for (; tries > 0 && waitpid(pid, NULL, WNOHANG) == 0; tries--)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	return tries > 0;
}

static void end_group(pid_t pid)
{
	kill(-pid, SIGTERM); /* it leaves nothing half done */
	bool ended = has_ended(pid, END_TRIES);
	kill(-pid, SIGKILL);
	if (!ended)
		has_ended(pid, REAP_TRIES); /* one that waits for a dead file server ends when it likes */
}

/* The finisher's exit code, or CODE_STOPPED. */
static int wait_for(pid_t pid, double seconds)
{
	int status;
	double end = now_s() + seconds;
	struct timespec nap = {.tv_nsec = 2000000};
	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);
		if (got == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : CODE_STOPPED;
		if (got < 0 && errno != EINTR)
			return CODE_STOPPED;
		if (shall_stop() || now_s() >= end) {
			end_group(pid);
			return CODE_STOPPED;
		}
		nanosleep(&nap, NULL);
	}
}

static bool is_own(const char *dir)
{
	struct stat st;
	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & S_IWOTH) == 0;
}

/* A step whose first node has left no trace has said why; names of nodes that are not to be known tell nothing. */
static bool first_node_wrote(void)
{
	char node[256], path[PATH_MAX + 300];
	const char *list =
		getenv("SLURM_STEP_NODELIST") != NULL ? getenv("SLURM_STEP_NODELIST") : getenv("SLURM_NODELIST");
	if (local.hides_hosts || !sl_first_node(list, node))
		return true;
	snprintf(path, sizeof(path), "%s/%s.mpic", local.out, node);
	return access(path, F_OK) == 0;
}

/* The log of the step's directory (collect/finish.c), or NULL. */
static FILE *open_log(void)
{
	char path[PATH_MAX + 16];
	struct stat st;
	snprintf(path, sizeof(path), "%s/log.txt", local.out);
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	FILE *f = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
	if (f == NULL && fd >= 0)
		close(fd);
	return f;
}

/* What the nodes' agents left there where no process was recorded (collect/agent.c): why. A tracer that a task cannot
 * open is what the first node's has said when it began. */
static bool why_untraced(char *ret_why, size_t cap_bytes)
{
	static const char mark[] = "ran untraced: ";
	char line[1024], node[256] = "";
	const char *found = NULL;
	sl_first_node(getenv("SLURM_STEP_NODELIST"), node);
	FILE *f = open_log();
	while (f != NULL && found == NULL && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		found = strstr(line, mark);
		bool of_other = !local.hides_hosts && node[0] != '\0' && strstr(line, node) == NULL;
		if (found != NULL && strstr(line, "cannot open shared object file") != NULL && !of_other)
			found = NULL;
	}
	if (found != NULL)
		snprintf(ret_why, cap_bytes, "%s", found + strlen(mark));
	if (f != NULL)
		fclose(f);
	return found != NULL;
}

/* What the finisher found, before it began with a report. */
enum found { FOUND_UNKNOWN, FOUND_ALL, FOUND_PART };

/* Files that have ended may have lost events, and ranks may have been ended in the midst: that the page from totals has
 * seen. */
static enum found found_traces(void)
{
	char line[1024];
	unsigned complete, all;
	enum found files = FOUND_UNKNOWN, totals = FOUND_UNKNOWN;
	FILE *f = open_log();
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		enum found found = strstr(line, ": partial") != NULL ? FOUND_PART : FOUND_ALL;
		if (sscanf(line, "%*s finish: %u of %u traces complete", &complete, &all) == 2)
			files = complete < all ? FOUND_PART : found;
		else if (strstr(line, " finish: report.html from totals after ") != NULL)
			totals = found;
	}
	if (f != NULL)
		fclose(f);
	return files == FOUND_PART || totals == FOUND_PART ? FOUND_PART : files == FOUND_ALL ? totals : FOUND_UNKNOWN;
}

/* No results, although there was a place for them when the step began: a program without MPI leaves none; else the
 * agents could not make the directory. */
static bool has_lost_its_place(struct notice *n)
{
	struct error e;
	if (!local.has_place || is_own(local.out) || place_check(NULL, local.out, true, &e) == 0)
		return false;
	notice_set(n, NOTICE_PLACE,
		   "%s: what could be saved of the trace is kept on each node in kept/%u of its spool, for a week",
		   e.text, (unsigned)geteuid());
	return true;
}

static void note_no_program(struct notice *n, int exec_errno)
{
	if (exec_errno == ENOENT)
		notice_set(n, NOTICE_NO_PROGRAM, "the program mpitrace is missing on this host; the trace is in %s",
			   local.out);
	else
		notice_set(n, NOTICE_NO_PROGRAM,
			   "the program mpitrace does not start on this host: %s; the trace is in %s",
			   exec_errno != 0 ? strerror(exec_errno) : "its libraries cannot be loaded", local.out);
}

/* A report is yet to be made: of what. */
static void note_later(struct notice *n, int code, bool has_report)
{
	static const char *const traces[] = {[FOUND_UNKNOWN] = "whether the trace is complete is not known",
					     [FOUND_ALL] = "the trace is complete",
					     [FOUND_PART] = "the trace is partial"};
	enum found found = found_traces();
	if (found == FOUND_PART && !first_node_wrote())
		return;
	if (code == EXIT_QUEUED)
		notice_set(n, NOTICE_QUEUED, "%s, a job makes its report: %s/report.html", traces[found], local.out);
	else
		notice_set(n, NOTICE_LATER, "%s%s: mpitrace finish %s", traces[found],
			   has_report ? ", report.html is from totals" : "", local.out);
}

/* What a finisher that ended with this code has not done. Without a directory there is nothing to report, or the step
 * has said that its results are kept. */
static void note(struct notice *n, int code, int exec_errno, bool has_report)
{
	char why[1024];
	if ((code != CODE_STOPPED && has_lost_its_place(n)) || !is_own(local.out))
		return;
	if (code == 0 && !has_report && why_untraced(why, sizeof(why)))
		notice_set(n, NOTICE_UNTRACED, "%s", why);
	else if (code == CODE_NO_PROGRAM)
		note_no_program(n, exec_errno);
	else if (code == EXIT_PARTIAL && has_report && first_node_wrote())
		notice_set(n, NOTICE_PARTIAL, "%s/report.html", local.out);
	else if (code == EXIT_LATER || code == EXIT_QUEUED || code == CODE_STOPPED ||
		 (code == EXIT_PARTIAL && !has_report))
		note_later(n, code, has_report);
	else if (code != 0 && code != EXIT_PARTIAL)
		notice_set(n, has_report ? NOTICE_TOTALS_ONLY : NOTICE_FAILED, "the analysis of %s failed", local.out);
}

static void find_report(const void *question, int fd)
{
	char path[PATH_MAX + 16], why[1024];
	(void)question, (void)fd;
	snprintf(path, sizeof(path), "%s/report.html", local.out);
	if (is_own(local.out) && access(path, R_OK) != 0 && !why_untraced(why, sizeof(why)))
		found_traces();
	first_node_wrote();
}

/* The results' file system may be one that does not answer any more, and srun is to end all the same: a child looks
 * first. */
static bool out_answers(void)
{
	_cleanup_buf_ struct buf nothing = {0};
	return ask_in_child(find_report, NULL, LOOK_MS, 1, &nothing);
}

/* One line: what is missing to who asked, where the report is to who watches. */
static void say(struct notice *n, int code, int exec_errno)
{
	char report[PATH_MAX + 16];
	bool watched = isatty(STDERR_FILENO) && !local.quiet;
	snprintf(report, sizeof(report), "%s/report.html", local.out);
	bool answers = out_answers(), has_report = answers && access(report, R_OK) == 0;
	if (answers)
		note(n, code, exec_errno, has_report);
	else
		notice_set(n, NOTICE_LATER, "%s does not answer: mpitrace finish %s", local.out, local.out);
	n->wanted |= watched;
	if (n->cause != NOTICE_NONE)
		notice_say(n, "");
	else if (has_report && watched)
		fprintf(stderr, "mpitrace: %s\n", report);
}

/* The program's exit code, or CODE_STOPPED. *ret_errno: why it could not be started, or 0. While it runs srun heeds who
 * wants it to end, as `listen` says. */
static int finish(const struct config *c, double budget_s, const struct sigaction *listen, int *ret_errno)
{
	int failed[2]; /* the program's own exit codes are not execv's */
	*ret_errno = 0;
	if (pipe2(failed, O_CLOEXEC | O_NONBLOCK) != 0)
		return CODE_STOPPED;
	pid_t pid = fork();
	if (pid == 0)
		run_finisher(c, budget_s, failed[1]);
	sigaction(SIGINT, listen, NULL);
	sigaction(SIGTERM, listen, NULL);
	sigaction(SIGHUP, listen, NULL);
	int code = pid > 0 ? wait_for(pid, 2 * budget_s + 2 + (local.queue ? QUEUE_SECONDS : 0)) : CODE_STOPPED;
	if (read(failed[0], ret_errno, sizeof(*ret_errno)) != sizeof(*ret_errno))
		*ret_errno = 0;
	close(failed[0]);
	close(failed[1]);
	return code;
}

void submit_finish(const struct config *c, struct notice *n)
{
	if (!local.wanted) {
		if (local.has_place && out_answers() && has_lost_its_place(n))
			notice_say(n, "");
		local.has_place = false;
		return;
	}
	local.wanted = false;
	double share = (now_s() - local.begin) / RUN_SHARE;
	double budget_s = c->report_seconds > 0 ? (double)c->report_seconds : share > 1 ? share : 1;
	struct sigaction listen = {.sa_handler = note_signal}, collect = {.sa_handler = SIG_DFL}, before[4];
	static const int numbers[4] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
	int exec_errno;
	for (int i = 0; i < 4; i++)
		sigaction(numbers[i], NULL, &before[i]);
	sigaction(SIGCHLD, &collect, NULL); /* srun may have been told to ignore it: then there is no exit code */
	int code = finish(c, budget_s, &listen, &exec_errno);
	say(n, code, exec_errno);
	for (int i = 0; i < 4; i++)
		sigaction(numbers[i], &before[i], NULL);
}
