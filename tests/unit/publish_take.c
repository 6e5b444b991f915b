/* publish_take.c - records of an outbox are taken once, and the outbox says until when all of it was; what is said of
 * how it stands. */
#include "fleet_number.h"

#include "fleet/publish/metrics.h"
#include "fleet/publish/question.h"
#include "fleet/publish/take.h"

#include "fleet/alert.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char place[64], outbox[80], db[96];
static struct destinations all;
static struct state s;
static struct seen seen;
static struct take_counts counts;

static const char *path_of(const char *name)
{
	static char path[2][200];
	static int turn;
	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", outbox, name);
	return path[turn];
}

static void begin(void)
{
	struct error e = {""};
	snprintf(place, sizeof(place), "/tmp/test_take.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
	snprintf(outbox, sizeof(outbox), "%s/outbox", place);
	cr_assert_eq(mkdir(outbox, 0755), 0);
	for (int i = 0; i < 2; i++) {
		struct destination d = {.name = i == 0 ? "a" : "b\"",
					.kind = publish_kind_find(i == 0 ? "file" : "webhook"),
					.batch = 4,
					.queue = 5};
		cr_assert_eq(vec_push(&all.all, d), 0);
	}
	snprintf(db, sizeof(db), "%s/p.db", place);
	cr_assert_eq(state_open(db, &s, &e), 0, "%s", e.text);
	cr_assert_eq(state_destinations(&s, &all, &e), 0, "%s", e.text);
	cr_redirect_stderr();
}

static void end(void)
{
	char command[128];
	setenv("PATH", "/usr/bin:/bin", 1);
	seen_done(&seen);
	state_close(&s);
	vec_done(&all.all);
	snprintf(command, sizeof(command), "rm -rf %s", place);
	cr_expect_eq(system(command), 0);
}

TestSuite(publish_take, .init = begin, .fini = end);

static void make(const char *name, const char *text)
{
	FILE *out = fopen(path_of(name), "w");
	cr_assert_geq(fputs(text, out), 0);
	fclose(out);
}

static void make_record(const char *name, const char *id)
{
	char text[200];
	snprintf(text, sizeof(text),
		 "{\"schema\":\"mpitrace/job/"
		 "2\",\"id\":\"%s\",\"job_id\":\"%s\",\"user\":\"u\",\"start\":\"2025-03-01T10:00:00Z\"}",
		 id, id);
	make(name, text);
}

static void take(bool dry, bool account)
{
	struct error e = {""};
	struct take_how how = {.dry = dry, .account = account};
	state_turn_begin();
	cr_assert_eq(publish_take(&s, &all, outbox, &how, &seen, &counts, &e), 0, "%s", e.text);
	state_turn_end();
}

static int64_t waiting(int destination)
{
	struct state_counts c;
	cr_assert_eq(state_counts(&s, &all.all.at[destination], &c, NULL), 0);
	return c.waiting;
}

/* When all of the outbox was taken last; 0: it was not. */
static time_t stamp(void)
{
	struct stat st;
	return lstat(path_of(".published"), &st) == 0 && S_ISREG(st.st_mode) ? st.st_mtime : 0;
}

static int count_files(void)
{
	int n = 0;
	DIR *d = opendir(outbox);
	for (const struct dirent *x; (x = readdir(d)) != NULL;)
		n += strcmp(x->d_name, ".") != 0 && strcmp(x->d_name, "..") != 0;
	closedir(d);
	return n;
}

Test(publish_take, records_are_owed_to_all_and_taken_once)
{
	make_record("a.job.json", "1");
	make_record("b.job.json", "2");
	take(false, false);
	cr_expect(counts.added == 2 && counts.known == 0 && counts.refused == 0);
	cr_expect(waiting(0) == 2 && waiting(1) == 2);
	take(false, false);
	cr_expect(counts.added == 2 && counts.known == 0, "files that were seen are not read again");
	seen_done(&seen);
	take(false, false);
	cr_expect(counts.added == 2 && counts.known == 2, "%llu", (unsigned long long)counts.known);
	make_record("a.job.json", "3");
	take(false, false);
	cr_expect(counts.added == 3 && counts.known == 2, "one that has changed is");
}

Test(publish_take, the_outbox_says_since_when_all_of_it_is_taken)
{
	time_t before = time(NULL);
	make_record("a.job.json", "1");
	take(true, false);
	cr_expect_eq(stamp(), 0, "not when it is only looked at");
	take(false, false);
	cr_expect(stamp() >= before && stamp() <= time(NULL));
	cr_expect_eq(count_files(), 2, "nothing else was made");
	cr_assert_eq(unlink(path_of(".published")), 0);
	cr_assert_eq(mkdir(path_of(".published"), 0755), 0);
	make(".published/x", "");
	take(false, false);
	cr_expect_geq(stamp(), before, "somebody's directory of that name is moved aside");
}

/* What is younger may wait for Slurm's account. */
Test(publish_take, with_slurms_account_that_is_a_quarter_of_an_hour_ago)
{
	time_t before = time(NULL);
	setenv("PATH", outbox, 1);
	make_record("a.job.json", "1");
	make_record("b.job.json", "2");
	struct timespec old[2] = {{.tv_sec = before - 901}, {.tv_sec = before - 901}};
	cr_assert_eq(utimensat(AT_FDCWD, path_of("b.job.json"), old, 0), 0);
	take(false, true);
	cr_expect_eq(counts.added, 1, "the old one");
	cr_expect(stamp() >= before - 900 && stamp() <= time(NULL) - 900);
	take(false, true);
	cr_expect_eq(counts.known, 1, "it may have more to say for half an hour");
	old[0].tv_sec = old[1].tv_sec = before - 1801;
	cr_assert_eq(utimensat(AT_FDCWD, path_of("b.job.json"), old, 0), 0);
	take(false, true);
	take(false, true);
	cr_expect_eq(counts.known, 2, "%llu", (unsigned long long)counts.known);
}

Test(publish_take, what_is_no_record_is_counted)
{
	make("a.job.json", "no");
	make("b.job.json", "{}");
	make_record("c.job.json", "1");
	cr_assert_eq(chmod(outbox, 0757), 0);
	cr_assert_eq(mkdir(path_of("d"), 0755), 0);
	take(false, false);
	cr_expect(counts.added == 1 && counts.refused == 3, "%llu", (unsigned long long)counts.refused);
	cr_expect_neq(stamp(), 0, "they will not become one");
	cr_expect_eq(seen.files.n, 0, "but one that could not be read may be readable");
}

Test(publish_take, the_oldest_beyond_the_queue_are_dropped)
{
	char name[40];
	for (int i = 0; i < 7; i++) {
		snprintf(name, sizeof(name), "%d.job.json", i);
		make_record(name, name);
	}
	take(false, false);
	cr_expect(waiting(0) == 5 && waiting(1) == 5);
}

Test(publish_take, alerts_are_for_those_who_take_them_and_once)
{
	char name[160], text[400], day[16], when[32];
	time_t now = time(NULL);
	struct tm tm;
	strftime(day, sizeof(day), "%Y%m%d", gmtime_r(&now, &tm));
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "alert-%s-u%u-%d.alert.json", day, (unsigned)geteuid(), i);
		snprintf(text, sizeof(text),
			 "{\"schema\":\"mpitrace/alert/"
			 "1\",\"id\":\"x\",\"user\":\"u\",\"since\":\"%s\",\"time\":\"%s\",\"n\":%d}",
			 when, when, i);
		make(name, text);
	}
	snprintf(name, sizeof(name), "alert-%s-u%u-2.alert.json", day, (unsigned)geteuid());
	make(name, "{}");
	snprintf(name, sizeof(name), "alert-%s-u%u-3.alert.json", day, (unsigned)geteuid());
	make(name, "{\"schema\":\"mpitrace/alert/1\",\"id\":\"y\",\"since\":\"2400-01-01T00:00:00Z\","
		   "\"time\":\"2400-01-01T00:00:00Z\"}");
	take(false, false);
	cr_expect(waiting(0) == 0 && waiting(1) == 1, "of a step there is one, and none of a time to come");
	cr_expect(counts.added == 1 && counts.known == 1 && counts.refused == 2);
}

