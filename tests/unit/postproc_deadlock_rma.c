/* postproc_deadlock_rma.c - ranks that died in one-sided calls: who has the lock that they wait for, or was to expose
 * its window, or to end its access. All have made the window; those who receive are in a call for ever. */
#include "one_sided.h"

#include <criterion/criterion.h>
#include <string.h>

#define SHARED 1
#define EXCLUSIVE 2

static void receives(struct program *p, unsigned rank, int from)
{
	program_died_in(p, rank, (struct call){.op = "MPI_Recv", .peer = from, .line = 60 + rank}, SIG_RECV, 0);
}

static void in(struct program *p, unsigned rank, const char *op, enum sig_rma kind, int target, unsigned lock)
{
	struct one_sided x = {.kind = kind, .target = target, .lock = lock};
	program_died_in_rma(p, rank, (struct call){.op = op, .line = 60 + rank}, x);
}

static void in_group(struct program *p, unsigned rank, const char *op, enum sig_rma kind, int other)
{
	struct one_sided x = {.kind = kind, .target = SIG_ANY, .group = &other, .ngroup = kind == RMA_START};
	program_died_in_rma(p, rank, (struct call){.op = op, .line = 60 + rank}, x);
}

static struct program *world(unsigned n)
{
	struct program *p = program_create(n, 1);
	program_window(p, 0);
	for (unsigned r = 0; r < n; r++)
		rma_together(p, r, "MPI_Win_create", RMA_CREATE, 1, 2, 0);
	return p;
}

static void says(struct program *p, const char *expected)
{
	cJSON *root = analyse_program(p, 100);
	const cJSON *row = find_text(root, "correctness", "kind", "deadlock");
	const char *what = cJSON_GetStringValue(node_at(cJSON_GetArrayItem(node_at(row, "examples"), 0), "what"));
	cr_expect_str_eq(what != NULL ? what : "", expected);
	cJSON_Delete(root);
}

Test(postproc_deadlock_rma, locks_taken_crosswise_are_a_deadlock)
{
	for (int freed = 0; freed < 2; freed++) { /* the second time one had given it back */
		struct program *p = world(2);
		rma_lock(p, 0, 10, 11, 0, EXCLUSIVE, 0);
		rma_lock(p, 1, 10, 11, 1, EXCLUSIVE, 0);
		if (freed)
			rma_unlock(p, 1, 12, 13, 1);
		in(p, 0, "MPI_Win_lock", RMA_LOCK, 1, EXCLUSIVE);
		in(p, 1, "MPI_Win_lock", RMA_LOCK, 0, EXCLUSIVE);
		says(p,
		     freed ? ""
			   : "Rank 0 waits in MPI_Win_lock for rank 1, rank 1 waits in MPI_Win_lock for rank 0. Rank 0 "
			     "needs rank 1's MPI_Win_unlock.");
	}
}

Test(postproc_deadlock_rma, shared_locks_hinder_nobody_but_who_wants_it_alone)
{
	for (unsigned wanted = SHARED; wanted <= EXCLUSIVE; wanted++) {
		struct program *p = world(2);
		rma_lock(p, 0, 10, 11, 0, SHARED, 0);
		in(p, 1, "MPI_Win_lock", RMA_LOCK, 0, wanted);
		receives(p, 0, 1);
		says(p,
		     wanted == SHARED
			     ? ""
			     : "Rank 0 waits in MPI_Recv for rank 1, rank 1 waits in MPI_Win_lock for rank 0. Rank 0 "
			       "needs a message from rank 1 with tag 0.");
	}
}

/* The lock is put off to the flush: whoever has it is not in a flush of it. */
Test(postproc_deadlock_rma, an_access_waits_for_who_has_the_lock_and_does_something_else)
{
	for (int both = 0; both < 2; both++) {
		struct program *p = world(3);
		rma_lock(p, 0, 10, 11, 2, EXCLUSIVE, 0);
		rma_lock(p, 1, 10, 11, 2, EXCLUSIVE, 0);
		in(p, 0, "MPI_Win_flush", RMA_FLUSH, 2, 0);
		if (both)
			in(p, 1, "MPI_Win_flush", RMA_FLUSH, 2, 0);
		else
			receives(p, 1, 0);
		receives(p, 2, 1);
		says(p, both ? ""
			     : "Rank 0 waits in MPI_Win_flush for rank 1, rank 1 waits in MPI_Recv for rank 0. 1 more "
			       "rank waits for them. Rank 0 needs rank 1's MPI_Win_unlock.");
	}
}

Test(postproc_deadlock_rma, a_target_outside_of_mpi_may_be_all_that_is_waited_for)
{
	struct program *p = world(3);
	rma_lock(p, 1, 10, 11, 2, EXCLUSIVE, 0);
	in(p, 0, "MPI_Win_lock", RMA_LOCK, 2, EXCLUSIVE);
	receives(p, 1, 0);
	program_killed(p, 2, 9);
	says(p, "");
}

Test(postproc_deadlock_rma, an_exposure_waits_for_each_access_that_is_not_complete)
{
	for (int complete = 0; complete < 2; complete++) {
		struct program *p = world(2);
		rma_post(p, 0, 10, 1);
		rma_start(p, 1, 11, 12, 0);
		if (complete)
			rma_complete(p, 1, 13, 14);
		in_group(p, 0, "MPI_Win_wait", RMA_WAIT, 1);
		receives(p, 1, 0);
		says(p, complete ? ""
				 : "Rank 0 waits in MPI_Win_wait for rank 1, rank 1 waits in MPI_Recv for rank 0. Rank "
				   "0 needs "
				   "rank 1's MPI_Win_complete.");
	}
}

Test(postproc_deadlock_rma, an_access_waits_for_each_exposure_that_has_not_begun)
{
	for (int posted = 0; posted < 2; posted++)
		for (int started = 0; started < 2; started++) {
			struct program *p = world(2);
			if (posted)
				rma_post(p, 1, 9, 0);
			if (started) {
				rma_start(p, 0, 10, 11, 1);
				in_group(p, 0, "MPI_Win_complete", RMA_COMPLETE, 1);
			} else {
				in_group(p, 0, "MPI_Win_start", RMA_START, 1);
			}
			receives(p, 1, 0);
			says(p,
			     posted ? ""
			     : started
				     ? "Rank 0 waits in MPI_Win_complete for rank 1, rank 1 waits in MPI_Recv for rank "
				       "0. Rank 0 needs rank 1's MPI_Win_post."
				     : "Rank 0 waits in MPI_Win_start for rank 1, rank 1 waits in MPI_Recv for rank 0. "
				       "Rank 0 needs rank 1's MPI_Win_post.");
		}
}
