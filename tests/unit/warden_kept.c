/* warden_kept.c - what root keeps, makes later, sweeps and counts: traces that could not be written, reports that were
 * left for later, a site's central directory. Each test has a spool of its own; needs root. */
#include "warden_spool.h"

#include "spank/warden/central.h"
#include "spank/warden/deferred.h"
#include "spank/warden/keep.h"
#include "spank/warden/warden.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(warden_kept, .init = warden_begin, .fini = warden_end);

/* ---- traces that could not be written where their user wanted them ---- */

static const gid_t own_gids[] = {GROUP};
static const struct identity user = {.uid = USER, .gid = GROUP, .gids = own_gids, .ngids = 1};

static int step_with(const char *name, const char *text)
{
	char run[SPOOL_NAME_MAX], path[128];
	int fd = spool_make_step(live_fd, 5, 0, USER, GROUP, run, NULL);
	cr_assert_geq(fd, 0);
	snprintf(path, sizeof(path), "spool/live/5.0/step-0/ranks/%s", name);
	put(below(path), text, USER, 0600);
	return fd;
}

Test(warden_kept, keeps_traces_and_segments_and_nothing_else)
{
	struct stat st;
	char text[8] = "";
	int fd = step_with("n1.mpic", "trace");
	put(below("spool/live/5.0/step-0/ranks/1.mpit"), "segment", USER, 0600);
	put(below("spool/live/5.0/step-0/ranks/notes"), "no", USER, 0600);
	put(below("spool/live/5.0/step-0/ranks/.mpic"), "no", USER, 0600);
	cr_expect(keep_is_needed(fd));
	cr_expect(keep_traces(spool, fd, "5.0.step-0", &user));
	FILE *f = fopen(below("spool/kept/4242/5.0.step-0/n1.mpic"), "r");
	cr_assert_not_null(f);
	cr_expect_not_null(fgets(text, sizeof(text), f));
	fclose(f);
	cr_expect_str_eq(text, "trace");
	cr_assert_eq(stat(below("spool/kept/4242/5.0.step-0/n1.mpic"), &st), 0);
	cr_expect_eq(st.st_uid, 0, "nobody can let it grow");
	cr_expect_eq(st.st_mode & 0007, 0);
	cr_expect(there(below("spool/kept/4242/5.0.step-0/1.mpit")));
	cr_expect_not(there(below("spool/kept/4242/5.0.step-0/notes")));
	cr_expect_not(there(below("spool/kept/4242/5.0.step-0/.mpic")));
	close(fd);
}

Test(warden_kept, keeps_nothing_where_there_is_nothing)
{
	int fd = step_with("notes", "no");
	cr_expect_not(keep_is_needed(fd));
	cr_expect_not(keep_traces(spool, fd, "5.0.step-0", &user));
	cr_expect_not(there(below("spool/kept")));
	close(fd);
}

/* Neither a link of theirs, nor another's file. */
Test(warden_kept, keeps_only_what_is_the_users_own)
{
	int fd = step_with("n1.mpic", "trace");
	put(below("secret"), "secret", 0, 0600);
	cr_assert_eq(symlink(below("secret"), below("spool/live/5.0/step-0/ranks/a.mpic")), 0);
	put(below("spool/live/5.0/step-0/ranks/b.mpic"), "other", USER + 1, 0644);
	cr_expect(keep_traces(spool, fd, "5.0.step-0", &user));
	cr_expect(there(below("spool/kept/4242/5.0.step-0/n1.mpic")));
	cr_expect_not(there(below("spool/kept/4242/5.0.step-0/a.mpic")));
	cr_expect_not(there(below("spool/kept/4242/5.0.step-0/b.mpic")));
	close(fd);
}

static void kept_step(const char *of, unsigned kilobytes, time_t seconds)
{
	char command[256];
	snprintf(command, sizeof(command), "mkdir -p %s && head -c %uK /dev/zero >%s/n1.mpic", below(of), kilobytes,
		 below(of));
	cr_assert_eq(system(command), 0);
	age(below(of), seconds);
}

