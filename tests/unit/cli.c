/* cli.c - the parts of the command that need no trace: texts from outside on a terminal, what other programs say, keys.
 */
#include "cli_place.h"

#include "cli/capture.h"
#include "cli/live_keys.h"
#include "cli/print.h"
#include "cli/program_mpi.h"
#include "cli/run_signals.h"
#include "cli/show_text.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- texts ---- */

static void assert_plain(const char *text, int max_bytes, const char *expected)
{
	char *got = NULL;
	size_t n;
	FILE *to = open_memstream(&got, &n);
	put_plain(to, text, max_bytes);
	fclose(to);
	cr_expect_str_eq(got, expected, "%s", got);
	free(got);
}

Test(print, what_shows_nothing_or_turns_the_writing_is_written_out)
{
	assert_plain("halo.c", 99, "halo.c");
	assert_plain("a\033[31mb", 99, "a\\x1b[31mb");
	assert_plain("a\nb\177", 99, "a\\x0ab\\x7f");
	assert_plain("\xe2\x80\xae"
		     "cod.exe",
		     99, "\\u202ecod.exe");
	assert_plain("\xc2\x9b", 99, "\\x9b");
	assert_plain("m\xc3\xbc\xff!", 99, "m\xc3\xbc\\xff!");
}

Test(print, what_is_too_long_is_cut_and_says_so)
{
	assert_plain("abcd", 4, "abcd");
	assert_plain("abcde", 4, "abcd...");
	assert_plain("", 0, "");
	assert_plain("\xff\xff\xff", 2, "\\xff\\xff...");
}

static char *words_of(const char *text, int column, int indent)
{
	char *got = NULL;
	size_t n;
	FILE *before = stdout;
	stdout = open_memstream(&got, &n);
	show_words(text, column, indent);
	fclose(stdout);
	stdout = before;
	return got;
}

Test(show, words_are_broken_before_the_last_column)
{
	char *got = words_of("aaaa bbbb  cccc", 70, 4);
	cr_expect_str_eq(got, "aaaa bbbb\n    cccc\n", "%s", got);
	free(got);
	got = words_of("aaaa bbbb", 71, 4);
	cr_expect_str_eq(got, "aaaa bbbb\n", "to column 80: %s", got);
	free(got);
	got = words_of("aaaa bbbb", 72, 2);
	cr_expect_str_eq(got, "aaaa\n  bbbb\n", "not to 81: %s", got);
	free(got);
	got = words_of("12 \xc2\xb5s, 3 \xc2\xb5seconds", 0, 0);
	cr_expect_str_eq(got, "12 us, 3 \xc2\xb5seconds\n", "%s", got);
	free(got);
}

Test(show, a_word_longer_than_a_line_is_cut_into_lines)
{
	char word[200];
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	for (int indent = 0; indent < 8; indent += 4) {
		char *got = words_of(word, 0, indent), *line = got;
		size_t all = 0;
		for (size_t n; *line != '\0'; line += n + 1) {
			n = strcspn(line, "\n");
			cr_expect_leq(n, SHOW_COLUMNS, "%zu", n);
			for (size_t i = 0; i < n; i++)
				all += line[i] == 'x';
		}
		cr_expect_eq(all, strlen(word));
		free(got);
	}
}

/* Where events were lost, what waited in them is not known; a bound that says something is one. */
Test(show, waiting_is_known_of_single_calls_unless_all_of_it_may_be_lost)
{
	static const struct {
		const char *json;
		bool known;
	} cases[] = {
		{"{\"per_rank\":[{\"wait_s\":0}]}", true},
		{"{\"coverage\":{\"events\":0},\"per_rank\":[{\"wait_s\":1}]}", false},
		{"{\"coverage\":{\"events\":9,\"events_lost\":1},\"per_rank\":[{\"wait_s\":0}]}", false},
		{"{\"coverage\":{\"events\":9,\"events_lost\":1},\"per_rank\":[{\"wait_s\":0},{\"wait_s\":0.5}]}",
		 true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cJSON *a = cJSON_Parse(cases[i].json);
		cr_expect_eq(show_knows_waits(a), cases[i].known, "%s", cases[i].json);
		cJSON_Delete(a);
	}
}

Test(show, names_are_ascii_of_a_bounded_length)
{
	const struct show_name words = show_name("late_sender", 40, true), name = show_name("late_sender", 40, false),
			       cut = show_name("late_sender", 4, false),
			       odd = show_name("a\033\177~ \xc3\xbc", 40, false);
	cr_expect_str_eq(words.s, "late sender");
	cr_expect_str_eq(name.s, "late_sender");
	cr_expect_str_eq(cut.s, "late");
	cr_expect_str_eq(odd.s, "a??~ ??");
}

Test(show, without_times_of_threads_the_whole_is_that_of_all_ranks)
{
	cJSON *a = cJSON_Parse(
		"{\"per_rank\":[{\"useful_s\":1,\"mpi_s\":2},{\"useful_s\":4}],\"coverage\":{\"events\":0}}");
	cr_expect_eq(show_ranks_s(a), 7);
	cr_expect_eq(show_whole_s(a), 7);
	cr_expect_not(show_has_events(a));
	cJSON_AddItemToObject(a, "summary", cJSON_Parse("{\"threads_s\":9}"));
	cr_expect_eq(show_whole_s(a), 9);
	cJSON_Delete(a);
	a = cJSON_Parse("{}");
	cr_expect(isnan(show_whole_s(a)), "not known, and not zero");
	cr_expect(show_has_events(a));
	const struct fmt unknown = show_known(a, "wait_s", seconds_text);
	cr_expect_str_eq(unknown.s, "not known");
	cJSON_Delete(a);
}

/* ---- other programs ---- */

TestSuite(programs, .init = begin, .fini = end);

static int runs(const char *script, char *to, size_t size)
{
	char *const words[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)script, NULL};
	return capture(words, to, size);
}

