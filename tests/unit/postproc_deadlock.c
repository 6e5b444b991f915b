/* postproc_deadlock.c - ranks that died in calls, of which it is known who could have gone on. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ANY (-1)

static void stuck(struct program *p, unsigned rank, const char *op, enum sig_shape shape, int peer, int tag)
{
	unsigned flags = shape == SIG_RECV && peer == ANY ? SIG_ANY_SOURCE : 0;
	program_died_in(
		p, rank,
		(struct call){
			.op = op, .peer = peer, .tag = tag, .flags = flags, .coll = COLL_BARRIER, .line = 60 + rank},
		shape, 0);
}

static void receives(struct program *p, unsigned rank, int from)
{
	stuck(p, rank, "MPI_Recv", SIG_RECV, from, 0);
}

static void sends(struct program *p, unsigned rank, int to)
{
	stuck(p, rank, "MPI_Send", SIG_SEND, to, 0);
}

/* The sentence on the deadlock; "" if there is none. */
static const char *story(struct program *p, const cJSON **ret_row)
{
	static char text[512];
	cJSON *root = analyse_program(p, 100);
	const cJSON *row = find_text(root, "correctness", "kind", "deadlock");
	const char *what = cJSON_GetStringValue(node_at(cJSON_GetArrayItem(node_at(row, "examples"), 0), "what"));
	strncpy(text, what != NULL ? what : "", sizeof(text) - 1);
	cr_assert_eq(find_text(root, "issues", "issue", "deadlock") != NULL, row != NULL);
	if (ret_row != NULL)
		*ret_row = cJSON_Duplicate(row, true);
	cJSON_Delete(root);
	return text;
}

Test(postproc_deadlock, two_that_receive_from_each_other_are_named_with_their_call_sites)
{
	struct program *p = program_create(3, 1);
	const cJSON *row;
	receives(p, 1, 2);
	receives(p, 2, 1);
	cr_assert_str_eq(story(p, &row), "Rank 1 waits in MPI_Recv for rank 2, rank 2 waits in MPI_Recv for rank 1. "
					 "Rank 1 needs a message from rank 2 with tag 0.");
	cr_assert_eq(cJSON_GetArraySize(node_at(row, "callsites")), 2);
	cr_assert_eq(cJSON_GetArraySize(node_at(row, "ranks")), 2);
	cJSON_Delete((cJSON *)(uintptr_t)row);
}

/* The sentence and the reason of the issue. */
static void told(struct program *p, char ret_what[512], char ret_why[512])
{
	cJSON *root = analyse_program(p, 100);
	const cJSON *row = find_text(root, "issues", "issue", "deadlock");
	cr_assert_not_null(row);
	snprintf(ret_what, 512, "%s", cJSON_GetStringValue(node_at(row, "what")));
	snprintf(ret_why, 512, "%s", cJSON_GetStringValue(node_at(row, "why")));
	cJSON_Delete(root);
}

Test(postproc_deadlock, where_another_thread_may_have_been_about_to_help_that_is_said)
{
	char what[512], why[512];
	for (int level = 0; level <= 4; level++) {
		struct program *p = program_create(2, 1);
		receives(p, 0, 1);
		receives(p, 1, 0);
		program_thread_level(p, 1, level < 4 ? level : 4096);
		told(p, what, why);
		cr_expect_eq(strstr(what, "unless a thread that had not called MPI yet was to let them continue") !=
				     NULL,
			     level >= 3, "level %d: %s", level, what);
		cr_expect_eq(strstr(why, "the program never ends") != NULL, level < 3, "level %d: %s", level, why);
	}
}

Test(postproc_deadlock, those_who_wait_for_them_are_named_too)
{
	struct program *p = program_create(4, 1);
	const cJSON *row;
	receives(p, 0, 1);
	receives(p, 1, 2);
	receives(p, 2, 3);
	receives(p, 3, 1);
	cr_assert_str_eq(story(p, &row),
			 "Rank 1 waits in MPI_Recv for rank 2, rank 2 waits in MPI_Recv for rank 3, rank 3 "
			 "waits in MPI_Recv for rank 1. 1 more rank waits for them. Rank 1 needs a message from rank "
			 "2 with tag 0.");
	cr_assert_eq(cJSON_GetArraySize(node_at(row, "ranks")), 4);
	cJSON_Delete((cJSON *)(uintptr_t)row);
}

