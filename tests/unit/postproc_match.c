/* postproc_match.c - who belongs to whom: programs with known messages. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <math.h>

static struct call send_to(double from, double to, int peer, int tag, uint64_t bytes)
{
	return (struct call){
		.op = "MPI_Send", .from_us = from, .to_us = to, .peer = peer, .tag = tag, .bytes = bytes, .line = 1};
}

static struct call recv_from(double from, double to, int peer, int tag, uint64_t bytes)
{
	return (struct call){
		.op = "MPI_Recv", .from_us = from, .to_us = to, .peer = peer, .tag = tag, .bytes = bytes, .line = 2};
}

Test(match, counts_each_message_once)
{
	struct program *p = program_create(2, 1);
	for (int i = 0; i < 10; i++) {
		program_send(p, 0, send_to(10 + 100 * i, 12 + 100 * i, 1, i % 3, 1000));
		program_recv(p, 1, recv_from(11 + 100 * i, 14 + 100 * i, 0, i % 3, 1000));
	}
	cJSON *root = analyse_program(p, 2000);
	cr_expect_eq(at_path(root, "summary.transfers"), 10);
	cr_expect_eq(at_path(root, "summary.bytes"), 10000);
	cr_expect_eq(field(find(root, "matrix.p2p", "src", 0, "dst", 1, NULL), "messages"), 10);
	cr_expect_eq(field(find(root, "per_rank", "rank", 1, NULL), "messages_in"), 10);
	cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Send"), "calls"), 10);
	cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Send"), "bytes"), 10000);
	cr_expect(cJSON_IsTrue(node_at(root, "coverage.complete")));
	cJSON_Delete(root);
}

Test(match, resolves_wildcards_by_what_the_status_says)
{
	struct program *p = program_create(3, 1);
	struct call any = recv_from(0, 50, 2, 7, 300);
	any.flags = SIG_ANY_SOURCE | SIG_ANY_TAG;
	program_recv(p, 0, any);
	any.from_us = 50, any.to_us = 60, any.peer = 1, any.tag = 8, any.bytes = 200;
	program_recv(p, 0, any);
	program_send(p, 1, send_to(5, 6, 0, 8, 200));
	program_send(p, 2, send_to(40, 41, 0, 7, 300));
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(at_path(root, "summary.transfers"), 2);
	cr_expect_eq(at_path(root, "coverage.unmatched.sends"), 0);
	cr_expect_float_eq(field(find(root, "wait_states", "rank", 0, NULL), "seconds"), 40e-6, 1e-9);
	cJSON_Delete(root);
}

Test(match, takes_nonblocking_wildcards_from_their_completion)
{
	struct program *p = program_create(2, 1);
	struct call irecv = {.op = "MPI_Irecv",
			     .from_us = 0,
			     .to_us = 1,
			     .peer = SIG_ANY,
			     .tag = SIG_ANY,
			     .bytes = 64,
			     .flags = SIG_STARTS_REQUEST | SIG_ANY_SOURCE | SIG_ANY_TAG};
	program_recv(p, 0, irecv);
	struct done done = {program_serial(p, 0), 1, 5, 48, false};
	program_wait(p, 0, (struct call){.op = "MPI_Wait", .from_us = 10, .to_us = 60}, &done, 1);
	program_send(p, 1, send_to(50, 51, 0, 5, 48));
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(at_path(root, "summary.transfers"), 1);
	cr_expect_eq(at_path(root, "summary.bytes"), 48);
	cr_expect_eq(at_path(root, "summary.completions"), 1);
	cJSON *wait = find_text(root, "wait_states", "state", "late_sender");
	cr_expect_float_eq(field(wait, "seconds"), 40e-6, 1e-9);
	cJSON_Delete(root);
}

Test(match, counts_every_start_of_a_persistent_request)
{
	struct program *p = program_create(2, 1);
	struct call init = {
		.op = "MPI_Send_init", .peer = 1, .tag = 3, .bytes = 100, .flags = SIG_STARTS_REQUEST | SIG_PERSISTENT};
	program_send(p, 0, init);
	uint64_t serial = program_serial(p, 0);
	for (int i = 0; i < 4; i++) {
		struct done done = {serial, NO_STATUS, 0, 0, false};
		program_start(p, 0, (struct call){.op = "MPI_Start", .from_us = 10 + 10 * i, .to_us = 11 + 10 * i},
			      &serial, 1);
		program_wait(p, 0, (struct call){.op = "MPI_Wait", .from_us = 12 + 10 * i, .to_us = 13 + 10 * i}, &done,
			     1);
		program_recv(p, 1, recv_from(10 + 10 * i, 14 + 10 * i, 0, 3, 100));
	}
	program_free_request(p, 0, (struct call){.from_us = 90, .to_us = 91}, serial);
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(at_path(root, "summary.transfers"), 4);
	cr_expect_eq(field(find(root, "matrix.p2p", "src", 0, "dst", 1, NULL), "bytes"), 400);
	cr_expect_eq(at_path(root, "summary.completions"), 4);
	cr_expect_null(find_text(root, "issues", "issue", "request_leak"));
	cJSON_Delete(root);
}

Test(match, takes_sendrecv_as_one_send_and_one_receive)
{
	struct program *p = program_create(3, 1);
	for (int r = 0; r < 3; r++)
		program_sendrecv(p, (unsigned)r,
				 (struct call){.op = "MPI_Sendrecv",
					       .from_us = 10,
					       .to_us = 20,
					       .peer = (r + 1) % 3,
					       .tag = 1,
					       .bytes = 8,
					       .recv_peer = (r + 2) % 3,
					       .recv_tag = 1,
					       .recv_bytes = 8});
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(at_path(root, "summary.transfers"), 3);
	cr_expect_eq(at_path(root, "coverage.unmatched.receives"), 0);
	cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Sendrecv"), "calls"), 3);
	cJSON_Delete(root);
}

Test(match, counts_proc_null_and_cancelled_and_matches_them_with_nothing)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0, send_to(1, 2, SIG_PROC_NULL, 0, 8));
	program_recv(p, 0,
		     (struct call){.op = "MPI_Irecv",
				   .from_us = 3,
				   .to_us = 4,
				   .peer = 1,
				   .tag = 0,
				   .bytes = 8,
				   .flags = SIG_STARTS_REQUEST});
	struct done done = {program_serial(p, 0), 1, 0, 0, true};
	program_wait(p, 0, (struct call){.op = "MPI_Wait", .from_us = 5, .to_us = 6}, &done, 1);
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(at_path(root, "summary.transfers"), 0);
	cr_expect_eq(at_path(root, "coverage.unmatched.proc_null"), 1);
	cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Send"), "bytes"), 0);
	cr_expect_eq(at_path(root, "coverage.unmatched.cancelled"), 1);
	cr_expect_eq(at_path(root, "coverage.unmatched.receives"), 0);
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "matrix.p2p")), 0);
	cJSON_Delete(root);
}

Test(match, keeps_communicators_apart_and_speaks_in_world_ranks)
{
	struct program *p = program_create(4, 2);
	uint32_t odd = program_comm(p, "odd", (int32_t[]){1, 3}, 2);
	struct call send = send_to(10, 12, 1, 0, 16), recv = recv_from(10, 20, 0, 0, 16);
	send.comm = recv.comm = odd;
	program_send(p, 1, send);
	program_recv(p, 3, recv);
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(field(find(root, "matrix.p2p", "src", 1, "dst", 3, NULL), "bytes"), 16);
	cr_expect_eq(at_path(root, "summary.transfers"), 1);
	cr_expect_not_null(find_text(root, "communicators", "name", "odd"));
	cJSON_Delete(root);
}

Test(match, speaks_in_world_ranks_across_an_inter_communicator)
{
	struct program *p = program_create(4, 1);
	uint32_t inter = program_intercomm(p, (int32_t[]){0, 1}, 2, (int32_t[]){2, 3}, 2);
	struct call send = send_to(10, 12, 1, 0, 24), recv = recv_from(10, 20, 0, 0, 24);
	send.comm = recv.comm = inter;
	program_send(p, 0, send);
	program_recv(p, 3, recv);
	for (unsigned r = 0; r < 4; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = 30,
					   .to_us = 40,
					   .comm = inter,
					   .peer = SIG_NO_ROOT,
					   .coll = COLL_BARRIER});
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(field(find(root, "matrix.p2p", "src", 0, "dst", 3, NULL), "bytes"), 24);
	cr_expect_eq(at_path(root, "summary.transfers"), 1);
	cr_expect_eq(at_path(root, "coverage.unmatched.collectives"), 0);
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "communicators")), 1);
	cJSON_Delete(root);
}

Test(match, says_what_was_never_received)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0, send_to(1, 2, 1, 0, 8));
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(at_path(root, "coverage.unmatched.program"), 1);
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "coverage.reasons")), 1);
	cr_expect_not_null(find_text(root, "issues", "issue", "unmatched"));
	cJSON_Delete(root);
}

static void all_call(struct program *p, const char *op, enum sig_coll kind, int root, uint64_t bytes, double at)
{
	for (unsigned r = 0; r < 4; r++)
		program_coll(p, r,
			     (struct call){.op = op,
					   .from_us = at,
					   .to_us = at + 5,
					   .peer = root,
					   .bytes = bytes,
					   .from_each = bytes,
					   .coll = kind});
}

Test(match, attributes_collective_bytes_by_what_the_operation_means)
{
	struct program *p = program_create(4, 1);
	all_call(p, "MPI_Bcast", COLL_BCAST, 1, 10, 10);
	all_call(p, "MPI_Reduce", COLL_REDUCE, 2, 100, 20);
	all_call(p, "MPI_Alltoall", COLL_ALLTOALL, SIG_NO_ROOT, 1000, 30);
	all_call(p, "MPI_Scan", COLL_SCAN, SIG_NO_ROOT, 10000, 40);
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(field(find(root, "matrix.collective", "src", 1, "dst", 3, NULL), "bytes"), 11010);
	cr_expect_eq(field(find(root, "matrix.collective", "src", 1, "dst", 0, NULL), "bytes"), 1010);
	cr_expect_eq(field(find(root, "matrix.collective", "src", 3, "dst", 2, NULL), "bytes"), 1100);
	cr_expect_eq(at_path(root, "summary.collectives"), 16);
	cr_expect_eq(field(find(root, "collective_roots", "rank", 1, NULL), "operations"), 1);
	cJSON_Delete(root);
}

#define MANY_RANKS 300
#define MATRIX_ROWS 65536

/* 300 x 299 pairs are too many to show; those of the last rank have more bytes than all others. */
Test(match, shows_the_largest_pairs_of_a_matrix_that_is_too_large)
{
	struct program *p = program_create(MANY_RANKS, 1);
	unsigned shown = 0, of_last = 0, before = 0;
	for (unsigned r = 0; r < MANY_RANKS; r++)
		for (int i = 0; i < 2; i++)
			program_coll(p, r,
				     (struct call){.op = i == 0 ? "MPI_Allreduce" : "MPI_Bcast",
						   .from_us = 10 + 10 * i,
						   .to_us = 15 + 10 * i,
						   .peer = i == 0 ? SIG_NO_ROOT : MANY_RANKS - 1,
						   .bytes = 8,
						   .from_each = 8,
						   .coll = i == 0 ? COLL_ALLREDUCE : COLL_BCAST});
	cJSON *root = analyse_program(p, 100), *row;
	cJSON_ArrayForEach(row, node_at(root, "matrix.collective"))
	{
		unsigned place = (unsigned)field(row, "src") * MANY_RANKS + (unsigned)field(row, "dst");
		bool last = field(row, "src") == MANY_RANKS - 1;
		cr_assert(shown == 0 || place > before, "row %u is out of order", shown);
		cr_assert_eq(field(row, "bytes"), last ? 16 : 8);
		of_last += last;
		before = place;
		shown++;
	}
	cr_expect_eq(shown, MATRIX_ROWS);
	cr_expect_eq(of_last, MANY_RANKS - 1);
	cr_expect_eq(at_path(root, "matrix.collective_pairs_left_out"), MANY_RANKS * (MANY_RANKS - 1) - MATRIX_ROWS);
	cr_expect_eq(field(find(root, "per_rank", "rank", 7, NULL), "collective_bytes_in"), 8 * (MANY_RANKS - 1) + 8);
	cr_expect_eq(field(find(root, "per_rank", "rank", MANY_RANKS - 1, NULL), "collective_bytes_out"),
		     16 * (MANY_RANKS - 1));
	cJSON_Delete(root);
}

