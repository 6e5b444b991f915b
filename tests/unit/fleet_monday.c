/* fleet_monday.c - what a Monday says: of matters of which all is known, which are named, in what order, what became of
 * those of the Monday before, and how the mail looks. */
#include "fleet_number.h"

#include "fleet/monday.h"

#include "base/json.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNTIL_DAY 20780 /* 2026-11-23, a Monday */
#define UNTIL ((int64_t)UNTIL_DAY * FLEET_SECONDS_PER_DAY)

static struct fleet f;

static void run(const char *sql)
{
	struct error e = {""};
	cr_assert_eq(fleet_run(&f, sql, &e), 0, "%s: %s", sql, e.text);
}

static void run_with(const char *form, int64_t number)
{
	char sql[400];
	snprintf(sql, sizeof(sql), form, (long long)number);
	run(sql);
}

/* A week of 1,000 core-hours, 600 of them useful, of which matters are kept. */
static void begin(void)
{
	struct error e = {""};
	cr_assert_eq(fleet_open_memory(&f, &e), 0, "%s", e.text);
	run_with("INSERT INTO estimated VALUES(0, 0, %lld)", UNTIL);
	run_with("INSERT INTO days VALUES(%lld, 1, 2, 3, 7, 400, 300, 0, 0, 0, 0)", UNTIL_DAY - 7);
	run_with("INSERT INTO days VALUES(%lld, 1, 2, 3, 5, 600, 300, 0, 0, 0, 0)", UNTIL_DAY - 1);
	run_with("INSERT INTO days VALUES(%lld, 1, 2, 3, 9, 5000, 0, 0, 0, 0, 0)", UNTIL_DAY - 8);
	run_with("INSERT INTO days VALUES(%lld, 1, 2, 3, 9, 7000, 0, 0, 0, 0, 0)", UNTIL_DAY);
}

static void end(void)
{
	fleet_close(&f);
}

TestSuite(fleet_monday, .init = begin, .fini = end);

enum place { HUNG = 1, NODE, PROGRAM_CHANGED, USER_CHANGED, LITTLE_USEFUL, IDLE, PROGRAM_LOST, LINK };

struct row {
	enum place place;
	const char *name; /* its key, its item and what it covers */
	double hours;
	const char *to, *link, *mostly;
	double least;
};

static void put(struct row x)
{
	struct error e = {""};
	char *sql = sqlite3_mprintf(
		"INSERT INTO matters VALUES(%d, %f, 'key %q', '%q', %f, '%q', 'letter %q', '%q', '%q', '%q')",
		(int)x.place, x.least, x.name, x.to != NULL ? x.to : "ann", x.hours, x.name, x.name,
		x.link != NULL ? x.link : "page.html", x.name, x.mostly != NULL ? x.mostly : "");
	cr_assert_eq(fleet_run(&f, sql, &e), 0, "%s", e.text);
	sqlite3_free(sql);
}

static struct monday read_it(void)
{
	struct monday m;
	struct error e = {""};
	cr_assert_eq(monday_read(&f, UNTIL, &m, &e), 0, "%s", e.text);
	return m;
}

/* ---- times and numbers ---- */

Test(fleet_monday, a_monday_begins_at_midnight_and_lasts_for_a_week)
{
	cr_expect_eq(monday_before(UNTIL), UNTIL);
	cr_expect_eq(monday_before(UNTIL + MONDAY_WEEK_S - 1), UNTIL);
	cr_expect_eq(monday_before(UNTIL - 1), UNTIL - MONDAY_WEEK_S);
	cr_expect_eq(monday_before(4 * FLEET_SECONDS_PER_DAY), 4 * FLEET_SECONDS_PER_DAY, "1970-01-05 was one");
}