Test(publish_take, a_place_that_is_not_there_is_said_and_nothing_is_begun)
{
	struct error e = {""};
	struct take_how how = {.dry = false};
	cr_expect_eq(publish_take(&s, &all, "/nowhere", &how, &seen, &counts, &e), -ENOENT);
	cr_expect_eq(fleet_run(&s.f, "BEGIN; COMMIT", &e), 0, "%s", e.text);
}

Test(publish_take, what_is_dead_is_a_line_with_its_reason)
{
	struct batch b = {0};
	struct error e = {""};
	char *text;
	size_t n;
	make_record("a.job.json", "1");
	take(false, false);
	cr_assert_eq(state_batch(&s, &all.all.at[0], &b, &e), 0, "%s", e.text);
	cr_assert_eq(state_bury(&s, &all.all.at[0], &b, "too \"large\"", &e), 0, "%s", e.text);
	batch_done(&b);
	FILE *out = open_memstream(&text, &n);
	cr_assert_eq(state_print_dead(&s, out, &e), 0, "%s", e.text);
	fclose(out);
	static const char expected[] = "{\"destination\":\"a\",\"reason\":\"too "
				       "\\\"large\\\"\",\"record\":{\"schema\":\"mpitrace/job/2\",\"id\":\"1\",";
	cr_expect_eq(strncmp(text, expected, sizeof(expected) - 1), 0, "%s", text);
	free(text);
}