/* A file system of a megabyte, of which all together may have half, and a user an eighth. */
Test(warden_kept, where_all_have_as_much_as_they_may_who_has_most_gives_their_oldest)
{
	cr_assert_eq(mkdir(below("small"), 0755), 0);
	if (mount("small", below("small"), "tmpfs", 0, "size=1M,mode=0755") != 0)
		cr_skip_test("needs to mount");
	kept_step("small/kept/101/old", 60, 500);
	kept_step("small/kept/101/new", 64, 100);
	kept_step("small/kept/102/older", 120, 900);
	kept_step("small/kept/103/one", 120, 900);
	kept_step("small/kept/104/one", 120, 900);
	static char text[60 << 10];
	memset(text, 'x', sizeof(text) - 1);
	int fd = step_with("n1.mpic", text);
	cr_expect(keep_traces(below("small"), fd, "5.0.step-0", &user));
	cr_expect(there(below("small/kept/4242/5.0.step-0/n1.mpic")));
	cr_expect_not(there(below("small/kept/101/old")));
	cr_expect(there(below("small/kept/101/new")));
	cr_expect(there(below("small/kept/102/older")), "it is older, and of one who has less");
	cr_expect(there(below("small/kept/103/one")) && there(below("small/kept/104/one")));
	close(fd);
	cr_assert_eq(umount2(below("small"), MNT_DETACH), 0);
}

/* Their own oldest go before anybody else's. */
Test(warden_kept, who_has_as_much_as_a_user_may_gives_their_own_oldest)
{
	cr_assert_eq(mkdir(below("small"), 0755), 0);
	if (mount("small", below("small"), "tmpfs", 0, "size=1M,mode=0755") != 0)
		cr_skip_test("needs to mount");
	kept_step("small/kept/4242/old", 60, 500);
	kept_step("small/kept/4242/new", 40, 100);
	kept_step("small/kept/101/oldest", 120, 900);
	static char text[60 << 10];
	memset(text, 'x', sizeof(text) - 1);
	int fd = step_with("n1.mpic", text);
	cr_expect(keep_traces(below("small"), fd, "5.0.step-0", &user));
	cr_expect(there(below("small/kept/4242/5.0.step-0/n1.mpic")));
	cr_expect_not(there(below("small/kept/4242/old")));
	cr_expect(there(below("small/kept/4242/new")));
	cr_expect(there(below("small/kept/101/oldest")));
	close(fd);
	cr_assert_eq(umount2(below("small"), MNT_DETACH), 0);
}

/* ---- reports that were left for later ---- */

static int late_with(const char *name, const char *out)
{
	struct layout l = record();
	int fd = spool_open(spool, "late", true, NULL);
	cr_assert_geq(fd, 0);
	layout_set(&l, LAYOUT_OUT, out);
	cr_assert_eq(layout_write(fd, &l, NULL), 0);
	layout_done(&l);
	cr_assert_eq(renameat(fd, "layout", fd, name), 0);
	return fd;
}

Test(warden_kept, a_late_report_is_made_once_whole_or_partial)
{
	static const char *const exits[] = {"exit 0", "exit 4"};
	for (int i = 0; i < 2; i++) {
		struct deferred_count count = {0};
		char script[64];
		int fd = late_with("7.0.step-0", "/o");
		snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", exits[i]);
		put(below("program"), script, 0, 0755);
		deferred_sweep(fd, below("program"), &count);
		cr_expect_eq(count.made, 1);
		cr_expect_eq(count.left, 0);
		cr_expect_not(there(below("spool/late/7.0.step-0")));
		close(fd);
	}
}

Test(warden_kept, a_sweep_that_was_cut_off_keeps_the_next_from_nothing)
{
	struct deferred_count count = {0};
	int fd = late_with("7.0.step-0", "/o");
	cr_assert_eq(mkdir(below("spool/late/.now"), 0700), 0);
	put(below("spool/late/.now/layout"), "of another step", 0, 0600);
	put(below("program"), "#!/bin/sh\nexit 0\n", 0, 0755);
	deferred_sweep(fd, below("program"), &count);
	cr_expect_eq(count.made, 1);
	cr_expect_not(there(below("spool/late/.now")));
	close(fd);
}

