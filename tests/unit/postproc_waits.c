/* postproc_waits.c - wait states, efficiencies and issues of programs whose waits are known. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define NEAR 2e-9

static struct call coll(const char *op, enum sig_coll kind, double from, double to, int root)
{
	return (struct call){.op = op,
			     .from_us = from,
			     .to_us = to,
			     .peer = root,
			     .bytes = 8,
			     .from_each = 8,
			     .coll = kind,
			     .line = 7};
}

Test(waits, charges_a_late_sender_to_the_receiver)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0, (struct call){.op = "MPI_Send", .from_us = 100, .to_us = 102, .peer = 1, .bytes = 8});
	program_recv(p, 1, (struct call){.op = "MPI_Recv", .from_us = 30, .to_us = 103, .peer = 0, .bytes = 8});
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "late_sender", 1), 70e-6, NEAR);
	cr_expect_eq(waited(root, "late_receiver", 0), 0);
	cr_expect_eq(field(find_text(root, "wait_states", "state", "late_sender"), "causer"), 0);
	cJSON_Delete(root);
}

Test(waits, counts_a_waitall_for_its_latest_message_not_for_the_sum)
{
	struct program *p = program_create(3, 1);
	struct done done[2];
	for (int i = 0; i < 2; i++) {
		program_recv(p, 0,
			     (struct call){.op = "MPI_Irecv",
					   .from_us = i,
					   .to_us = i + 1,
					   .peer = i + 1,
					   .bytes = 8,
					   .flags = SIG_STARTS_REQUEST});
		done[i] = (struct done){program_serial(p, 0), i + 1, 0, 8, false};
	}
	program_wait(p, 0, (struct call){.op = "MPI_Waitall", .from_us = 10, .to_us = 101}, done, 2);
	program_send(p, 1, (struct call){.op = "MPI_Send", .from_us = 50, .to_us = 51, .bytes = 8});
	program_send(p, 2, (struct call){.op = "MPI_Send", .from_us = 100, .to_us = 101, .bytes = 8});
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "late_sender", 0), 90e-6, NEAR);
	cr_expect_eq(field(find_text(root, "wait_states", "state", "late_sender"), "count"), 1);
	cJSON_Delete(root);
}

/* What the tracer makes of an array that is longer than one event's: more of a Waitall, for one request. */
static void more_of_waitall(struct program *p, double at_us, uint64_t serial)
{
	const uint64_t words[] = {sig_pair(1, 3), sig_run_word(serial, 1, SIG_RUN_ABSOLUTE)};
	program_words(p, 0, (struct call){.op = "MPI_Waitall", .from_us = at_us, .to_us = at_us}, SIG_COMPLETE, 1,
		      words, 2);
}

Test(waits, counts_a_waitall_once_that_is_recorded_in_several_events)
{
	struct program *p = program_create(4, 1);
	uint64_t serials[3];
	for (int i = 0; i < 3; i++) {
		program_recv(p, 0,
			     (struct call){.op = "MPI_Irecv",
					   .from_us = i,
					   .to_us = i + 1,
					   .peer = i + 1,
					   .bytes = 8,
					   .flags = SIG_STARTS_REQUEST});
		serials[i] = program_serial(p, 0);
	}
	program_wait(p, 0, (struct call){.op = "MPI_Waitall", .from_us = 10, .to_us = 101, .line = 5},
		     &(struct done){serials[0], NO_STATUS, 0, 0, false}, 1);
	more_of_waitall(p, 101, serials[1]);
	more_of_waitall(p, 101, serials[2]);
	for (unsigned i = 1; i < 4; i++) {
		double at_us = 20 + 20 * i;
		program_send(p, i, (struct call){.op = "MPI_Send", .from_us = at_us, .to_us = at_us + 1, .bytes = 8});
	}
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "late_sender", 0), 70e-6, NEAR);
	cr_expect_eq(field(find_text(root, "wait_states", "state", "late_sender"), "count"), 1);
	cr_expect_float_eq(field(find_text(root, "callsites", "op", "MPI_Waitall"), "wait_s"), 70e-6, NEAR);
	cJSON_Delete(root);
}