Test(match, spreads_alltoallv_by_its_sizes)
{
	struct program *p = program_create(2, 1);
	for (unsigned r = 0; r < 2; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Alltoallv",
					   .from_us = 1,
					   .to_us = 2,
					   .peer = SIG_NO_ROOT,
					   .coll = COLL_ALLTOALLV,
					   .sizes = (uint64_t[]){5, 70},
					   .nsizes = 2});
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(field(find(root, "matrix.collective", "src", 0, "dst", 1, NULL), "bytes"), 70);
	cr_expect_eq(field(find(root, "matrix.collective", "src", 1, "dst", 0, NULL), "bytes"), 5);
	cJSON_Delete(root);
}

static double op_bytes(const cJSON *root, const char *op)
{
	return field(find_text(root, "operations", "op", op), "bytes");
}

static double site_bytes(const cJSON *root, const char *address)
{
	return field(find_text(root, "callsites", "address", address), "bytes");
}

static double sum_bytes(const cJSON *root, const char *list)
{
	const cJSON *row;
	double sum = 0;
	cJSON_ArrayForEach(row, node_at(root, list)) sum += field(row, "bytes");
	return sum;
}

/* Every byte of the matrices is sent by one call and received by another. */
static void expect_balance(const cJSON *root)
{
	double moved = sum_bytes(root, "matrix.p2p") + sum_bytes(root, "matrix.collective");
	cr_expect_eq(sum_bytes(root, "operations"), 2 * moved, "%g of %g", sum_bytes(root, "operations"), 2 * moved);
	cr_expect_eq(sum_bytes(root, "callsites"), 2 * moved);
}

