/* postproc_correctness.c - programs that break rules of MPI in known ways, and such that only look like it. */
#include "postproc/postproc.h"
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(root) cJSON_GetArraySize(node_at(root, "correctness"))

static const cJSON *defect(const cJSON *root, const char *kind)
{
	return find_text(root, "correctness", "kind", kind);
}

static double counted(const cJSON *root, const char *kind)
{
	const cJSON *row = defect(root, kind);
	return row != NULL ? field(row, "count") : 0;
}

static const char *example(const cJSON *root, const char *kind, int i)
{
	const cJSON *list = node_at(defect(root, kind), "examples");
	return cJSON_GetStringValue(node_at(cJSON_GetArrayItem(list, i), "what"));
}

static bool has_issue(const cJSON *root, const char *issue)
{
	return find_text(root, "issues", "issue", issue) != NULL;
}

/* rank 0 sends, rank 1 receives, blocking, at us */
static void message(struct program *p, double us, enum program_type as, uint64_t bytes, enum program_type to,
		    uint64_t room)
{
	program_send(p, 0,
		     (struct call){.op = "MPI_Send",
				   .from_us = us,
				   .to_us = us + 1,
				   .peer = 1,
				   .bytes = bytes,
				   .type = as,
				   .line = 10});
	program_recv(p, 1,
		     (struct call){.op = "MPI_Recv",
				   .from_us = us,
				   .to_us = us + 2,
				   .bytes = bytes < room ? bytes : room,
				   .room = room,
				   .type = to,
				   .flags = bytes > room ? SIG_FAILED : 0,
				   .line = 20});
}

Test(postproc_correctness, messages_longer_than_their_room_are_truncations)
{
	struct program *p = program_create(2, 1);
	message(p, 10, TYPE_INT, 400, TYPE_INT, 200);
	message(p, 20, TYPE_INT, 200, TYPE_INT, 200);
	message(p, 30, TYPE_INT, 100, TYPE_INT, 200);
	message(p, 40, TYPE_INT, 404, TYPE_INT, 400);
	cJSON *root = analyse_program(p, 100);
	cr_assert_eq(COUNT(root), 1);
	cr_assert_eq(counted(root, "truncation"), 2);
	cr_assert_not_null(strstr(example(root, "truncation", 1), "404 bytes (101 times MPI_INT)"), "%s",
			   example(root, "truncation", 1));
	cr_assert_not_null(strstr(example(root, "truncation", 1), "room for 400"));
	cr_assert(has_issue(root, "truncation"));
	/* it was received: nothing is left over, and those behind it met the right ones */
	cr_assert_eq(at_path(root, "coverage.unmatched.sends"), 0);
	cr_assert_eq(at_path(root, "summary.transfers"), 4);
	cJSON_Delete(root);
}

Test(postproc_correctness, requests_with_too_little_room_are_found_at_their_end)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0, (struct call){.op = "MPI_Send", .from_us = 10, .to_us = 11, .peer = 1, .bytes = 80});
	program_recv(p, 1,
		     (struct call){.op = "MPI_Irecv",
				   .from_us = 10,
				   .to_us = 11,
				   .bytes = 40,
				   .room = 40,
				   .flags = SIG_STARTS_REQUEST});
	program_wait(p, 1, (struct call){.op = "MPI_Wait", .from_us = 12, .to_us = 13, .flags = SIG_FAILED},
		     &(struct done){program_serial(p, 1), NO_STATUS, 0, 0, false}, 1);
	cJSON *root = analyse_program(p, 100);
	cr_assert_eq(counted(root, "truncation"), 1);
	cJSON_Delete(root);
}

Test(postproc_correctness, types_are_compared_by_what_they_are_made_of)
{
	struct program *p = program_create(2, 1);
	message(p, 10, TYPE_INT, 48, TYPE_SIX_INTS, 72);
	message(p, 20, TYPE_SIX_INTS, 48, TYPE_INT, 400);
	message(p, 30, TYPE_INT_DOUBLE, 24, TYPE_INT_DOUBLE, 36);
	message(p, 40, TYPE_INT, 48, TYPE_PACKED, 48);
	message(p, 50, TYPE_PACKED, 48, TYPE_FLOAT, 48);
	message(p, 60, TYPE_INT, 48, TYPE_INTEGER, 48);
	message(p, 70, TYPE_FLOAT, 0, TYPE_INT, 48);
	cJSON *root = analyse_program(p, 100);
	cr_assert_eq(COUNT(root), 0, "%s", cJSON_Print(node_at(root, "correctness")));
	cJSON_Delete(root);
}

