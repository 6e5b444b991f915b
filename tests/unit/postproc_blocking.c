/* postproc_blocking.c - calls that wait and are neither receives nor sends nor plain collectives: how long, for whom.
 */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <string.h>

#define NEAR 2e-9

static double caused(const cJSON *root, int rank)
{
	const cJSON *row = find(root, "delays.per_rank", "rank", rank, NULL);
	return row != NULL ? field(row, "direct_s") : 0;
}

/* ---- probes ---- */

static void probe(struct program *p, unsigned rank, double from, double to, unsigned peer, unsigned tag)
{
	uint64_t words[] = {sig_pair(0, peer), sig_pair(tag, 0), 8};
	struct call c = {.op = "MPI_Probe", .from_us = from, .to_us = to, .flags = SIG_SIZED};
	program_words(p, rank, c, SIG_PROBE, 0, words, 3);
}

static struct call message(const char *op, double from, double to, int peer, int tag)
{
	return (struct call){.op = op, .from_us = from, .to_us = to, .peer = peer, .tag = tag, .bytes = 8};
}

Test(blocking, a_probe_waits_for_the_message_that_it_finds)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0, message("MPI_Send", 10, 11, 1, 5));
	program_send(p, 0, message("MPI_Send", 100, 101, 1, 5));
	program_recv(p, 1, message("MPI_Recv", 20, 21, 0, 5));
	probe(p, 1, 30, 102, 0, 5); /* the second message, which the next receive takes */
	program_recv(p, 1, message("MPI_Recv", 110, 111, 0, 5));
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "late_sender", 1), 70e-6, NEAR);
	cr_expect_eq(field(wait_row(root, "late_sender", 1), "count"), 1);
	cr_expect_eq(field(wait_row(root, "late_sender", 1), "causer"), 0);
	cr_expect_float_eq(caused(root, 0), 70e-6, NEAR);
	cr_expect_eq(caused(root, 1), 0);
	cr_expect_eq(at_path(root, "coverage.unmatched.sends"), 0);
	cr_expect_eq(at_path(root, "coverage.unmatched.receives"), 0);
	cJSON_Delete(root);
}

/* Two looks at one message, and it is received as if nobody had looked. */
Test(blocking, a_message_may_be_probed_again_and_never_received)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0, message("MPI_Send", 100, 101, 1, 5));
	probe(p, 1, 30, 102, 0, 5);
	probe(p, 1, 110, 111, 0, 5);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "late_sender", 1), 70e-6, NEAR);
	cr_expect_eq(at_path(root, "coverage.unmatched.sends"), 1);
	cr_expect_eq(at_path(root, "coverage.unmatched.receives"), 0);
	cJSON_Delete(root);
}

/* ---- communicators ---- */

static void comm_call(struct program *p, unsigned rank, const char *op, double from, double to)
{
	uint64_t words[] = {sig_pair(0, SIG_NO_COMM)};
	program_words(p, rank, (struct call){.op = op, .from_us = from, .to_us = to}, SIG_COMM, 0, words, 1);
}

Test(blocking, making_a_communicator_waits_for_the_last_of_its_parent)
{
	struct program *p = program_create(3, 1);
	comm_call(p, 0, "MPI_Comm_dup", 10, 81);
	comm_call(p, 1, "MPI_Comm_dup", 20, 81);
	comm_call(p, 2, "MPI_Comm_dup", 80, 81);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "wait_at_comm_create", 0), 70e-6, NEAR);
	cr_expect_float_eq(waited(root, "wait_at_comm_create", 1), 60e-6, NEAR);
	cr_expect_null(wait_row(root, "wait_at_comm_create", 2));
	cr_expect_eq(field(wait_row(root, "wait_at_comm_create", 0), "causer"), 2);
	cr_expect_float_eq(caused(root, 2), 130e-6, NEAR);
	cJSON_Delete(root);
}

