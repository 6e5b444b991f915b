/* atomic_file.c - a file appears whole or not at all, and nothing else is left or touched. */
#include "base/atomic_file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/mpitrace-atomic-XXXXXX", path[64];

static void begin(void)
{
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out", dir);
}

static void end(void)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(atomic_file, .init = begin, .fini = end);

static unsigned entries(void)
{
	DIR *d = opendir(dir);
	unsigned n = 0;
	for (const struct dirent *x; (x = readdir(d)) != NULL;)
		n += x->d_name[0] != '.';
	closedir(d);
	return n;
}

static void assert_holds(const char *expected)
{
	char text[64] = "";
	FILE *f = fopen(path, "r");
	cr_assert_not_null(f);
	cr_assert_eq(fread(text, 1, sizeof(text) - 1, f), strlen(expected));
	cr_assert_str_eq(text, expected);
	fclose(f);
}

static struct atomic_file opened(void)
{
	struct atomic_file f = {0};
	struct error e = {""};
	cr_assert_eq(atomic_file_open(&f, path, &e), 0, "%s", e.text);
	return f;
}

static void put(const char *text)
{
	struct atomic_file f = opened();
	fputs(text, f.stream);
	cr_assert_eq(atomic_file_commit(&f, NULL), 0);
}

Test(atomic_file, appears_when_it_is_whole_with_no_word_of_an_error)
{
	struct error e = {""};
	struct stat st;
	umask(022);
	struct atomic_file f = opened();
	fputs("new", f.stream);
	fflush(f.stream);
	cr_expect_lt(stat(path, &st), 0, "not before");
	cr_assert_eq(atomic_file_commit(&f, &e), 0);
	cr_expect_str_eq(e.text, "");
	assert_holds("new");
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0644);
	cr_expect_eq(entries(), 1);
	atomic_file_abandon(&f);
	assert_holds("new");
}

Test(atomic_file, replaces_what_is_there_at_once)
{
	put("old");
	struct atomic_file f = opened();
	fputs("newer", f.stream);
	assert_holds("old");
	cr_assert_eq(atomic_file_commit(&f, NULL), 0);
	assert_holds("newer");
}

Test(atomic_file, that_is_given_up_leaves_what_was_there)
{
	put("old");
	struct atomic_file f = opened();
	fputs("half", f.stream);
	atomic_file_abandon(&f);
	assert_holds("old");
	cr_expect_eq(entries(), 1);
}

Test(atomic_file, that_cannot_be_written_leaves_nothing_and_says_why)
{
	struct error e = {""};
	struct atomic_file f = opened();
	int full = open("/dev/full", O_WRONLY);
	cr_assert_geq(dup2(full, fileno(f.stream)), 0);
	close(full);
	fputs("x", f.stream);
	cr_expect_eq(atomic_file_commit(&f, &e), -ENOSPC);
	cr_expect_not_null(strstr(e.text, "nothing was left behind"), "%s", e.text);
	cr_expect_not_null(strstr(e.text, path));
	cr_expect_eq(entries(), 0);
}

Test(atomic_file, cannot_be_where_no_directory_is)
{
	struct atomic_file f;
	struct error e = {""};
	char nowhere[128];
	snprintf(nowhere, sizeof(nowhere), "%s/none/out", dir);
	cr_expect_eq(atomic_file_open(&f, nowhere, &e), -ENOENT);
	cr_expect_not_null(strstr(e.text, nowhere), "%s", e.text);
}

static void make(const char *name, bool locked)
{
	char full[128];
	snprintf(full, sizeof(full), "%s/%s", dir, name);
	int fd = open(full, O_RDWR | O_CREAT, 0644);
	cr_assert_geq(fd, 0);
	if (locked)
		cr_assert_eq(flock(fd, LOCK_EX), 0); /* open until the test ends */
	else
		close(fd);
}

static bool there(const char *name)
{
	char full[128];
	struct stat st;
	snprintf(full, sizeof(full), "%s/%s", dir, name);
	return lstat(full, &st) == 0;
}

/* Of this very file, and by processes that are dead. */
Test(atomic_file, what_the_dead_left_of_it_is_swept_and_nothing_else)
{
	static const char *const stay[] = {"out",	  "out.tmp",   "out.12x.tmp", "out.12.tmpx",
					   "out2.12.tmp", "ou.12.tmp", "out.12"};
	for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++)
		make(stay[i], false);
	make("out.77.tmp", false);
	make("out.4.tmp", false);
	make("out.5.tmp", true);
	atomic_file_sweep(path);
	for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++)
		cr_expect(there(stay[i]), "%s", stay[i]);
	cr_expect_not(there("out.77.tmp"));
	cr_expect_not(there("out.4.tmp"));
	cr_expect(there("out.5.tmp"), "somebody writes it");
}
