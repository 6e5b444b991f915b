/* base.c - the helpers keep their promises. */
#include "base/ask.h"
#include "base/atomic_file.h"
#include "base/buf.h"
#include "base/csv.h"
#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/json.h"
#include "base/json_quote.h"
#include "base/multi_prog.h"
#include "base/shell_word.h"
#include "base/siphash.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/vec.h"

#include "fewer.h"

#include <criterion/criterion.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <stdlib.h>
#include <stdio.h>
#include <errno.h>
#include <math.h>

Test(crc32c, gives_the_check_value_of_rfc_3720)
{
	cr_assert_eq(crc32c(0, "123456789", 9), 0xe3069283u);
	cr_assert_eq(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283u);
}

Test(cursor, never_reads_past_the_end)
{
	uint8_t bytes[3] = {1, 2, 3};
	struct cursor c = cursor_over(bytes, sizeof(bytes));
	uint32_t word;
	uint16_t half;
	cr_assert_eq(rd_u32(&c, &word), -EBADMSG);
	cr_assert_eq(rd_u16(&c, &half), 0);
	cr_assert_eq(half, 0x0201);
	cr_assert_eq(rd_u16(&c, &half), -EBADMSG);
}

Test(cursor, reads_back_every_varint_that_buf_writes)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		_cleanup_buf_ struct buf b = {0};
		uint64_t value = 1ull << bit, got = 0;
		buf_varint(&b, value);
		buf_varint(&b, value - 1);
		struct cursor c = cursor_over(b.data, b.len_bytes);
		cr_assert_eq(rd_varint(&c, &got), 0);
		cr_assert_eq(got, value);
		cr_assert_eq(rd_varint(&c, &got), 0);
		cr_assert_eq(got, value - 1);
	}
}

Test(cursor, refuses_a_varint_that_does_not_fit_64_bits)
{
	uint8_t bytes[10] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
	struct cursor c = cursor_over(bytes, sizeof(bytes));
	uint64_t got;
	cr_assert_eq(rd_varint(&c, &got), -EBADMSG);
}

Test(vec, grows_to_what_is_wanted_and_keeps_what_is_there)
{
	uint64_t *numbers = NULL;
	size_t cap = 0;
	for (size_t n = 1; n < 2000; n++) {
		cr_assert_eq(vec_grow(&numbers, &cap, n, sizeof(*numbers)), 0);
		cr_assert(cap >= n && cap <= n + n / 2 + 16);
		numbers[n - 1] = n;
	}
	for (size_t n = 1; n < 2000; n++)
		cr_assert_eq(numbers[n - 1], n);
	cr_assert_eq(vec_grow(&numbers, &cap, SIZE_MAX / 4, sizeof(*numbers)), -ENOMEM);
	free(numbers);
}

static void expect_character(const char *text, size_t len_bytes, uint32_t wanted)
{
	uint32_t code = 0;
	cr_expect_eq(utf8_next_of(text, &code), len_bytes, "U+%04x", wanted);
	cr_expect_eq(utf8_next(text, strlen(text), &code), len_bytes);
	cr_expect_eq(code, wanted);
}

Test(utf8, first_and_last_characters_of_each_length)
{
	expect_character("\x01", 1, 1);
	expect_character("\x7f", 1, 0x7f);
	expect_character("\xc2\x80", 2, 0x80);
	expect_character("\xdf\xbf", 2, 0x7ff);
	expect_character("\xe0\xa0\x80", 3, 0x800);
	expect_character("\xed\x9f\xbf", 3, 0xd7ff);
	expect_character("\xee\x80\x80", 3, 0xe000);
	expect_character("\xf0\x90\x80\x80", 4, 0x10000);
	expect_character("\xf4\x8f\xbf\xbf", 4, 0x10ffff);
}