Test(postproc_correctness, another_type_than_was_sent_is_a_mismatch)
{
	struct program *p = program_create(2, 1);
	message(p, 10, TYPE_INT, 48, TYPE_FLOAT, 48);
	message(p, 20, TYPE_INT_DOUBLE, 24, TYPE_INT, 48);
	message(p, 30, TYPE_SIX_INTS, 24, TYPE_FLOAT, 48);
	message(p, 40, TYPE_INT, 48, TYPE_INT, 48);
	cJSON *root = analyse_program(p, 100);
	cr_assert_eq(COUNT(root), 1);
	cr_assert_eq(counted(root, "datatype_mismatch"), 3);
	cr_assert_str_eq(cJSON_GetStringValue(node_at(defect(root, "datatype_mismatch"), "severity")), "high");
	cr_assert_not_null(strstr(example(root, "datatype_mismatch", 0), "12 times MPI_INT"));
	cr_assert(has_issue(root, "mismatch"));
	cJSON_Delete(root);
}

Test(postproc_correctness, bytes_at_one_end_only_are_no_issue)
{
	struct program *p = program_create(2, 1);
	message(p, 10, TYPE_INT, 48, TYPE_BYTE, 48);
	message(p, 20, TYPE_BYTE, 48, TYPE_BYTE, 96);
	cJSON *root = analyse_program(p, 100);
	cr_assert_eq(counted(root, "datatype_mismatch"), 1);
	cr_assert_str_eq(cJSON_GetStringValue(node_at(defect(root, "datatype_mismatch"), "severity")), "low");
	cr_assert_not(has_issue(root, "mismatch"));
	cJSON_Delete(root);
}

/* ---- collectives ---- */

static void collective(struct program *p, unsigned rank, double us, const char *op, enum sig_coll coll, int root,
		       uint64_t to, uint64_t from)
{
	program_coll(p, rank,
		     (struct call){.op = op,
				   .from_us = us,
				   .to_us = us + 5,
				   .peer = root,
				   .coll = coll,
				   .bytes = to,
				   .from_each = from,
				   .line = 30 + rank});
}

Test(postproc_correctness, the_rank_that_differs_from_most_is_named)
{
	struct program *p = program_create(5, 1);
	for (unsigned r = 0; r < 5; r++) {
		collective(p, r, 10, "MPI_Bcast", COLL_BCAST, 1, 8, 8);
		collective(p, r, 20, "MPI_Bcast", COLL_BCAST, r == 3 ? 2 : 1, 8, 8);
		if (r == 2)
			collective(p, r, 30, "MPI_Barrier", COLL_BARRIER, -1, 0, 0);
		else
			collective(p, r, 30, "MPI_Allreduce", COLL_ALLREDUCE, -1, 8, 8);
		collective(p, r, 40, "MPI_Allreduce", COLL_ALLREDUCE, -1, r == 4 ? 16 : 8, r == 4 ? 16 : 8);
	}
	cJSON *root = analyse_program(p, 100);
	cr_assert_eq(COUNT(root), 3);
	cr_assert_str_eq(example(root, "collective_root_mismatch", 0),
			 "Rank 3 called MPI_Bcast with root 2 as collective operation 2 of communicator 0 "
			 "(MPI_COMM_WORLD), rank 0 MPI_Bcast with root 1.");
	cr_assert_str_eq(example(root, "collective_operation_mismatch", 0),
			 "Rank 2 called MPI_Barrier as collective operation 3 of communicator 0 (MPI_COMM_WORLD), rank "
			 "0 MPI_Allreduce.");
	cr_assert_str_eq(example(root, "collective_size_mismatch", 0),
			 "Rank 4 called MPI_Allreduce of 16 bytes as collective operation 4 of communicator 0 "
			 "(MPI_COMM_WORLD), rank 0 MPI_Allreduce of 8 bytes.");
	cr_assert_eq(at_path(root, "coverage.unmatched.collectives_differ"), 2);
	cJSON_Delete(root);
}