Test(warden_kept, one_that_failed_waits_and_is_given_up_after_a_day)
{
	struct deferred_count count = {0};
	int fd = late_with("7.0.step-0", "/o");
	put(below("program"), "#!/bin/sh\nexit 1\n", 0, 0755);
	deferred_sweep(fd, below("program"), &count);
	cr_expect_eq(count.made, 0);
	cr_expect_eq(count.left, 1);
	cr_assert(there(below("spool/late/tried-7.0.step-0")));
	put(below("program"), "#!/bin/sh\nexit 0\n", 0, 0755);
	count = (struct deferred_count){0};
	deferred_sweep(fd, below("program"), &count);
	cr_expect_eq(count.made, 0, "not again at once");
	cr_expect_eq(count.left, 1);
	close(fd);
	fd = late_with("8.0.step-0", "/o");
	put(below("program"), "#!/bin/sh\nexit 1\n", 0, 0755);
	age(below("spool/late/8.0.step-0"), 86400 + 100);
	count = (struct deferred_count){0};
	deferred_sweep(fd, below("program"), &count);
	cr_expect_eq(count.made, 0);
	cr_expect_not(there(below("spool/late/8.0.step-0")), "nobody waits for it any more");
	cr_expect_not(there(below("spool/late/tried-8.0.step-0")));
	close(fd);
}

/* ---- the sweep ---- */

Test(warden_kept, a_sweep_ends_old_runs_and_removes_what_was_kept_for_a_week)
{
	char run[SPOOL_NAME_MAX];
	close(spool_make_step(live_fd, 999999991, 0, USER, GROUP, run, NULL));
	close(spool_make_step(live_fd, 999999992, 0, USER, GROUP, run, NULL));
	age(below("spool/live/999999991.0"), 120);
	close(spool_open(spool, "kept", true, NULL));
	cr_assert_eq(mkdir(below("spool/kept/4242"), 0711), 0);
	cr_assert_eq(mkdir(below("spool/kept/4242/old"), 0711), 0);
	cr_assert_eq(mkdir(below("spool/kept/4242/new"), 0711), 0);
	age(below("spool/kept/4242/old"), 7 * 86400 + 100);
	age(below("spool/kept/4242/new"), 7 * 86400 - 1000);
	put(below("program"), "#!/bin/sh\nexit 0\n", 0, 0755);
	cr_expect_eq(warden_sweep(spool, below("program"), NULL, 0), 0);
	cr_expect_not(there(below("spool/live/999999991.0")));
	cr_expect(there(below("spool/live/999999992.0")), "a young one is somebody's");
	cr_expect_not(there(below("spool/kept/4242/old")));
	cr_expect(there(below("spool/kept/4242/new")));
}

/* ---- a site's central directory ---- */

/* All that is there is older than a time to come. */
#define OLD ((uint64_t)-100)

static void central_with(const char *directory)
{
	cr_assert_eq(mkdir(below("central"), 0755), 0);
	cr_assert_eq(mkdir(below("central/u"), 0700), 0);
	cr_assert_eq(mkdir(directory, 0700), 0);
	cr_assert_eq(chown(below("central/u"), USER, GROUP), 0);
	cr_assert_eq(chown(directory, USER, GROUP), 0);
}

Test(warden_kept, a_result_that_is_too_old_goes_whole_and_nothing_else)
{
	char text[8192];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	central_with(below("central/u/step-0"));
	put(below("central/u/step-0/n1.mpic"), text, USER, 0600);
	put(below("central/u/step-0/report.html"), "page", USER, 0600);
	put(below("central/u/notes"), text, USER, 0600);
	central_sweep(below("central"), 1000);
	cr_expect(there(below("central/u/step-0/n1.mpic")), "it is young");
	int fd = open(below("central"), O_RDONLY | O_DIRECTORY);
	uint64_t all = central_usage(fd, "u");
	cr_expect_geq(all, 2 * sizeof(text), "%lu", all);
	cr_expect_eq(central_usage(fd, CENTRAL_ALL), all);
	cr_expect_eq(central_usage(fd, "nobody"), 0);
	central_sweep(below("central"), OLD);
	cr_expect(there(below("central/u/step-0")), "it was swept a moment ago");
	age(below("central/.usage/.all"), 3600);
	central_sweep(below("central"), OLD);
	cr_expect_not(there(below("central/u/step-0")));
	cr_expect(there(below("central/u/notes")));
	cr_expect_lt(central_usage(fd, "u"), all);
	close(fd);
}

Test(warden_kept, without_a_retention_nothing_goes)
{
	central_with(below("central/u/step-0"));
	put(below("central/u/step-0/n1.mpix"), "x", USER, 0600);
	central_sweep(below("central"), 0);
	cr_expect(there(below("central/u/step-0/n1.mpix")));
}