Test(utf8, what_is_no_character_is_none)
{
	static const char *const wrong[] = {"\x80",
					    "\xbf",
					    "\xc1\xbf",
					    "\xc2",
					    "\xc2x",
					    "\xe0\x9f\xbf",
					    "\xe2\x82",
					    "\xed\xa0\x80",
					    "\xf0\x8f\xbf\xbf",
					    "\xf4\x90\x80\x80",
					    "\xf5\x80\x80\x80",
					    "\xff"};
	uint32_t code;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		cr_expect_eq(utf8_next_of(wrong[i], &code), 0, "%zu", i);
		cr_expect_eq(utf8_next(wrong[i], strlen(wrong[i]), &code), 0, "%zu", i);
	}
	cr_expect_eq(utf8_next("\xe2\x82\xac", 2, &code), 0, "cut by the length");
	cr_expect_eq(utf8_next("a", 0, &code), 0, "nothing there");
	char *clean = utf8_clean("a\x1b\xc3\xa4\xff\xc2\x9b\xe2\x82", 9);
	cr_assert_str_eq(clean, "a?\xc3\xa4????");
	free(clean);
}

Test(utf8, marks_of_direction_are_unseen)
{
	cr_expect(utf8_is_unseen(0x202e) && utf8_is_unseen(0x2066) && utf8_is_unseen(0x200b) && utf8_is_unseen(0x9b));
	cr_expect_not(utf8_is_unseen(0xe4) || utf8_is_unseen(0x20ac) || utf8_is_unseen(' '));
}

Test(json, what_is_absent_or_of_another_type_is_the_fallback)
{
	cJSON *o =
		cJSON_Parse("{\"n\":4.5,\"big\":1e300,\"t\":\"x\",\"b\":true,\"tick\":\"9007199254740993\",\"o\":{}}");
	const cJSON *const none[] = {NULL, json_item(o, "t"), json_item(o, "o")};
	cr_expect_eq(json_number(o, "n"), 4.5);
	cr_expect(isnan(json_number(o, "big")) && isnan(json_number(o, "t")) && isnan(json_number(o, "b")));
	cr_expect_eq(json_number_or(o, "t", 7), 7);
	cr_expect_eq(json_int(o, "n", 7), 4);
	cr_expect_eq(json_int(o, "big", 7), 7);
	cr_expect_eq(json_tick(o, "tick"), 9007199254740993);
	cr_expect_str_eq(json_text(o, "t", "-"), "x");
	cr_expect_str_eq(json_text(o, "n", "-"), "-");
	cr_expect(json_bool(o, "b", false) && json_bool(o, "n", true) && !json_bool(o, "n", false));
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		size_t n = 1;
		cr_expect_null(json_item(none[i], "n"));
		cr_expect(isnan(json_number(none[i], "n")) && json_tick(none[i], "n") == 0);
		cr_expect(json_first(none[i], "n") == NULL && json_count(none[i], "n") == 0);
		cr_expect(json_objects(none[i], "n", &n) == NULL && n == 0);
	}
	cJSON_Delete(o);
}

Test(json, largest_first_and_equal_ones_as_given)
{
	cJSON *o = cJSON_Parse("{\"l\":[{\"i\":0},{\"i\":1,\"s\":2},3,{\"i\":2,\"s\":5},{\"i\":3,\"s\":2}]}");
	static const int wanted[] = {2, 1, 3, 0};
	size_t n;
	const cJSON **list = json_objects_by(o, "l", "s", &n);
	cr_assert_eq(n, 4);
	for (size_t i = 0; i < n; i++)
		cr_expect_eq(json_int(list[i], "i", -1), wanted[i]);
	free(list);
	cJSON_Delete(o);
}

static void expect_fmt(struct fmt got, const char *want)
{
	cr_expect_str_eq(got.s, want, "got %s, want %s", got.s, want);
}

/* The cJSON of Debian 13 prints a negative zero as 0, that of Debian 12 as -0: the same number. */
static bool is_minus_zero(const cJSON *v)
{
	return cJSON_IsNumber(v) && v->valuedouble == 0 && signbit(v->valuedouble);
}

static void print_as_cjson_does(const cJSON *v)
{
	char *text = json_print(v), *expected = cJSON_PrintUnformatted(v);
	cr_assert_str_eq(text, is_minus_zero(v) ? "-0" : expected);
	free(text);
	free(expected);
}

static void expect_quoted(const char *text, const char *want)
{
	_cleanup_buf_ struct buf out = {0};
	json_quote(&out, text);
	buf_u8(&out, 0);
	cr_expect_str_eq((const char *)out.data, want);
}