Test(waits, charges_a_late_receiver_only_to_a_send_that_blocked)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0,
		     (struct call){.op = "MPI_Ssend",
				   .from_us = 10,
				   .to_us = 91,
				   .peer = 1,
				   .bytes = 8,
				   .flags = SIG_SYNCHRONOUS});
	program_send(p, 0, (struct call){.op = "MPI_Send", .from_us = 100, .to_us = 101, .peer = 1, .bytes = 8});
	program_recv(p, 1, (struct call){.op = "MPI_Recv", .from_us = 90, .to_us = 92, .bytes = 8});
	program_recv(p, 1, (struct call){.op = "MPI_Recv", .from_us = 500, .to_us = 501, .bytes = 8});
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "late_receiver", 0), 80e-6, NEAR);
	cr_expect_eq(field(find_text(root, "wait_states", "state", "late_receiver"), "count"), 1);
	cJSON_Delete(root);
}

Test(waits, splits_a_barrier_into_waiting_and_completion)
{
	struct program *p = program_create(3, 1);
	program_coll(p, 0, coll("MPI_Barrier", COLL_BARRIER, 10, 105, SIG_NO_ROOT));
	program_coll(p, 1, coll("MPI_Barrier", COLL_BARRIER, 50, 108, SIG_NO_ROOT));
	program_coll(p, 2, coll("MPI_Barrier", COLL_BARRIER, 100, 105, SIG_NO_ROOT));
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "wait_at_barrier", 0), 90e-6, NEAR);
	cr_expect_float_eq(waited(root, "wait_at_barrier", 1), 50e-6, NEAR);
	cr_expect_eq(waited(root, "wait_at_barrier", 2), 0);
	cr_expect_float_eq(waited(root, "barrier_completion", 1), 3e-6, NEAR);
	cr_expect_float_eq(field(find(root, "barrier_spreads", "communicator", 0, NULL), "max_s"), 90e-6, NEAR);
	cr_expect_eq(field(find(root, "barrier_spreads", "communicator", 0, NULL), "last_rank"), 2);
	cJSON_Delete(root);
}

Test(waits, finds_the_state_of_each_kind_of_collective)
{
	struct program *p = program_create(3, 1);
	for (unsigned r = 0; r < 3; r++) {
		double late = r == 1 ? 40 : 0; /* rank 1 comes 40 us late to everything */
		program_coll(p, r, coll("MPI_Allreduce", COLL_ALLREDUCE, 100 + late, 145, SIG_NO_ROOT));
		program_coll(p, r, coll("MPI_Bcast", COLL_BCAST, 200 + late, 245, 1));
		program_coll(p, r, coll("MPI_Reduce", COLL_REDUCE, 300 + late, 345, 0));
		program_coll(p, r, coll("MPI_Scan", COLL_SCAN, 400 + late, 445, SIG_NO_ROOT));
	}
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "wait_at_nxn", 0), 40e-6, NEAR);
	cr_expect_float_eq(waited(root, "late_broadcast", 2), 40e-6, NEAR);
	cr_expect_eq(waited(root, "late_broadcast", 1), 0);
	cr_expect_eq(waited(root, "early_reduce", 0), 0, "rank 2 was there: the root lost nothing for certain");
	cr_expect_float_eq(waited(root, "late_reduce", 0), 40e-6, NEAR, "but it waits for rank 1");
	cr_expect_eq(waited(root, "late_reduce", 2), 0);
	cr_expect_float_eq(waited(root, "early_scan", 2), 40e-6, NEAR);
	cr_expect_eq(waited(root, "early_scan", 0), 0);
	cJSON_Delete(root);
}

Test(waits, takes_a_nonblocking_collective_at_its_completion)
{
	struct program *p = program_create(2, 1);
	for (unsigned r = 0; r < 2; r++) {
		struct call c = coll("MPI_Ibarrier", COLL_BARRIER, 10 + 90 * r, 11 + 90 * r, SIG_NO_ROOT);
		c.flags = SIG_STARTS_REQUEST;
		program_coll(p, r, c);
		struct done done = {program_serial(p, r), NO_STATUS, 0, 0, false};
		program_wait(p, r, (struct call){.op = "MPI_Wait", .from_us = 60 + 50 * r, .to_us = 112}, &done, 1);
	}
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "wait_at_barrier", 0), 40e-6, NEAR);
	cJSON_Delete(root);
}

