/* trusted.c - a file is trusted for whose it is and who may write or read it, and for what it is. */
#include "base/trusted.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/mpitrace-trusted-XXXXXX", path[64];

static void begin(void)
{
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	cr_assert_geq(fd, 0);
	close(fd);
}

static void end(void)
{
	static const char *const names[] = {"file", "link", "pipe"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char name[80];
		snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
		unlink(name);
	}
	cr_assert_eq(rmdir(dir), 0);
}

TestSuite(trusted, .init = begin, .fini = end);

/* What is said; "" where it is opened. */
static const char *said(const char *name, enum trusted how)
{
	static struct error e;
	e.text[0] = '\0';
	int fd = trusted_open(name, how, &e);
	if (fd < 0)
		return e.text;
	close(fd);
	return "";
}

Test(trusted, by_mode)
{
	const struct {
		mode_t mode;
		bool is_public, secret;
	} cases[] = {{0600, true, true},   {0400, true, true},	 {0640, true, true},   {0700, true, true},
		     {0644, true, false},  {0604, true, false},	 {0660, false, false}, {0620, false, false},
		     {0602, false, false}, {0606, false, false}, {0650, true, false},  {0601, true, false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_eq(chmod(path, cases[i].mode), 0);
		const char *text = said(path, TRUSTED_PUBLIC);
		cr_assert_eq(*text == '\0', cases[i].is_public, "%o: %s", cases[i].mode, text);
		text = said(path, TRUSTED_SECRET);
		cr_assert_eq(*text == '\0', cases[i].secret, "%o: %s", cases[i].mode, text);
		cr_assert(cases[i].secret || strstr(text, "others can neither read nor write"), "%s", text);
	}
}

Test(trusted, what_it_is)
{
	char other[80];
	snprintf(other, sizeof(other), "%s/link", dir);
	cr_assert_eq(symlink(path, other), 0);
	cr_assert_str_eq(said(path, TRUSTED_SECRET), "");
	cr_assert(strstr(said(other, TRUSTED_SECRET), "Too many levels of symbolic links"), "a link");
	snprintf(other, sizeof(other), "%s/pipe", dir);
	cr_assert_eq(mkfifo(other, 0600), 0);
	cr_assert(strstr(said(other, TRUSTED_SECRET), "must be a file"), "a pipe, which nobody writes");
	cr_assert(strstr(said(dir, TRUSTED_PUBLIC), "must be a file"), "a directory");
	snprintf(other, sizeof(other), "%s/none", dir);
	cr_assert(strstr(said(other, TRUSTED_PUBLIC), "No such file"), "none");
}

Test(trusted, whose_it_is)
{
	if (geteuid() != 0)
		cr_skip("only root gives files away");
	cr_assert_eq(chown(path, 4711, 4711), 0);
	cr_assert(strstr(said(path, TRUSTED_PUBLIC), "nobody else may write: chmod 0644"), "somebody else's");
	cr_assert(strstr(said(path, TRUSTED_SECRET), "must be a file of root's or your own"), "somebody else's");
}