Test(json, a_quoted_text_is_json_whatever_its_bytes_are)
{
	expect_quoted("", "\"\"");
	expect_quoted("plain \"and\" back\\slash", "\"plain \\\"and\\\" back\\\\slash\"");
	expect_quoted("\b\f\n\r\t\x01", "\"\\b\\f\\n\\r\\t\\u0001\"");
	expect_quoted("\x7f\xc2\x9b\xc2\xa0", "\"\\u007f\\u009b\xc2\xa0\"");
	expect_quoted("a\xff\xe2\x82", "\"a\\ufffd\\ufffd\\ufffd\"");
	expect_quoted("\xe2\x82\xac", "\"\xe2\x82\xac\"");
}

static void print_number(double value)
{
	cJSON *v = cJSON_CreateNumber(value);
	print_as_cjson_does(v);
	cJSON_Delete(v);
}

/* Numbers of all sizes, what seconds of whole nanoseconds are, and the neighbours of what is shorter. */
Test(json, prints_every_number_as_cjson_does)
{
	static const double some[] = {0,	-0.0,
				      1,	1e15,
				      1e15 - 1, 999999999999999.5,
				      1e-4,	9.9999999999999e-5,
				      0.5,	1e22,
				      1e23,	0.1,
				      1.0 / 3,	5e-324,
				      1.7e308,	1e300,
				      NAN,	INFINITY};
	uint64_t x = 88172645463325252u;
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		print_number(some[i]);
		print_number(-some[i]);
		print_number(nextafter(some[i], INFINITY));
		print_number(nextafter(some[i], 0));
	}
	for (unsigned i = 0, n = fewer(400000, 1000); i < n; i++) {
		double value, seconds;
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(&value, &x, sizeof(value));
		seconds = (double)(x >> (x & 63)) / 1e9;
		print_number(i % 8 == 0 ? value : i % 8 < 4 ? seconds : ldexp((double)(x >> 11), -(int)(x % 70)));
		print_number(i % 2 == 0 ? nextafter(seconds, 0) : (double)(int64_t)(x % 2000001) / 2000);
	}
}

Test(json, prints_trees_and_texts_as_cjson_does)
{
	cJSON *v = cJSON_Parse(
		"{\"a\":[],\"b\":{},\"\\u00e9\\\"\\\\\":[1,[2.5,null,true],false],\"\":\"\\b\\f\\n\\r\\t/\"}");
	char bytes[127];
	for (unsigned i = 0; i < 126; i++)
		bytes[i] = (char)(i + 1);
	bytes[126] = '\0';
	cJSON_AddItemToObject(v, bytes, cJSON_CreateString(bytes));
	print_as_cjson_does(v);
	cJSON_Delete(v);
}

Test(units, times_have_three_digits_and_a_fitting_unit)
{
	expect_fmt(fmt_time(0), "0\xc2\xa0s");
	expect_fmt(fmt_time(312e-9), "312\xc2\xa0ns");
	expect_fmt(fmt_time(4.1e-6), "4.10\xc2\xa0\xc2\xb5s");
	expect_fmt(fmt_time(0.99999), "1.00\xc2\xa0s");
	expect_fmt(fmt_time(125), "2\xc2\xa0min\xc2\xa0"
				  "05\xc2\xa0s");
	expect_fmt(fmt_time(12000), "3\xc2\xa0h\xc2\xa0"
				    "20\xc2\xa0min");
	expect_fmt(fmt_time(163840 * 3600.0), "163,840\xc2\xa0h");
	expect_fmt(fmt_time(NAN), "\xe2\x80\x93");
}

Test(units, one_has_no_plural)
{
	expect_fmt(fmt_many(1, "rank"), "1 rank");
	expect_fmt(fmt_many(0, "rank"), "0 ranks");
	expect_fmt(fmt_many(16384, "process"), "16,384 processes");
	expect_fmt(fmt_many(2, "switch"), "2 switches");
	expect_fmt(fmt_many(1234567890, "message"), "1,234,567,890 messages");
	expect_fmt(fmt_many(1234567890123456768, "message"), "1,234,567,890,123,456,768 messages");
	expect_fmt(fmt_many(1, "process"), "1 process");
}