/* Three ranks that have all started op by 21 us; rank 1 computes until 500. */
static struct program *completed_late(struct call op, const char *with, const double ends[2])
{
	struct program *p = program_create(3, 1);
	const double from[] = {110, 500, 120}, to[] = {ends[0], 511, ends[1]};
	for (unsigned r = 0; r < 3; r++) {
		struct call c = op;
		c.from_us = 10 + r;
		c.to_us = 20 + r;
		c.flags = SIG_STARTS_REQUEST;
		program_coll(p, r, c);
		struct done done = {program_serial(p, r), NO_STATUS, 0, 0, false};
		struct call complete = {
			.op = r == 1 ? with : "MPI_Wait", .from_us = from[r], .to_us = to[r], .line = 8};
		uint64_t words[] = {sig_pair(0, 1)};
		if (r == 1 && strcmp(with, "MPI_Test") == 0)
			program_poll(p, 1, (struct call){.op = with, .from_us = 100, .to_us = 490, .line = 8},
				     SIG_COMPLETE, words, 1, 10, 300);
		program_wait(p, r, complete, &done, 1);
	}
	return p;
}

static struct program *late_to_complete(const char *with, const double ends[2])
{
	return completed_late(coll("MPI_Iallreduce", COLL_ALLREDUCE, 0, 0, SIG_NO_ROOT), with, ends);
}

Test(waits, a_nonblocking_collective_waits_for_the_last_that_comes_to_complete_it)
{
	cJSON *root = analyse_program(late_to_complete("MPI_Wait", (double[]){510, 512}), 1000);
	cr_expect_float_eq(waited(root, "wait_at_nxn", 0), 390e-6, NEAR);
	cr_expect_float_eq(waited(root, "wait_at_nxn", 2), 380e-6, NEAR);
	cr_expect_float_eq(waited(root, "nxn_completion", 2), 2e-6, NEAR);
	cr_expect_eq(field(find_text(root, "wait_states", "state", "wait_at_nxn"), "causer"), 1);
	cr_expect_eq(field(find_text(root, "wait_states", "state", "wait_at_nxn"), "count"), 1);
	cr_expect_eq(field(cJSON_GetArrayItem(node_at(root, "delays.per_rank"), 0), "rank"), 1);
	cr_expect_float_eq(at_path(root, "delays.waits_s"), 770e-6, NEAR);
	cr_expect_eq(field(cJSON_GetArrayItem(node_at(root, "critical_path.segments"), 0), "rank"), 1);
	const cJSON *late = cJSON_GetObjectItem(find_text(root, "callsites", "op", "MPI_Wait"), "lateness");
	cr_expect_eq(late != NULL ? field(late, "calls") : 0, 3, "they leave together: one step");
	cJSON_Delete(root);
}

Test(waits, whose_collective_is_over_before_the_last_comes_or_long_after_did_not_wait_for_it)
{
	cJSON *root = analyse_program(late_to_complete("MPI_Wait", (double[]){300, 950}), 1000);
	cr_expect_eq(waited(root, "wait_at_nxn", 0), 0);
	cr_expect_eq(waited(root, "wait_at_nxn", 2), 0);
	cJSON_Delete(root);
}

/* Rank 0 needs rank 2, and rank 1 only later or not at all, as libraries pass data on. */
Test(waits, a_nonblocking_collective_waits_for_who_came_before_it_was_over)
{
	cJSON *root = analyse_program(late_to_complete("MPI_Wait", (double[]){125, 512}), 1000);
	const cJSON *row = find(root, "wait_states", "rank", 0, NULL);
	cr_expect_float_eq(waited(root, "wait_at_nxn", 0), 10e-6, NEAR);
	cr_expect_eq(field(row, "causer"), 2);
	cr_expect_float_eq(waited(root, "wait_at_nxn", 2), 380e-6, NEAR);
	cJSON_Delete(root);
}