Test(postproc_correctness, sizes_of_gathers_are_those_of_the_parts)
{
	struct program *p = program_create(3, 1);
	for (unsigned r = 0; r < 3; r++) {
		collective(p, r, 10, "MPI_Gather", COLL_GATHER, 1, r == 1 ? 0 : 8, r == 1 ? 8 : 0); /* in place */
		collective(p, r, 20, "MPI_Scatter", COLL_SCATTER, 1, r == 1 ? 8 : 0, 8);
		collective(p, r, 30, "MPI_Gather", COLL_GATHER, 1, r == 2 ? 12 : 8, r == 1 ? 8 : 0);
	}
	cJSON *root = analyse_program(p, 100);
	cr_assert_eq(COUNT(root), 1);
	cr_assert_eq(counted(root, "collective_size_mismatch"), 1);
	cr_assert_not_null(
		strstr(example(root, "collective_size_mismatch", 0), "Rank 2 called MPI_Gather of 12 bytes"));
	cJSON_Delete(root);
}

/* ---- sends that need a buffer ---- */

static void send_to(struct program *p, unsigned rank, const char *op, double us, int to)
{
	program_send(p, rank,
		     (struct call){.op = op, .from_us = us, .to_us = us + 1, .peer = to, .bytes = 16, .line = 40});
}

static void receive_from(struct program *p, unsigned rank, double us, int from)
{
	program_recv(
		p, rank,
		(struct call){.op = "MPI_Recv", .from_us = us, .to_us = us + 1, .peer = from, .bytes = 16, .line = 50});
}

Test(postproc_correctness, a_ring_of_sends_before_receives_is_one_cycle_each_time)
{
	const unsigned n = 40;
	struct program *p = program_create(n, 2);
	for (unsigned k = 0; k < 3; k++)
		for (unsigned r = 0; r < n; r++) {
			send_to(p, r, "MPI_Send", 100 * k + 10 + r, (int)((r + 1) % n));
			receive_from(p, r, 100 * k + 60 + r, (int)((r + n - 1) % n));
		}
	cJSON *root = analyse_program(p, 400);
	cr_assert_eq(COUNT(root), 1);
	cr_assert_eq(counted(root, "unsafe_send_cycle"), 3);
	const cJSON *ranks = node_at(defect(root, "unsafe_send_cycle"), "ranks");
	cr_assert_eq(cJSON_GetArraySize(ranks), n);
	for (unsigned r = 0; r < n; r++)
		cr_assert_eq(cJSON_GetArrayItem(ranks, (int)r)->valuedouble, r);
	cr_assert_not_null(strstr(example(root, "unsafe_send_cycle", 0), "Ranks 0, 1, 2, 3,"));
	cr_assert_not_null(strstr(example(root, "unsafe_send_cycle", 0), "and 24 more"));
	cr_assert(has_issue(root, "unsafe_send_cycle"));
	cJSON_Delete(root);
}

/* Pairs that both send first; `first`, `second`: what rank 0 and 1 call. */
static double cycles_of(const char *first, const char *second, bool second_receives_first)
{
	struct program *p = program_create(2, 1);
	send_to(p, 0, first, 10, 1);
	receive_from(p, 0, 30, 1);
	if (second_receives_first)
		receive_from(p, 1, 15, 0);
	send_to(p, 1, second, 20, 0);
	if (!second_receives_first)
		receive_from(p, 1, 30, 0);
	cJSON *root = analyse_program(p, 100);
	double n = counted(root, "unsafe_send_cycle");
	cJSON_Delete(root);
	return n;
}

Test(postproc_correctness, only_standard_sends_that_come_first_on_both_sides_are_a_cycle)
{
	cr_assert_eq(cycles_of("MPI_Send", "MPI_Send", false), 1);
	cr_assert_eq(cycles_of("MPI_Send", "MPI_Send", true), 0);
	cr_assert_eq(cycles_of("MPI_Bsend", "MPI_Send", false), 0);
	cr_assert_eq(cycles_of("MPI_Send", "MPI_Bsend", false), 0);
}

