/* postproc_offsets.c - clocks of nodes that are off and drift, in steps of which the truth is known. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Ping-pong between two nodes every 100 us; 3 us a message each way. */
static void ping_pong(struct program *p, unsigned a, unsigned b, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		double t = 100.0 * i;
		program_send(p, a,
			     (struct call){.op = "MPI_Send", .from_us = t, .to_us = t + 1, .peer = (int)b, .bytes = 8});
		program_recv(
			p, a,
			(struct call){.op = "MPI_Recv", .from_us = t + 5, .to_us = t + 13, .peer = (int)b, .bytes = 8});
		program_recv(p, b,
			     (struct call){.op = "MPI_Recv", .from_us = t, .to_us = t + 3, .peer = (int)a, .bytes = 8});
		program_send(p, b,
			     (struct call){
				     .op = "MPI_Send", .from_us = t + 10, .to_us = t + 11, .peer = (int)a, .bytes = 8});
	}
}

Test(clock, finds_a_node_that_is_off_and_drifts)
{
	struct program *p = program_create(2, 2);
	program_clock(p, 1, 50000, 40);
	ping_pong(p, 0, 1, 2000);
	cJSON *root = analyse_program(p, 200000);
	cr_expect_leq(at_path(root, "clock.error_bound_us"), 4);
	cr_expect_geq(at_path(root, "clock.error_bound_us"), 1);
	cr_expect_eq(at_path(root, "clock.violations"), 0);
	/* b waits 0 us for the ping; a waits 5 us for each pong: 10 - 5, up to the clock's error */
	cr_expect_float_eq(waited(root, "late_sender", 0), 2000 * 5e-6, 2000 * 3e-6);
	cJSON_Delete(root);
}

/* Before clocks are known, messages come windows of the stream before they are sent. */
Test(clock, finds_a_node_that_is_off_by_more_than_is_looked_at_together)
{
	const int n = 40000;
	struct program *p = program_create(2, 2);
	program_clock(p, 1, 2e6, 0);
	ping_pong(p, 0, 1, n);
	cJSON *root = analyse_program(p, n * 100.0 + 1000);
	cr_expect_leq(at_path(root, "clock.error_bound_us"), 4);
	cr_expect_eq(at_path(root, "clock.violations"), 0);
	cr_expect_float_eq(waited(root, "late_sender", 0), n * 5e-6, n * 3e-6);
	cJSON_Delete(root);
}

Test(clock, carries_over_a_node_that_speaks_with_one_other_only)
{
	struct program *p = program_create(3, 3);
	program_clock(p, 1, -700, 0);
	program_clock(p, 2, 90000, -30);
	ping_pong(p, 0, 1, 500);
	cJSON *root;
	for (int i = 0; i < 500; i++) { /* after that, 1 and 2 */
		double t = 60000 + 100.0 * i;
		program_send(p, 1,
			     (struct call){.op = "MPI_Send", .from_us = t, .to_us = t + 1, .peer = 2, .bytes = 8});
		program_recv(p, 1,
			     (struct call){.op = "MPI_Recv", .from_us = t + 5, .to_us = t + 13, .peer = 2, .bytes = 8});
		program_recv(p, 2,
			     (struct call){.op = "MPI_Recv", .from_us = t, .to_us = t + 3, .peer = 1, .bytes = 8});
		program_send(
			p, 2,
			(struct call){.op = "MPI_Send", .from_us = t + 10, .to_us = t + 11, .peer = 1, .bytes = 8});
	}
	root = analyse_program(p, 120000);
	cr_expect_eq(at_path(root, "clock.nodes_unlinked"), 0);
	cr_expect_leq(at_path(root, "clock.error_bound_us"), 60);
	cr_expect_eq(at_path(root, "clock.violations"), 0);
	cJSON_Delete(root);
}

Test(clock, leaves_good_clocks_alone_and_bounds_their_error)
{
	struct program *p = program_create(2, 2);
	program_clock(p, 1, 1, 0);
	ping_pong(p, 0, 1, 1000);
	cJSON *root = analyse_program(p, 100000);
	cr_expect_not_null(strstr(cJSON_GetStringValue(node_at(root, "clock.method")), "no message contradicts"));
	cr_expect_geq(at_path(root, "clock.error_bound_us"), 3);
	cr_expect_leq(at_path(root, "clock.error_bound_us"), 6);
	cr_expect_eq(at_path(root, "clock.violations"), 0);
	cJSON_Delete(root);
}

/* A clock that is first right and then 5 ms off follows no line: what cannot be aligned is moved.
 */
Test(clock, repairs_what_still_runs_backwards_and_counts_it)
{
	struct program *p = program_create(2, 2);
	ping_pong(p, 0, 1, 100);
	for (int i = 0; i < 100; i++) { /* rank 1's clock is 5000 us behind from here on */
		double t = 20000 + 100.0 * i, u = t - 5000;
		program_send(p, 0,
			     (struct call){.op = "MPI_Send", .from_us = t, .to_us = t + 1, .peer = 1, .bytes = 8});
		program_recv(p, 0,
			     (struct call){.op = "MPI_Recv", .from_us = t + 5, .to_us = t + 13, .peer = 1, .bytes = 8});
		program_recv(p, 1,
			     (struct call){.op = "MPI_Recv", .from_us = u, .to_us = u + 3, .peer = 0, .bytes = 8});
		program_send(
			p, 1,
			(struct call){.op = "MPI_Send", .from_us = u + 10, .to_us = u + 11, .peer = 0, .bytes = 8});
	}
	cJSON *root = analyse_program(p, 40000);
	cr_expect_gt(at_path(root, "clock.violations_repaired"), 50);
	cr_expect_gt(at_path(root, "clock.events_moved"), 50);
	cr_expect_eq(at_path(root, "clock.violations"), 0);
	cJSON_Delete(root);
}

Test(clock, says_that_it_does_not_know_without_traffic_both_ways)
{
	struct program *p = program_create(2, 2);
	program_send(p, 0, (struct call){.op = "MPI_Send", .from_us = 10, .to_us = 11, .peer = 1, .bytes = 8});
	program_recv(p, 1, (struct call){.op = "MPI_Recv", .from_us = 10, .to_us = 14, .bytes = 8});
	cJSON *root = analyse_program(p, 1000);
	cr_expect(cJSON_IsNull(node_at(root, "clock.error_bound_us")));
	cr_expect_eq(at_path(root, "clock.nodes_unlinked"), 1);
	cJSON_Delete(root);
}
