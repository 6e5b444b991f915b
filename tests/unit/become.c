/* become.c - becoming the user: nothing runs when any step of it fails, or says that it worked and did not. The
 * linker puts the calls below in place of the C library's (--wrap). Needs root; each test is a process of its own. */
#include "base/become.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER 65534

/* ---- faults ---- */

enum call { NONE, SETGROUPS, GETGROUPS, SETRESGID, SETRESUID, SETRESUID_BACK, GETRESUID, GETRESGID, PRCTL };
enum how { FAILS, LIES };

static struct fault {
	enum call call;
	enum how how;
	const char *what;
} fault;

/* False: do it really. *ret_rc otherwise. */
static bool hits(enum call call, int *ret_rc)
{
	if (fault.call != call)
		return false;
	errno = EPERM;
	*ret_rc = fault.how == LIES ? 0 : -1;
	return true;
}

int __real_setgroups(size_t n, const gid_t *gids);
int __real_getgroups(int n, gid_t *gids);
int __real_setresgid(gid_t r, gid_t e, gid_t s);
int __real_setresuid(uid_t r, uid_t e, uid_t s);
int __real_getresuid(uid_t *r, uid_t *e, uid_t *s);
int __real_getresgid(gid_t *r, gid_t *e, gid_t *s);
int __real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_setgroups(size_t n, const gid_t *gids);
int __wrap_getgroups(int n, gid_t *gids);
int __wrap_setresgid(gid_t r, gid_t e, gid_t s);
int __wrap_setresuid(uid_t r, uid_t e, uid_t s);
int __wrap_getresuid(uid_t *r, uid_t *e, uid_t *s);
int __wrap_getresgid(gid_t *r, gid_t *e, gid_t *s);
int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

int __wrap_setgroups(size_t n, const gid_t *gids)
{
	int rc;
	return hits(SETGROUPS, &rc) ? rc : __real_setgroups(n, gids);
}

/* One that lies says there are none. */
int __wrap_getgroups(int n, gid_t *gids)
{
	int rc;
	return hits(GETGROUPS, &rc) ? rc : __real_getgroups(n, gids);
}

int __wrap_setresgid(gid_t r, gid_t e, gid_t s)
{
	int rc;
	return hits(SETRESGID, &rc) ? rc : __real_setresgid(r, e, s);
}

int __wrap_setresuid(uid_t r, uid_t e, uid_t s)
{
	int rc;
	return hits(r == 0 ? SETRESUID_BACK : SETRESUID, &rc) ? rc : __real_setresuid(r, e, s);
}

int __wrap_getresuid(uid_t *r, uid_t *e, uid_t *s)
{
	int rc;
	return hits(GETRESUID, &rc) ? rc : __real_getresuid(r, e, s);
}

int __wrap_getresgid(gid_t *r, gid_t *e, gid_t *s)
{
	int rc;
	return hits(GETRESGID, &rc) ? rc : __real_getresgid(r, e, s);
}

int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	int rc;
	return hits(PRCTL, &rc) ? rc : __real_prctl(option, a, b, c, d);
}

static const struct fault faults[] = {
	{SETGROUPS, FAILS, "setgroups fails"},
	{SETGROUPS, LIES, "setgroups does nothing: root's groups stay"},
	{GETGROUPS, FAILS, "which groups we have cannot be asked"},
	{GETGROUPS, LIES, "a group is missing"},
	{SETRESGID, FAILS, "setresgid fails"},
	{SETRESGID, LIES, "setresgid does nothing"},
	{SETRESUID, FAILS, "setresuid fails"},
	{SETRESUID, LIES, "setresuid does nothing"},
	{SETRESUID_BACK, LIES, "the way back to root is open"},
	{GETRESUID, FAILS, "who we are cannot be asked"},
	{GETRESGID, FAILS, "which group we are in cannot be asked"},
	{PRCTL, FAILS, "no_new_privs fails"},
};
#define NFAULTS (sizeof(faults) / sizeof(faults[0]))

/* ---- a program that leaves word of itself ---- */

static char directory[] = "/tmp/mpitrace-become-XXXXXX";
static char word[64], script[256];
static gid_t gids[] = {12345, 23456};
static struct identity who = {.uid = USER, .gid = USER, .gids = gids, .ngids = 2};

static void make_directory(void)
{
	if (geteuid() != 0)
		cr_skip_test("needs root");
	cr_assert_not_null(mkdtemp(directory));
	cr_assert(chown(directory, USER, USER) == 0 && chmod(directory, 0777) == 0);
	snprintf(word, sizeof(word), "%s/word", directory);
	snprintf(script, sizeof(script), "cat /proc/self/status > %s", word);
}

static void remove_directory(void)
{
	unlink(word);
	rmdir(directory);
}

/* As whoever starts something for a user does: the exit code, 126 when it is not to be run. */
static int run(void)
{
	char *argv[] = {"/bin/sh", "-c", script, NULL}, *envp[] = {"PATH=/usr/bin:/bin", NULL};
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		if (!become(&who))
			_exit(126);
		execve(argv[0], argv, envp);
		_exit(127);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool left_word(void)
{
	struct stat st;
	return stat(word, &st) == 0;
}

static void expect_line(const char *text, const char *key, const char *value)
{
	char wanted[128];
	snprintf(wanted, sizeof(wanted), "\n%s:\t%s", key, value);
	cr_assert_not_null(strstr(text, wanted), "%s is not \"%s\" in:\n%s", key, value, text);
}

TestSuite(become, .init = make_directory, .fini = remove_directory);

Test(become, what_is_run_is_the_users_for_good)
{
	static char text[8192];
	cr_assert_eq(run(), 0);
	int fd = open(word, O_RDONLY);
	cr_assert_geq(fd, 0, "it was not run");
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	expect_line(text, "Uid", "65534\t65534\t65534\t65534\n");
	expect_line(text, "Gid", "65534\t65534\t65534\t65534\n");
	expect_line(text, "Groups", "12345 23456");
	expect_line(text, "NoNewPrivs", "1\n");
	expect_line(text, "CapEff", "0000000000000000\n");
	expect_line(text, "CapPrm", "0000000000000000\n");
}

Test(become, nothing_is_run_when_giving_up_root_fails_anywhere)
{
	for (size_t i = 0; i < NFAULTS; i++) {
		fault = faults[i];
		cr_assert_eq(run(), 126, "%s", fault.what);
		cr_assert_not(left_word(), "%s, and it was run", fault.what);
	}
}

Test(become, nobody_becomes_root_or_the_user_that_means_no_change)
{
	static const uid_t refused[] = {0, (uid_t)-1};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		who.uid = refused[i];
		cr_assert_eq(run(), 126);
		cr_assert_not(left_word());
	}
}
