/* postproc_lateness.c - logical steps, and how late calls are there, of programs in which that is known. */
#include "step_analysis.h"

#include "postproc/stream/lateness.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 2e-9

enum { MEETS = 10, SENDS = 20, RECEIVES = 30, QUERIES = 40, ASKS = 50 }; /* lines */

static void meets(struct program *p, const double *from_us, const double *to_us, unsigned ranks)
{
	for (unsigned r = 0; r < ranks; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = from_us[r],
					   .to_us = to_us[r],
					   .coll = COLL_BARRIER,
					   .line = MEETS});
}

static void queries(struct program *p, unsigned rank, double at_us)
{
	program_words(p, rank,
		      (struct call){.op = "MPI_Comm_rank", .from_us = at_us, .to_us = at_us + 0.5, .line = QUERIES},
		      SIG_TIME, 0, NULL, 0);
}

static const cJSON *lateness_at(const cJSON *root, const char *op)
{
	const cJSON *row = find_text(root, "callsites", "op", op);
	cr_assert_not_null(row, "%s", op);
	return cJSON_GetObjectItem(row, "lateness");
}

static void is_late(const cJSON *root, const char *op, unsigned calls, double total_us, double max_us,
		    unsigned max_rank)
{
	const cJSON *late = lateness_at(root, op);
	cr_assert_not_null(late, "%s", op);
	cr_expect_eq(field(late, "calls"), calls, "%s: %g calls", op, field(late, "calls"));
	cr_expect_float_eq(field(late, "total_s"), total_us * 1e-6, NEAR, "%s: %g s", op, field(late, "total_s"));
	cr_expect_float_eq(field(late, "max_s"), max_us * 1e-6, NEAR, "%s: %g s", op, field(late, "max_s"));
	cr_expect_eq(field(late, "max_rank"), max_rank, "%s: rank %g", op, field(late, "max_rank"));
}

/* Twice: the second meeting is one step, although rank 1 has called more before it. */
Test(lateness, members_of_a_collective_are_at_one_step_whatever_each_called_before)
{
	struct program *p = program_create(3, 1);
	meets(p, (double[]){10, 12, 14}, (double[]){20, 25, 31}, 3);
	for (unsigned i = 0; i < 3; i++)
		queries(p, 1, 40 + i);
	meets(p, (double[]){50, 52, 54}, (double[]){62, 60, 61}, 3);
	cJSON *root = analyse_program(p, 1000);
	is_late(root, "MPI_Barrier", 6, 5 + 11 + 2 + 1, 11, 2);
	cr_expect_null(lateness_at(root, "MPI_Comm_rank"), "nobody else was there");
	cJSON_Delete(root);
}

/* The send is at step 1, so the receive at 2, and the query behind it at 3, as the second of the sender. */
Test(lateness, a_receive_is_after_its_send)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0,
		     (struct call){.op = "MPI_Send", .from_us = 12, .to_us = 13, .peer = 1, .bytes = 8, .line = SENDS});
	program_recv(
		p, 1,
		(struct call){.op = "MPI_Recv", .from_us = 5, .to_us = 14, .peer = 0, .bytes = 8, .line = RECEIVES});
	queries(p, 0, 20);
	queries(p, 0, 30);
	queries(p, 1, 34);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_null(lateness_at(root, "MPI_Send"));
	cr_expect_null(lateness_at(root, "MPI_Recv"));
	is_late(root, "MPI_Comm_rank", 2, 4, 4, 1);
	cJSON_Delete(root);
}

/* How often somebody asks is chance. */
Test(lateness, tests_in_vain_are_no_steps)
{
	struct program *p = program_create(2, 1);
	program_poll(p, 0, (struct call){.op = "MPI_Iprobe", .from_us = 10, .to_us = 11, .line = ASKS}, SIG_COMPLETE,
		     (uint64_t[]){1}, 1, 7, 0.5);
	queries(p, 0, 20);
	queries(p, 1, 17);
	cJSON *root = analyse_program(p, 1000);
	is_late(root, "MPI_Comm_rank", 2, 3, 3, 0);
	cr_expect_null(lateness_at(root, "MPI_Iprobe"));
	cJSON_Delete(root);
}

/* ---- without a program ---- */

Test(lateness, what_does_not_fit_is_counted_and_the_rest_is_right)
{
	uint64_t left_out;
	unsigned steps = 1000000, late = 0, asked = 0;
	struct lateness *l = lateness_create(1);
	for (unsigned i = 0; i < steps; i++) /* one rank is far ahead, and nobody knows of the other */
		if (lateness_add(l, i, 0, 0, 10 * (int64_t)i) > 0) {
			lateness_close(l, 0);
			asked++;
		}
	for (unsigned i = 0; i < steps; i++)
		late += lateness_add(l, i, 0, 1, 10 * (int64_t)i + 3) > 0;
	struct late_site *sites = lateness_result(l, &left_out);
	cr_expect_gt(asked, 10);
	cr_expect_eq(late, 0);
	cr_expect_eq(sites[0].calls, 2 * (steps - left_out), "%llu calls, %llu left out",
		     (unsigned long long)sites[0].calls, (unsigned long long)left_out);
	cr_expect_gt(sites[0].calls, 20000);
	cr_expect_eq(sites[0].total_ns, 3 * (int64_t)sites[0].calls / 2);
	cr_expect_eq(sites[0].max_ns, 3);
	cr_expect_eq(sites[0].max_rank, 1);
	free(sites);
	lateness_destroy(l);
}

/* Where the steps go on together, nothing is left out, however many there are. */
Test(lateness, steps_that_are_over_take_no_room)
{
	uint64_t left_out;
	unsigned steps = 1000000;
	struct lateness *l = lateness_create(2);
	for (unsigned i = 0; i < steps; i++)
		for (unsigned rank = 0; rank < 3; rank++)
			if (lateness_add(l, i, i % 2, rank, 10 * (int64_t)i - rank) > 0)
				lateness_close(l, i);
	struct late_site *sites = lateness_result(l, &left_out);
	cr_expect_eq(left_out, 0);
	for (unsigned i = 0; i < 2; i++) {
		cr_expect_eq(sites[i].calls, 3 * steps / 2);
		cr_expect_eq(sites[i].total_ns, (0 + 1 + 2) * (int64_t)steps / 2);
		cr_expect_eq(sites[i].max_ns, 2);
		cr_expect_eq(sites[i].max_rank, 0);
	}
	free(sites);
	lateness_destroy(l);
}