Test(blocking, who_left_before_the_last_came_did_not_wait_for_it)
{
	struct program *p = program_create(3, 1);
	comm_call(p, 0, "MPI_Comm_free", 10, 11);
	comm_call(p, 1, "MPI_Comm_free", 20, 81);
	comm_call(p, 2, "MPI_Comm_free", 80, 81);
	comm_call(p, 0, "MPI_Comm_split", 300, 300.5); /* another that never comes is in no count */
	cJSON *root = analyse_program(p, 1000);
	cr_expect_null(wait_row(root, "wait_at_comm_free", 0));
	cr_expect_float_eq(waited(root, "wait_at_comm_free", 1), 60e-6, NEAR);
	cr_expect_float_eq(caused(root, 2), 60e-6, NEAR);
	cr_expect_eq(at_path(root, "coverage.unmatched.collectives"), 0);
	cJSON_Delete(root);
}

/* ---- small sends that take longer than sending can ---- */

static void slow_send(struct program *p, double to)
{
	program_send(p, 0, message("MPI_Send", 100, to, 1, 5));
	program_recv(p, 0, message("MPI_Recv", 800, 805, 1, 6));
	comm_call(p, 1, "MPI_Comm_free", 500, 501);
	program_recv(p, 1, message("MPI_Recv", 700, 702, 0, 5));
	program_send(p, 1, message("MPI_Send", 800, 801, 0, 6));
}

Test(blocking, a_small_send_waits_for_its_receiver_to_come_to_mpi)
{
	struct program *p = program_create(2, 1);
	slow_send(p, 510);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "late_progress", 0), 400e-6, NEAR);
	cr_expect_eq(field(wait_row(root, "late_progress", 0), "causer"), 1);
	cr_expect_null(wait_row(root, "late_receiver", 0));
	cr_expect_float_eq(caused(root, 1), 400e-6, NEAR);
	cJSON_Delete(root);
}

/* The end of what both did before is not one moment. */
Test(blocking, a_small_send_waits_for_a_receiver_that_is_just_about_to_leave_mpi)
{
	struct program *p = program_create(2, 1);
	comm_call(p, 1, "MPI_Comm_free", 90, 110);
	slow_send(p, 510);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "late_progress", 0), 400e-6, NEAR);
	cr_expect_float_eq(caused(root, 1), 400e-6, NEAR);
	cJSON_Delete(root);
}

Test(blocking, a_small_send_whose_receiver_was_in_mpi_for_most_of_it_waited_for_something_else)
{
	struct program *p = program_create(2, 1);
	comm_call(p, 1, "MPI_Comm_free", 90, 310);
	slow_send(p, 510);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_null(wait_row(root, "late_progress", 0));
	cJSON_Delete(root);
}

Test(blocking, a_send_that_ends_long_after_its_receiver_came_waited_for_something_else)
{
	struct program *p = program_create(2, 1);
	comm_call(p, 1, "MPI_Comm_free", 120, 121);
	program_send(p, 0, message("MPI_Send", 100, 600, 1, 5));
	program_recv(p, 1, message("MPI_Recv", 700, 702, 0, 5));
	cJSON *root = analyse_program(p, 1000);
	cr_expect_null(wait_row(root, "late_progress", 0));
	cJSON_Delete(root);
}

/* As long as sending may take, and one whose receiver is in MPI. */
Test(blocking, nothing_is_said_of_sends_that_are_as_long_as_sending_is)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0, message("MPI_Send", 100, 149, 1, 5));
	program_send(p, 0, message("MPI_Send", 200, 400, 1, 5));
	comm_call(p, 1, "MPI_Comm_free", 148, 149);
	comm_call(p, 1, "MPI_Comm_dup", 190, 390);
	comm_call(p, 1, "MPI_Comm_free", 395, 396);
	program_recv(p, 1, message("MPI_Recv", 700, 702, 0, 5));
	program_recv(p, 1, message("MPI_Recv", 710, 712, 0, 5));
	cJSON *root = analyse_program(p, 1000);
	cr_expect_null(wait_row(root, "late_progress", 0));
	cJSON_Delete(root);
}