/* Whoever passes it on, or gathers it: root and leaves. */
Test(waits, a_nonblocking_collective_with_a_root_waits_for_who_comes_to_complete_it)
{
	static const struct call kinds[] = {{.op = "MPI_Ibcast", .coll = COLL_BCAST, .bytes = 8},
					    {.op = "MPI_Ireduce", .coll = COLL_REDUCE, .bytes = 8}};
	for (int i = 0; i < 2; i++) {
		cJSON *root = analyse_program(completed_late(kinds[i], "MPI_Wait", (double[]){510, 512}), 1000);
		cr_expect_float_eq(waited(root, "wait_for_member", 0), 390e-6, NEAR);
		cr_expect_float_eq(waited(root, "wait_for_member", 2), 380e-6, NEAR);
		cr_expect_eq(field(find_text(root, "wait_states", "state", "wait_for_member"), "causer"), 1);
		cr_expect_float_eq(at_path(root, "delays.waits_s"), 770e-6, NEAR);
		cr_expect_eq(field(cJSON_GetArrayItem(node_at(root, "delays.per_rank"), 0), "rank"), 1);
		cr_expect_eq(field(cJSON_GetArrayItem(node_at(root, "critical_path.segments"), 0), "rank"), 1);
		cJSON_Delete(root);
	}
}

/* Rank 2 gathers from rank 3, and sends both parts on. */
Test(waits, who_passes_data_on_in_a_collective_waits_for_who_it_has_it_from)
{
	struct program *p = program_create(4, 1);
	const double from[] = {10, 11, 14, 500}, to[] = {505, 13, 503, 502};
	for (unsigned r = 0; r < 4; r++)
		program_coll(p, r, coll("MPI_Gather", COLL_GATHER, from[r], to[r], 0));
	cJSON *root = analyse_program(p, 1000);
	const cJSON *row = find_text(root, "wait_states", "state", "wait_for_member");
	cr_assert_not_null(row);
	cr_expect_eq(field(row, "rank"), 2);
	cr_expect_eq(field(row, "causer"), 3);
	cr_expect_float_eq(field(row, "seconds"), 486e-6, NEAR);
	cr_expect_float_eq(waited(root, "late_reduce", 0) + waited(root, "early_reduce", 0), 490e-6, NEAR);
	cr_expect_float_eq(at_path(root, "delays.waits_s"), 976e-6, NEAR);
	cJSON_Delete(root);
}

/* Who tests is there all the time. */
Test(waits, nobody_waits_for_one_that_has_tested_for_it)
{
	cJSON *root = analyse_program(late_to_complete("MPI_Test", (double[]){510, 512}), 1000);
	cr_expect_eq(waited(root, "wait_at_nxn", 0), 0);
	cr_expect_eq(waited(root, "wait_at_nxn", 2), 0);
	cJSON_Delete(root);
}

#define TRACING 0.05 /* us a call, in every program of program.h: not useful time */

Test(efficiency, is_what_pop_defines)
{
	struct program *p = program_create(2, 1);
	program_coll(p, 0, coll("MPI_Barrier", COLL_BARRIER, 500, 1000, SIG_NO_ROOT));
	program_coll(p, 1, coll("MPI_Barrier", COLL_BARRIER, 900, 1000, SIG_NO_ROOT));
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(at_path(root, "efficiency.load_balance"), (700 - TRACING) / (900 - TRACING), 1e-6);
	cr_expect_float_eq(at_path(root, "efficiency.communication"), (900 - TRACING) / 1000, 1e-6);
	cr_expect_float_eq(at_path(root, "efficiency.parallel"), (700 - TRACING) / 1000, 1e-6);
	cr_expect_not_null(find_text(root, "issues", "issue", "load_imbalance"));
	cr_expect_not_null(find_text(root, "issues", "issue", "barrier_imbalance"));
	cJSON_Delete(root);
}

/* 0 computes 100 us, sends; 1 receives, computes 100 us, sends back: nothing runs side by side. */
Test(efficiency, splits_communication_into_serialization_and_transfer)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0, (struct call){.op = "MPI_Send", .from_us = 100, .to_us = 101, .peer = 1, .bytes = 8});
	program_recv(p, 0, (struct call){.op = "MPI_Recv", .from_us = 101, .to_us = 250, .peer = 1, .bytes = 8});
	program_recv(p, 1, (struct call){.op = "MPI_Recv", .from_us = 0, .to_us = 125, .bytes = 8});
	program_send(p, 1, (struct call){.op = "MPI_Send", .from_us = 225, .to_us = 226, .bytes = 8});
	for (unsigned r = 0; r < 2; r++)
		program_coll(p, r, coll("MPI_Barrier", COLL_BARRIER, 250, 250, SIG_NO_ROOT));
	cJSON *root = analyse_program(p, 250);
	cr_expect_float_eq(at_path(root, "efficiency.ideal_s"), 224e-6, 1e-9, "100 + 100 + 24 before the barrier");
	cr_expect_float_eq(at_path(root, "efficiency.transfer"), 224.0 / 250, 1e-6);
	cr_expect_float_eq(at_path(root, "efficiency.serialization"), (124 - 3 * TRACING) / 224, 1e-6);
	cr_expect_float_eq(at_path(root, "efficiency.communication"),
			   at_path(root, "efficiency.serialization") * at_path(root, "efficiency.transfer"), 1e-6);
	cJSON_Delete(root);
}

