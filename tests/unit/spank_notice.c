/* spank_notice.c - what who asked for a trace and gets none, or another, is told. */
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