Test(bytes, of_collectives_are_what_a_rank_sends_and_receives)
{
	struct program *p = program_create(4, 1);
	all_call(p, "MPI_Bcast", COLL_BCAST, 1, 10, 10);
	all_call(p, "MPI_Reduce", COLL_REDUCE, 2, 100, 20);
	all_call(p, "MPI_Allreduce", COLL_ALLREDUCE, SIG_NO_ROOT, 7, 25);
	all_call(p, "MPI_Alltoall", COLL_ALLTOALL, SIG_NO_ROOT, 1000, 30);
	all_call(p, "MPI_Scan", COLL_SCAN, SIG_NO_ROOT, 10000, 40);
	all_call(p, "MPI_Barrier", COLL_BARRIER, SIG_NO_ROOT, 0, 50);
	for (unsigned r = 0; r < 4; r++) {
		struct call c = {.op = "MPI_Reduce_scatter",
				 .from_us = 60,
				 .to_us = 65,
				 .peer = SIG_NO_ROOT,
				 .coll = COLL_REDUCE_SCATTER,
				 .sizes = (uint64_t[]){1, 20, 300, 4000},
				 .nsizes = 4};
		program_coll(p, r, c);
		c = (struct call){.op = "MPI_Gatherv",
				  .from_us = 70,
				  .to_us = 75,
				  .peer = 3,
				  .coll = COLL_GATHERV,
				  .bytes = r + 1,
				  .sizes = (uint64_t[]){1, 2, 3, 4},
				  .nsizes = r == 3 ? 4 : 0};
		program_coll(p, r, c);
	}
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(op_bytes(root, "MPI_Bcast"), 2 * 3 * 10);
	cr_expect_eq(op_bytes(root, "MPI_Reduce"), 2 * 3 * 100);
	cr_expect_eq(op_bytes(root, "MPI_Allreduce"), 2 * 12 * 7);
	cr_expect_eq(op_bytes(root, "MPI_Alltoall"), 2 * 12 * 1000);
	cr_expect_eq(op_bytes(root, "MPI_Scan"), 2 * 6 * 10000);
	cr_expect_eq(op_bytes(root, "MPI_Barrier"), 0);
	cr_expect_eq(op_bytes(root, "MPI_Reduce_scatter"), 2 * 3 * 4321);
	cr_expect_eq(op_bytes(root, "MPI_Gatherv"), 2 * (1 + 2 + 3));
	expect_balance(root);
	cJSON_Delete(root);
}

