/* postproc_rma_long.c - one-sided calls so far apart that many other events, windows of the stream, lie between. */
#include "one_sided.h"

#include <criterion/criterion.h>

/* Somebody else's calls between the two times, more than any window holds. */
static void meanwhile(struct program *p, unsigned rank, double from, double to)
{
	const int n = 80000;
	for (int i = 0; i < n; i++)
		program_words(p, rank,
			      (struct call){.op = "MPI_Comm_rank",
					    .from_us = from + (to - from) * i / n,
					    .to_us = from + (to - from) * i / n + 0.001},
			      SIG_TIME, 0, NULL, 0);
}

Test(rma_long, posts_that_came_long_before_are_met_in_their_order)
{
	struct program *p = program_create(3, 1);
	program_window(p, 0);
	rma_post(p, 1, 10, 0);
	rma_wait(p, 1, 3000, 3001);
	rma_post(p, 1, 4000, 0);
	rma_wait(p, 1, 4050, 4051);
	meanwhile(p, 2, 20, 1900);
	rma_start(p, 0, 2000, 2001, 1); /* the first post was long there */
	rma_complete(p, 0, 2010, 2011);
	rma_start(p, 0, 3900, 4001, 1);
	rma_complete(p, 0, 4010, 4011);
	cJSON *root = analyse_program(p, 5000);
	expect_wait(root, "late_post", 0, 100, 1);
	cr_expect_eq(field(row_of(root, "late_post", 0), "count"), 1);
	expect_none(root, "early_wait");
	cJSON_Delete(root);
}

Test(rma_long, of_completes_that_came_long_before_each_epoch_takes_one)
{
	struct program *p = program_create(3, 1);
	program_window(p, 0);
	for (int i = 0; i < 2; i++) { /* a library that puts all off */
		rma_start(p, 0, 10 + 10 * i, 11 + 10 * i, 1);
		rma_complete(p, 0, 15 + 10 * i, 16 + 10 * i);
	}
	rma_start(p, 0, 2900, 2901, 1);
	rma_complete(p, 0, 4000, 4001);
	meanwhile(p, 2, 50, 1900);
	for (int i = 0; i < 3; i++) {
		rma_post(p, 1, 2000 + 500 * i, 0);
		rma_wait(p, 1, 2010 + 500 * i, i == 2 ? 4001 : 2011 + 500 * i);
	}
	cJSON *root = analyse_program(p, 5000);
	expect_wait(root, "early_wait", 1, 4000 - 3010, 0);
	expect_wait(root, "late_complete", 1, 4000 - 3010, 0);
	cr_expect_eq(field(row_of(root, "early_wait", 1), "count"), 1);
	cJSON_Delete(root);
}

Test(rma_long, a_lock_is_waited_for_over_many_windows)
{
	struct program *p = program_create(4, 1);
	program_window(p, 0);
	rma_lock(p, 1, 100, 101, 0, 2, 0);
	rma_unlock(p, 1, 3990, 3991, 0);
	rma_lock(p, 2, 120, 4000, 0, 2, 0);
	rma_unlock(p, 2, 4010, 4011, 0);
	meanwhile(p, 3, 150, 3900);
	cJSON *root = analyse_program(p, 5000);
	expect_wait(root, "lock_contention", 2, 3870, 1);
	cJSON_Delete(root);
}

/* Rank 1 wants to be let into the window of rank 0 from 2000 to 4010; rank 0 calls MPI at 4000. */
static cJSON *let_in(bool inside)
{
	struct program *p = program_create(3, 1);
	program_window(p, 0);
	if (inside)
		program_recv(p, 0,
			     (struct call){.op = "MPI_Recv", .from_us = 50, .to_us = 3999, .peer = 1, .bytes = 8});
	meanwhile(p, 2, 60, 1900);
	meanwhile(p, 2, 2010, 3900);
	rma_lock(p, 1, 2000, 4010, 0, 1, 0);
	rma_unlock(p, 1, 4020, 4021, 0);
	for (unsigned r = 0; r < 3; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = r == 0 ? 4000 : 4100,
					   .to_us = 4110,
					   .peer = SIG_NO_ROOT,
					   .coll = COLL_BARRIER});
	return analyse_program(p, 5000);
}

Test(rma_long, a_target_is_waited_for_until_it_comes_many_windows_later)
{
	cJSON *root = let_in(false);
	expect_wait(root, "wait_for_progress", 1, 2000, 0);
	cJSON_Delete(root);
}

Test(rma_long, a_target_that_has_been_in_MPI_for_many_windows_is_not_waited_for)
{
	cJSON *root = let_in(true);
	expect_none(root, "wait_for_progress");
	cJSON_Delete(root);
}

Test(rma_long, a_window_of_which_a_member_never_comes_is_counted_and_not_judged)
{
	struct program *p = program_create(2, 1);
	program_window(p, 0);
	rma_together(p, 0, "MPI_Win_fence", RMA_FENCE, 100, 900, 0);
	rma_start(p, 0, 920, 930, 1); /* and an epoch that the target never opens */
	rma_complete(p, 0, 940, 950);
	cJSON *root = analyse_program(p, 1000);
	expect_none(root, "wait_at_fence");
	expect_none(root, "late_post");
	cr_expect_eq(at_path(root, "coverage.unmatched.collectives"), 1);
	cJSON_Delete(root);
}
