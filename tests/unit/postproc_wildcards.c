/* postproc_wildcards.c - what a wildcard receive that stays open means for the messages behind it. */
#include "step_analysis.h"

#include <criterion/criterion.h>

#define RANKS 16
#define STEPS 6000 /* more events than one window of the analysis has */

/* All others exchange, too: without waiting. */
static void others_exchange(struct program *p, double at)
{
	for (unsigned r = 2; r < RANKS; r += 2) {
		program_send(p, r,
			     (struct call){.op = "MPI_Send",
					   .from_us = at,
					   .to_us = at + 1,
					   .peer = (int)r + 1,
					   .tag = 5,
					   .bytes = 8});
		program_recv(p, r + 1,
			     (struct call){.op = "MPI_Recv",
					   .from_us = at + 1,
					   .to_us = at + 2,
					   .peer = (int)r,
					   .tag = 5,
					   .bytes = 8});
	}
}

/* Rank 0 waits for rank 1 in each step, by a receive that names it, while a wildcard posted before is open to the end.
 * Seconds of waits for which rank 1's computing is named. */
static double explained(uint32_t comm_of_wildcard, int tag_of_wildcard, int source_of_wildcard)
{
	struct program *p = program_create(RANKS, 1);
	uint32_t other = program_comm(p, "other", (int32_t[]){0, 1, 2}, 3);
	unsigned wild = source_of_wildcard == SIG_ANY ? SIG_ANY_SOURCE : 0;
	struct call irecv = {.op = "MPI_Irecv",
			     .from_us = 1,
			     .to_us = 2,
			     .comm = comm_of_wildcard != 0 ? other : 0,
			     .peer = source_of_wildcard,
			     .tag = tag_of_wildcard,
			     .bytes = 8,
			     .flags = SIG_STARTS_REQUEST | wild | (tag_of_wildcard == SIG_ANY ? SIG_ANY_TAG : 0)};
	program_recv(p, 0, irecv);
	struct done last = {program_serial(p, 0), 2, 7, 8, false};
	for (int i = 0; i < STEPS; i++) {
		double at = 10 + 100 * i;
		others_exchange(p, at);
		program_send(
			p, 1,
			(struct call){.op = "MPI_Send", .from_us = at + 80, .to_us = at + 81, .tag = 5, .bytes = 8});
		program_recv(
			p, 0,
			(struct call){
				.op = "MPI_Recv", .from_us = at, .to_us = at + 82, .peer = 1, .tag = 5, .bytes = 8});
	}
	double end = 10 + 100.0 * STEPS;
	program_send(
		p, 2,
		(struct call){
			.op = "MPI_Send", .from_us = end, .to_us = end + 1, .comm = irecv.comm, .tag = 7, .bytes = 8});
	program_wait(p, 0, (struct call){.op = "MPI_Wait", .from_us = end, .to_us = end + 2}, &last, 1);
	cJSON *root = analyse_program(p, end + 100);
	const cJSON *row;
	double seconds = 0;
	cr_assert_eq(at_path(root, "summary.transfers"), STEPS * RANKS / 2 + 1);
	cJSON_ArrayForEach(row, node_at(root, "delays.callsites")) seconds +=
		field(row, "rank") == 1 ? field(row, "direct_s") : 0;
	cJSON_Delete(root);
	return seconds;
}

/* It could not have got any of them: each wait is explained as the run goes by, however long that is. */
Test(wildcards, of_another_communicator_hold_nothing_up)
{
	double seconds = explained(1, SIG_ANY, SIG_ANY);
	cr_expect_gt(seconds, 0.9 * STEPS * 80e-6, "%f s", seconds);
}

Test(wildcards, of_another_tag_hold_nothing_up)
{
	double seconds = explained(0, 7, SIG_ANY);
	cr_expect_gt(seconds, 0.9 * STEPS * 80e-6, "%f s", seconds);
}