Test(publish_take, metrics_say_how_it_stands)
{
	struct error e = {""};
	char text[4000] = "", path[100];
	time_t before = time(NULL);
	make_record("a.job.json", "1");
	make("b.job.json", "no");
	take(false, false);
	cr_assert_eq(state_postpone(&s, &all.all.at[1], 1234, "busy", &e), 0);
	snprintf(path, sizeof(path), "%s/m.prom", place);
	cr_assert_eq(publish_metrics(path, &s, &all, &counts, &e), 0, "%s", e.text);
	FILE *in = fopen(path, "r");
	cr_assert_gt(fread(text, 1, sizeof(text) - 1, in), 0);
	fclose(in);
	static const char *const lines[] = {
		"# HELP mpitrace_publish_sent_total Records that have arrived.\n# TYPE mpitrace_publish_sent_total "
		"counter\n"
		"mpitrace_publish_sent_total{destination=\"a\",type=\"file\"} "
		"0\nmpitrace_publish_sent_total{destination=\"b\\\"\",type=\"webhook\"} 0\n",
		"mpitrace_publish_waiting{destination=\"a\",type=\"file\"} 1\n",
		"mpitrace_publish_dead{destination=\"a\",type=\"file\"} 0\n",
		"mpitrace_publish_failures{destination=\"b\\\"\",type=\"webhook\"} 1\n",
		"mpitrace_publish_not_before_seconds{destination=\"b\\\"\",type=\"webhook\"} 1234\n",
		"# HELP mpitrace_publish_taken_total Records taken by this process.\n# TYPE "
		"mpitrace_publish_taken_total counter\nmpitrace_publish_taken_total "
		"1\n",
		"mpitrace_publish_left_out_total 1\n",
		"# TYPE mpitrace_publish_last_round_seconds gauge\nmpitrace_publish_last_round_seconds "};
	const char *at = text;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *found = strstr(at, lines[i]);
		cr_assert_not_null(found, "%s\n%s", lines[i], text);
		at = found + strlen(lines[i]);
	}
	cr_expect(atoll(at) >= before && atoll(at) <= time(NULL));
	cr_expect_lt(publish_metrics("/nowhere/x/m.prom", &s, &all, &counts, &e), 0);
}

Test(publish_take, without_a_store_nobody_is_asked)
{
	struct error e = {""};
	cr_expect_eq(publish_question(&all, "SELECT 1", QUERY_CSV, stdout, &e), -ENOENT);
	cr_expect_not_null(strstr(e.text, "type = postgresql"), "%s", e.text);
}

/* ---- the state as a file ---- */

Test(publish_take, a_look_at_it_changes_nothing_while_it_is_in_use)
{
	struct state copy;
	struct error e = {""};
	struct take_counts of_copy = {0};
	const char *why = NULL;
	static const char text[] =
		"{\"schema\":\"mpitrace/job/2\",\"id\":\"9\",\"user\":\"u\",\"start\":\"2025-03-01T10:00:00Z\"}";
	char nowhere[96], other[96];
	make_record("a.job.json", "1");
	take(true, false);
	cr_assert_eq(state_open_copy(s.f.path, &copy, &e), 0, "%s", e.text);
	cr_expect_str_eq(copy.token, s.token);
	cr_assert_eq(state_take(&copy, &all, text, sizeof(text) - 1, NULL, &of_copy, &why, &e), 0, "%s", e.text);
	cr_expect_eq(number_of(&copy.f, "SELECT count(*) FROM records", 0), 2);
	cr_expect_eq(number_of(&s.f, "SELECT count(*) FROM records", 0), 1);
	state_close(&copy);
	snprintf(nowhere, sizeof(nowhere), "%s/none.db", place);
	cr_assert_eq(state_open_copy(nowhere, &copy, &e), 0, "of none there is an empty one: %s", e.text);
	cr_expect_eq(number_of(&copy.f, "SELECT count(*) FROM records", -1), 0);
	state_close(&copy);
	cr_expect_eq(access(nowhere, F_OK), -1);
	snprintf(other, sizeof(other), "%s/other.db", place);
	FILE *out = fopen(other, "w");
	cr_assert_geq(fputs("something else, which is no database", out), 0);
	fclose(out);
	cr_expect_lt(state_open_copy(other, &copy, &e), 0);
	cr_expect_lt(state_open(other, &copy, &e), 0);
}

Test(publish_take, a_file_of_another_version_or_of_something_else_is_left_as_it_is)
{
	struct state other;
	struct error e = {""};
	char path[96];
	struct stat st;
	snprintf(path, sizeof(path), "%s/q.db", place);
	umask(0);
	cr_assert_eq(state_open(path, &other, &e), 0, "%s", e.text);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0600);
	cr_assert_eq(fleet_run(&other.f, "PRAGMA user_version=99", &e), 0);
	state_close(&other);
	cr_expect_eq(state_open(path, &other, &e), -EPROTO);
	cr_expect_not_null(strstr(e.text, "has version 99"), "%s", e.text);
	sqlite3 *changed;
	cr_assert_eq(sqlite3_open(path, &changed), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(changed, "PRAGMA user_version=1; PRAGMA application_id=7", NULL, NULL, NULL),
		     SQLITE_OK);
	sqlite3_close(changed);
	cr_expect_eq(state_open(path, &other, &e), -EBADMSG);
	cr_expect_not_null(strstr(e.text, "is not a state file"), "%s", e.text);
	char link_path[96];
	snprintf(link_path, sizeof(link_path), "%s/link.db", place);
	cr_assert_eq(symlink(path, link_path), 0);
	cr_expect_eq(state_open(link_path, &other, &e), -ELOOP);
}