Test(fleet_monday, hours_are_said_as_people_say_them)
{
	static const struct {
		double hours;
		const char *text;
	} rows[] = {{-1, "0"},
		    {0, "0"},
		    {0.049, "less than 0.1"},
		    {0.06, "0.1"},
		    {1.26, "1.3"},
		    {9.94, "9.9"},
		    {9.96, "10"},
		    {10.4, "10"},
		    {10.6, "11"},
		    {1234567.4, "1,234,567"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[32];
		monday_hours(rows[i].hours, text);
		cr_expect_str_eq(text, rows[i].text, "%f: %s", rows[i].hours, text);
	}
}

Test(fleet_monday, what_became_of_a_matter_is_one_of_four_words)
{
	static const struct {
		double now;
		const char *became;
	} rows[] = {{0, "gone"},      {9, "gone"},	 {11, "less"}, {74, "less"},
		    {76, "the same"}, {149, "the same"}, {151, "more"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct monday_old o = {NULL, 100, rows[i].now};
		cr_expect_str_eq(monday_became(&o), rows[i].became, "%f", rows[i].now);
	}
}

static int64_t last_before(int64_t now)
{
	struct error e = {""};
	int64_t monday = -1;
	cr_expect_eq(monday_last(&f, now, &monday, &e), 0, "%s", e.text);
	return monday;
}

Test(fleet_monday, the_last_week_is_that_before_or_the_last_with_jobs)
{
	cr_expect_eq(last_before(UNTIL + 100), UNTIL, "nothing is known of any");
	run_with("INSERT INTO day_sums VALUES(%lld, 1, 1, 1, 0, 0, 0, 0)", UNTIL_DAY - 1);
	cr_expect_eq(last_before(UNTIL + 100), UNTIL);
	cr_expect_eq(last_before(UNTIL + MONDAY_WEEK_S), UNTIL, "until the day after its last jobs");
	run_with("INSERT INTO day_sums VALUES(%lld, 1, 1, 1, 0, 0, 0, 0)", UNTIL_DAY + 3);
	cr_expect_eq(last_before(UNTIL + 100), UNTIL, "not one that has not ended");
	run("DELETE FROM day_sums");
	run_with("UPDATE let_go SET day=%lld", UNTIL_DAY);
	cr_expect_eq(last_before(UNTIL + 100), 0, "all that there was is gone");
}

/* ---- which are named ---- */

Test(fleet_monday, the_week_is_that_before_and_nothing_of_others)
{
	struct monday m = read_it();
	cr_expect_eq(m.from, UNTIL - MONDAY_WEEK_S);
	cr_expect_eq(m.until, UNTIL);
	cr_expect_eq(m.jobs, 12);
	cr_expect_eq(m.core_hours, 1000);
	cr_expect_eq(m.not_known, 0);
	cr_expect_eq(m.saving, 0);
	cr_expect_eq(m.sentences.n, 0);
	monday_done(&m);
}

Test(fleet_monday, matters_of_a_kind_are_one_sentence_that_names_six)
{
	char name[2] = "a", to[3] = "ua";
	for (int i = 0; i < 8; i++, name[0]++, to[1]++)
		put((struct row){.place = HUNG, .name = name, .hours = 8 - i, .to = to});
	struct monday m = read_it();
	cr_assert_eq(m.sentences.n, 1);
	const struct monday_sentence *x = &m.sentences.at[0];
	cr_expect_str_eq(x->text,
			 "Jobs that hung held 36 core-hours until they were ended: a; b; c; d; e; f; and 2 more.");
	cr_expect_str_eq(x->kind, "hung");
	cr_expect_str_eq(x->key, "hung");
	cr_expect_eq(x->core_hours, 36);
	cr_expect_eq(m.saving, 36);
	cr_assert_eq(x->letters.n, 8, "everybody has one");
	cr_expect_str_eq(x->letters.at[7].to, "uh");
	cr_expect_str_eq(x->letters.at[7].text, "letter h");
	cr_expect_str_eq(x->letters.at[7].link, "page.html");
	monday_done(&m);
}

Test(fleet_monday, six_are_named_without_more)
{
	char name[2] = "a";
	for (int i = 0; i < 6; i++, name[0]++)
		put((struct row){.place = NODE, .name = name, .hours = 1});
	struct monday m = read_it();
	cr_expect_str_eq(m.sentences.at[0].text, "Nodes that are slow cost up to 6.0 core-hours: a; b; c; d; e; f.");
	monday_done(&m);
}

Test(fleet_monday, a_sentence_has_fifty_letters_at_most)
{
	for (int i = 0; i < 52; i++) {
		char name[20], to[20];
		snprintf(name, sizeof(name), "n%d", i);
		snprintf(to, sizeof(to), "u%d", i);
		put((struct row){.place = HUNG, .name = name, .hours = 1, .to = to});
	}
	struct monday m = read_it();
	cr_expect_eq(m.sentences.at[0].letters.n, 50, "%zu", m.sentences.at[0].letters.n);
	cr_expect_eq(m.sentences.at[0].core_hours, 52);
	monday_done(&m);
}

Test(fleet_monday, what_nothing_could_be_had_back_of_is_none)
{
	put((struct row){.place = HUNG, .name = "a", .hours = 0});
	put((struct row){.place = PROGRAM_LOST, .name = "b", .hours = -3});
	put((struct row){.place = PROGRAM_LOST, .name = "c", .hours = 0.5});
	struct monday m = read_it();
	cr_assert_eq(m.sentences.n, 1);
	cr_expect_str_eq(m.sentences.at[0].text, "c");
	cr_expect_str_eq(m.sentences.at[0].key, "key c");
	monday_done(&m);
}

Test(fleet_monday, what_is_little_of_the_week_is_not_named)
{
	put((struct row){.place = HUNG, .name = "a", .hours = 9, .least = 0.01});
	put((struct row){.place = NODE, .name = "b", .hours = 9, .least = 0.01});
	put((struct row){.place = NODE, .name = "c", .hours = 10, .least = 0.01});
	struct monday m = read_it();
	cr_assert_eq(m.sentences.n, 1);
	cr_expect_str_eq(m.sentences.at[0].text, "Nodes that are slow cost up to 10 core-hours: c.");
	monday_done(&m);
}

/* Kinds come in the order of how sure they are. */
Test(fleet_monday, nobody_is_told_the_same_twice)
{
	put((struct row){.place = PROGRAM_CHANGED, .name = "p", .hours = 20});
	put((struct row){.place = USER_CHANGED, .name = "user ann", .hours = 5});
	put((struct row){.place = USER_CHANGED, .name = "little", .hours = 9, .least = 0.01});
	put((struct row){.place = PROGRAM_LOST, .name = "p", .hours = 30});
	put((struct row){.place = PROGRAM_LOST, .name = "q", .hours = 40, .mostly = "user ann"});
	put((struct row){.place = PROGRAM_LOST, .name = "r", .hours = 50, .mostly = "little"});
	put((struct row){.place = PROGRAM_LOST, .name = "s", .hours = 60, .mostly = "nobody"});
	struct monday m = read_it();
	cr_assert_eq(m.sentences.n, 4);
	cr_expect_str_eq(m.sentences.at[0].text, "s");
	cr_expect_str_eq(m.sentences.at[1].text, "r", "of \"little\" nothing was said");
	cr_expect_str_eq(m.sentences.at[2].text, "Programs that became less efficient cost 20 core-hours: p.");
	cr_expect_str_eq(
		m.sentences.at[3].text,
		"Users whose jobs became less efficient, with programs that did not, lost 5.0 core-hours: user ann.");
	monday_done(&m);
}

Test(fleet_monday, four_stand_alone_and_ten_sentences_are_all)
{
	char name[2] = "a";
	for (enum place p = HUNG; p <= IDLE; p++, name[0]++)
		put((struct row){.place = p, .name = name, .hours = 10 + p});
	put((struct row){.place = LINK, .name = "l", .hours = 9});
	for (int i = 0; i < 6; i++, name[0]++)
		put((struct row){.place = PROGRAM_LOST, .name = name, .hours = 20 - i});
	struct monday m = read_it();
	cr_assert_eq(m.sentences.n, 10);
	static const char *const keys[] = {"key g",	    "key h",	    "key i",	       "key j", "idle",
					   "little useful", "user changed", "program changed", "node",	"hung"};
	for (size_t i = 0; i < 10; i++)
		cr_expect_str_eq(m.sentences.at[i].key, keys[i], "%zu: %s", i, m.sentences.at[i].key);
	monday_done(&m);
}

Test(fleet_monday, of_equal_hours_they_stand_by_their_keys)
{
	put((struct row){.place = PROGRAM_LOST, .name = "c", .hours = 5});
	put((struct row){.place = PROGRAM_LOST, .name = "a", .hours = 5});
	put((struct row){.place = PROGRAM_LOST, .name = "b", .hours = 5});
	struct monday m = read_it();
	cr_assert_eq(m.sentences.n, 3);
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(m.sentences.at[i].text[0], "abc"[i]);
	monday_done(&m);
}

Test(fleet_monday, nobody_saves_more_than_was_not_useful)
{
	put((struct row){.place = PROGRAM_LOST, .name = "a", .hours = 399});
	struct monday m = read_it();
	cr_expect_eq(m.saving, 399);
	monday_done(&m);
	put((struct row){.place = PROGRAM_LOST, .name = "b", .hours = 2});
	m = read_it();
	cr_expect_eq(m.saving, 400);
	monday_done(&m);
}

Test(fleet_monday, what_rounding_left_is_not_said_to_be_unknown)
{
	run("UPDATE days SET not_known=4e-7");
	struct monday m = read_it();
	cr_expect_eq(m.not_known, 0);
	monday_done(&m);
	run("UPDATE days SET not_known=2");
	m = read_it();
	cr_expect_eq(m.not_known, 4);
	monday_done(&m);
}

Test(fleet_monday, letters_to_who_runs_the_machine_about_a_page_are_one)
{
	put((struct row){.place = NODE, .name = "a", .hours = 4, .to = ""});
	put((struct row){.place = NODE, .name = "b", .hours = 3, .to = ""});
	put((struct row){.place = NODE, .name = "c", .hours = 2, .to = "", .link = "other.html"});
	put((struct row){.place = NODE, .name = "d", .hours = 1, .link = "other.html"});
	put((struct row){.place = NODE, .name = "e", .hours = 1, .link = "other.html"});
	struct monday m = read_it();
	cr_assert_eq(m.sentences.at[0].letters.n, 4, "%zu", m.sentences.at[0].letters.n);
	static const char *const texts[] = {"letter a\n\nletter b", "letter c", "letter d", "letter e"};
	for (size_t i = 0; i < 4; i++)
		cr_expect_str_eq(m.sentences.at[0].letters.at[i].text, texts[i]);
	monday_done(&m);
}

Test(fleet_monday, of_a_week_whose_jobs_were_pruned_nothing_is_said)
{
	struct monday m;
	struct error e = {""};
	run_with("UPDATE let_go SET day=%lld", UNTIL_DAY - 6);
	cr_expect_eq(monday_read(&f, UNTIL, &m, &e), -ENODATA);
	run_with("UPDATE let_go SET day=%lld", UNTIL_DAY - 7);
	cr_expect_eq(monday_read(&f, UNTIL, &m, &e), 0);
	monday_done(&m);
}

/* Of a week that was not kept all is asked anew; names are anybody's. */
Test(fleet_monday, a_name_stays_in_its_line)
{
	struct monday m;
	struct error e = {""};
	run("INSERT INTO names VALUES(1, 1, 'a' || char(10) || char(27) || 'b' || x'ff' || char(252)), (2, 4, '/x/p');"
	    "INSERT INTO names VALUES(3, 1, 'ann');"
	    "INSERT INTO jobs(key, cluster, job, user, account, partition, program, build, mpi, nodes, ranks, start,"
	    " elapsed_s, core_hours, useful, wait, issue, loss_core_hours, complete, hung_core_hours) VALUES"
	    "('a', 0, '7', 1, 0, 0, 2, 0, 0, 1, 8, 864000, 60, 20, 0, 0, 0, 0, 1, 5),"
	    "('b', 0, '8', 3, 0, 0, 2, 0, 0, 1, 8, 864001, 60, 20, 0, 0, 0, 0, 1, 0.04)");
	int64_t until = monday_before(864000) + MONDAY_WEEK_S;
	cr_assert_eq(monday_read(&f, until, &m, &e), 0, "%s", e.text);
	cr_assert_eq(m.sentences.n, 1);
	cr_expect_str_eq(m.sentences.at[0].text,
			 "Jobs that hung held 5.0 core-hours until they were ended: 5.0 of a??b?\xc3\xbc (p, 1 "
			 "job); less than 0.1 of ann (p, 1 job).");
	monday_done(&m);
	run("BEGIN");
	cr_assert_eq(monday_keep(&f, until, &e), 0, "%s", e.text);
	run("COMMIT");
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM matters WHERE place=1", 0), 2);
	cr_expect_eq(number_of(&f, "SELECT monday FROM estimated", 0), (double)until);
}

/* ---- the Monday before ---- */

static void put_old(int weeks, int place, const char *key, double hours)
{
	char sql[300];
	snprintf(sql, sizeof(sql), "INSERT INTO mondays VALUES(%lld, %d, '%s', %f, 'It was %s.')",
		 (long long)(UNTIL - weeks * MONDAY_WEEK_S), place, key, hours, key);
	run(sql);
}

Test(fleet_monday, of_each_matter_of_the_monday_before_is_said_what_it_is_now)
{
	put((struct row){.place = HUNG, .name = "a", .hours = 4});
	put((struct row){.place = HUNG, .name = "b", .hours = 5, .least = 1});
	put((struct row){.place = PROGRAM_LOST, .name = "c", .hours = 7});
	put((struct row){.place = PROGRAM_LOST, .name = "d", .hours = 8});
	put_old(2, 0, "hung", 1);
	put_old(1, 1, "hung", 100);
	put_old(1, 0, "key c", 50);
	put_old(0, 0, "key d", 50);
	struct monday m = read_it();
	cr_assert_eq(m.old.n, 2);
	cr_expect_str_eq(m.old.at[0].text, "It was key c.");
	cr_expect_eq(m.old.at[0].then, 50);
	cr_expect_eq(m.old.at[0].now, 7);
	cr_expect_str_eq(m.old.at[1].text, "It was hung.");
	cr_expect_eq(m.old.at[1].now, 9, "of all of the kind, also those that are not named");
	monday_done(&m);
}

Test(fleet_monday, one_that_is_longer_ago_than_two_weeks_is_forgotten)
{
	put_old(3, 0, "hung", 1);
	struct monday m = read_it();
	cr_expect_eq(m.old.n, 0);
	monday_done(&m);
	put_old(2, 0, "node", 1);
	m = read_it();
	cr_expect_eq(m.old.n, 1);
	monday_done(&m);
}

/* A row that cannot be read. */
Test(fleet_monday, what_was_said_before_is_read_or_that_it_cannot_be_is_said)
{
	struct monday m;
	struct error e = {""};
	run("DROP TABLE mondays");
	run_with("CREATE VIEW mondays AS SELECT %lld AS until, 0 AS place, 'k' AS key, abs(-9223372036854775808) AS "
		 "core_hours, 's' AS sentence",
		 UNTIL - MONDAY_WEEK_S);
	cr_expect_lt(monday_read(&f, UNTIL, &m, &e), 0);
	cr_expect_not_null(strstr(e.text, "integer overflow"), "%s", e.text);
}

Test(fleet_monday, it_is_saved_in_place_of_what_was_said_of_that_day)
{
	struct error e = {""};
	put((struct row){.place = PROGRAM_LOST, .name = "a", .hours = 4});
	put((struct row){.place = PROGRAM_LOST, .name = "b", .hours = 5});
	put_old(0, 7, "old", 1);
	put_old(1, 0, "kept", 1);
	struct monday m = read_it();
	cr_assert_eq(monday_save(&f, &m, &e), 0, "%s", e.text);
	monday_done(&m);
	cr_expect_eq(number_of(&f, "SELECT count(*) FROM mondays", 0), 3);
	cr_expect_eq(number_of(&f, "SELECT core_hours FROM mondays WHERE place=0 AND key='key b' AND sentence='b'", 0),
		     5);
	cr_expect_eq(number_of(&f, "SELECT core_hours FROM mondays WHERE place=1 AND key='key a' AND sentence='a'", 0),
		     4);
	run("BEGIN; ROLLBACK"); /* it has ended its transaction */
}

/* ---- as a mail, and as JSON ---- */

static char *written(const struct monday *m, const char *url,
		     void (*write)(const struct monday *, const char *, FILE *))
{
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	write(m, url, out);
	fclose(out);
	return text;
}

#define HEAD "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"

Test(fleet_monday, a_mail_has_sentences_what_was_said_before_and_letters)
{
	put((struct row){.place = NODE,
			 .name = "n1 which is slow for everybody who computes there",
			 .hours = 40,
			 .to = "",
			 .link = "nodes.html"});
	put((struct row){.place = PROGRAM_LOST, .name = "c", .hours = 7, .link = ""});
	put_old(1, 0, "node", 400);
	run("UPDATE days SET not_known=2");
	struct monday m = read_it();
	char *text = written(&m, "https://x/y", monday_put_mail);
	cr_expect_str_eq(
		text,
		"Subject: MPI from 2026-11-16 to 2026-11-22: up to 47 of 1,000 core-hours could be saved\n" HEAD
		"How 4.0 of 1,000 core-hours were spent is not known.\n\n"
		"1. Nodes that are slow cost up to 40 core-hours: n1 which is slow for\n"
		"    everybody who computes there.\n"
		"2. c\n"
		"\nWhat was said before:\n\n"
		"- less: It was node. (400 core-hours, now 40)\n"
		"\nTexts to send:\n"
		"\n1. To who runs the machine:\n\n"
		"    letter n1 which is slow for everybody who computes there\n"
		"    https://x/y/nodes.html\n"
		"\n2. To ann:\n\n"
		"    letter c\n",
		"%s", text);
	free(text);
	text = written(&m, "https://x/", monday_put_mail);
	cr_expect_not_null(strstr(text, "https://x/nodes.html"), "%s", text);
	free(text);
	text = written(&m, NULL, monday_put_mail);
	cr_expect_null(strstr(text, "nodes.html"), "%s", text);
	free(text);
	monday_done(&m);
}

/* 78 columns, and a word that is longer stands alone. */
Test(fleet_monday, lines_of_a_mail_are_wrapped_where_a_word_would_stand_out)
{
	char words[200], longer[100];
	snprintf(words, sizeof(words), "%070d 1234567890", 0);
	snprintf(longer, sizeof(longer), "%090d", 0);
	struct monday_sentence all[] = {{.text = words}, {.text = longer}};
	struct monday m = {.from = UNTIL - MONDAY_WEEK_S, .until = UNTIL, .jobs = 1, .core_hours = 1};
	for (int len = 62; len <= 64; len++) {
		snprintf(words, sizeof(words), "%0*d 1234567890 x\ny", len, 0);
		m.sentences.at = all;
		m.sentences.n = 2;
		char *text = written(&m, NULL, monday_put_mail), first[200], expected[600];
		snprintf(first, sizeof(first), len <= 63 ? "%0*d 1234567890" : "%0*d\n    1234567890", len, 0);
		snprintf(expected, sizeof(expected), "1. %s%s\n    y\n2. %s\n", first,
			 len <= 61 || len > 63 ? " x" : "\n    x", longer);
		cr_expect_not_null(strstr(text, expected), "%d: %s\n%s", len, text, expected);
		free(text);
	}
	m.sentences.at = NULL;
	m.sentences.n = 0;
}

Test(fleet_monday, without_jobs_and_without_matters_it_says_so)
{
	struct monday m = read_it();
	char *text = written(&m, NULL, monday_put_mail);
	cr_expect_str_eq(text,
			 "Subject: MPI from 2026-11-16 to 2026-11-22: up to 0 of 1,000 core-hours could be saved\n" HEAD
			 "Nothing stands out.\n");
	free(text);
	monday_done(&m);
	run("DELETE FROM days");
	m = read_it();
	text = written(&m, NULL, monday_put_mail);
	cr_expect_str_eq(text, "Subject: MPI from 2026-11-16 to 2026-11-22: no job of that week is known\n" HEAD
			       "No job of that week is known.\n");
	free(text);
	monday_done(&m);
}

Test(fleet_monday, json_has_all_that_the_mail_has)
{
	put((struct row){.place = NODE, .name = "n1", .hours = 40, .to = "", .link = "nodes.html"});
	put((struct row){.place = PROGRAM_LOST, .name = "c", .hours = 7, .link = ""});
	put_old(1, 0, "node", 400);
	run("UPDATE days SET not_known=2");
	struct monday m = read_it();
	char *text = written(&m, "https://x/y", monday_put_json);
	cJSON *top = cJSON_Parse(text);
	cr_assert_not_null(top, "%s", text);
	cr_expect_str_eq(json_text(top, "schema", ""), "mpitrace/monday/1");
	cr_expect_str_eq(json_text(top, "from", ""), "2026-11-16");
	cr_expect_str_eq(json_text(top, "to", ""), "2026-11-22");
	cr_expect_eq(json_number(top, "core_hours"), 1000);
	cr_expect_eq(json_number(top, "not_known_core_hours"), 4);
	cr_expect_eq(json_number(top, "could_be_saved"), 47);
	const cJSON *sentence = json_first(top, "sentences"), *letter = json_first(sentence, "letters");
	cr_expect_eq(json_count(top, "sentences"), 2);
	cr_expect_str_eq(json_text(sentence, "kind", ""), "node");
	cr_expect_str_eq(json_text(sentence, "key", ""), "node");
	cr_expect_str_eq(json_text(sentence, "text", ""), "Nodes that are slow cost up to 40 core-hours: n1.");
	cr_expect_eq(json_number(sentence, "core_hours"), 40);
	cr_expect_eq(json_count(sentence, "letters"), 1);
	cr_expect(cJSON_IsNull(json_item(letter, "to")));
	cr_expect_str_eq(json_text(letter, "page", ""), "nodes.html");
	cr_expect_str_eq(json_text(letter, "text", ""), "letter n1\nhttps://x/y/nodes.html");
	const cJSON *old = json_first(top, "before");
	cr_expect_eq(json_count(top, "before"), 1);
	cr_expect_str_eq(json_text(old, "text", ""), "It was node.");
	cr_expect_str_eq(json_text(old, "became", ""), "less");
	cr_expect_eq(json_number(old, "core_hours_then"), 400);
	cr_expect_eq(json_number(old, "core_hours_now"), 40);
	cJSON_Delete(top);
	free(text);
	monday_done(&m);
}
