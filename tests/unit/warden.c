/* warden.c - root's side of a node without a node: the spool's directories, who sees to a step, what root reads of its
 * record, children, removing. Each test has a spool of its own; needs root. */
#include "warden_spool.h"

#include "format/layout.h"
#include "spank/warden/child.h"
#include "spank/warden/elsewhere.h"
#include "spank/warden/lock.h"
#include "spank/warden/remove.h"
#include "spank/warden/step_facts.h"
#include "spank/warden/warden.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH 0xfffffffbu

TestSuite(warden, .init = warden_begin, .fini = warden_end);

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