Test(postproc_deadlock, who_died_elsewhere_could_have_helped)
{
	struct program *p = program_create(3, 1);
	receives(p, 0, 1);
	receives(p, 1, 2);
	program_killed(p, 2, 9);
	cr_assert_str_eq(story(p, NULL), "");
}

Test(postproc_deadlock, a_message_on_its_way_lets_its_receiver_go_on)
{
	struct program *p = program_create(2, 1);
	program_send(p, 0, (struct call){.op = "MPI_Send", .from_us = 10, .to_us = 11, .peer = 1, .bytes = 8});
	receives(p, 0, 1);
	receives(p, 1, 0);
	cr_assert_str_eq(story(p, NULL), "");
	p = program_create(2, 1);
	program_send(p, 0,
		     (struct call){.op = "MPI_Send", .from_us = 10, .to_us = 11, .peer = 1, .tag = 5, .bytes = 8});
	receives(p, 0, 1);
	receives(p, 1, 0); /* another tag */
	cr_assert_neq(story(p, NULL)[0], '\0');
}

Test(postproc_deadlock, a_send_and_its_receive_meet)
{
	struct program *p = program_create(2, 1);
	sends(p, 0, 1);
	receives(p, 1, 0);
	cr_assert_str_eq(story(p, NULL), "");
	p = program_create(2, 1);
	sends(p, 0, 1);
	sends(p, 1, 0);
	cr_assert_str_eq(story(p, NULL), "Rank 0 waits in MPI_Send for rank 1, rank 1 waits in MPI_Send for rank 0. "
					 "Rank 0 needs a receive by rank 1 with tag 0.");
}

Test(postproc_deadlock, a_receive_from_anybody_needs_one_of_all)
{
	struct program *p = program_create(3, 1);
	receives(p, 0, ANY);
	receives(p, 1, 0);
	program_killed(p, 2, 9); /* it could have sent */
	cr_assert_str_eq(story(p, NULL), "");
	p = program_create(3, 1);
	receives(p, 0, ANY);
	receives(p, 1, 0);
	receives(p, 2, 0);
	cr_assert_str_eq(story(p, NULL),
			 "Rank 0 waits in MPI_Recv for any rank, rank 1 waits in MPI_Recv for rank 0, rank 2 waits in "
			 "MPI_Recv for rank 0. Rank 0 needs a message from any rank with tag 0.");
}

Test(postproc_deadlock, a_barrier_needs_those_who_have_not_come)
{
	struct program *p = program_create(3, 1);
	stuck(p, 0, "MPI_Barrier", SIG_COLL, -1, 0);
	stuck(p, 1, "MPI_Barrier", SIG_COLL, -1, 0);
	receives(p, 2, 1);
	cr_assert_str_eq(story(p, NULL),
			 "Rank 1 waits in MPI_Barrier for rank 2, rank 2 waits in MPI_Recv for rank 1. 1 more rank "
			 "waits for them. Rank 1 needs rank 2's MPI_Barrier.");
	p = program_create(3, 1);
	stuck(p, 0, "MPI_Barrier", SIG_COLL, -1, 0);
	stuck(p, 1, "MPI_Barrier", SIG_COLL, -1, 0);
	stuck(p, 2, "MPI_Barrier", SIG_COLL, -1, 0); /* all are there: it is about to end */
	cr_assert_str_eq(story(p, NULL), "");
}

Test(postproc_deadlock, nothing_comes_from_a_rank_that_has_ended)
{
	struct program *p = program_create(2, 1);
	receives(p, 1, 0);
	cr_assert_str_eq(story(p, NULL), "Rank 1 waits in MPI_Recv for rank 0, rank 0 has ended. Rank 1 needs a "
					 "message from rank 0 with tag 0.");
	p = program_create(2, 1);
	receives(p, 1, 0);
	stuck(p, 0, "MPI_Finalize", SIG_TIME, 0, 0);
	cr_assert_str_eq(story(p, NULL), "Rank 1 waits in MPI_Recv for rank 0, rank 0 has ended. Rank 1 needs a "
					 "message from rank 0 with tag 0.");
}

