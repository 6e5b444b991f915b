/* policy_files.c - the files of a policy and of its facts: who may write them, and what else may lie there. */
#include "spank/policy/policy.h"
#include "tests/unit/policy_fuzz.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/mpitrace-policy-XXXXXX", file[64];
static struct policy *p;
static struct policy_errors errors;
static struct policy_facts facts;

static void make_dir(void)
{
	char path[96];
	cr_assert_not_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/mpitrace.conf", dir);
	snprintf(path, sizeof(path), "%s/conf.d", dir);
	cr_assert_eq(mkdir(path, 0755), 0);
}

static void remove_dir(void)
{
	char command[128];
	policy_free(p);
	policy_facts_done(&facts);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(policy_files, .init = make_dir, .fini = remove_dir);

static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int load(void)
{
	policy_free(p);
	p = NULL;
	errors = (struct policy_errors){.count = 0};
	return policy_load(file, getuid(), &p, &errors);
}

static uint64_t stack_of(const char *user)
{
	policy_facts_set(&facts, FACT_USER, user);
	struct policy_decision d = policy_decide(p, &facts);
	return policy_number(&d, POLICY_STACK);
}

static void refused(const char *why)
{
	cr_assert_lt(load(), 0);
	cr_assert_null(p);
	cr_assert_not_null(strstr(errors.first.text, why), "%s", errors.first.text);
}

Test(policy_files, one_that_is_not_named_may_be_absent)
{
	if (access("/etc/mpitrace", F_OK) == 0)
		cr_skip_test("this host has a policy");
	file[0] = '\0';
	cr_assert_eq(load(), 0, "%s", errors.first.text);
	cr_assert(policy_is_empty(p));
	cr_assert_str_eq(policy_path(file), POLICY_FILE);
}

Test(policy_files, one_that_is_named_and_not_there_is_refused)
{
	refused("mpitrace.conf: No such file");
	snprintf(file, sizeof(file), "%s/absent/mpitrace.conf", dir);
	refused("absent: No such file");
}

Test(policy_files, a_link_to_nothing_is_refused)
{
	char path[96];
	snprintf(path, sizeof(path), "%s/conf.d", dir);
	cr_assert_eq(symlink("absent", file), 0);
	refused("mpitrace.conf: is a link to what is not there");
	cr_assert_eq(unlink(file), 0);
	put("mpitrace.conf", "");
	cr_assert(rmdir(path) == 0 && load() == 0);
	cr_assert_eq(symlink("absent", path), 0);
	refused("conf.d: is a link to what is not there");
	snprintf(file, sizeof(file), "%s/conf.d/mpitrace.conf", dir);
	refused("conf.d: is a link to what is not there");
}

Test(policy_files, drop_ins_follow_in_the_order_of_their_names)
{
	put("mpitrace.conf", "[defaults]\nstack = 1\n[rule main]\nuser = a\nstack = 2\n");
	put("conf.d/20.conf", "[rule twenty]\nstack = 20\n");
	put("conf.d/10.conf", "[rule ten]\nuser = a, b\nstack = 10\n");
	put("conf.d/.hidden.conf", "bad\n");
	put("conf.d/30.conf.bak", "bad\n");
	cr_assert_eq(load(), 0, "%s", errors.first.text);
	cr_assert_eq(policy_count_files(p), 3);
	cr_assert_eq(stack_of("a"), 2);
	cr_assert_eq(stack_of("b"), 10);
	cr_assert_eq(stack_of("c"), 20);
}

Test(policy_files, a_value_set_in_two_files_is_an_error_that_names_both)
{
	put("mpitrace.conf", "[defaults]\nstack = 1\n");
	put("conf.d/a.conf", "[defaults]\n\nstack = 2\n");
	cr_assert_eq(load(), -EEXIST);
	cr_assert_not_null(strstr(errors.first.text, "conf.d/a.conf:3: \"stack\" is set already, at "));
	cr_assert_not_null(strstr(errors.first.text, "mpitrace.conf:2"));
}

Test(policy_files, what_others_may_write_is_refused)
{
	char path[96];
	put("mpitrace.conf", "");
	chmod(file, 0664);
	refused("others than root may write it");
	chmod(file, 0646);
	refused("others than root may write it");
	chmod(file, 0644);
	cr_assert_eq(load(), 0);
	chmod(dir, 0775);
	refused("others than root may write it");
	chmod(dir, 0755);
	snprintf(path, sizeof(path), "%s/conf.d", dir);
	chmod(path, 01777);
	refused("others than root may write it");
	chmod(path, 0755);
	put("conf.d/x.conf", "");
	snprintf(path, sizeof(path), "%s/conf.d/x.conf", dir);
	chmod(path, 0666);
	refused("conf.d/x.conf");
}

Test(policy_files, what_is_another_users_is_refused)
{
	put("mpitrace.conf", "");
	if (chown(file, 4711, 4711) != 0)
		cr_skip_test("needs root");
	refused("does not belong to root");
	cr_assert_eq(chown(file, 0, 0), 0);
	cr_assert_eq(chown(dir, 4711, 4711), 0);
	refused("does not belong to root");
}

Test(policy_files, what_is_no_file_is_refused_and_never_waited_for)
{
	char path[96];
	cr_assert_eq(mkfifo(file, 0644), 0);
	refused("is not a regular file");
	cr_assert_eq(unlink(file), 0);
	cr_assert_eq(mkdir(file, 0755), 0);
	refused("is not a regular file");
	cr_assert_eq(rmdir(file), 0);
	cr_assert_eq(symlink("/dev/zero", file), 0);
	refused("is not a regular file");
	cr_assert_eq(unlink(file), 0);
	put("mpitrace.conf", "");
	snprintf(path, sizeof(path), "%s/conf.d/f.conf", dir);
	cr_assert_eq(mkfifo(path, 0644), 0);
	refused("f.conf: is not a regular file");
}

/* A process's memory is a regular file; nothing is to be read at its beginning. */
Test(policy_files, what_cannot_be_read_is_refused_for_that_reason)
{
	cr_assert_eq(symlink("/proc/self/mem", file), 0);
	cr_assert_eq(load(), -EIO);
	cr_assert_not_null(strstr(errors.first.text, strerror(EIO)), "%s", errors.first.text);
}

Test(policy_files, more_files_than_the_limit_are_refused)
{
	char name[64];
	put("mpitrace.conf", "");
	for (unsigned i = 0; i < POLICY_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "conf.d/%u.conf", i);
		put(name, "");
	}
	cr_assert_eq(load(), 0);
	put("conf.d/x.conf", "");
	refused("too many files");
}

