/* postproc_usage.c - what kernel and processor counted while the step ran: memory at the limit, a slow clock. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#define MIB (1ull << 20)

/* Four nodes of two ranks that compute for 2 s. */
static struct program *four_nodes(void)
{
	struct program *p = program_create(8, 4);
	for (unsigned r = 0; r < 8; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = 2e6,
					   .to_us = 2e6 + 1,
					   .peer = SIG_NO_ROOT,
					   .coll = COLL_BARRIER,
					   .line = 7});
	return p;
}

static void clocks(struct program *p, double of_node_2)
{
	for (unsigned r = 0; r < 8; r++)
		program_counters(p, r, 1.9e6 * (r / 2 == 2 ? of_node_2 : 3000), 1.9e6);
}

Test(usage, a_node_with_a_slow_clock_is_named_with_what_it_lost)
{
	struct program *p = four_nodes();
	clocks(p, 2100);
	cJSON *root = analyse_program(p, 2e6 + 2), *row = issue(root, "slow_clock");
	cr_assert_not_null(row);
	cr_expect_float_eq(at_path(row, "metric.value"), 0.7, 1e-6);
	cr_expect_float_eq(field(row, "loss_s"), 2 * 2 * 0.3, 1e-3);
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "ranks")), 2);
	cr_expect_eq(element(row, "ranks", 0), 4);
	cr_expect_not_null(strstr(text_at(row, "what"), "Node n2 ran at 70 % of the others' clock frequency: 2.10 GHz"),
			   "%s", text_at(row, "what"));
	const cJSON *rank = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "per_rank"), 4);
	cr_expect_float_eq(field(rank, "frequency_hz"), 2.1e9, 1e4);
	cr_expect_float_eq(field(rank, "instructions_per_cycle"), 0.5, 1e-6);
	cJSON_Delete(root);
}

Test(usage, clocks_that_differ_by_little_or_are_not_known_are_no_issue)
{
	struct program *p = four_nodes();
	clocks(p, 2800);
	cJSON *root = analyse_program(p, 2e6 + 2);
	cr_expect_null(issue(root, "slow_clock"));
	cJSON_Delete(root);
	root = analyse_program(four_nodes(), 2e6 + 2);
	cr_expect_null(issue(root, "slow_clock"));
	cr_expect(cJSON_IsNull(
		cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(root, "per_rank"), 4), "frequency_hz")));
	cJSON_Delete(root);
	p = four_nodes(); /* counted for too short a time to say */
	for (unsigned r = 0; r < 8; r++)
		program_counters(p, r, r < 2 ? 1 : 1000, 100);
	root = analyse_program(p, 2e6 + 2);
	cr_expect_null(issue(root, "slow_clock"));
	cJSON_Delete(root);
}

Test(usage, memory_near_the_limit_is_said_behind_what_costs_time)
{
	struct program *p = four_nodes();
	program_memory(p, 1, 100 * MIB, 460 * MIB, 500 * MIB);
	program_memory(p, 2, 100 * MIB, 400 * MIB, 500 * MIB);
	cJSON *root = analyse_program(p, 2e6 + 2), *row = issue(root, "memory_limit");
	cr_assert_not_null(row);
	cr_expect_null(issue(root, "out_of_memory"));
	cr_expect_eq(element(row, "ranks", 0), 2);
	cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(row, "ranks")), 2);
	cr_expect_not_null(strstr(text_at(row, "what"), "On node n1 the job had 460 MiB of the 500 MiB of memory that "
							"it may have, 92 %; at the first sample it was 100 MiB."),
			   "%s", text_at(row, "what"));
	const cJSON *node = cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "usage"), "nodes"), 2);
	cr_expect_float_eq(field(node, "memory_most_bytes"), 400.0 * MIB, 1);
	cr_expect_float_eq(field(node, "memory_most_at_s"), 2, 0.1);
	cr_expect(cJSON_IsNull(cJSON_GetObjectItem(
		cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "usage"), "nodes"), 0),
		"memory_limit_bytes")));
	cJSON_Delete(root);
}

Test(usage, a_rank_killed_at_the_limit_had_no_memory_left_and_one_killed_elsewhere_had)
{
	for (unsigned killed = 2; killed <= 6; killed += 4) {
		struct program *p = four_nodes();
		program_memory(p, 1, 100 * MIB, 499 * MIB, 500 * MIB);
		program_killed(p, killed, SIGKILL);
		cJSON *root = analyse_program(p, 2e6 + 2);
		cr_expect_eq(issue(root, "out_of_memory") != NULL, killed == 2);
		cr_expect_eq(issue(root, "memory_limit") != NULL, killed != 2);
		cr_expect_not_null(issue(root, "death"));
		if (killed == 2)
			cr_expect_not_null(strstr(text_at(issue(root, "out_of_memory"), "why"),
						  "Rank 2 there was ended by SIGKILL"));
		cJSON_Delete(root);
	}
}

Test(usage, who_was_killed_with_all_others_or_by_who_stopped_the_job_did_not_lack_memory)
{
	static const char *const outcomes[] = {"\"outcome\":{\"state\":\"TIMEOUT\"},",
					       "\"outcome\":{\"state\":\"PREEMPTED\"},", "",
					       "\"outcome\":{\"state\":\"OUT_OF_MEMORY\"},"};
	for (unsigned i = 0; i < 4; i++) {
		struct program *p = four_nodes();
		program_memory(p, 1, 100 * MIB, 499 * MIB, 500 * MIB);
		program_node_members(p, 0, outcomes[i]);
		for (unsigned r = 0; r < 8; r++)
			if (i >= 2 || r == 2)
				program_killed(p, r, SIGKILL);
		cJSON *root = analyse_program(p, 2e6 + 2);
		cr_expect_eq(issue(root, "out_of_memory") != NULL, i == 3, "%u", i);
		cr_expect_eq(issue(root, "memory_limit") != NULL, i != 3, "%u", i);
		cJSON_Delete(root);
	}
}
