/* output_restore.c - the node's .mpic, when somebody takes it away while it is written. */
#include "collect/output.h"
#include "tests/unit/step_files.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(output_restore, .init = make_dir, .fini = remove_dir);

static void put_and_flush(struct output *o, uint64_t seq)
{
	static uint8_t noise[10000];
	struct mpic_block b = {.kind = MPIC_DEFS, .process = 0, .seq = seq};
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)rand();
	cr_assert_gt(output_block(o, &b, noise, sizeof(noise)), 0);
	cr_assert_eq(output_flush(o), 0);
}

/* With its directory, or by something else in its place: what was written is there again, and what comes after it. */
Test(output_restore, what_is_removed_is_made_again)
{
	char wanted[PATH_MAX], path[PATH_MAX + 16];
	snprintf(wanted, sizeof(wanted), "%s/a", dir);
	snprintf(path, sizeof(path), "%s/n1.mpic", wanted);
	struct output o = output_to(wanted);
	cr_assert_eq(output_open(&o, NULL), 0);
	put_and_flush(&o, 0);
	cr_expect_eq(output_restore(&o), 0);
	cr_assert(unlink(path) == 0 && rmdir(wanted) == 0);
	cr_expect_eq(output_restore(&o), 1);
	put_and_flush(&o, 1);
	cr_assert_str_eq(o.path, path);
	cr_expect_eq(blocks_of(path, MPIC_DEFS), 2);
	cr_assert_eq(unlink(path), 0);
	write_file(path, "mine", 4);
	cr_expect_eq(output_restore(&o), 1, "beside what is not ours");
	cr_assert_not_null(strstr(o.path, "/a/n1.2.mpic"));
	cr_assert(unlink(path) == 0 && unlink(o.path) == 0 && rmdir(wanted) == 0);
	cr_assert_eq(symlink("/", wanted), 0);
	o.of_slurm = true;
	cr_expect_eq(output_restore(&o), 1, "not where a link leads");
	cr_expect_eq(strncmp(o.path, dir, strlen(dir)), 0);
	cr_expect_null(strstr(o.path, "/a/"));
	put_and_flush(&o, 2);
	cr_assert_eq(output_close(&o), 0);
	cr_expect_eq(blocks_of(o.path, MPIC_DEFS), 3);
	free(o.path);
}

static mode_t mode_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

/* As by a script that lets all read its results, and write them. */
Test(output_restore, what_all_may_write_since_they_may_not_any_more)
{
	char job[PATH_MAX], wanted[PATH_MAX + 8];
	snprintf(job, sizeof(job), "%s/job", dir);
	snprintf(wanted, sizeof(wanted), "%s/step", job);
	cr_assert_eq(chmod(dir, 0777), 0);
	struct output o = output_to(wanted);
	o.of_slurm = true;
	cr_assert_eq(output_open(&o, NULL), 0);
	cr_assert(chmod(job, 0777) == 0 && chmod(wanted, 02777) == 0);
	cr_expect_eq(output_restore(&o), 0);
	cr_expect_eq(mode_of(job), 0775);
	cr_expect_eq(mode_of(wanted), 02775);
	cr_expect_eq(mode_of(dir), 0777, "which is not ours");
	cr_assert_eq(output_close(&o), 0);
	free(o.path);
}

/* A directory that could not be written when the trace began, as a file server that was away: at the latest when the
 * step is over the trace is where it was wanted. */
Test(output_restore, what_is_elsewhere_comes_to_its_place_when_that_can_be_written)
{
	char wanted[PATH_MAX], path[PATH_MAX + 16], aside[PATH_MAX];
	snprintf(wanted, sizeof(wanted), "%s/a", dir);
	snprintf(path, sizeof(path), "%s/n1.mpic", wanted);
	write_file(wanted, "no directory", 12);
	struct output o = output_to(wanted);
	cr_assert_lt(output_open(&o, NULL), 0);
	snprintf(aside, sizeof(aside), "%s", o.path);
	put_and_flush(&o, 0);
	cr_expect_eq(output_restore(&o), 0, "not yet");
	cr_expect_str_eq(o.path, aside);
	put_and_flush(&o, 1);
	cr_assert_eq(unlink(wanted), 0);
	cr_expect_eq(output_restore(&o), 1);
	cr_expect_str_eq(o.path, path);
	cr_expect_neq(access(aside, F_OK), 0, "and nowhere else");
	put_and_flush(&o, 2);
	cr_expect_eq(output_restore(&o), 0);
	cr_assert_eq(output_close(&o), 0);
	cr_expect_eq(blocks_of(path, MPIC_DEFS), 3);
	free(o.path);
}
