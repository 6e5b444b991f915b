/* spank.c - the plugin's parts without a Slurm: a mock of spank/slurm.h stands below. */
#include "spank/config.h"
#include "spank/het.h"
#include "spank/record.h"
#include "spank/request.h"
#include "spank/task.h"
#include "spank/warden/step_facts.h"
#include "spank/warden/remove.h"
#include "spank/warden/spool.h"

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

/* ---- the mock: one environment ---- */

#define VARIABLES 8
static struct {
	char name[64];
	char *value;
} env[VARIABLES];

const char *sl_env(spank_t sp, const char *name)
{
	(void)sp;
	for (int i = 0; i < VARIABLES; i++)
		if (env[i].value != NULL && strcmp(env[i].name, name) == 0)
			return env[i].value;
	return NULL;
}

static char *program[3]; /* what the tasks run */

int sl_argv(spank_t sp, char ***ret_argv)
{
	(void)sp;
	*ret_argv = program;
	return (program[0] != NULL) + (program[1] != NULL);
}

int sl_node_index(const char *list, const char *node)
{
	const char *at = list != NULL ? strstr(list, node) : NULL; /* "a,b,c" */
	return at != NULL ? (int)(at - list) / 2 : -1;
}

void sl_verbose(const char *fmt, ...)
{
	(void)fmt;
}

static uint32_t task_of_step;

/* The first task of a node. */
bool sl_number(spank_t sp, spank_item_t item, uint32_t *ret_value)
{
	(void)sp;
	*ret_value = item == S_TASK_GLOBAL_ID ? task_of_step : 0;
	return item == S_TASK_ID || item == S_TASK_GLOBAL_ID;
}

bool sl_unsetenv(spank_t sp, const char *name)
{
	(void)sp;
	for (int i = 0; i < VARIABLES; i++) {
		if (env[i].value == NULL || strcmp(env[i].name, name) != 0)
			continue;
		free(env[i].value);
		env[i].value = NULL;
	}
	return true;
}

bool sl_setenv(spank_t sp, const char *name, const char *value)
{
	char *copy = strdup(value);
	sl_unsetenv(sp, name);
	for (int i = 0; i < VARIABLES; i++) {
		if (env[i].value != NULL)
			continue;
		snprintf(env[i].name, sizeof(env[i].name), "%s", name);
		env[i].value = copy;
		return true;
	}
	free(copy);
	return false;
}

/* ---- the option ---- */

static struct error e;
static struct request r;

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

static char root[] = "/tmp/mpitrace-spank-XXXXXX";

static void make_root(void)
{
	cr_assert_not_null(mkdtemp(root));
}

static void drop_root(void)
{
	remove_tree(AT_FDCWD, root);
}