Test(postproc_correctness, a_receive_posted_before_the_send_breaks_the_cycle)
{
	struct program *p = program_create(2, 1);
	program_recv(p, 0,
		     (struct call){.op = "MPI_Irecv",
				   .from_us = 5,
				   .to_us = 6,
				   .peer = 1,
				   .bytes = 16,
				   .flags = SIG_STARTS_REQUEST});
	send_to(p, 0, "MPI_Send", 10, 1);
	program_wait(p, 0, (struct call){.op = "MPI_Wait", .from_us = 30, .to_us = 31},
		     &(struct done){program_serial(p, 0), NO_STATUS, 0, 0, false}, 1);
	send_to(p, 1, "MPI_Send", 10, 0);
	receive_from(p, 1, 30, 0);
	cJSON *root = analyse_program(p, 100);
	cr_assert_eq(COUNT(root), 0);
	cJSON_Delete(root);
}

Test(postproc_correctness, one_that_runs_ahead_is_no_cycle)
{
	struct program *p = program_create(2, 1);
	for (unsigned k = 0; k < 5; k++)
		send_to(p, 0, "MPI_Send", 10 + 2 * k, 1);
	for (unsigned k = 0; k < 5; k++)
		receive_from(p, 1, 50 + 2 * k, 0);
	send_to(p, 1, "MPI_Send", 70, 0);
	receive_from(p, 0, 75, 1);
	cJSON *root = analyse_program(p, 100);
	cr_assert_eq(COUNT(root), 0);
	cJSON_Delete(root);
}

/* ---- what is left over ---- */

static struct program *left_over(void)
{
	struct program *p = program_create(2, 1);
	send_to(p, 0, "MPI_Send", 10, 1);
	program_recv(p, 1,
		     (struct call){.op = "MPI_Irecv",
				   .from_us = 10,
				   .to_us = 11,
				   .tag = 7,
				   .bytes = 16,
				   .flags = SIG_STARTS_REQUEST});
	return p;
}

Test(postproc_correctness, messages_and_receives_without_a_partner_are_named)
{
	cJSON *root = analyse_program(left_over(), 100);
	cr_assert_eq(counted(root, "unreceived_message"), 1);
	cr_assert_eq(counted(root, "unserved_receive"), 1);
	cr_assert_eq(counted(root, "request_leak"), 1);
	cr_assert_str_eq(example(root, "unreceived_message", 0), "Rank 0 sent 16 bytes to rank 1 with tag 0.");
	cJSON_Delete(root);
}

Test(postproc_correctness, of_a_record_that_ends_early_nothing_is_said_to_be_missing)
{
	struct program *p = left_over();
	program_killed(p, 1, 9);
	cJSON *root = analyse_program(p, 100);
	cr_assert_eq(COUNT(root), 0);
	cJSON_Delete(root);
}

/* ---- as everything else ---- */

static char *correctness_with(const char *dir, unsigned threads)
{
	struct postproc_result result = {0};
	struct error e = {0};
	char *paths[] = {(char *)dir};
	cr_assert_eq(postproc_analyze(paths, 1, NULL, threads, &result, &e), 0, "%s", e.text);
	cJSON *root = cJSON_Parse(result.json);
	char *text = cJSON_PrintUnformatted(node_at(root, "correctness"));
	cJSON_Delete(root);
	free(result.json);
	return text;
}

Test(postproc_correctness, the_number_of_threads_changes_nothing)
{
	const unsigned n = 24;
	struct program *p = program_create(n, 2);
	char *dir = make_directory(), *texts[3];
	const unsigned threads[] = {1, 2, 5};
	for (unsigned k = 0; k < 5; k++)
		for (unsigned r = 0; r < n; r++) {
			double us = 200 * k + 10 + r;
			send_to(p, r, "MPI_Send", us, (int)((r + 1) % n));
			receive_from(p, r, us + 60, (int)((r + n - 1) % n));
			collective(p, r, us + 80, "MPI_Bcast", COLL_BCAST, r % 3 == 0 ? 1 : 0, 8, 8);
			collective(p, r, us + 90, "MPI_Allreduce", COLL_ALLREDUCE, -1, 8 + r % 2, 8 + r % 2);
		}
	program_write(p, dir, 2000, -1);
	program_destroy(p);
	for (int i = 0; i < 3; i++)
		texts[i] = correctness_with(dir, threads[i]);
	cr_assert_gt(strlen(texts[0]), 1000);
	for (int i = 1; i < 3; i++)
		cr_assert_str_eq(texts[0], texts[i]);
	for (int i = 0; i < 3; i++)
		free(texts[i]);
	remove_directory(dir);
}