Test(postproc_deadlock, a_wait_needs_what_its_request_needs)
{
	for (int other = 0; other < 2; other++) { /* the second time a request that can end */
		struct program *p = program_create(2, 1);
		for (unsigned r = 0; r < 2; r++) {
			program_recv(p, r,
				     (struct call){.op = "MPI_Irecv",
						   .from_us = 10,
						   .to_us = 11,
						   .peer = 1 - (int)r,
						   .bytes = 8,
						   .flags = SIG_STARTS_REQUEST});
			if (other != 0)
				program_send(p, r,
					     (struct call){.op = "MPI_Send",
							   .from_us = 12,
							   .to_us = 13,
							   .peer = 1 - (int)r,
							   .bytes = 8});
			program_died_in(p, r, (struct call){.op = "MPI_Wait", .line = 70}, SIG_COMPLETE,
					program_serial(p, r));
		}
		cr_assert_str_eq(story(p, NULL), other == 0 ? "Rank 0 waits in MPI_Wait for rank 1, rank 1 waits in "
							      "MPI_Wait for rank 0. Rank 0 needs a message from "
							      "rank 1 with tag 0."
							    : "");
	}
}

Test(postproc_deadlock, of_a_rank_that_lost_events_it_is_not_known_what_it_sent)
{
	struct program *p = program_create(2, 1);
	program_budget_spent(p, 0);
	program_send(p, 0, (struct call){.op = "MPI_Send", .from_us = 10, .to_us = 11, .peer = 1, .bytes = 8});
	receives(p, 0, 1);
	receives(p, 1, 0);
	cr_assert_str_eq(story(p, NULL), "");
}

/* Any of the two that are active would be enough: only when neither can come is it stuck. */
Test(postproc_deadlock, waitany_needs_one_of_its_requests)
{
	for (int helped = 0; helped < 2; helped++) {
		struct program *p = program_create(3, 1);
		for (int from = 1; from < 3; from++)
			program_recv(p, 0,
				     (struct call){.op = "MPI_Irecv",
						   .from_us = 10 + from,
						   .to_us = 10.5 + from,
						   .peer = from,
						   .bytes = 8,
						   .flags = SIG_STARTS_REQUEST});
		program_died_in(p, 0, (struct call){.op = "MPI_Waitany", .line = 70}, SIG_TIME, 0);
		receives(p, 1, 0);
		if (helped)
			program_killed(p, 2, 9);
		else
			receives(p, 2, 0);
		cr_assert_str_eq(story(p, NULL), helped ? ""
							: "Rank 0 waits in MPI_Waitany for any rank, rank 1 waits in "
							  "MPI_Recv for rank 0, rank 2 waits in MPI_Recv for rank 0.");
	}
}

/* Of a sendrecv either half may have ended: who would have sent could have let it go on. */
Test(postproc_deadlock, of_a_sendrecv_one_half_is_enough)
{
	struct program *p = program_create(3, 1);
	program_died_in(p, 0, (struct call){.op = "MPI_Sendrecv", .peer = 1, .recv_peer = 2, .line = 70}, SIG_SENDRECV,
			0);
	receives(p, 1, 0);
	program_killed(p, 2, 9);
	cr_assert_str_eq(story(p, NULL), "");
}

/* All have come to an end of their own, as where a signal made them: what is recorded tells of no deadlock. */
Test(postproc_deadlock, what_live_had_seen_is_told_where_the_record_no_longer_tells_it)
{
	for (int ended = 0; ended < 2; ended++) { /* the second time all is well after all */
		struct program *p = program_create(2, 1);
		char *dir = make_directory(), path[4096];
		if (!ended)
			program_killed(p, 1, 15);
		program_write(p, dir, 100, -1);
		program_destroy(p);
		snprintf(path, sizeof(path), "%s/mpitrace-verdict", dir);
		FILE *f = fopen(path, "w");
		cr_assert_not_null(f);
		fputs("deadlock 1700000000.5\nranks 0 1 7\nwhy rank 0 in MPI_Recv at x.c:3; rank 1 in MPI_Recv at "
		      "x.c:9\n",
		      f);
		fclose(f);
		cJSON *root = analyse(dir);
		const cJSON *issue = find_text(root, "issues", "issue", "deadlock");
		remove_directory(dir);
		cr_expect_eq(issue == NULL, ended);
		if (issue != NULL)
			cr_expect_not_null(strstr(cJSON_GetStringValue(node_at(issue, "what")),
						  "rank 0 in MPI_Recv at x.c:3; rank 1 in MPI_Recv at x.c:9"));
		if (issue != NULL)
			cr_expect_eq(cJSON_GetArraySize(node_at(issue, "ranks")), 2);
		cJSON_Delete(root);
	}
}