static int open_root(void)
{
	return open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void put_file(const char *name)
{
	char path[300];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	cr_assert_geq(fd, 0, "%s", path);
	close(fd);
}

static bool exists(const char *name)
{
	char path[300];
	struct stat st;
	snprintf(path, sizeof(path), "%s/%s", root, name);
	return lstat(path, &st) == 0;
}

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
	int step = spool_make_step(live, 5, 0, getuid(), getgid(), run, &e);
	cr_assert_geq(step, 0, "%s", e.text);
	cr_assert_eq(fstat(step, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0711);
	cr_assert_eq(fstatat(step, "ranks", &st, 0), 0);
	cr_assert_eq(st.st_mode & 07777, 0700);
	cr_assert(exists("live/5.0/step-0/ranks"));
	close(step);
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

static struct config here;
static struct step step;
static struct notice notice;
static char library[PATH_MAX + 32];

static void make_task(void)
{
	make_root();
	put_file("libmpitrace.so");
	config_parse(0, NULL, &here);
	snprintf(here.libdir, sizeof(here.libdir), "%s", root);
	snprintf(library, sizeof(library), "%s/libmpitrace.so", root);
	step = (struct step){.active = true, .dir = "/spool/step-0"};
	request_parse("budget=1K", &r, NULL);
}

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

/* ---- what who asked is told ---- */

static int said_fd;

static void listen_in(void)
{
	make_task();
	said_fd = memfd_create("said", 0);
	cr_assert_geq(dup2(said_fd, STDERR_FILENO), 0);
	step.leads = true;
	step.job_id = 7;
	snprintf(step.node, sizeof(step.node), "n1");
	snprintf(step.dir, sizeof(step.dir), "%s", root);
	int fd = open_root();
	cr_assert_eq(mkdirat(fd, "ranks", 0700), 0);
	close(fd);
}

/* Everything that was said, and nothing any more. */
static const char *said(void)
{
	static char text[8192];
	ssize_t n = pread(said_fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	cr_assert(ftruncate(said_fd, 0) == 0 && lseek(said_fd, 0, SEEK_SET) == 0);
	return text;
}

static void begin(const char *option, bool asked)
{
	request_parse(option, &r, NULL);
	notice_begin(&notice, &r, asked);
}

TestSuite(notice, .init = listen_in, .fini = drop_root);

Test(notice, is_one_line_with_the_worst_cause_and_once)
{
	begin("", true);
	notice_set(&notice, NOTICE_TOTALS, "a rule");
	notice_set(&notice, NOTICE_SETUP, "no\nspool\033[2J");
	notice_set(&notice, NOTICE_PLACE, "closed");
	task_environment(NULL, &here, &r, &step, &notice);
	const char *text = said();
	cr_assert_eq(strncmp(text, "mpitrace: runs untraced on n1: no?spool?[2J; ", 45), 0, "%s", text);
	cr_assert_eq(strchr(text, '\n'), text + strlen(text) - 1);
	task_environment(NULL, &here, &r, &step, &notice);
	cr_assert_null(strstr(said(), "spool"));
}

Test(notice, is_not_for_who_did_not_ask_nor_for_who_asked_to_be_left_alone)
{
	static const struct {
		const char *option;
		bool asked;
	} cases[] = {{"", false}, {"quiet", true}, {"off", true}, {"profile,quiet", true}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].option, cases[i].asked);
		notice_set(&notice, NOTICE_SETUP, "x");
		task_environment(NULL, &here, &r, &step, &notice);
		cr_assert_str_eq(said(), "", "case %zu", i);
	}
}

Test(notice, is_of_the_first_node_only)
{
	begin("", true);
	step.leads = false;
	notice_set(&notice, NOTICE_SETUP, "x");
	task_environment(NULL, &here, &r, &step, &notice);
	cr_assert_str_eq(said(), "");
}

Test(notice, of_a_tracer_that_is_not_there_or_cannot_be_read_names_it)
{
	begin("", true);
	task_environment(NULL, &here, &r, &step, &notice);
	cr_assert_not_null(strstr(said(), "one MPI library run untraced on n1: /tmp/mpitrace-spank-"));
	cr_assert_str_eq(sl_env(NULL, "LD_PRELOAD"), library);
	unlink(library);
	begin("", true);
	task_environment(NULL, &here, &r, &step, &notice);
	cr_assert_not_null(strstr(
		said(), "libmpitrace.so: No such file or directory, as seen from inside of the job; set libdir="));
}

Test(notice, of_a_spool_that_the_job_does_not_see_names_it)
{
	begin("", true);
	snprintf(step.dir, sizeof(step.dir), "/nonexistent");
	task_environment(NULL, &here, &r, &step, &notice);
	cr_assert_not_null(
		strstr(said(), "untraced on n1: /nonexistent/ranks: No such file or directory, as seen from"));
}

/* A program of one part. */
static void make_program(const char *path, uint32_t part_type)
{
	Elf64_Ehdr head = {.e_ident = ELFMAG, .e_phoff = sizeof(head), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1};
	Elf64_Phdr part = {.p_type = part_type};
	head.e_ident[EI_CLASS] = ELFCLASS64;
	FILE *f = fopen(path, "we");
	cr_assert_not_null(f);
	fwrite(&head, sizeof(head), 1, f);
	fwrite(&part, sizeof(part), 1, f);
	fchmod(fileno(f), 0755);
	fclose(f);
}

Test(notice, of_a_program_that_is_linked_statically_names_it)
{
	char path[PATH_MAX + 32], name[] = "mpitrace-test-program";
	snprintf(path, sizeof(path), "%s/%s", step.dir, name);
	sl_setenv(NULL, "PATH", "/nonexistent");
	for (int i = 0; i < 5; i++) { /* static, dynamic, by PATH, not there, a script */
		make_program(path, i == 1 ? PT_INTERP : PT_LOAD);
		program[0] = i == 2 ? name : path;
		if (i == 2)
			sl_setenv(NULL, "PATH", step.dir);
		if (i == 3)
			unlink(path);
		if (i == 4)
			cr_assert_eq(truncate(path, 3), 0);
		begin("", true);
		task_environment(NULL, &here, &r, &step, &notice);
		const char *text = said();
		cr_assert_eq(strstr(text, "mpitrace-test-program is linked statically") != NULL ||
				     strstr(text, "untraced on n1: mpitrace-test-program is") != NULL,
			     i == 0 || i == 2, "case %d: %s", i, text);
	}
	unlink(path);
}

/* The rights of another, which only root can give. */
Test(notice, of_a_program_with_rights_of_its_own_names_it)
{
	static const struct {
		const char *what;
		uid_t uid;
		gid_t gid;
		mode_t mode;
		const char *said;
	} cases[] = {
		{"plain", 0, 0, 0755, NULL},
		{"set-user-id to its own user", 0, 0, 04755, NULL},
		{"set-user-id", 65534, 0, 04755,
		 "mpitrace-test-program is set-user-id: nothing can be preloaded into it"},
		{"unreadable", 65534, 0, 04711, "is set-user-id"},
		{"set-group-id", 0, 65534, 02755, "mpitrace-test-program is set-group-id: "},
		{"for locking", 0, 65534, 02644, NULL},
	};
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s/mpitrace-test-program", step.dir);
	program[0] = path;
	if (getuid() != 0)
		cr_skip_test("needs root");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_program(path, PT_INTERP);
		cr_assert_eq(chown(path, cases[i].uid, cases[i].gid), 0);
		cr_assert_eq(chmod(path, cases[i].mode), 0);
		begin("", true);
		task_environment(NULL, &here, &r, &step, &notice);
		const char *text = said();
		cr_assert(cases[i].said != NULL ? strstr(text, cases[i].said) != NULL : strstr(text, "set-") == NULL,
			  "%s: %s", cases[i].what, text);
	}
	unlink(path);
}

