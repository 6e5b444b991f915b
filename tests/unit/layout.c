/* layout.c - the step's layout file: what was written comes back, what was not written by us is refused. */
#include "base/buf.h"
#include "format/layout.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/layout-test-XXXXXX";
static int dir_fd;
static struct layout l;

static void make_dir(void)
{
	cr_assert_not_null(mkdtemp(dir));
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(dir_fd, 0);
}

static void remove_dir(void)
{
	layout_done(&l);
	unlinkat(dir_fd, "layout", 0);
	unlinkat(dir_fd, ".layout", 0);
	close(dir_fd);
	rmdir(dir);
}

TestSuite(layout, .init = make_dir, .fini = remove_dir);

static int read_bytes(const void *bytes, size_t len_bytes)
{
	int fd = openat(dir_fd, "layout", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	cr_assert_eq(write(fd, bytes, len_bytes), (ssize_t)len_bytes);
	close(fd);
	layout_done(&l);
	return layout_read(dir_fd, true, &l, NULL);
}

static int read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

Test(layout, every_key_comes_back)
{
	struct layout w = {0};
	char value[64];
	struct stat st;
	for (int k = 0; k < LAYOUT_KEYS; k++) {
		snprintf(value, sizeof(value), "of %s = x", layout_rows[k].name);
		layout_set(&w, (enum layout_key)k, value);
	}
	cr_assert_eq(layout_write(dir_fd, &w, NULL), 0);
	layout_done(&w);
	cr_assert_eq(layout_read(dir_fd, true, &l, NULL), 0);
	for (int k = 0; k < LAYOUT_KEYS; k++) {
		snprintf(value, sizeof(value), "of %s = x", layout_rows[k].name);
		cr_assert_str_eq(layout_text(&l, (enum layout_key)k), value);
	}
	cr_assert_eq(fstatat(dir_fd, "layout", &st, 0), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	cr_assert_lt(fstatat(dir_fd, ".layout", &st, 0), 0, "renamed");
}

Test(layout, a_trap_under_the_temporary_name_is_an_error)
{
	struct layout w = {0};
	struct error e;
	struct stat st;
	cr_assert_eq(symlinkat("elsewhere", dir_fd, ".layout"), 0);
	cr_assert_eq(layout_write(dir_fd, &w, &e), -EEXIST);
	cr_assert_lt(fstatat(dir_fd, "elsewhere", &st, 0), 0);
	cr_assert_lt(fstatat(dir_fd, "layout", &st, 0), 0);
}

Test(layout, the_documented_keys_are_those_of_the_table)
{
	_cleanup_buf_ struct buf wanted = {0}, text = {0};
	char line[1024];
	bool table = false;
	FILE *f = fopen(getenv("MPITRACE_STEPDIR_MD"), "r");
	cr_assert_not_null(f);
	for (int k = 0; k < LAYOUT_KEYS; k++)
		buf_printf(&wanted, "| `%s` | %s |\n", layout_rows[k].name, layout_rows[k].meaning);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (table && line[0] == '|')
			buf_str(&text, line);
		table = strcmp(line, "|---|---|\n") == 0 || (table && line[0] == '|');
	}
	fclose(f);
	buf_u8(&wanted, 0);
	buf_u8(&text, 0);
	cr_assert_str_eq((char *)text.data, (char *)wanted.data, "docs/STEPDIR.md should have:\n%s", wanted.data);
}

Test(layout, a_missing_one_is_an_error)
{
	struct error e;
	cr_assert_eq(layout_read(dir_fd, false, &l, &e), -ENOENT);
	cr_assert_not_null(strstr(e.text, "layout"));
}

Test(layout, a_value_may_contain_equals_signs_and_be_empty)
{
	cr_assert_eq(read_text("argv=[\"a=b\"]\nname=\nbudget=12\nlater=unknown\n"), 0);
	cr_assert_str_eq(layout_text(&l, LAYOUT_ARGV), "[\"a=b\"]");
	cr_assert(layout_has(&l, LAYOUT_NAME) && !layout_has(&l, LAYOUT_UID));
	cr_assert_str_eq(layout_text(&l, LAYOUT_NAME), "");
	cr_assert_str_eq(layout_text(&l, LAYOUT_UID), "");
	cr_assert_eq(layout_number(&l, LAYOUT_BUDGET, 0), 12);
}

Test(layout, cut_inside_a_line_it_is_refused)
{
	static const char text[] = "node=n1\nnnodes=4\n";
	for (size_t len = 0; len <= strlen(text); len++)
		cr_assert_eq(read_bytes(text, len), len == 0 || text[len - 1] == '\n' ? 0 : -EBADMSG, "%zu", len);
}

Test(layout, a_second_answer_a_line_without_key_and_a_zero_byte_are_refused)
{
	cr_assert_eq(read_text("uid=5\nuid=0\n"), -EBADMSG);
	cr_assert_eq(read_text("uid=5\nfrob\n"), -EBADMSG);
	cr_assert_eq(read_bytes("uid=5\0\n", 7), -EBADMSG);
}

Test(layout, one_byte_over_the_limit_is_refused)
{
	char *text = malloc(LAYOUT_BYTES_MAX + 1);
	memset(text, 'a', LAYOUT_BYTES_MAX + 1);
	memcpy(text, "name=", 5);
	text[LAYOUT_BYTES_MAX - 1] = '\n';
	cr_assert_eq(read_bytes(text, LAYOUT_BYTES_MAX), 0);
	text[LAYOUT_BYTES_MAX - 1] = 'a';
	text[LAYOUT_BYTES_MAX] = '\n';
	cr_assert_eq(read_bytes(text, LAYOUT_BYTES_MAX + 1), -E2BIG);
	free(text);
}

Test(layout, what_is_no_file_of_ours_is_refused)
{
	cr_assert_eq(mkfifoat(dir_fd, "layout", 0600), 0);
	cr_assert_eq(layout_read(dir_fd, true, &l, NULL), -EPERM);
	cr_assert_eq(unlinkat(dir_fd, "layout", 0), 0);
	cr_assert_eq(symlinkat("/etc/passwd", dir_fd, "layout"), 0);
	cr_assert_eq(layout_read(dir_fd, false, &l, NULL), -ELOOP);
	cr_assert_eq(unlinkat(dir_fd, "layout", 0), 0);
	cr_assert_eq(read_text("uid=5\n"), 0);
	if (fchownat(dir_fd, "layout", 4711, 4711, 0) != 0)
		return; /* not root: cannot make a file of another user */
	cr_assert_eq(layout_read(dir_fd, true, &l, NULL), -EPERM);
}

Test(layout, numbers_that_are_none_give_the_fallback)
{
	static const char *const none[] = {"-1", "12x", "99999999999999999999999", "", " 4"};
	char text[64];
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		snprintf(text, sizeof(text), "budget=%s\n", none[i]);
		cr_assert_eq(read_text(text), 0);
		cr_assert_eq(layout_number(&l, LAYOUT_BUDGET, 7), 7);
	}
	cr_assert_eq(layout_number(&l, LAYOUT_UID, 7), 7);
}

