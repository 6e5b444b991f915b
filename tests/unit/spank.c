/* spank.c - the plugin's parts without a Slurm (spank_mock.h). */
#include "spank/het.h"
#include "spank/record.h"
#include "spank/warden/step_facts.h"
#include "spank/warden/remove.h"
#include "spank/warden/spool.h"
#include "tests/unit/spank_mock.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- the option ---- */

static struct error e;

Test(request, without_an_argument_means_on)
{
	static const char *const texts[] = {NULL, "", "(null)", "on"};
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(request_parse(texts[i], &r, &e), 0);
		cr_assert(r.on && !r.profile && r.budget_bytes == 0 && r.stack == 0);
	}
}

Test(request, reads_every_key)
{
	cr_assert_eq(request_parse("profile,out=/a b,name=x,budget=64M,stack=32,sample=0.5,report=none", &r, &e), 0,
		     "%s", e.text);
	cr_assert(r.on && r.profile);
	cr_assert_str_eq(r.out, "/a b");
	cr_assert_str_eq(r.name, "x");
	cr_assert_eq(r.budget_bytes, 64ull << 20);
	cr_assert_eq(r.stack, 32);
	cr_assert_str_eq(r.sample, "0.5");
	cr_assert_eq(r.report, REPORT_NONE);
	cr_assert_eq(request_parse("off", &r, &e), 0);
	cr_assert_not(r.on || r.quiet);
	cr_assert_eq(request_parse("quiet", &r, &e), 0);
	cr_assert(r.on && r.quiet);
}

Test(request, names_an_unknown_key_and_the_known_ones)
{
	cr_assert_eq(request_parse("on,frob=1", &r, &e), -EINVAL);
	cr_assert_not_null(strstr(e.text, "\"frob\""));
	cr_assert_not_null(strstr(e.text, "budget=SIZE"));
}

