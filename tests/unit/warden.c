/* warden.c - root's side of a node without a node: the spool's directories, who sees to a step, what root reads of its
 * record, what is kept, made later, swept and counted. Each test has a spool of its own; needs root. */
#include "format/layout.h"
#include "spank/warden/step_facts.h"
#include "spank/warden/central.h"
#include "spank/warden/child.h"
#include "spank/warden/elsewhere.h"
#include "spank/warden/keep.h"
#include "spank/warden/deferred.h"
#include "spank/warden/lock.h"
#include "spank/warden/remove.h"
#include "spank/warden/spool.h"
#include "spank/warden/warden.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define USER 4242u
#define GROUP 4343u
#define BATCH 0xfffffffbu

static char base[64], spool[96];
static int live_fd;

static void begin(void)
{
	if (geteuid() != 0)
		cr_skip_test("needs root");
	snprintf(base, sizeof(base), "/tmp/mpitrace-warden-XXXXXX");
	cr_assert_not_null(mkdtemp(base));
	cr_assert_eq(chmod(base, 0755), 0);
	snprintf(spool, sizeof(spool), "%s/spool", base);
	live_fd = spool_open(spool, "live", true, NULL);
	cr_assert_geq(live_fd, 0);
}

static void end(void)
{
	char command[128];
	if (geteuid() != 0)
		return;
	close(live_fd);
	snprintf(command, sizeof(command), "rm -rf %s", base);
	cr_assert_eq(system(command), 0);
}

TestSuite(warden, .init = begin, .fini = end);

static const char *below(const char *name)
{
	static char path[4][512];
	static unsigned turn;
	char *to = path[turn++ % 4];
	snprintf(to, sizeof(path[0]), "%s/%s", base, name);
	return to;
}

static void put(const char *path, const char *text, uid_t uid, mode_t mode)
{
	FILE *f = fopen(path, "w");
	cr_assert_not_null(f, "%s", path);
	fputs(text, f);
	fclose(f);
	cr_assert_eq(chown(path, uid, uid == 0 ? 0 : GROUP), 0);
	cr_assert_eq(chmod(path, mode), 0);
}

static bool there(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0;
}

static void age(const char *path, time_t seconds)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
	cr_assert_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* ---- the spool ---- */

Test(warden, a_steps_directory_is_roots_and_its_ranks_the_users)
{
	char run[SPOOL_NAME_MAX];
	struct stat st;
	int fd = spool_make_step(live_fd, 77, 3, USER, GROUP, run, NULL);
	cr_assert_geq(fd, 0);
	cr_expect_str_eq(run, "77.0");
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_uid, 0);
	cr_expect_eq(st.st_mode & 07777, 0711);
	cr_assert_eq(stat(below("spool/live/77.0/step-3/ranks"), &st), 0);
	cr_expect_eq(st.st_uid, USER);
	cr_expect_eq(st.st_gid, GROUP);
	cr_expect_eq(st.st_mode & 07777, 0700);
	close(fd);
	fd = spool_make_step(live_fd, 77, BATCH, USER, GROUP, run, NULL);
	cr_assert_geq(fd, 0);
	cr_expect(there(below("spool/live/77.0/step-batch/ranks")), "of the same run");
	close(fd);
}

Test(warden, a_run_that_has_ended_is_followed_by_the_next)
{
	char run[SPOOL_NAME_MAX];
	close(spool_make_step(live_fd, 77, 0, USER, GROUP, run, NULL));
	spool_end_run(live_fd, "77.0");
	close(spool_make_step(live_fd, 77, 0, USER, GROUP, run, NULL));
	cr_expect_str_eq(run, "77.1");
	cr_expect(there(below("spool/live/77.0/step-0")));
	close(spool_make_step(live_fd, 7, 0, USER, GROUP, run, NULL));
	cr_expect_str_eq(run, "7.0", "another job's");
}

Test(warden, what_an_earlier_job_left_under_that_name_is_gone)
{
	char run[SPOOL_NAME_MAX];
	close(spool_make_step(live_fd, 77, 0, USER, GROUP, run, NULL));
	put(below("spool/live/77.0/step-0/ranks/old.mpit"), "x", USER, 0600);
	int fd = spool_make_step(live_fd, 77, 0, USER + 1, GROUP, run, NULL);
	cr_assert_geq(fd, 0);
	close(fd);
	cr_expect_not(there(below("spool/live/77.0/step-0/ranks/old.mpit")));
}

/* Two nodes of a host may have been given one spool: neither takes the other's step away, at work on it or at its
 * end. */