Test(units, bytes_counts_and_shares)
{
	expect_fmt(fmt_bytes(96), "96\xc2\xa0"
				  "B");
	expect_fmt(fmt_bytes(1536), "1.50\xc2\xa0KiB");
	expect_fmt(fmt_bytes(1048576), "1.00\xc2\xa0MiB");
	expect_fmt(fmt_count(16384), "16,384");
	expect_fmt(fmt_count(999), "999");
	expect_fmt(fmt_share(0.372), "37\xc2\xa0%");
	expect_fmt(fmt_share(0.9996), "&gt;\xc2\xa0"
				      "99.9\xc2\xa0%");
	expect_fmt(fmt_share(1), "100\xc2\xa0%");
	expect_fmt(fmt_plain(fmt_share(0.9996)), "> 99.9 %");
	expect_fmt(fmt_share(0.0001), "&lt;\xc2\xa0"
				      "0.1\xc2\xa0%");
}

Test(units, the_terminal_shows_the_same_in_ascii)
{
	expect_fmt(fmt_plain(fmt_time(4.1e-6)), "4.10 us");
	expect_fmt(fmt_plain(fmt_time(125)), "2 min 05 s");
	expect_fmt(fmt_plain(fmt_time(NAN)), "-");
	expect_fmt(fmt_plain(fmt_share(0.0001)), "< 0.1 %");
	expect_fmt(fmt_plain(fmt_count(1e18)), "1,000,000,000,000,000,000");
}

/* ---- atomic files ---- */

Test(csv, a_cell_is_text_for_spreadsheets_and_terminals)
{
	static const char *const cells[][2] = {{"", ""},
					       {"MPI_Send", "MPI_Send"},
					       {"a,b", "\"a,b\""},
					       {"say \"x\"", "\"say \"\"x\"\"\""},
					       {"=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
					       {"=1,2", "\"'=1,2\""},
					       {"+1", "'+1"},
					       {"a;=1", "a;'=1"},
					       {"a,=1", "\"a,'=1\""},
					       {"\"=1", "\"\"\"'=1\""},
					       {"a=b-c", "a=b-c"},
					       {"-1", "'-1"},
					       {"@x", "'@x"},
					       {"\t=1", "'?=1"},
					       {"\r=1", "'?=1"},
					       {"\n=1", "'?=1"},
					       {"a,b;@x", "\"a,b;'@x\""},
					       {";", ";"},
					       {"\uff1dcmd", "'\uff1dcmd"},
					       {"a\xc2\x9b"
						"2Jb",
						"a?2Jb"},
					       {"a\x1b[31mb", "a?[31mb"}};
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		char *cell = csv_cell(cells[i][0]);
		cr_expect_str_eq(cell, cells[i][1]);
		free(cell);
	}
}