Test(programs, what_one_says_is_captured_and_cut_to_size)
{
	char text[8];
	cr_expect_eq(runs("echo out; echo err >&2; exit 3", text, sizeof(text)), 3);
	cr_expect_str_eq(text, "out\nerr");
	cr_expect_eq(runs("cat; head -c 100000 /dev/zero | tr '\\0' x", text, sizeof(text)), 0,
		     "nothing to read, and never a full pipe");
	cr_expect_str_eq(text, "xxxxxxx");
	cr_expect_eq(runs("kill -9 $$", text, sizeof(text)), -1);
	cr_expect_str_eq(text, "");
	char *const none[] = {(char *)(uintptr_t) "/nonexistent/x", NULL};
	cr_expect_eq(capture(none, text, sizeof(text)), 127);
}

Test(programs, python_is_known_by_its_name)
{
	static const char *const yes[] = {"python", "/usr/bin/python3", "python3.11", "/opt/x/python2.7"};
	static const char *const no[] = {"pythonw", "ipython3", "/python3/run", "python-config", "pytho"};
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		cr_expect(program_is_python(yes[i]), "%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		cr_expect_not(program_is_python(no[i]), "%s", no[i]);
}

Test(programs, which_mpi_one_loads_is_asked_of_the_loader)
{
	put_text("script", "#!/bin/sh\nexit 0\n");
	put_text("empty", "");
	cr_expect_eq(program_mpi("/proc/self/exe").kind, MPI_NONE);
	cr_expect_eq(program_mpi(below("script")).kind, MPI_NOT_KNOWN);
	cr_expect_eq(program_mpi(below("empty")).kind, MPI_NOT_KNOWN);
	cr_expect_eq(program_mpi(below("nothing")).kind, MPI_NOT_KNOWN);
	cr_expect_eq(program_mpi(place).kind, MPI_NOT_KNOWN);
}

/* ---- keys ---- */

static enum key key_of(const char *text)
{
	int ends[2];
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(dup2(ends[0], 0), 0);
	cr_assert_eq(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
	enum key key = keys_wait(-1);
	close(ends[0]);
	close(ends[1]);
	return key;
}

Test(keys, are_characters_or_sequences)
{
	static const struct {
		const char *text;
		enum key key;
	} cases[] = {
		{"q", KEY_QUIT},
		{" ", KEY_PAUSE},
		{"k", KEY_UP},
		{"j", KEY_DOWN},
		{"\033[A", KEY_UP},
		{"\033[5~", KEY_PAGE_UP},
		{"\033[6~", KEY_PAGE_DOWN},
		{"\033OH", KEY_HOME},
		{"\033[4~", KEY_END},
		{"x", KEY_OTHER},
		{"\033[Z", KEY_OTHER},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(key_of(cases[i].text), cases[i].key, "case %zu", i);
}

Test(keys, come_one_by_one_and_end_with_the_terminal)
{
	int ends[2];
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(dup2(ends[0], 0), 0);
	cr_assert_eq(write(ends[1], "\033[Bq", 4), 4);
	cr_expect_eq(keys_wait(-1), KEY_DOWN);
	cr_expect_eq(keys_wait(-1), KEY_QUIT);
	cr_expect_eq(keys_wait(1000), KEY_NONE, "nothing came");
	close(ends[1]);
	close(ends[0]);
	cr_expect_eq(keys_wait(-1), KEY_QUIT);
}

/* ---- signals ---- */

static void (*handler_of(int signal_number))(int)
{
	struct sigaction now;
	cr_assert_eq(sigaction(signal_number, NULL, &now), 0);
	return now.sa_handler;
}

Test(signals, ignored_when_we_began_they_are_so_for_who_makes_the_report)
{
	signal(SIGHUP, SIG_IGN);
	signal(SIGRTMIN + 3, SIG_IGN);
	run_signals_pass(0);
	cr_expect_neq(handler_of(SIGHUP), SIG_IGN, "the launcher may handle it");
	cr_expect_neq(handler_of(SIGRTMIN + 3), SIG_IGN);
	run_signals_end();
	cr_expect_eq(handler_of(SIGHUP), SIG_IGN);
	cr_expect_eq(handler_of(SIGRTMIN + 3), SIG_IGN);
	cr_expect_eq(handler_of(SIGINT), SIG_IGN, "who waits for the report presses it once more");
	cr_expect_neq(handler_of(SIGTERM), SIG_IGN);
}