Test(warden, what_another_holds_under_that_name_stays)
{
	char run[SPOOL_NAME_MAX];
	struct error e = {""};
	int fd = spool_make_step(live_fd, 77, 0, USER, GROUP, run, NULL);
	cr_assert_geq(fd, 0);
	put(below("spool/live/77.0/step-0/ranks/theirs.mpit"), "x", USER, 0600);
	cr_expect_eq(spool_make_step(live_fd, 77, 0, USER, GROUP, run, &e), -EBUSY);
	cr_expect_not_null(strstr(e.text, "another node records it"), "%s", e.text);
	int lock_fd = lock_take(fd, 0);
	cr_assert_geq(lock_fd, 0);
	close(fd);
	cr_expect_eq(spool_make_step(live_fd, 77, 0, USER, GROUP, run, &e), -EBUSY, "its warden is at work");
	cr_expect(there(below("spool/live/77.0/step-0/ranks/theirs.mpit")));
	close(lock_fd);
	fd = spool_make_step(live_fd, 77, 0, USER, GROUP, run, &e);
	cr_expect_geq(fd, 0, "%s", e.text);
	close(fd);
}

Test(warden, a_directory_that_others_may_write_or_own_is_refused)
{
	char run[SPOOL_NAME_MAX];
	struct error e = {""};
	cr_assert_eq(chmod(below("spool/live"), 0733), 0);
	cr_expect_eq(spool_open(spool, "live", true, &e), -EPERM);
	cr_expect_not_null(strstr(e.text, "must belong to root"), "%s", e.text);
	cr_assert_eq(chmod(below("spool/live"), 0711), 0);
	cr_assert_eq(mkdir(below("spool/live/9.0"), 0711), 0);
	cr_assert_eq(chown(below("spool/live/9.0"), USER, GROUP), 0);
	cr_expect_eq(spool_make_step(live_fd, 9, 0, USER, GROUP, run, &e), -EPERM);
	cr_assert_eq(symlink(below("spool"), below("link")), 0);
	cr_expect_lt(spool_open(below("link"), "live", true, &e), 0, "nor by a detour");
}

static uint64_t room_of(int step_fd, uint32_t ntasks)
{
	struct spool_room room = {.own_mount = true, .node_bytes = 1ull << 40, .ntasks = ntasks};
	uint64_t bytes = 0;
	if (spool_mount(spool, live_fd, step_fd, &room, USER, GROUP, &bytes, NULL) < 0)
		cr_skip_test("needs to mount");
	spool_unmount(step_fd);
	return bytes;
}

Test(warden, where_nobody_knows_how_many_tasks_come_there_is_room_for_many)
{
	char run[SPOOL_NAME_MAX];
	int fd = spool_make_step(live_fd, 77, 0, USER, GROUP, run, NULL);
	cr_assert_geq(fd, 0);
	uint64_t two = room_of(fd, 2), one = room_of(fd, 1);
	cr_expect_eq(two - one, SPOOL_TASK_BYTES);
	cr_expect_gt(room_of(fd, 0), two);
	close(fd);
}

static int count_name(int dir_fd, const char *name, void *context)
{
	(void)dir_fd;
	++*(int *)context;
	return strcmp(name, "b") == 0 ? 7 : 0;
}

Test(warden, each_name_is_met_once_and_hidden_ones_only_when_asked_for)
{
	int n = 0;
	for (const char *const *name = (const char *const[]){"a", "b", "c", ".h", NULL}; *name != NULL; name++)
		cr_assert_eq(spool_mark(live_fd, *name), 0);
	cr_expect_eq(spool_each(live_fd, count_name, &n), 7, "what one of them said is kept");
	cr_expect_eq(n, 3);
	n = 0;
	spool_each_hidden(live_fd, count_name, &n);
	cr_expect_eq(n, 4);
	cr_expect(spool_has(live_fd, "a"));
	struct stat st;
	cr_expect_eq(fstatat(live_fd, "a", &st, AT_SYMLINK_NOFOLLOW), 0);
	cr_expect_eq(st.st_mode, S_IFREG | 0600);
	cr_expect_not(spool_has(live_fd, "z"));
}

/* ---- who sees to a step ---- */

/* A process that holds the lock, called so; it lets go and ends when it is sent on. */
static pid_t holder(int step_fd, const char *name)
{
	int ready[2], status;
	char byte;
	cr_assert_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, name);
		int fd = lock_take(step_fd, 0);
		if (write(ready[1], fd >= 0 ? "y" : "n", 1) != 1)
			_exit(1);
		raise(SIGSTOP);
		_exit(fd >= 0 ? 0 : 1);
	}
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	cr_assert_eq(byte, 'y');
	cr_assert_eq(waitpid(pid, &status, WUNTRACED), pid);
	cr_assert(WIFSTOPPED(status));
	close(ready[0]);
	close(ready[1]);
	return pid;
}