Test(notice, of_a_program_with_file_capabilities_names_it)
{
	static const struct {
		unsigned magic, permitted, inheritable;
		bool said;
	} cases[] = {{0x02000001, 1 << 13, 0, true}, {0x02000000, 1 << 13, 0, true}, {0x02000000, 0, 1 << 13, false}};
	char path[PATH_MAX + 32];
	snprintf(path, sizeof(path), "%s/mpitrace-test-program", step.dir);
	program[0] = path;
	make_program(path, PT_INTERP);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned caps[5] = {cases[i].magic, cases[i].permitted, cases[i].inheritable};
		if (setxattr(path, "security.capability", caps, sizeof(caps), 0) != 0)
			cr_skip_test("no file capabilities here");
		begin("", true);
		task_environment(NULL, &here, &r, &step, &notice);
		const char *text = said();
		cr_assert_eq(strstr(text, "has file capabilities: nothing can be preloaded") != NULL, cases[i].said,
			     "case %zu: %s", i, text);
	}
	unlink(path);
}

/* Slurm hands over the file's name and its text. */
Test(notice, of_a_multi_prog_step_names_the_program_of_its_task)
{
	char conf[PATH_MAX + 32], text[] = "0 /nonexistent\n1-2 ./mpitrace-test-program %t\n";
	snprintf(conf, sizeof(conf), "%s/programs", step.dir);
	cr_assert_eq(chdir(step.dir), 0);
	make_program("mpitrace-test-program", PT_LOAD);
	program[0] = conf;
	program[1] = text;
	for (int i = 0; i < 4; i++) { /* as it is, on the login node only, of another task, no such file */
		FILE *f = fopen(conf, "we");
		fputs(i == 3 ? "#!/bin/sh\n" : text, f);
		fclose(f);
		if (i == 1)
			unlink(conf);
		task_of_step = i == 2 ? 0 : 2;
		begin("", true);
		task_environment(NULL, &here, &r, &step, &notice);
		const char *heard = said();
		cr_assert_eq(strstr(heard, "n1: ./mpitrace-test-program is linked statically") != NULL, i < 2,
			     "case %d: %s", i, heard);
	}
	unlink("mpitrace-test-program");
	unlink(conf);
}

Test(notice, that_a_batch_script_was_told_is_not_told_again_by_its_steps)
{
	step.active = false;
	step.step_id = STEP_BATCH;
	begin("", true);
	notice_set(&notice, NOTICE_SETUP, "x");
	task_environment(NULL, &here, &r, &step, &notice);
	cr_assert_not_null(strstr(said(), "untraced"));
	const char *told = sl_env(NULL, NOTICE_TOLD);
	cr_assert_not_null(told);
	char *of_batch = strdup(told);
	step.step_id = 0;
	for (int i = 0; i < 3; i++) { /* the same; another reason; another job */
		sl_setenv(NULL, NOTICE_TOLD, of_batch);
		begin("", true);
		notice_set(&notice, NOTICE_SETUP, i == 1 ? "y" : "x");
		step.job_id = i == 2 ? 8 : 7;
		task_environment(NULL, &here, &r, &step, &notice);
		cr_assert_eq(*said() != '\0', i > 0, "%d", i);
		cr_assert_null(sl_env(NULL, NOTICE_TOLD), "no program sees it");
	}
	free(of_batch);
}
