/* fleet_sources.c - which files of a directory that anybody may write in are taken, which are said to be none, and
 * which go away after a time. */
#include "mpix_trace.h"

#include "fleet/sources.h"
#include "fleet/alert.h"
#include "fleet/outbox.h"
#include "fleet/record.h"

#include "base/vec.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_MOST (2 * RECORD_BYTES_MAX - 1)
#define HOUR_S 3600

static char place[64];
static struct {
	VEC(char *) taken; /* where, and text */
	VEC(char *) said, waits, unread;
	uint64_t later, had_no_room, waiting;
	const char *known; /* a file's text that is skipped, by its length */
	int rc;		   /* of the second one that is taken */
} seen;

static void begin(void)
{
	memset(&seen, 0, sizeof(seen));
	snprintf(place, sizeof(place), "/tmp/test_sources.XXXXXX");
	cr_assert_not_null(mkdtemp(place));
}

static void forget_taken(void)
{
	for (size_t i = 0; i < seen.taken.n; i++)
		free(seen.taken.at[i]);
	seen.taken.n = 0;
}

static void forget_unread(void)
{
	for (size_t i = 0; i < seen.unread.n; i++)
		free(seen.unread.at[i]);
	seen.unread.n = 0;
}

static int remove_one(const char *path, const struct stat *st, int what, struct FTW *at)
{
	(void)st;
	(void)what;
	(void)at;
	return remove(path);
}