/* Rank r sends (dst + 1) * unit bytes to each dst. */
static void alltoallv(struct program *p, unsigned r, double at, unsigned unit, unsigned line)
{
	program_coll(p, r,
		     (struct call){.op = "MPI_Alltoallv",
				   .from_us = at,
				   .to_us = at + 5,
				   .peer = SIG_NO_ROOT,
				   .coll = COLL_ALLTOALLV,
				   .sizes = (uint64_t[]){unit, 2 * unit, 3 * unit},
				   .nsizes = 3,
				   .line = line});
}

/* Rank 0 calls from line 1 in the first operation of each pair, from line 2 in the second; the others send more in
 * it. */
static cJSON *two_sites(bool events, unsigned pairs)
{
	struct program *p = program_create(3, 1);
	for (unsigned r = 0; r < 3 && !events; r++)
		program_budget_spent(p, r);
	for (unsigned i = 0; i < pairs; i++)
		for (unsigned r = 0; r < 3; r++) {
			alltoallv(p, r, 20 * i + 1, r == 0 ? 1 : 10, r == 0 ? 1 : 3 + r);
			alltoallv(p, r, 20 * i + 11, r == 0 ? 1 : 1000, r == 0 ? 2 : 3 + r);
		}
	return analyse_program(p, 20 * pairs + 20);
}

