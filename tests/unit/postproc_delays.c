/* postproc_delays.c - who made others wait, and where, of programs in which that is known. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 2e-9

enum { LATE = 10, SENDS = 20, WAITS = 30, RELAYS = 40, MEETS = 50 }; /* lines */

static void sends(struct program *p, unsigned rank, int to, double from_us, double to_us, unsigned line)
{
	program_send(
		p, rank,
		(struct call){
			.op = "MPI_Send", .from_us = from_us, .to_us = to_us, .peer = to, .bytes = 8, .line = line});
}

static void receives(struct program *p, unsigned rank, int from, double from_us, double to_us, unsigned line)
{
	program_recv(
		p, rank,
		(struct call){
			.op = "MPI_Recv", .from_us = from_us, .to_us = to_us, .peer = from, .bytes = 8, .line = line});
}

static void meets(struct program *p, unsigned ranks, const double *from_us, double to_us, unsigned line)
{
	for (unsigned r = 0; r < ranks; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = from_us[r],
					   .to_us = to_us,
					   .coll = COLL_BARRIER,
					   .line = line});
}

/* seconds[0] direct, [1] indirect, of the rows of one kind; rank: of the row. */
static int cost(const cJSON *root, const char *kind, double seconds[2])
{
	int rank = -1;
	const cJSON *row;
	seconds[0] = seconds[1] = 0;
	cJSON_ArrayForEach(row, node_at(root, "delays.callsites"))
	{
		if (strcmp(cJSON_GetObjectItem(row, "kind")->valuestring, kind) != 0)
			continue;
		seconds[0] += field(row, "direct_s");
		seconds[1] += field(row, "indirect_s");
		rank = (int)field(row, "rank");
	}
	return rank;
}

Test(delays, computing_that_a_receiver_waits_for_is_the_senders)
{
	struct program *p = program_create(2, 1);
	double seconds[2];
	sends(p, 0, 1, 100, 101, SENDS);
	receives(p, 1, 0, 30, 102, WAITS);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_eq(cost(root, "computing_before", seconds), 0);
	cr_expect_float_eq(seconds[0], 70e-6, NEAR, "%g", seconds[0]);
	cr_expect_eq(seconds[1], 0);
	cr_expect_float_eq(at_path(root, "delays.waits_s"), 70e-6, NEAR);
	cr_expect_eq(at_path(root, "delays.unexplained_s"), 0);
	cJSON_Delete(root);
}

Test(delays, who_only_passes_on_is_not_blamed)
{
	struct program *p = program_create(3, 1);
	double seconds[2];
	sends(p, 0, 1, 100, 101, SENDS);
	receives(p, 1, 0, 10, 102, WAITS);
	sends(p, 1, 2, 102, 103, RELAYS);
	receives(p, 2, 1, 10, 104, WAITS);
	cJSON *root = analyse_program(p, 1000);
	cost(root, "computing_before", seconds);
	cr_expect_float_eq(seconds[0], 90e-6, NEAR, "rank 1 waited for rank 0's computing: %g", seconds[0]);
	cr_expect_gt(seconds[1], 88e-6, "and rank 2 for the same, through rank 1: %g", seconds[1]);
	const cJSON *first = find(root, "delays.per_rank", "rank", 0, NULL),
		    *second = find(root, "delays.per_rank", "rank", 1, NULL);
	cr_assert_not_null(first);
	cr_expect_gt(field(first, "indirect_s"), 88e-6);
	cr_expect(second == NULL || field(second, "direct_s") < 3e-6, "its own transfer at most");
	cJSON_Delete(root);
}

Test(delays, time_in_a_call_that_does_not_wait_counts_as_that)
{
	struct program *p = program_create(2, 1);
	double seconds[2];
	sends(p, 0, SIG_PROC_NULL, 10, 110, LATE);
	sends(p, 0, 1, 110, 111, SENDS);
	sends(p, 1, SIG_PROC_NULL, 10, 11, LATE);
	receives(p, 1, 0, 11, 112, WAITS);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_eq(cost(root, "in_call", seconds), 0);
	cr_expect_float_eq(seconds[0], 99e-6, NEAR, "%g", seconds[0]);
	cost(root, "computing_before", seconds);
	cr_expect_eq(seconds[0], 0, "both computed 10 us before it: %g", seconds[0]);
	cJSON_Delete(root);
}

Test(delays, what_was_before_all_were_together_does_not_count)
{
	static const double first[3] = {500, 500, 500}, second[3] = {600, 700, 600};
	struct program *p = program_create(3, 1);
	double seconds[2];
	meets(p, 3, first, 501, MEETS); /* all computed 500 us */
	meets(p, 3, second, 701, LATE);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_eq(cost(root, "computing_before", seconds), 1);
	cr_expect_float_eq(seconds[0], 200e-6, NEAR, "two wait 100 us each: %g", seconds[0]);
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "delays.callsites")), 1);
	cr_expect_eq(field(cJSON_GetArrayItem(node_at(root, "delays.callsites"), 0), "callsite"), id_of(root, LATE));
	cr_expect_not_null(find_text(root, "issues", "issue", "delay"));
	cJSON_Delete(root);
}

Test(delays, nobody_is_blamed_where_nobody_waits)
{
	static const double same[4] = {500, 500, 500, 500};
	struct program *p = program_create(4, 1);
	meets(p, 4, same, 501, MEETS);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_eq(at_path(root, "delays.waits"), 0);
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "delays.callsites")), 0);
	cr_expect_null(find_text(root, "issues", "issue", "delay"));
	cJSON_Delete(root);
}

/* A thousand calls are remembered: of a longer run only the rest is compared, and that is said. */
Test(delays, a_run_without_synchronisation_is_cut)
{
	struct program *p = program_create(2, 1);
	for (int i = 0; i < 3000; i++)
		sends(p, 0, SIG_PROC_NULL, i, i + 0.5, LATE);
	sends(p, 0, 1, 4000, 4001, SENDS);
	receives(p, 1, 0, 10, 4002, WAITS);
	cJSON *root = analyse_program(p, 5000);
	cr_expect_eq(at_path(root, "delays.waits_cut"), 1);
	cr_expect_float_eq(at_path(root, "delays.waits_s"), 3990e-6, NEAR);
	cJSON_Delete(root);
}