static void end(void)
{
	forget_taken();
	forget_unread();
	for (size_t i = 0; i < seen.said.n; i++)
		free(seen.said.at[i]);
	for (size_t i = 0; i < seen.waits.n; i++)
		free(seen.waits.at[i]);
	vec_done(&seen.taken);
	vec_done(&seen.unread);
	vec_done(&seen.said);
	vec_done(&seen.waits);
	cr_expect_eq(nftw(place, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

TestSuite(fleet_sources, .init = begin, .fini = end);

static const char *path_in(const char *name)
{
	static char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", place, name);
	return path;
}

/* Changed so many seconds ago. */
static void make_bytes(const char *name, const char *text, size_t n, int64_t age_s)
{
	struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
	FILE *out = fopen(path_in(name), "w");
	cr_assert_not_null(out, "%s", name);
	cr_assert_eq(fwrite(text, 1, n, out), n);
	fclose(out);
	cr_assert_eq(utimensat(AT_FDCWD, path_in(name), times, 0), 0);
}

static void make(const char *name, const char *text)
{
	make_bytes(name, text, strlen(text), 0);
}

static bool is_there(const char *name)
{
	return access(path_in(name), F_OK) == 0;
}

/* ---- who takes ---- */

static int take(void *context, const char *text, size_t len_bytes, const char *where, const char *owner,
		struct error *e)
{
	char *line;
	(void)context;
	(void)e;
	cr_expect_null(owner, "it is ours");
	const char *name = strncmp(where, place, strlen(place)) == 0 ? where + strlen(place) + 1 : where;
	cr_assert_gt(asprintf(&line, "%s %.*s", name, (int)len_bytes, text), 0);
	cr_assert_eq(vec_push(&seen.taken, line), 0);
	return seen.taken.n == 2 ? seen.rc : 0;
}

static void say(void *context, const char *text)
{
	(void)context;
	cr_assert_eq(vec_push(&seen.said, strdup(text)), 0);
}

static void keep_unread(void *context, const char *path)
{
	(void)context;
	cr_assert_eq(vec_push(&seen.unread, strdup(path)), 0);
}

static void keep_waiting(void *context, const char *path)
{
	(void)context;
	cr_assert_eq(vec_push(&seen.waits, strdup(path)), 0);
}

static bool is_known(void *context, const struct stat *st)
{
	(void)context;
	return seen.known != NULL && st->st_size == (off_t)strlen(seen.known);
}

static struct source_taker taker(void)
{
	return (struct source_taker){.take = take,
				     .alert = take,
				     .skip = is_known,
				     .say = say,
				     .unread = keep_unread,
				     .later = &seen.later,
				     .had_no_room = &seen.had_no_room,
				     .waiting = &seen.waiting,
				     .waits = keep_waiting};
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns how many could not be read. */
static uint64_t each(const char *name, const struct source_taker *t, int rc)
{
	struct error e = {""};
	uint64_t unread = 0;
	char path[PATH_MAX];
	forget_unread();
	snprintf(path, sizeof(path), "%s", path_in(name));
	cr_expect_eq(source_each(path, t, &unread, &e), rc, "%s", e.text);
	cr_expect_eq(unread, seen.unread.n);
	vec_sort(&seen.taken, by_text);
	return unread;
}

static void expect_taken(const char *const *lines)
{
	size_t n = 0;
	for (; lines[n] != NULL; n++)
		if (n < seen.taken.n)
			cr_expect_str_eq(seen.taken.at[n], lines[n]);
	cr_expect_eq(seen.taken.n, n, "%zu instead of %zu", seen.taken.n, n);
}

/* ---- a directory ---- */

Test(fleet_sources, records_below_a_directory_are_taken_and_no_other_files)
{
	struct source_taker t = taker();
	cr_assert_eq(mkdir(path_in("d"), 0755), 0);
	make("a.job.json", "one");
	make("d/b.job.json", "two");
	make("c.json", "three");
	make(".job.jso", "four");
	make("d.job.full", "");
	cr_assert_eq(symlink("c.json", path_in("e.job.json")), 0);
	cr_assert_eq(mkfifo(path_in("f.job.json"), 0600), 0);
	cr_expect_eq(each(".", &t, 0), 0);
	expect_taken((const char *const[]){"./a.job.json one", "./d/b.job.json two", NULL});
	cr_expect_eq(seen.said.n, 0);
	cr_expect_eq(seen.had_no_room, 1);
}

Test(fleet_sources, what_lies_deeper_where_all_may_write_is_anybodys)
{
	struct source_taker t = taker();
	cr_assert_eq(mkdir(path_in("d"), 0755), 0);
	make("a.job.json", "one");
	make("d/b.job.json", "two");
	cr_assert_eq(chmod(place, 01733), 0);
	cr_expect_eq(each("", &t, 0), 1);
	expect_taken((const char *const[]){"a.job.json one", NULL});
	cr_assert_eq(seen.said.n, 1);
	cr_expect_not_null(strstr(seen.said.at[0], "d: is a directory where all may write"), "%s", seen.said.at[0]);
	cr_expect_eq(seen.later, 0);
}

Test(fleet_sources, a_file_that_is_known_is_passed_over)
{
	struct source_taker t = taker();
	make("a.job.json", "one");
	make("b.job.json", "known");
	seen.known = "known";
	each(".", &t, 0);
	expect_taken((const char *const[]){"./a.job.json one", NULL});
}

Test(fleet_sources, who_takes_may_end_it)
{
	struct source_taker t = taker();
	make("a.job.json", "one");
	make("b.job.json", "one");
	make("c.job.json", "one");
	seen.rc = -EIO;
	each(".", &t, -EIO);
	cr_expect_eq(seen.taken.n, 2);
}

/* ---- a file ---- */

Test(fleet_sources, a_record_has_as_many_bytes_as_one_may)
{
	struct source_taker t = taker();
	char text[RECORD_BYTES_MAX + 2];
	memset(text, 'x', sizeof(text));
	make_bytes("a.job.json", text, RECORD_BYTES_MAX, 0);
	make_bytes("b.job.json", text, RECORD_BYTES_MAX + 1, 0);
	cr_expect_eq(each(".", &t, 0), 1);
	cr_assert_eq(seen.taken.n, 1);
	cr_expect_eq(strlen(seen.taken.at[0]), strlen("./a.job.json ") + RECORD_BYTES_MAX);
	cr_expect_not_null(strstr(seen.said.at[0], "b.job.json: is longer than 8,192 bytes"), "%s", seen.said.at[0]);
	cr_expect_not_null(strstr(seen.unread.at[0], "b.job.json"));
	cr_expect_eq(seen.later, 0, "it will not become shorter");
}

Test(fleet_sources, one_file_is_a_record_if_its_name_says_so)
{
	struct source_taker t = taker();
	make("a.job.json", "one");
	cr_expect_eq(each("a.job.json", &t, 0), 0);
	expect_taken((const char *const[]){"a.job.json one", NULL});
	cr_assert_eq(symlink("a.job.json", path_in("b.job.json")), 0);
	cr_expect_eq(each("b.job.json", &t, 0), 1, "no link is followed");
	cr_assert_eq(mkfifo(path_in("c.job.json"), 0600), 0);
	cr_expect_eq(each("c.job.json", &t, 0), 1);
	cr_expect_not_null(strstr(seen.said.at[1], "is not a regular file"), "%s", seen.said.at[1]);
	cr_expect_eq(seen.later, 0);
	each("d.job.json", &t, -ENOENT);
	cr_expect_eq(seen.taken.n, 1);
}

Test(fleet_sources, what_is_no_trace_is_said)
{
	struct source_taker t = taker();
	make("job.mpix", "nothing");
	make("other.mpix", "nothing");
	cr_expect_eq(each(".", &t, 0), 1, "only one of them has the name of a job's");
	cr_expect_eq(each("other.mpix", &t, 0), 1);
	cr_expect_eq(seen.taken.n, 0);
}

/* A trace says who made it, and where its report is. */
Test(fleet_sources, a_trace_is_the_record_of_its_analysis)
{
	struct trace_shape shape = {
		.ranks = 4, .events = 20, .links = 9, .waits = 5, .windows = 2, .runtime_ns = 1000000};
	struct plain_trace *trace = trace_make(&shape);
	struct source_taker t = taker();
	struct error e = {""};
	char wanted[300];
	cr_assert_eq(plain_write(path_in("job.mpix"), trace, "{\"job\":{\"job_id\":\"7\",\"ranks\":2}}", &e), 0, "%s",
		     e.text);
	cr_assert_eq(plain_write(path_in("none.mpix"), trace, "{}", &e), 0, "%s", e.text);
	trace_done(trace);
	t.version = "0.9";
	cr_expect_eq(each("job.mpix", &t, 0), 0);
	cr_assert_eq(seen.taken.n, 1);
	const struct passwd *p = getpwuid(geteuid());
	snprintf(wanted, sizeof(wanted), "\"user\":\"%s\"", p != NULL ? p->pw_name : "");
	cr_expect(p == NULL || strstr(seen.taken.at[0], wanted) != NULL, "%s", seen.taken.at[0]);
	cr_expect_not_null(strstr(seen.taken.at[0], "\"report\":null"));
	cr_expect_not_null(strstr(seen.taken.at[0], "\"mpitrace\":\"0.9\""));
	make("report.html", "");
	forget_taken();
	cr_expect_eq(each(".", &t, 0), 0);
	cr_assert_eq(seen.taken.n, 1);
	snprintf(wanted, sizeof(wanted), "\"report\":\"%s/./report.html\"", place);
	cr_expect_not_null(strstr(seen.taken.at[0], wanted), "%s", seen.taken.at[0]);
	cr_expect_eq(each("none.mpix", &t, 0), 1, "an analysis that is none");
}

/* ---- a line each ---- */

Test(fleet_sources, lines_of_a_file_are_records_and_empty_ones_are_none)
{
	struct source_taker t = taker();
	make("all", "one\n\ntwo\nthree");
	each("all", &t, 0);
	expect_taken((const char *const[]){"all:1 one", "all:3 two", "all:4 three", NULL});
}

Test(fleet_sources, a_line_that_is_too_long_is_cut_and_the_next_one_is_whole)
{
	struct source_taker t = taker();
	for (size_t n = LINE_MOST - 1; n <= LINE_MOST + 1; n++) {
		static char text[LINE_MOST + 20];
		memset(text, 'x', n);
		snprintf(text + n, sizeof(text) - n, "\nnext");
		make("all", text);
		forget_taken();
		each("all", &t, 0);
		cr_assert_eq(seen.taken.n, 2, "%zu", n);
		cr_expect_eq(strlen(seen.taken.at[0]), strlen("all:1 ") + (n < LINE_MOST ? n : LINE_MOST), "%zu", n);
		cr_expect_str_eq(seen.taken.at[1], "all:2 next");
	}
}

Test(fleet_sources, what_is_no_file_has_no_lines)
{
	struct source_taker t = taker();
	cr_assert_eq(mkfifo(path_in("fifo"), 0600), 0);
	each("fifo", &t, -EINVAL);
	each("none", &t, -ENOENT);
	cr_expect_eq(seen.taken.n, 0);
}

/* ---- alerts ---- */

static const char *alert_name(int days_ago, unsigned number)
{
	static char name[80];
	char day[16];
	time_t t = time(NULL) - days_ago * 86400;
	struct tm tm;
	strftime(day, sizeof(day), "%Y%m%d", gmtime_r(&t, &tm));
	snprintf(name, sizeof(name), "alert-%s-u%u-%u.alert.json", day, (unsigned)geteuid(), number);
	return name;
}

Test(fleet_sources, alerts_are_those_with_a_name_of_these_days)
{
	struct source_taker t = taker();
	static char text[ALERT_BYTES_MAX + 1];
	memset(text, 'x', sizeof(text));
	make(alert_name(0, 0), "it hangs");
	make(alert_name(9, 1), "long ago");
	make("x.alert.json", "none");
	make(alert_name(0, 2), "known");
	make_bytes(alert_name(0, 3), text, sizeof(text), 0);
	make_bytes(alert_name(0, 4), text, sizeof(text) - 1, 0);
	seen.known = "known";
	cr_expect_eq(each(".", &t, 0), 1);
	cr_assert_eq(seen.taken.n, 2);
	cr_expect_not_null(strstr(seen.taken.at[0], "-0.alert.json it hangs"), "%s", seen.taken.at[0]);
	cr_expect_not_null(strstr(seen.taken.at[1], "-4.alert.json x"));
	cr_expect_not_null(strstr(seen.said.at[0], "is longer than 4,096 bytes"), "%s", seen.said.at[0]);
	t.alert = NULL;
	forget_taken();
	cr_expect_eq(each(".", &t, 0), 0);
	cr_expect_eq(seen.taken.n, 0, "nobody takes them");
}

/* ---- with what Slurm's account says ---- */

#define STEP "{\"schema\":\"mpitrace/job/2\",\"id\":\"c:7.0:0\",\"job_id\":\"7\"}"

/* There is no sacct: records wait for it while they are young, and are taken as they are then. */
Test(fleet_sources, a_record_waits_for_slurms_account_for_a_quarter_of_an_hour)
{
	struct source_taker t = taker();
	t.account = true;
	setenv("PATH", place, 1);
	make_bytes("a.job.json", STEP, strlen(STEP), SOURCE_WAIT_S - 60);
	make_bytes("b.job.json", STEP, strlen(STEP), SOURCE_WAIT_S + 1);
	make("c.job.json", "{\"id\":\"no step of Slurm\"}");
	cr_expect_eq(each(".", &t, 0), 0);
	expect_taken((const char *const[]){"./b.job.json " STEP, "./c.job.json {\"id\":\"no step of Slurm\"}", NULL});
	cr_expect_eq(seen.waiting, 1);
	cr_assert_eq(seen.waits.n, 1);
	cr_expect_not_null(strstr(seen.waits.at[0], "a.job.json"));
	cr_assert_eq(seen.said.n, 1, "it is said once");
	cr_expect_not_null(strstr(seen.said.at[0], "sacct cannot be run"), "%s", seen.said.at[0]);
	make("all", STEP "\n");
	forget_taken();
	each("all", &t, 0);
	expect_taken((const char *const[]){"all:1 " STEP, NULL});
}

/* ---- what goes away ---- */

static bool keep_known(void *context, const char *path, const struct stat *st)
{
	cr_expect_eq(context, &seen);
	cr_expect_not_null(strstr(path, place));
	return is_known(NULL, st);
}

static void remove_until(int64_t until)
{
	struct source_removal r = {.until = until, .keep = keep_known, .context = &seen};
	struct error e = {""};
	cr_assert_eq(source_remove(place, &r, &e), 0, "%s", e.text);
}

Test(fleet_sources, files_of_an_outbox_go_after_a_time_and_others_stay)
{
	const int64_t now = time(NULL), until = now - 10 * HOUR_S;
	make_bytes("old.job.json", "x", 1, 11 * HOUR_S);
	make_bytes("young.job.json", "x", 1, 9 * HOUR_S);
	make_bytes("kept.job.json", "known", 5, 11 * HOUR_S);
	make_bytes("old.job.full", "known", 5, 11 * HOUR_S);
	make_bytes("young.job.full", "", 0, 9 * HOUR_S);
	make_bytes("other.json", "x", 1, 11 * HOUR_S);
	make_bytes("job.mpix", "x", 1, 11 * HOUR_S);
	make_bytes("to_come.job.json", "x", 1, -2 * HOUR_S);
	make_bytes("near.job.json", "x", 1, -HOUR_S / 2);
	seen.known = "known";
	remove_until(until);
	static const char *const gone[] = {"old.job.json", "old.job.full", "to_come.job.json"},
				 *const stay[] = {"young.job.json", "kept.job.json", "young.job.full",
						  "other.json",	    "job.mpix",	     "near.job.json"};
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		cr_expect(!is_there(gone[i]), "%s", gone[i]);
	for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++)
		cr_expect(is_there(stay[i]), "%s", stay[i]);
}

Test(fleet_sources, alerts_go_when_their_day_is_long_over)
{
	const int64_t days = OUTBOX_ALERT_DAYS * 24 * HOUR_S;
	make_bytes("a.alert.json", "x", 1, days + HOUR_S);
	make_bytes("a.alert.slot", "", 0, days + HOUR_S);
	make_bytes("b.alert.json", "x", 1, days - HOUR_S);
	make_bytes("b.alert.slot", "", 0, days - HOUR_S);
	remove_until(0);
	cr_expect(!is_there("a.alert.json") && !is_there("a.alert.slot"));
	cr_expect(is_there("b.alert.json") && is_there("b.alert.slot"));
}

Test(fleet_sources, without_a_time_no_record_goes)
{
	make_bytes("old.job.json", "x", 1, 1000 * HOUR_S);
	make_bytes("to_come.job.json", "x", 1, -2 * HOUR_S);
	remove_until(0);
	cr_expect(is_there("old.job.json") && is_there("to_come.job.json"));
}
