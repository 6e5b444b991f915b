/* postproc_record.c - what the record says of itself: holes in it, what this program does not know, what tracing cost. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Three blocks of ten barriers each on both threads of rank 1 of two; one of them has that fate. */
static cJSON *analyse_gap(unsigned thread, unsigned which, enum block_fate fate)
{
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < 30; i++)
		for (unsigned r = 0; r < 2; r++)
			for (unsigned t = 0; t <= r; t++) {
				program_coll(p, r,
					     (struct call){.op = t == 0 ? "MPI_Barrier" : "MPI_Ibarrier",
							   .from_us = 10 * i + 1,
							   .to_us = 10 * i + 6,
							   .peer = SIG_NO_ROOT,
							   .coll = t == 0 ? COLL_BARRIER : COLL_NONE,
							   .thread = t});
				if (r == 1 && i % 10 == 9)
					program_end_block(p, r, t, t == thread && i / 10 == which ? fate : BLOCK_WHOLE);
			}
	return analyse_program(p, 1000);
}

static void expect_gap(unsigned thread, unsigned which, enum block_fate fate)
{
	cJSON *root = analyse_gap(thread, which, fate);
	unsigned gone = 30 - 10 * which;
	cr_expect(cJSON_IsFalse(node_at(root, "coverage.complete")));
	cr_expect_eq(at_path(root, "coverage.events"), 90 - gone, "thread %u, block %u, fate %u: %g", thread, which,
		     fate, at_path(root, "coverage.events"));
	cr_expect_eq(at_path(root, "coverage.events_lost"), gone);
	cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Barrier"), "calls"), 60);
	cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Ibarrier"), "calls"), 30);
	cJSON_Delete(root);
}

Test(record, events_behind_a_hole_are_counted_and_totals_stay_exact)
{
	for (unsigned thread = 0; thread < 2; thread++)
		for (unsigned which = 0; which < 3; which++) {
			expect_gap(thread, which, BLOCK_MISSING);
			expect_gap(thread, which, BLOCK_BROKEN);
		}
}