Test(atomic_file, a_device_is_written_to_and_stays_one)
{
	char dir[] = "/tmp/mpitrace-base-XXXXXX", path[64], fifo[64];
	struct atomic_file f;
	struct error e;
	struct stat st;
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out", dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	cr_assert_eq(symlink("/dev/null", path), 0);
	cr_assert_eq(atomic_file_open(&f, path, &e), 0);
	fputs("nothing", f.stream);
	cr_assert_eq(atomic_file_commit(&f, &e), 0);
	cr_assert(lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
	cr_assert(stat(path, &st) == 0 && S_ISCHR(st.st_mode));
	cr_assert_eq(atomic_file_open(&f, dir, &e), -EINVAL);
	cr_assert_eq(mkfifo(fifo, 0600), 0); /* replaced: nobody is waited for */
	cr_assert_eq(atomic_file_open(&f, fifo, &e), 0);
	cr_assert_eq(atomic_file_commit(&f, &e), 0);
	cr_assert(lstat(fifo, &st) == 0 && S_ISREG(st.st_mode));
	unlink(path);
	unlink(fifo);
	rmdir(dir);
}

Test(shell_word, is_one_word_to_a_shell)
{
	static const struct {
		const char *text, *word;
	} cases[] = {{"job.mpix", "job.mpix"},
		     {"/a/b-c_d.mpix", "/a/b-c_d.mpix"},
		     {"two words", "'two words'"},
		     {"it's", "'it'\\''s'"},
		     {"-o", "./-o"},
		     {"", "''"},
		     {"$(id)", "'$(id)'"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *word = shell_word(cases[i].text);
		cr_expect_str_eq(word, cases[i].word);
		free(word);
	}
}

/* ---- questions to what may hang ---- */

static void answer_a_lot(const void *question, int fd)
{
	for (int i = 0; i < *(const int *)question; i++)
		dprintf(fd, "%0999d ", i);
}

static void stall(const void *question, int fd)
{
	dprintf(fd, "begun");
	for (;;)
		pause();
	(void)question;
}

Test(ask, an_answer_is_whole_or_what_came_until_it_was_given_up)
{
	_cleanup_buf_ struct buf text = {0};
	int blocks = 100;
	cr_assert(ask_in_child(answer_a_lot, &blocks, 60000, 100000, &text));
	cr_assert_eq(text.len_bytes, 100000);
	text.len_bytes = 0;
	cr_assert_not(ask_in_child(answer_a_lot, &blocks, 60000, 50000, &text), "more than the caller takes");
	cr_assert_lt(text.len_bytes, 50000 + 4096 + 1);
	text.len_bytes = 0;
	cr_assert_not(ask_in_child(stall, NULL, 500, 100, &text));
	cr_assert_eq(text.len_bytes, 5);
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "no child is left");
}

Test(error, a_name_in_it_commands_no_terminal)
{
	struct error e;
	cr_assert_eq(fail(&e, -2, "%s: cannot open",
			  "a\rb\x1b[31m\x7f\xc2\x9b"
			  "31m\xc3\xa9"),
		     -2);
	cr_assert_str_eq(e.text, "a?b?[31m???31m\xc3\xa9: cannot open");
}

/* ---- the file of srun --multi-prog ---- */

/* Of the authors' reference implementation: the key 0, 1, ..., of as many bytes 0, 1, ... */
Test(siphash, is_what_its_authors_say)
{
	uint8_t bytes[16];
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	cr_expect_eq(siphash(bytes, bytes, 0), 0x726fdb47dd0e0e31ull);
	cr_expect_eq(siphash(bytes, bytes, 8), 0x93f5f5799a932462ull);
	cr_expect_eq(siphash(bytes, bytes, 15), 0xa129ca6149be45e5ull);
}

Test(multi_prog, names_the_program_of_a_task)
{
	static const struct {
		const char *text;
		uint32_t task;
		const char *name; /* NULL: none is told */
	} cases[] = {
		{"0 ./a x\n1-3,7 b\n* /c/d\n", 0, "./a"},
		{"0 ./a x\n1-3,7 b\n* /c/d\n", 3, "b"},
		{"0 ./a x\n1-3,7 b\n* /c/d\n", 7, "b"},
		{"0 ./a x\n1-3,7 b\n* /c/d\n", 4, "/c/d"},
		{"# 0 x\n\n  \t0\t  a\r\n", 0, "a"},
		{"0 a", 0, "a"},
		{"0 a \\\n1 b\n1 c\n", 1, "c"},
		{"0 a\n", 1, NULL},
		{"0\n1 a", 0, NULL},
		{"0-", 0, NULL},
		{"0-1x a", 0, NULL},
		{"0,, a", 1, NULL},
		{"0 'a b'\n", 0, NULL},
		{"* prog%t\n", 0, NULL},
		{"99999999999999999999999 a", 0, NULL},
		{"echo a", 0, NULL},
		{"** a", 0, NULL},
		{"", 0, NULL},
		{"0 12345678", 0, NULL},
		{"0 1234567", 0, "1234567"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[8] = "";
		bool is = multi_prog_program(cases[i].text, cases[i].task, name, sizeof(name));
		cr_expect_eq(is, cases[i].name != NULL, "case %zu: %s", i, name);
		cr_expect_str_eq(name, cases[i].name != NULL ? cases[i].name : "", "case %zu", i);
	}
}