Test(warden_kept, a_directory_that_others_may_write_is_not_swept)
{
	central_with(below("central/u/step-0"));
	put(below("central/u/step-0/n1.mpix"), "x", USER, 0600);
	cr_assert_eq(chmod(below("central"), 0777), 0);
	central_sweep(below("central"), OLD);
	cr_expect(there(below("central/u/step-0/n1.mpix")));
	cr_expect_not(there(below("central/.usage")));
}

/* A number that is not root's alone is nobody's word. */
Test(warden_kept, what_is_said_to_be_used_counts_only_from_root)
{
	central_with(below("central/u/step-0"));
	central_sweep(below("central"), 0);
	int fd = open(below("central"), O_RDONLY | O_DIRECTORY);
	put(below("central/.usage/u"), "12345\n", 0, 0644);
	cr_expect_eq(central_usage(fd, "u"), 12345);
	put(below("central/.usage/u"), "12345\n", 0, 0664);
	cr_expect_eq(central_usage(fd, "u"), CENTRAL_UNKNOWN);
	put(below("central/.usage/u"), "12345\n", USER, 0644);
	cr_expect_eq(central_usage(fd, "u"), CENTRAL_UNKNOWN);
	put(below("central/.usage/u"), "", 0, 0644);
	cr_expect_eq(central_usage(fd, "u"), CENTRAL_UNKNOWN);
	close(fd);
}

/* Of who closes a directory to themselves, and its directory in the site's. */
Test(warden_kept, what_its_user_has_closed_is_counted_and_goes_when_it_is_old)
{
	char text[8192] = {[0 ... 8190] = 'x'};
	central_with(below("central/u/step-0"));
	put(below("central/u/step-0/n1.mpic"), text, USER, 0600);
	for (int i = 0; i < 2; i++) {
		const char *closed = i == 0 ? below("central/u/step-0") : below("central/u");
		cr_assert_eq(chmod(closed, 0), 0);
		central_sweep(below("central"), 0);
		int fd = open(below("central"), O_RDONLY | O_DIRECTORY);
		uint64_t bytes = central_usage(fd, "u");
		close(fd);
		cr_expect(bytes >= sizeof(text) && bytes != CENTRAL_UNKNOWN, "%lu", bytes);
		age(below("central/.usage/.all"), 3600);
	}
	cr_assert_eq(chmod(below("central/u/step-0"), 0500), 0);
	central_sweep(below("central"), OLD);
	cr_expect_not(there(below("central/u/step-0")));
}

/* Nor is it a small number; when it can be counted again it is one. */
Test(warden_kept, what_cannot_be_counted_is_not_known_to_be_little)
{
	char path[256] = "";
	central_with(below("central/u/step-0"));
	int fd = open(below("central"), O_RDONLY | O_DIRECTORY),
	    n = snprintf(path, sizeof(path), "%s", below("central/u"));
	cr_expect_eq(central_usage(fd, "u"), 0, "nobody has counted yet");
	for (int i = 0; i < 18; i++) {
		n += snprintf(path + n, sizeof(path) - (size_t)n, "/d");
		cr_assert(mkdir(path, 0700) == 0 && chown(path, USER, GROUP) == 0);
	}
	central_sweep(below("central"), 0);
	cr_expect_eq(central_usage(fd, "u"), CENTRAL_UNKNOWN);
	cr_assert_eq(rmdir(path), 0);
	path[n - 2] = '\0';
	cr_assert_eq(rmdir(path), 0);
	cr_assert_eq(mkdir(below("central/u/step-0/others"), 0), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(chmod(below("central/u/step-0/others"), i == 0 ? 0 : 0744), 0);
		age(below("central/.usage/.all"), 3600);
		central_sweep(below("central"), 0);
		cr_expect_eq(central_usage(fd, "u"), CENTRAL_UNKNOWN, "root's, in it, %s",
			     i == 0 ? "closed" : "to be read only");
	}
	cr_assert_eq(rmdir(below("central/u/step-0/others")), 0);
	age(below("central/.usage/.all"), 3600);
	central_sweep(below("central"), 0);
	cr_expect_lt(central_usage(fd, "u"), 1000000);
	close(fd);
}

Test(warden_kept, notes_of_users_who_have_nothing_any_more_go)
{
	central_with(below("central/u/step-0"));
	cr_assert_eq(mkdir(below("central/.usage"), 0755), 0);
	put(below("central/.usage/gone"), "5\n", 0, 0644);
	central_sweep(below("central"), 0);
	cr_expect_not(there(below("central/.usage/gone")));
	cr_expect(there(below("central/.usage/u")));
}