Test(bytes, of_alltoallv_come_from_the_partners_call_by_call)
{
	cJSON *root = two_sites(true, 5);
	cr_expect_eq(op_bytes(root, "MPI_Alltoallv"), 5 * 2.0 * (2 * 5 + (10 + 1000) * (4 + 3)));
	cr_expect_eq(site_bytes(root, "0x400011"), 5 * (5 + 20)); /* sent 2 + 3, got 10 of each */
	cr_expect_eq(site_bytes(root, "0x400021"), 5 * (5 + 2000));
	expect_balance(root);
	cJSON_Delete(root);
}

Test(bytes, of_alltoallv_without_events_are_shared_by_calls_and_add_up)
{
	cJSON *root = two_sites(false, 5);
	cr_expect_eq(op_bytes(root, "MPI_Alltoallv"), 5 * 2.0 * (2 * 5 + (10 + 1000) * (4 + 3)));
	cr_expect_eq(site_bytes(root, "0x400011"), 5 * (5 + 1010));
	cr_expect_eq(site_bytes(root, "0x400021"), 5 * (5 + 1010));
	expect_balance(root);
	cJSON_Delete(root);
}

Test(bytes, of_persistent_requests_stand_at_their_starts)
{
	struct program *p = program_create(2, 1);
	for (unsigned r = 0; r < 2; r++) {
		struct call init = {.op = "MPI_Send_init",
				    .from_us = 1,
				    .to_us = 2,
				    .peer = 1,
				    .bytes = 100,
				    .flags = SIG_STARTS_REQUEST | SIG_PERSISTENT,
				    .line = 1};
		if (r == 0) {
			program_send(p, r, init);
		} else {
			init.op = "MPI_Recv_init";
			init.peer = 0;
			program_recv(p, r, init);
		}
		uint64_t serial = program_serial(p, r);
		for (int i = 1; i <= 3; i++) {
			struct done done = {serial, NO_STATUS, 0, 0, false};
			program_start(
				p, r,
				(struct call){.op = "MPI_Start", .from_us = 10 * i, .to_us = 10 * i + 1, .line = 2},
				&serial, 1);
			program_wait(p, r, (struct call){.op = "MPI_Wait", .from_us = 10 * i + 2, .to_us = 10 * i + 3},
				     &done, 1);
		}
	}
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(op_bytes(root, "MPI_Start"), 600);
	cr_expect_eq(op_bytes(root, "MPI_Send_init"), 0);
	expect_balance(root);
	cJSON_Delete(root);
}