Test(waits, tells_the_part_in_which_another_message_was_there_already)
{
	struct program *p = program_create(3, 1);
	program_recv(p, 0, (struct call){.op = "MPI_Recv", .from_us = 10, .to_us = 102, .peer = 1, .bytes = 8});
	program_recv(p, 0, (struct call){.op = "MPI_Recv", .from_us = 103, .to_us = 104, .peer = 2, .bytes = 8});
	program_send(p, 1, (struct call){.op = "MPI_Send", .from_us = 100, .to_us = 101, .bytes = 8});
	program_send(p, 2, (struct call){.op = "MPI_Send", .from_us = 40, .to_us = 41, .bytes = 8});
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "late_sender", 0), 90e-6, NEAR);
	cr_expect_float_eq(waited(root, "late_sender_wrong_order", 0), 60e-6, NEAR);
	cr_expect_float_eq(field(find(root, "per_rank", "rank", 0, NULL), "wait_s"), 90e-6, NEAR);
	cJSON_Delete(root);
}

Test(critical_path, jumps_to_whom_was_waited_for)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0, (struct call){.op = "MPI_Send", .from_us = 700, .to_us = 701, .peer = 1, .bytes = 8});
	program_recv(p, 1, (struct call){.op = "MPI_Recv", .from_us = 100, .to_us = 710, .bytes = 8});
	cJSON *root = analyse_program(p, 1000); /* both come to MPI_Finalize at 1000; rank 0 is looked at first */
	cr_expect_float_eq(at_path(root, "critical_path.length_s"), 1000e-6, 1e-9);
	cJSON_Delete(root);
	p = program_create(2, 1);
	program_send(p, 1, (struct call){.op = "MPI_Send", .from_us = 700, .to_us = 701, .peer = 0, .bytes = 8});
	program_recv(p, 0, (struct call){.op = "MPI_Recv", .from_us = 100, .to_us = 710, .peer = 1, .bytes = 8});
	root = analyse_program(p, 1000);
	cr_expect_eq(at_path(root, "critical_path.jumps"), 1);
	cr_expect_float_eq(at_path(root, "critical_path.mpi_s"), 10e-6, 1e-9);
	cJSON *late = find(root, "critical_path.per_rank", "rank", 1, NULL);
	cr_expect_float_eq(field(late, "useful_s"), 700e-6, 1e-9);
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "critical_path.segments")), 2);
	cJSON_Delete(root);
}

Test(issues, has_nothing_to_fix_where_nothing_is_lost)
{
	struct program *p = program_create(4, 1);
	for (unsigned r = 0; r < 4; r++)
		for (int i = 0; i < 9; i++)
			program_coll(p, r,
				     coll("MPI_Allreduce", COLL_ALLREDUCE, 100 * i + 95, 100 * i + 96, SIG_NO_ROOT));
	cJSON *root = analyse_program(p, 1000);
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "issues")), 0);
	cr_expect_str_eq(cJSON_GetStringValue(node_at(root, "verdict")), "nothing to fix");
	cJSON_Delete(root);
}

Test(issues, names_requests_that_leak)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0,
		     (struct call){.op = "MPI_Isend",
				   .from_us = 1,
				   .to_us = 2,
				   .peer = 1,
				   .bytes = 8,
				   .flags = SIG_STARTS_REQUEST});
	program_recv(p, 1, (struct call){.op = "MPI_Recv", .from_us = 1, .to_us = 3, .bytes = 8});
	cJSON *root = analyse_program(p, 1000);
	cJSON *leak = find_text(root, "issues", "issue", "request_leak");
	cr_assert_not_null(leak);
	cr_expect_eq(at_path(leak, "metric.value"), 1);
	cJSON_Delete(root);
}