Test(request, refuses_values_that_are_none)
{
	static const char *const bad[] = {"budget=",	"budget=1x", "budget=-1", "budget=64MM", "budget=17179869184G",
					  "stack=33",	"stack=-1",  "stack=",	  "report=x",	 "on=1",
					  "sample=1s",	"sample=",   "sample=-1", "sample=.",	 "sample=86401",
					  "sample=inf", "out",	     "out=",	  "name=a\nb",	 ",",
					  "on,"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(request_parse(bad[i], &r, &e), -EINVAL, "%s", bad[i]);
}

Test(request, refuses_a_name_one_longer_than_the_limit)
{
	char text[256] = "name=";
	memset(text + 5, 'a', REQUEST_NAME_MAX - 1);
	cr_assert_eq(request_parse(text, &r, &e), 0);
	text[5 + REQUEST_NAME_MAX - 1] = 'a';
	cr_assert_eq(request_parse(text, &r, &e), -EINVAL);
}

Test(config, replaces_the_host_name_and_reports_what_it_does_not_know)
{
	struct config c;
	char host[256], wanted[300], *args[] = {"spool=/s/%n/x", "default=on", "frob", "libdir=relative"};
	gethostname(host, sizeof(host));
	host[strcspn(host, ".")] = '\0';
	snprintf(wanted, sizeof(wanted), "/s/%s/x", host);
	cr_assert_str_eq(config_parse(4, args, &c), "frob");
	cr_assert_str_eq(c.spool, wanted);
	cr_assert(c.default_on && c.libdir[0] == '/');
}

/* Slurm hands over the end of such a line with its last word. */
Test(config, takes_a_line_that_ends_as_on_windows)
{
	struct config c;
	char *args[] = {"spool=/s", "libexecdir=/opt/x\r"}, *alone[] = {"bindir=/b", "\r"};
	cr_assert_null(config_parse(2, args, &c));
	cr_assert_str_eq(c.libexecdir, "/opt/x");
	cr_assert_null(config_parse(2, alone, &c));
	cr_assert_str_eq(c.bindir, "/b");
}

/* ---- heterogeneous jobs ---- */

static struct record part_of(const char *nodes, const char *count)
{
	struct record rec = {.job_id = 16, .nnodes = 1, .ntasks = 2};
	sl_setenv(NULL, "SLURM_HET_SIZE", "2");
	sl_setenv(NULL, "SLURM_JOB_ID", "15");
	sl_setenv(NULL, "SLURM_STEP_NODELIST", nodes);
	sl_setenv(NULL, "SLURM_STEP_NUM_NODES", count);
	sl_setenv(NULL, "SLURM_STEP_NUM_TASKS", "3");
	het_join(NULL, "b", &rec);
	return rec;
}

Test(het, a_part_of_a_step_is_called_by_the_first_and_counts_as_the_whole)
{
	struct record rec = part_of("a,b", "2");
	cr_assert(rec.job_id == 16 && rec.called == 15 && rec.nodeid == 1 && rec.nnodes == 2 && rec.ntasks == 3);
}

Test(het, a_step_of_one_part_stays_as_it_is)
{
	struct record rec = part_of("b", "1");
	cr_assert(rec.called == 16 && rec.nodeid == 0 && rec.nnodes == 1 && rec.ntasks == 2);
}

Test(het, a_made_up_environment_changes_nothing)
{
	static const char *const counts[] = {"", "-2", "2x", "99999999999", "0"};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		cr_assert_eq(part_of("a,b", counts[i]).called, 16, "%s", counts[i]);
	cr_assert_eq(part_of("x,y", "2").called, 16);
}

/* ---- paths ---- */

Test(output, is_named_by_job_restart_and_step)
{
	char path[PATH_MAX];
	request_parse("", &r, NULL);
	cr_assert_eq(output_path(&r, "/home/u", 7, 0, 3, path, &e), 0);
	cr_assert_str_eq(path, "/home/u/mpitrace-7/step-3");
	cr_assert_eq(output_path(&r, "/home/u", 7, 2, STEP_BATCH, path, &e), 0);
	cr_assert_str_eq(path, "/home/u/mpitrace-7.2/step-batch");
	request_parse("out=sub", &r, NULL);
	cr_assert_eq(output_path(&r, "/home/u", 7, 0, 0, path, &e), 0);
	cr_assert_str_eq(path, "/home/u/sub/mpitrace-7/step-0");
	request_parse("out=/abs", &r, NULL);
	cr_assert_eq(output_path(&r, NULL, 7, 0, 0, path, &e), 0);
	cr_assert_str_eq(path, "/abs/mpitrace-7/step-0");
}

Test(output, needs_an_absolute_directory_and_says_what_is_wrong)
{
	char path[PATH_MAX], name[PATH_MAX];
	request_parse("", &r, NULL);
	cr_assert_lt(output_path(&r, NULL, 1, 0, 0, path, &e), 0);
	cr_expect(strstr(e.text, "is not known") != NULL, "%s", e.text);
	cr_assert_lt(output_path(&r, "relative", 1, 0, 0, path, &e), 0);
	cr_expect(strstr(e.text, "is not absolute: relative") != NULL, "%s", e.text);
	cr_assert_lt(output_path(&r, "/new\nline", 1, 0, 0, path, &e), 0);
	cr_expect(strstr(e.text, "line break") != NULL, "%s", e.text);
	memset(name, 'n', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	cr_assert_lt(output_path(&r, name, 1, 0, 0, path, &e), 0);
	cr_expect(strstr(e.text, "too long") != NULL, "%s", e.text);
}

Test(output, takes_only_a_number_for_a_restart_count)
{
	cr_assert_eq(output_restart("3"), 3);
	cr_assert_eq(output_restart(NULL), 0);
	cr_assert_eq(output_restart("../3"), 0);
	cr_assert_eq(output_restart("3x"), 0);
	cr_assert_eq(output_restart("99999999999999999999"), 0);
}

/* ---- spool ---- */

Test(remove, takes_links_away_and_not_what_they_point_to, .init = make_root, .fini = drop_root)
{
	char path[300], target[300];
	int fd = open_root();
	mkdirat(fd, "keep", 0700);
	put_file("keep/file");
	mkdirat(fd, "job", 0700);
	mkdirat(fd, "job/ranks", 0700);
	put_file("job/ranks/x.mpit");
	snprintf(target, sizeof(target), "%s/keep", root);
	snprintf(path, sizeof(path), "%s/job/ranks/link", root);
	cr_assert_eq(symlink(target, path), 0);
	cr_assert_eq(remove_tree(fd, "job"), 0);
	cr_assert_not(exists("job"));
	cr_assert(exists("keep/file"));
	cr_assert_eq(remove_tree(fd, "job"), 0, "a second time is harmless");
	close(fd);
}

Test(remove, refuses_to_follow_a_link_in_place_of_the_directory, .init = make_root, .fini = drop_root)
{
	int fd = open_root();
	mkdirat(fd, "keep", 0700);
	put_file("keep/file");
	cr_assert_eq(symlinkat("keep", fd, "job"), 0);
	cr_assert_eq(remove_tree(fd, "job"), 0);
	cr_assert_not(exists("job"));
	cr_assert(exists("keep/file"));
	close(fd);
}

Test(spool, refuses_a_directory_that_others_may_write, .init = make_root, .fini = drop_root)
{
	chmod(root, 0777);
	cr_assert_eq(spool_open(root, "live", true, &e), -EPERM);
	chmod(root, 0711);
	int fd = spool_open(root, "live", true, &e);
	cr_assert_geq(fd, 0, "%s", e.text);
	close(fd);
}

Test(spool, gives_the_user_nothing_but_the_ranks_directory, .init = make_root, .fini = drop_root)
{
	struct stat st;
	char run[SPOOL_NAME_MAX];
	int live = spool_open(root, "live", true, &e);
	int made = spool_make_step(live, 5, 0, getuid(), getgid(), run, &e);
	cr_assert_geq(made, 0, "%s", e.text);
	cr_assert_eq(fstat(made, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0711);
	cr_assert_eq(fstatat(made, "ranks", &st, 0), 0);
	cr_assert_eq(st.st_mode & 07777, 0700);
	cr_assert(exists("live/5.0/step-0/ranks"));
	close(made);
	close(live);
}

Test(spool, begins_a_new_run_when_the_one_before_has_ended, .init = make_root, .fini = drop_root)
{
	char run[SPOOL_NAME_MAX];
	int live = spool_open(root, "live", true, &e);
	close(spool_make_step(live, 5, 0, getuid(), getgid(), run, &e));
	close(spool_make_step(live, 5, 1, getuid(), getgid(), run, &e));
	cr_assert_str_eq(run, "5.0");
	spool_end_run(live, run);
	close(spool_make_step(live, 5, 0, getuid(), getgid(), run, &e));
	cr_assert_str_eq(run, "5.1");
	cr_assert(exists("live/5.0/step-0/ranks") && exists("live/5.1/step-0/ranks"));
	close(live);
}

Test(identity, goes_there_and_back)
{
	gid_t gids[] = {10, 4294967294u}, room[IDENTITY_GROUPS_MAX];
	struct identity who = {.uid = 7, .gid = 8, .gids = gids, .ngids = 2}, got;
	char text[IDENTITY_TEXT_MAX];
	cr_assert_gt(identity_format(&who, text, sizeof(text)), 0);
	cr_assert_str_eq(text, "7:8:10,4294967294");
	cr_assert(identity_parse(text, &got, room));
	cr_assert(got.uid == 7 && got.gid == 8 && got.ngids == 2 && got.gids[1] == 4294967294u);
	who.ngids = 0;
	identity_format(&who, text, sizeof(text));
	cr_assert(identity_parse(text, &got, room) && got.ngids == 0);
	cr_assert_eq(identity_format(&who, text, 4), -1, "no room");
}

Test(identity, is_refused_when_it_is_none)
{
	static const char *const bad[] = {
		"", "7", "7:", ":8:", "7:8:x", "-1:8:", "7:8:1,,2", "4294967295:8:", "7:99999999999:", "7x:8:"};
	gid_t room[IDENTITY_GROUPS_MAX];
	struct identity got;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_not(identity_parse(bad[i], &got, room), "%s", bad[i]);
}

Test(record, comes_back_and_keeps_a_user_from_forging_a_key, .init = make_root, .fini = drop_root)
{
	char *argv[] = {"prog\nuid=0", "a\"b"}, text[2048] = "";
	uint32_t tasks[] = {2, 3};
	gid_t gids[] = {10, 20};
	struct step_facts b;
	struct config c;
	struct record rec = {.job_id = 4,
			     .called = 4,
			     .nnodes = 2,
			     .nodeid = 1,
			     .ntasks = 4,
			     .tasks = tasks,
			     .ntasks_here = 2,
			     .uid = 1234,
			     .gid = 56,
			     .gids = gids,
			     .ngids = 2,
			     .request = &r,
			     .config = &c,
			     .out = "/o\nuid=0",
			     .argv = argv,
			     .argc = 2};
	int fd = open_root();
	request_parse("report=none", &r, NULL);
	config_parse(0, NULL, &c);
	cr_assert_eq(record_write(fd, &rec, &e), 0, "%s", e.text);
	cr_assert_eq(step_facts_read(fd, &b), 0);
	cr_assert(b.who.uid == 1234 && b.who.gid == 56 && b.who.ngids == 2 && b.who.gids[1] == 20 && b.nnodes == 2 &&
		  b.nodeid == 1);
	cr_assert_eq(b.report, STEP_REPORT_NONE);
	cr_assert_str_eq(b.out, "/o uid=0");
	int file = openat(fd, "layout", O_RDONLY);
	cr_assert_gt(read(file, text, sizeof(text) - 1), 0);
	cr_assert_not_null(strstr(text, "\ntasks=2,3\n"));
	cr_assert_not_null(strstr(text, "\nargv=[\"prog\\nuid=0\",\"a\\\"b\"]\n"));
	close(file);
	close(fd);
}

Test(record, refuses_a_record_that_is_cut, .init = make_root, .fini = drop_root)
{
	struct step_facts b;
	int fd = open_root(), file = openat(fd, "layout", O_WRONLY | O_CREAT, 0644);
	cr_assert_gt(write(file, "uid=5\ngid=5\n", 12), 0);
	close(file);
	cr_assert_eq(step_facts_read(fd, &b), -EBADMSG);
	close(fd);
}

/* ---- environment ---- */

Test(task, keeps_the_users_preload_in_front, .init = make_task, .fini = drop_root)
{
	char wanted[PATH_MAX + 64];
	sl_setenv(NULL, "LD_PRELOAD", "a.so b.so");
	task_environment(NULL, &here, &r, &step, &notice);
	snprintf(wanted, sizeof(wanted), "a.so b.so:%s", library);
	cr_assert_str_eq(sl_env(NULL, "LD_PRELOAD"), wanted);
	cr_assert_str_eq(sl_env(NULL, "MPITRACE_DIR"), "/spool/step-0/ranks");
	cr_assert_str_eq(sl_env(NULL, "MPITRACE_BUDGET"), "1024");
	cr_assert_null(sl_env(NULL, "MPITRACE_STACK"));
}

Test(task, is_listed_once_when_the_batch_script_is_traced_too, .init = make_task, .fini = drop_root)
{
	task_environment(NULL, &here, &r, &step, &notice);
	task_environment(NULL, &here, &r, &step, &notice);
	cr_assert_str_eq(sl_env(NULL, "LD_PRELOAD"), library);
}

Test(task, leaves_no_trace_of_an_outer_one_when_it_is_off, .init = make_task, .fini = drop_root)
{
	sl_setenv(NULL, "LD_PRELOAD", "a.so");
	task_environment(NULL, &here, &r, &step, &notice);
	step.active = false;
	task_environment(NULL, &here, &r, &step, &notice);
	cr_assert_str_eq(sl_env(NULL, "LD_PRELOAD"), "a.so");
	cr_assert_null(sl_env(NULL, "MPITRACE_DIR"));
	cr_assert_null(sl_env(NULL, "MPITRACE_BUDGET"));
}

Test(task, changes_nothing_where_the_tracer_is_not_there, .init = make_task, .fini = drop_root)
{
	cr_assert_eq(unlink(library), 0);
	sl_setenv(NULL, "LD_PRELOAD", "a.so");
	task_environment(NULL, &here, &r, &step, &notice);
	cr_assert_str_eq(sl_env(NULL, "LD_PRELOAD"), "a.so");
	cr_assert_null(sl_env(NULL, "MPITRACE_DIR"));
}