Test(warden, a_step_has_one_who_sees_to_it)
{
	int fd = lock_take(live_fd, 0);
	char text[32] = "";
	cr_assert_geq(fd, 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(lock_take(live_fd, 0) == -EBUSY ? 0 : 1);
	int status;
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
	cr_assert_gt(pread(fd, text, sizeof(text) - 1, 0), 0);
	cr_expect_eq(atoi(text), getpid(), "and who it is stands in the file");
	close(fd);
	fd = lock_take(live_fd, 0);
	cr_expect_geq(fd, 0);
	close(fd);
}

Test(warden, one_that_is_stopped_is_sent_on)
{
	int status;
	pid_t pid = holder(live_fd, "mpitrace-warden");
	int fd = lock_take_over(live_fd, 300);
	cr_assert_geq(fd, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "not killed");
	close(fd);
}

Test(warden, one_that_holds_on_is_ended_when_its_time_is_over)
{
	int status;
	pid_t pid = holder(live_fd, "mpitrace-warden");
	int fd = lock_take_over(live_fd, 0);
	cr_assert_geq(fd, 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(fd);
}

/* The number in the file may be anybody's by now. */
Test(warden, who_is_no_warden_is_neither_sent_on_nor_ended)
{
	int status;
	pid_t pid = holder(live_fd, "somebody");
	cr_expect_eq(lock_take_over(live_fd, 0), -EBUSY);
	cr_expect_eq(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/* ---- the record of a step ---- */

static struct layout record(void)
{
	struct layout l = {0};
	layout_set_number(&l, LAYOUT_UID, USER);
	layout_set_number(&l, LAYOUT_GID, GROUP);
	layout_set_list(&l, LAYOUT_GIDS, (const uint32_t[]){GROUP, 11, 12}, 3);
	layout_set_number(&l, LAYOUT_NODEID, 1);
	layout_set_number(&l, LAYOUT_NNODES, 5);
	layout_set(&l, LAYOUT_REPORT, "srun");
	layout_set_number(&l, LAYOUT_BUDGET_S, 17);
	layout_set(&l, LAYOUT_OUT, "/home/u/mpitrace-1/step-0");
	return l;
}

static int brief_of(struct layout *l, struct step_facts *b)
{
	cr_assert_eq(layout_write(live_fd, l, NULL), 0);
	layout_done(l);
	int rc = step_facts_read(live_fd, b);
	cr_assert_eq(unlinkat(live_fd, "layout", 0), 0);
	return rc;
}

Test(warden, reads_of_a_record_whose_it_is_and_what_it_has_to_do)
{
	static struct step_facts b;
	struct layout l = record();
	cr_assert_eq(brief_of(&l, &b), 0);
	cr_expect_eq(b.who.uid, USER);
	cr_expect_eq(b.who.gid, GROUP);
	cr_expect_eq(b.who.ngids, 3);
	cr_expect_eq(b.gids[2], 12);
	cr_expect_eq(b.nodeid, 1);
	cr_expect_eq(b.nnodes, 5);
	cr_expect_eq(b.report, STEP_REPORT_SRUN);
	cr_expect_eq(b.report_seconds, 17);
	cr_expect_not(b.leave);
	cr_expect_str_eq(b.out, "/home/u/mpitrace-1/step-0");
}

Test(warden, a_record_that_lacks_something_is_none)
{
	static const enum layout_key needed[] = {LAYOUT_UID,	LAYOUT_GID,    LAYOUT_GIDS, LAYOUT_NODEID,
						 LAYOUT_NNODES, LAYOUT_REPORT, LAYOUT_OUT};
	static struct step_facts b;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		struct layout whole = record(), l = {0};
		for (int k = 0; k < LAYOUT_KEYS; k++)
			if ((enum layout_key)k != needed[i] && layout_has(&whole, (enum layout_key)k))
				layout_set(&l, (enum layout_key)k, layout_text(&whole, (enum layout_key)k));
		layout_done(&whole);
		cr_expect_eq(brief_of(&l, &b), -EBADMSG, "without %s", layout_rows[needed[i]].name);
	}
	struct layout l = record();
	layout_set_number(&l, LAYOUT_UID, UINT32_MAX); /* which means nobody */
	cr_expect_eq(brief_of(&l, &b), -EBADMSG);
}

Test(warden, a_record_that_is_not_roots_is_not_read)
{
	static struct step_facts b;
	struct layout l = record();
	cr_assert_eq(layout_write(live_fd, &l, NULL), 0);
	layout_done(&l);
	cr_assert_eq(fchownat(live_fd, "layout", USER, GROUP, 0), 0);
	cr_expect_eq(step_facts_read(live_fd, &b), -EPERM);
}

Test(warden, who_makes_the_report_and_whether_it_may_be_left)
{
	static const struct {
		const char *report, *out, *finish;
		enum step_facts_report expected;
		bool leave;
	} cases[] = {
		{"srun", "/o", "", STEP_REPORT_SRUN, false},	  {"node", "/o", "", STEP_REPORT_NODE, false},
		{"none", "/o", "", STEP_REPORT_NONE, false},	  {"node", "", "", STEP_REPORT_NONE, false},
		{"node", "o", "", STEP_REPORT_NONE, false},	  {"node", "/o", "leave", STEP_REPORT_NODE, true},
		{"node", "/o", "queue", STEP_REPORT_NODE, false}, {"srun", "/o", "queue", STEP_REPORT_SRUN, true},
		{"srun", "/o", "sweep", STEP_REPORT_SRUN, false},
	};
	static struct step_facts b;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct layout l = record();
		layout_set(&l, LAYOUT_REPORT, cases[i].report);
		layout_set(&l, LAYOUT_OUT, cases[i].out);
		layout_set(&l, LAYOUT_FINISH, cases[i].finish);
		cr_assert_eq(brief_of(&l, &b), 0);
		cr_expect_eq(b.report, cases[i].expected, "case %zu", i);
		cr_expect_eq(b.leave, cases[i].leave, "case %zu", i);
	}
}

/* ---- children ---- */

Test(warden, runs_only_what_is_roots_and_nobody_elses_to_write)
{
	const char *program = below("program");
	put(program, "#!/bin/sh\n", 0, 0755);
	cr_expect(program_is_trusted(program));
	cr_assert_eq(chmod(program, 0775), 0);
	cr_expect_not(program_is_trusted(program));
	cr_assert_eq(chmod(program, 0757), 0);
	cr_expect_not(program_is_trusted(program));
	cr_assert_eq(chmod(program, 0644), 0);
	cr_expect_not(program_is_trusted(program));
	put(program, "#!/bin/sh\n", USER, 0755);
	cr_expect_not(program_is_trusted(program));
	cr_expect_not(program_is_trusted(base));
	cr_expect_not(program_is_trusted(below("nothing")));
}

static int child_runs(const char *script, double seconds)
{
	const char *program = below("program");
	static const gid_t gids[] = {GROUP};
	struct identity who = {.uid = USER, .gid = GROUP, .gids = gids, .ngids = 1};
	struct child c = {.program = program, .who = &who, .args = {"finish", "/out"}};
	put(program, script, 0, 0755);
	pid_t pid = child_start(&c);
	cr_assert_gt(pid, 0);
	return child_wait(pid, seconds);
}

Test(warden, a_child_is_told_as_whom_and_what)
{
	cr_expect_eq(child_runs("#!/bin/sh\n[ \"$1\" = --as ] && [ \"$3 $4\" = 'finish /out' ] && [ \"$(pwd)\" = / ]\n",
				300),
		     0);
}

Test(warden, a_childs_exit_code_signal_and_time_are_told_apart)
{
	cr_expect_eq(child_runs("#!/bin/sh\nexit 5\n", 300), 5);
	cr_expect_eq(child_runs("#!/bin/sh\nkill -TERM $$\n", 300), -EINTR);
	cr_expect_eq(child_runs("#!/bin/sh\nexec sleep 1000\n", 0.01), -ETIME);
	cr_expect_eq(child_runs("#!/bin/sh\nkill -STOP $$\nexit 3\n", 300), 3, "one that is stopped is sent on");
}

Test(warden, a_child_that_somebody_waits_for_is_no_longer_idle)
{
	struct sched_param none = {0};
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	cr_assert_eq(sched_setscheduler(pid, SCHED_IDLE, &none), 0);
	cr_assert_eq(setpriority(PRIO_PROCESS, (id_t)pid, 19), 0);
	child_hurry(pid);
	cr_expect_eq(sched_getscheduler(pid), SCHED_OTHER);
	cr_expect_eq(getpriority(PRIO_PROCESS, (id_t)pid), 0);
	child_kill(pid);
	cr_expect_lt(waitpid(pid, NULL, 0), 0, "it has been reaped");
}

/* A child that has a session, and in it one who writes that file when they see that the child is gone. */
static pid_t child_with_a_witness(const char *file)
{
	int ready[2];
	char byte;
	cr_assert_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int alive[2];
		if (setsid() < 0 || pipe(alive) != 0)
			_exit(1);
		if (fork() == 0) {
			close(alive[1]);
			(void)!write(ready[1], "y", 1);
			(void)!read(alive[0], &byte, 1);
			close(open(file, O_WRONLY | O_CREAT, 0600));
		}
		for (;;)
			pause();
	}
	close(ready[1]);
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

Test(warden, of_a_child_that_is_ended_nobody_sees_the_end)
{
	for (int i = 0; i < 5; i++)
		child_kill(child_with_a_witness(below("seen")));
	cr_expect_not(there(below("seen")));
}

/* A process with a mount namespace of its own, in which there is a file system on <dir>/ranks; it stays until it is
 * killed. */
static pid_t holder_of_mount(const char *dir)
{
	char ranks[600], byte;
	int ready[2];
	cr_assert_eq(pipe(ready), 0);
	snprintf(ranks, sizeof(ranks), "%s/ranks", dir);
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		    mount("theirs", ranks, "tmpfs", 0, "size=1M") != 0)
			_exit(1);
		(void)!write(ready[1], "y", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		cr_skip_test("needs to mount");
	close(ready[0]);
	return pid;
}

static bool is_mounted_for(pid_t pid, const char *dir)
{
	char path[600];
	struct stat above, here;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, dir);
	cr_assert_eq(stat(path, &above), 0);
	snprintf(path, sizeof(path), "/proc/%d/root%s/ranks", pid, dir);
	cr_assert_eq(stat(path, &here), 0);
	return above.st_dev != here.st_dev;
}

Test(warden, what_is_mounted_in_a_jobs_namespace_is_unmounted_there)
{
	char run[SPOOL_NAME_MAX], path[64];
	const char *dir = below("spool/live/77.0/step-0");
	close(spool_make_step(live_fd, 77, 0, USER, GROUP, run, NULL));
	pid_t pid = holder_of_mount(dir);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_expect(is_mounted_for(pid, dir));
	elsewhere_unmount(fd, dir);
	cr_expect_not(is_mounted_for(pid, dir));
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

Test(warden, a_namespace_comes_as_a_descriptor)
{
	int ends[2], fd = -1;
	struct stat sent, got;
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	cr_expect(elsewhere_receive(ends[0], &fd), "nothing yet: it goes on");
	cr_expect_eq(fd, -1);
	cr_expect(elsewhere_send(ends[1], live_fd));
	cr_expect(elsewhere_receive(ends[0], &fd));
	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(live_fd, &sent), 0);
	cr_assert_eq(fstat(fd, &got), 0);
	cr_expect_eq(sent.st_ino, got.st_ino);
	close(fd);
	close(ends[1]);
	cr_expect_not(elsewhere_receive(ends[0], &fd), "the other end is closed");
	close(ends[0]);
}

/* ---- traces that could not be written where their user wanted them ---- */

static const gid_t own_gids[] = {GROUP};
static const struct identity user = {.uid = USER, .gid = GROUP, .gids = own_gids, .ngids = 1};

static int step_with(const char *name, const char *text)
{
	char run[SPOOL_NAME_MAX], path[128];
	int fd = spool_make_step(live_fd, 5, 0, USER, GROUP, run, NULL);
	cr_assert_geq(fd, 0);
	snprintf(path, sizeof(path), "spool/live/5.0/step-0/ranks/%s", name);
	put(below(path), text, USER, 0600);
	return fd;
}

Test(warden, keeps_traces_and_segments_and_nothing_else)
{
	struct stat st;
	char text[8] = "";
	int fd = step_with("n1.mpic", "trace");
	put(below("spool/live/5.0/step-0/ranks/1.mpit"), "segment", USER, 0600);
	put(below("spool/live/5.0/step-0/ranks/notes"), "no", USER, 0600);
	put(below("spool/live/5.0/step-0/ranks/.mpic"), "no", USER, 0600);
	cr_expect(keep_is_needed(fd));
	cr_expect(keep_traces(spool, fd, "5.0.step-0", &user));
	FILE *f = fopen(below("spool/kept/4242/5.0.step-0/n1.mpic"), "r");
	cr_assert_not_null(f);
	cr_expect_not_null(fgets(text, sizeof(text), f));
	fclose(f);
	cr_expect_str_eq(text, "trace");
	cr_assert_eq(stat(below("spool/kept/4242/5.0.step-0/n1.mpic"), &st), 0);
	cr_expect_eq(st.st_uid, 0, "nobody can let it grow");
	cr_expect_eq(st.st_mode & 0007, 0);
	cr_expect(there(below("spool/kept/4242/5.0.step-0/1.mpit")));
	cr_expect_not(there(below("spool/kept/4242/5.0.step-0/notes")));
	cr_expect_not(there(below("spool/kept/4242/5.0.step-0/.mpic")));
	close(fd);
}

Test(warden, keeps_nothing_where_there_is_nothing)
{
	int fd = step_with("notes", "no");
	cr_expect_not(keep_is_needed(fd));
	cr_expect_not(keep_traces(spool, fd, "5.0.step-0", &user));
	cr_expect_not(there(below("spool/kept")));
	close(fd);
}

/* Neither a link of theirs, nor another's file. */
Test(warden, keeps_only_what_is_the_users_own)
{
	int fd = step_with("n1.mpic", "trace");
	put(below("secret"), "secret", 0, 0600);
	cr_assert_eq(symlink(below("secret"), below("spool/live/5.0/step-0/ranks/a.mpic")), 0);
	put(below("spool/live/5.0/step-0/ranks/b.mpic"), "other", USER + 1, 0644);
	cr_expect(keep_traces(spool, fd, "5.0.step-0", &user));
	cr_expect(there(below("spool/kept/4242/5.0.step-0/n1.mpic")));
	cr_expect_not(there(below("spool/kept/4242/5.0.step-0/a.mpic")));
	cr_expect_not(there(below("spool/kept/4242/5.0.step-0/b.mpic")));
	close(fd);
}

static void kept_step(const char *of, unsigned kilobytes, time_t seconds)
{
	char command[256];
	snprintf(command, sizeof(command), "mkdir -p %s && head -c %uK /dev/zero >%s/n1.mpic", below(of), kilobytes,
		 below(of));
	cr_assert_eq(system(command), 0);
	age(below(of), seconds);
}

/* A file system of a megabyte, of which all together may have half, and a user an eighth. */
Test(warden, where_all_have_as_much_as_they_may_who_has_most_gives_their_oldest)
{
	cr_assert_eq(mkdir(below("small"), 0755), 0);
	if (mount("small", below("small"), "tmpfs", 0, "size=1M,mode=0755") != 0)
		cr_skip_test("needs to mount");
	kept_step("small/kept/101/old", 60, 500);
	kept_step("small/kept/101/new", 64, 100);
	kept_step("small/kept/102/older", 120, 900);
	kept_step("small/kept/103/one", 120, 900);
	kept_step("small/kept/104/one", 120, 900);
	static char text[60 << 10];
	memset(text, 'x', sizeof(text) - 1);
	int fd = step_with("n1.mpic", text);
	cr_expect(keep_traces(below("small"), fd, "5.0.step-0", &user));
	cr_expect(there(below("small/kept/4242/5.0.step-0/n1.mpic")));
	cr_expect_not(there(below("small/kept/101/old")));
	cr_expect(there(below("small/kept/101/new")));
	cr_expect(there(below("small/kept/102/older")), "it is older, and of one who has less");
	cr_expect(there(below("small/kept/103/one")) && there(below("small/kept/104/one")));
	close(fd);
	cr_assert_eq(umount2(below("small"), MNT_DETACH), 0);
}

/* Their own oldest go before anybody else's. */
Test(warden, who_has_as_much_as_a_user_may_gives_their_own_oldest)
{
	cr_assert_eq(mkdir(below("small"), 0755), 0);
	if (mount("small", below("small"), "tmpfs", 0, "size=1M,mode=0755") != 0)
		cr_skip_test("needs to mount");
	kept_step("small/kept/4242/old", 60, 500);
	kept_step("small/kept/4242/new", 40, 100);
	kept_step("small/kept/101/oldest", 120, 900);
	static char text[60 << 10];
	memset(text, 'x', sizeof(text) - 1);
	int fd = step_with("n1.mpic", text);
	cr_expect(keep_traces(below("small"), fd, "5.0.step-0", &user));
	cr_expect(there(below("small/kept/4242/5.0.step-0/n1.mpic")));
	cr_expect_not(there(below("small/kept/4242/old")));
	cr_expect(there(below("small/kept/4242/new")));
	cr_expect(there(below("small/kept/101/oldest")));
	close(fd);
	cr_assert_eq(umount2(below("small"), MNT_DETACH), 0);
}

/* ---- reports that were left for later ---- */

static int late_with(const char *name, const char *out)
{
	struct layout l = record();
	int fd = spool_open(spool, "late", true, NULL);
	cr_assert_geq(fd, 0);
	layout_set(&l, LAYOUT_OUT, out);
	cr_assert_eq(layout_write(fd, &l, NULL), 0);
	layout_done(&l);
	cr_assert_eq(renameat(fd, "layout", fd, name), 0);
	return fd;
}

Test(warden, a_late_report_is_made_once_whole_or_partial)
{
	static const char *const exits[] = {"exit 0", "exit 4"};
	for (int i = 0; i < 2; i++) {
		struct deferred_count count = {0};
		char script[64];
		int fd = late_with("7.0.step-0", "/o");
		snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", exits[i]);
		put(below("program"), script, 0, 0755);
		deferred_sweep(fd, below("program"), &count);
		cr_expect_eq(count.made, 1);
		cr_expect_eq(count.left, 0);
		cr_expect_not(there(below("spool/late/7.0.step-0")));
		close(fd);
	}
}

Test(warden, a_sweep_that_was_cut_off_keeps_the_next_from_nothing)
{
	struct deferred_count count = {0};
	int fd = late_with("7.0.step-0", "/o");
	cr_assert_eq(mkdir(below("spool/late/.now"), 0700), 0);
	put(below("spool/late/.now/layout"), "of another step", 0, 0600);
	put(below("program"), "#!/bin/sh\nexit 0\n", 0, 0755);
	deferred_sweep(fd, below("program"), &count);
	cr_expect_eq(count.made, 1);
	cr_expect_not(there(below("spool/late/.now")));
	close(fd);
}

Test(warden, one_that_failed_waits_and_is_given_up_after_a_day)
{
	struct deferred_count count = {0};
	int fd = late_with("7.0.step-0", "/o");
	put(below("program"), "#!/bin/sh\nexit 1\n", 0, 0755);
	deferred_sweep(fd, below("program"), &count);
	cr_expect_eq(count.made, 0);
	cr_expect_eq(count.left, 1);
	cr_assert(there(below("spool/late/tried-7.0.step-0")));
	put(below("program"), "#!/bin/sh\nexit 0\n", 0, 0755);
	count = (struct deferred_count){0};
	deferred_sweep(fd, below("program"), &count);
	cr_expect_eq(count.made, 0, "not again at once");
	cr_expect_eq(count.left, 1);
	close(fd);
	fd = late_with("8.0.step-0", "/o");
	put(below("program"), "#!/bin/sh\nexit 1\n", 0, 0755);
	age(below("spool/late/8.0.step-0"), 86400 + 100);
	count = (struct deferred_count){0};
	deferred_sweep(fd, below("program"), &count);
	cr_expect_eq(count.made, 0);
	cr_expect_not(there(below("spool/late/8.0.step-0")), "nobody waits for it any more");
	cr_expect_not(there(below("spool/late/tried-8.0.step-0")));
	close(fd);
}

/* ---- the sweep ---- */

Test(warden, a_sweep_ends_old_runs_and_removes_what_was_kept_for_a_week)
{
	char run[SPOOL_NAME_MAX];
	close(spool_make_step(live_fd, 999999991, 0, USER, GROUP, run, NULL));
	close(spool_make_step(live_fd, 999999992, 0, USER, GROUP, run, NULL));
	age(below("spool/live/999999991.0"), 120);
	close(spool_open(spool, "kept", true, NULL));
	cr_assert_eq(mkdir(below("spool/kept/4242"), 0711), 0);
	cr_assert_eq(mkdir(below("spool/kept/4242/old"), 0711), 0);
	cr_assert_eq(mkdir(below("spool/kept/4242/new"), 0711), 0);
	age(below("spool/kept/4242/old"), 7 * 86400 + 100);
	age(below("spool/kept/4242/new"), 7 * 86400 - 1000);
	put(below("program"), "#!/bin/sh\nexit 0\n", 0, 0755);
	cr_expect_eq(warden_sweep(spool, below("program"), NULL, 0), 0);
	cr_expect_not(there(below("spool/live/999999991.0")));
	cr_expect(there(below("spool/live/999999992.0")), "a young one is somebody's");
	cr_expect_not(there(below("spool/kept/4242/old")));
	cr_expect(there(below("spool/kept/4242/new")));
}

/* ---- a site's central directory ---- */

/* All that is there is older than a time to come. */
#define OLD ((uint64_t)-100)

static void central_with(const char *directory)
{
	cr_assert_eq(mkdir(below("central"), 0755), 0);
	cr_assert_eq(mkdir(below("central/u"), 0700), 0);
	cr_assert_eq(mkdir(directory, 0700), 0);
	cr_assert_eq(chown(below("central/u"), USER, GROUP), 0);
	cr_assert_eq(chown(directory, USER, GROUP), 0);
}

Test(warden, a_result_that_is_too_old_goes_whole_and_nothing_else)
{
	char text[8192];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	central_with(below("central/u/step-0"));
	put(below("central/u/step-0/n1.mpic"), text, USER, 0600);
	put(below("central/u/step-0/report.html"), "page", USER, 0600);
	put(below("central/u/notes"), text, USER, 0600);
	central_sweep(below("central"), 1000);
	cr_expect(there(below("central/u/step-0/n1.mpic")), "it is young");
	int fd = open(below("central"), O_RDONLY | O_DIRECTORY);
	uint64_t all = central_usage(fd, "u");
	cr_expect_geq(all, 2 * sizeof(text), "%lu", all);
	cr_expect_eq(central_usage(fd, CENTRAL_ALL), all);
	cr_expect_eq(central_usage(fd, "nobody"), 0);
	central_sweep(below("central"), OLD);
	cr_expect(there(below("central/u/step-0")), "it was swept a moment ago");
	age(below("central/.usage/.all"), 3600);
	central_sweep(below("central"), OLD);
	cr_expect_not(there(below("central/u/step-0")));
	cr_expect(there(below("central/u/notes")));
	cr_expect_lt(central_usage(fd, "u"), all);
	close(fd);
}

Test(warden, without_a_retention_nothing_goes)
{
	central_with(below("central/u/step-0"));
	put(below("central/u/step-0/n1.mpix"), "x", USER, 0600);
	central_sweep(below("central"), 0);
	cr_expect(there(below("central/u/step-0/n1.mpix")));
}

Test(warden, a_directory_that_others_may_write_is_not_swept)
{
	central_with(below("central/u/step-0"));
	put(below("central/u/step-0/n1.mpix"), "x", USER, 0600);
	cr_assert_eq(chmod(below("central"), 0777), 0);
	central_sweep(below("central"), OLD);
	cr_expect(there(below("central/u/step-0/n1.mpix")));
	cr_expect_not(there(below("central/.usage")));
}

/* A number that is not root's alone is nobody's word. */
Test(warden, what_is_said_to_be_used_counts_only_from_root)
{
	central_with(below("central/u/step-0"));
	central_sweep(below("central"), 0);
	int fd = open(below("central"), O_RDONLY | O_DIRECTORY);
	put(below("central/.usage/u"), "12345\n", 0, 0644);
	cr_expect_eq(central_usage(fd, "u"), 12345);
	put(below("central/.usage/u"), "12345\n", 0, 0664);
	cr_expect_eq(central_usage(fd, "u"), CENTRAL_UNKNOWN);
	put(below("central/.usage/u"), "12345\n", USER, 0644);
	cr_expect_eq(central_usage(fd, "u"), CENTRAL_UNKNOWN);
	put(below("central/.usage/u"), "", 0, 0644);
	cr_expect_eq(central_usage(fd, "u"), CENTRAL_UNKNOWN);
	close(fd);
}

/* Of who closes a directory to themselves, and its directory in the site's. */
Test(warden, what_its_user_has_closed_is_counted_and_goes_when_it_is_old)
{
	char text[8192] = {[0 ... 8190] = 'x'};
	central_with(below("central/u/step-0"));
	put(below("central/u/step-0/n1.mpic"), text, USER, 0600);
	for (int i = 0; i < 2; i++) {
		const char *closed = i == 0 ? below("central/u/step-0") : below("central/u");
		cr_assert_eq(chmod(closed, 0), 0);
		central_sweep(below("central"), 0);
		int fd = open(below("central"), O_RDONLY | O_DIRECTORY);
		uint64_t bytes = central_usage(fd, "u");
		close(fd);
		cr_expect(bytes >= sizeof(text) && bytes != CENTRAL_UNKNOWN, "%lu", bytes);
		age(below("central/.usage/.all"), 3600);
	}
	cr_assert_eq(chmod(below("central/u/step-0"), 0500), 0);
	central_sweep(below("central"), OLD);
	cr_expect_not(there(below("central/u/step-0")));
}

/* Nor is it a small number; when it can be counted again it is one. */
Test(warden, what_cannot_be_counted_is_not_known_to_be_little)
{
	char path[256] = "";
	central_with(below("central/u/step-0"));
	int fd = open(below("central"), O_RDONLY | O_DIRECTORY),
	    n = snprintf(path, sizeof(path), "%s", below("central/u"));
	cr_expect_eq(central_usage(fd, "u"), 0, "nobody has counted yet");
	for (int i = 0; i < 18; i++) {
		n += snprintf(path + n, sizeof(path) - (size_t)n, "/d");
		cr_assert(mkdir(path, 0700) == 0 && chown(path, USER, GROUP) == 0);
	}
	central_sweep(below("central"), 0);
	cr_expect_eq(central_usage(fd, "u"), CENTRAL_UNKNOWN);
	cr_assert_eq(rmdir(path), 0);
	path[n - 2] = '\0';
	cr_assert_eq(rmdir(path), 0);
	cr_assert_eq(mkdir(below("central/u/step-0/others"), 0), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(chmod(below("central/u/step-0/others"), i == 0 ? 0 : 0744), 0);
		age(below("central/.usage/.all"), 3600);
		central_sweep(below("central"), 0);
		cr_expect_eq(central_usage(fd, "u"), CENTRAL_UNKNOWN, "root's, in it, %s",
			     i == 0 ? "closed" : "to be read only");
	}
	cr_assert_eq(rmdir(below("central/u/step-0/others")), 0);
	age(below("central/.usage/.all"), 3600);
	central_sweep(below("central"), 0);
	cr_expect_lt(central_usage(fd, "u"), 1000000);
	close(fd);
}

Test(warden, notes_of_users_who_have_nothing_any_more_go)
{
	central_with(below("central/u/step-0"));
	cr_assert_eq(mkdir(below("central/.usage"), 0755), 0);
	put(below("central/.usage/gone"), "5\n", 0, 0644);
	central_sweep(below("central"), 0);
	cr_expect_not(there(below("central/.usage/gone")));
	cr_expect(there(below("central/.usage/u")));
}

/* ---- removing ---- */

Test(warden, removes_a_tree_with_links_and_never_what_they_point_to)
{
	cr_assert_eq(mkdir(below("tree"), 0755), 0);
	cr_assert_eq(mkdir(below("tree/a"), 0000), 0);
	put(below("precious"), "x", 0, 0600);
	cr_assert_eq(symlink(below("precious"), below("tree/a/link")), 0);
	cr_assert_eq(symlink(base, below("tree/dir")), 0);
	int fd = open(base, O_RDONLY | O_DIRECTORY);
	cr_expect_eq(remove_tree(fd, "tree"), 0);
	cr_expect_not(there(below("tree")));
	cr_expect(there(below("precious")));
	close(fd);
}