Test(layout, a_list_is_numbers_and_commas_and_not_too_long)
{
	static const char *const none[] = {"1,", ",1", "1,,2", "1 2", "4294967296", "x", "-1"};
	const uint32_t wanted[] = {3, 0, 4294967295u};
	uint32_t list[3];
	char text[64];
	layout_set_list(&l, LAYOUT_GIDS, wanted, 3);
	cr_assert_eq(layout_list(&l, LAYOUT_GIDS, list, 3), 3);
	cr_assert_eq(memcmp(list, wanted, sizeof(list)), 0);
	cr_assert_eq(layout_list(&l, LAYOUT_GIDS, list, 2), -EBADMSG);
	cr_assert_eq(layout_list(&l, LAYOUT_TASKS, list, 3), 0);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		snprintf(text, sizeof(text), "gids=%s\n", none[i]);
		cr_assert_eq(read_text(text), 0);
		cr_assert_eq(layout_list(&l, LAYOUT_GIDS, list, 3), -EBADMSG, "%s", none[i]);
	}
}

Test(layout, a_long_command_line_is_cut_and_says_so)
{
	char *huge = malloc(LAYOUT_ARGV_MAX + 2), *argv[] = {(char[]){"prog"}, huge, huge};
	memset(huge, 'x', LAYOUT_ARGV_MAX + 1);
	huge[LAYOUT_ARGV_MAX + 1] = '\0';
	layout_set_argv(&l, argv, 3);
	cr_assert_str_eq(layout_text(&l, LAYOUT_ARGV), "[\"prog\",\"...\"]");
	cr_assert_str_eq(layout_text(&l, LAYOUT_PROGRAM), "prog");
	free(huge);
}