Test(match, keeps_totals_exact_when_the_event_budget_is_spent)
{
	struct program *p = program_create(3, 1);
	for (int i = 0; i < 100; i++) {
		if (i == 10) {
			program_budget_spent(p, 0);
			program_budget_spent(p, 1);
		}
		program_send(p, 0, send_to(10 * i, 10 * i + 1, 1, 0, 8));
		program_recv(p, 1, recv_from(10 * i, 10 * i + 2, 0, 0, 8));
	}
	cJSON *root = analyse_program(p, 2000);
	cr_expect_eq(at_path(root, "summary.transfers"), 10);
	cr_expect_eq(field(find(root, "matrix.p2p", "src", 0, "dst", 1, NULL), "messages"), 100);
	cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Recv"), "calls"), 100);
	cr_expect_eq(at_path(root, "coverage.events_lost"), 180);
	cr_expect(cJSON_IsFalse(node_at(root, "coverage.complete")));
	const cJSON *whole = find(root, "per_rank", "rank", 2, NULL);
	cr_expect(cJSON_IsNull(cJSON_GetObjectItem(whole, "recorded_until_s")), "of it nothing is missing");
	for (int r = 0; r < 2; r++)
		cr_expect_float_eq(field(find(root, "per_rank", "rank", r, NULL), "recorded_until_s"), 100e-6, 1e-9);
	cJSON_Delete(root);
}

Test(scale, a_dense_matrix_of_a_thousand_ranks_stays_readable_and_says_what_is_left_out)
{
	struct program *p = program_create(1000, 20);
	for (unsigned r = 0; r < 1000; r++) {
		program_coll(p, r,
			     (struct call){.op = "MPI_Alltoall",
					   .from_us = 10,
					   .to_us = 20,
					   .peer = SIG_NO_ROOT,
					   .bytes = 4,
					   .from_each = 4,
					   .coll = COLL_ALLTOALL});
		program_send(p, r, send_to(30, 31, (int)(r + 1) % 1000, 0, 65536));
		program_recv(p, r, recv_from(31, 40, (int)(r + 999) % 1000, 0, 65536));
	}
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(at_path(root, "summary.transfers"), 1000);
	cr_expect_eq(at_path(root, "summary.collective_bytes"), 1000.0 * 999 * 4);
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "matrix.collective")), 65536);
	cr_expect_eq(at_path(root, "matrix.collective_pairs_left_out"), 1000 * 999 - 65536);
	cr_expect_eq(field(find(root, "per_rank", "rank", 7, NULL), "collective_bytes_in"), 999 * 4);
	cr_expect_str_eq(
		cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetArrayItem(node_at(root, "patterns"), 0), "pattern")),
		"ring");
	cJSON_Delete(root);
}