/* ---- facts ---- */

static int read_facts(const char *text)
{
	char path[96];
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put("7", text);
	snprintf(path, sizeof(path), "%s/7", dir);
	chmod(path, 0600);
	policy_facts_done(&facts);
	int rc = policy_facts_read(&facts, fd, "7");
	close(fd);
	return rc;
}

Test(policy_files, facts_come_back_and_no_value_poses_as_another)
{
	struct policy_facts w = {0};
	struct stat st;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	policy_facts_set(&w, FACT_USER, "a\nuid=0");
	policy_facts_set(&w, FACT_ACCOUNT, "");
	policy_facts_set_number(&w, FACT_UID, 1000);
	cr_assert_eq(policy_facts_write(&w, fd, "7"), 0);
	policy_facts_set(&w, FACT_USER, "again");
	cr_assert_eq(policy_facts_write(&w, fd, "8"), 0);
	cr_assert_eq(policy_facts_read(&facts, fd, "7"), 0);
	cr_assert_str_eq(facts.values[FACT_USER], "a uid=0");
	cr_assert_str_eq(facts.values[FACT_ACCOUNT], "");
	cr_assert_str_eq(facts.values[FACT_UID], "1000");
	cr_assert_null(facts.values[FACT_QOS]);
	cr_assert_eq(fstatat(fd, "7", &st, 0), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	policy_facts_done(&w);
	close(fd);
}

Test(policy_files, facts_that_are_cut_or_not_ours_are_refused)
{
	char path[96];
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(read_facts("user=a\nuid=7\n"), 0);
	cr_assert_eq(read_facts("user=a\nuid=7"), -EBADMSG);
	cr_assert_eq(read_facts("user=a\nwhat=7\n"), -EBADMSG);
	cr_assert_eq(read_facts("uid=x\n"), -EBADMSG);
	cr_assert_eq(policy_facts_read(&facts, fd, "absent"), -ENOENT);
	snprintf(path, sizeof(path), "%s/7", dir);
	cr_assert_eq(read_facts("user=a\n"), 0);
	policy_facts_done(&facts);
	chmod(path, 0644);
	cr_assert_eq(policy_facts_read(&facts, fd, "7"), -EPERM);
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(policy_facts_read(&facts, fd, "7"), -EPERM);
	unlink(path);
	cr_assert_eq(symlink("mpitrace.conf", path), 0);
	cr_assert_eq(policy_facts_read(&facts, fd, "7"), -ELOOP);
	close(fd);
}

/* ---- what nobody wrote ---- */

static const char seed[] =
	"[defaults]\nlevel = off\nmax_budget = 1G\noutput = /t/%u/%j/%s\nsample = 5%\nredact = paths, hosts\n"
	"[rule a b]\nuser = alice, !b*\nnodes = 1-4, 8-\nprogram = */bin/*\nretention = 4d\n";

Test(policy_files, damaged_text_is_a_policy_or_an_error_and_nothing_else)
{
	uint8_t bytes[sizeof(seed)];
	uint32_t x = 1;
	for (unsigned i = 0; i < 50000; i++) {
		size_t len = sizeof(seed) - 1;
		memcpy(bytes, seed, len);
		for (unsigned k = 0; k < 1 + i % 4; k++) {
			x = x * 1664525u + 1013904223u;
			if ((x >> 8 & 7) == 0)
				len = x >> 11 & 63 ? len : (x >> 17) % len;
			else
				bytes[(x >> 8) % (sizeof(seed) - 1)] = "=[]\n!,%-*/0 9a\001"[x >> 28];
		}
		policy_fuzz_one(bytes, len);
	}
}