/* ---- polling ---- */

static void test_in_vain(struct program *p, double from, double to, uint64_t calls, double inside_us)
{
	struct call c = {.op = "MPI_Test", .from_us = from, .to_us = to, .line = 9};
	uint64_t words[] = {sig_pair(0, 1)};
	program_poll(p, 1, c, SIG_COMPLETE, words, 1, calls, inside_us);
}

Test(blocking, tests_in_vain_wait_until_what_they_test_for_comes)
{
	struct program *p = program_create(2, 1);
	struct call receive = message("MPI_Irecv", 10, 11, 0, 5);
	receive.flags = SIG_STARTS_REQUEST;
	program_recv(p, 1, receive);
	struct done done = {program_serial(p, 1), NO_STATUS, 0, 8, false};
	program_send(p, 0, message("MPI_Send", 100, 101, 1, 5));
	test_in_vain(p, 20, 120, 1000, 50); /* half of it inside, and a fifth after the message was sent */
	program_wait(p, 1, (struct call){.op = "MPI_Test", .from_us = 121, .to_us = 122, .line = 9}, &done, 1);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "polling", 1), 40e-6, NEAR);
	cr_expect_eq(field(wait_row(root, "polling", 1), "causer"), 0);
	cr_expect_null(wait_row(root, "late_sender", 1));
	cr_expect_float_eq(caused(root, 0), 80e-6, NEAR);
	cJSON_Delete(root);
}

/* Another request was started meanwhile: what was tested before is not known to be the same. */
Test(blocking, tests_of_another_request_are_not_those_of_this_one)
{
	struct program *p = program_create(2, 1);
	struct call receive = message("MPI_Irecv", 10, 11, 0, 5);
	receive.flags = SIG_STARTS_REQUEST;
	program_recv(p, 1, receive);
	struct done first = {program_serial(p, 1), NO_STATUS, 0, 8, false};
	test_in_vain(p, 20, 40, 10, 20);
	program_wait(p, 1, (struct call){.op = "MPI_Wait", .from_us = 50, .to_us = 62}, &first, 1);
	receive.from_us = 63;
	receive.to_us = 64;
	program_recv(p, 1, receive);
	struct done second = {program_serial(p, 1), NO_STATUS, 0, 8, false};
	test_in_vain(p, 70, 90, 10, 20);
	program_wait(p, 1, (struct call){.op = "MPI_Test", .from_us = 91, .to_us = 92, .line = 9}, &second, 1);
	program_send(p, 0, message("MPI_Send", 60, 61, 1, 5));
	program_send(p, 0, message("MPI_Send", 85, 86, 1, 5));
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(waited(root, "polling", 1), 15e-6, NEAR);
	cr_expect_float_eq(waited(root, "late_sender", 1), 10e-6, NEAR);
	cJSON_Delete(root);
}

/* ---- wrong order ---- */

static void wrong_order(struct program *p, bool received)
{
	program_send(p, 2, message("MPI_Send", 5, 6, 1, 9));
	program_send(p, 0, message("MPI_Send", 100, 101, 1, 5));
	program_recv(p, 1, message("MPI_Recv", 20, 102, 0, 5));
	if (received)
		program_recv(p, 1, message("MPI_Recv", 110, 111, 2, 9));
}

Test(blocking, only_a_message_that_is_received_later_could_have_been_received_first)
{
	for (int received = 0; received < 2; received++) {
		struct program *p = program_create(3, 1);
		wrong_order(p, received);
		cJSON *root = analyse_program(p, 1000);
		cr_expect_float_eq(waited(root, "late_sender", 1), 80e-6, NEAR);
		cr_expect_float_eq(waited(root, "late_sender_wrong_order", 1), received ? 80e-6 : 0, NEAR);
		cJSON_Delete(root);
	}
}
