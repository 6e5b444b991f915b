/* postproc_threads.c - ranks that call MPI from several threads: no time is counted twice, and who only polls does not
 * count. */
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define NEAR 1e-9
#define TRACED 50e-9 /* a call */

static void late_message(struct program *p, unsigned thread, double from, double sent, double to)
{
	program_send(
		p, 1,
		(struct call){.op = "MPI_Send", .from_us = sent, .to_us = sent + 1, .tag = (int)thread, .bytes = 8});
	program_recv(p, 0,
		     (struct call){.op = "MPI_Recv",
				   .from_us = from,
				   .to_us = to,
				   .peer = 1,
				   .tag = (int)thread,
				   .bytes = 8,
				   .thread = thread});
}

/* Many short tests of one thread, the first at from_us, 10 us apart. */
static void polls(struct program *p, unsigned rank, unsigned thread, double from_us, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		program_words(p, rank,
			      (struct call){.op = "MPI_Iprobe",
					    .from_us = from_us + 10 * i,
					    .to_us = from_us + 10 * i + 2,
					    .thread = thread},
			      SIG_TIME, 0, NULL, 0);
}

static cJSON *waiting_together(void)
{
	struct program *p = program_create(2, 1);
	late_message(p, 0, 100, 290, 300);
	late_message(p, 1, 200, 390, 400);
	return analyse_program(p, 1000);
}

Test(threads, count_the_time_in_which_any_is_in_mpi_once)
{
	cJSON *root = waiting_together(), *rank = find(root, "per_rank", "rank", 0, NULL);
	cr_expect_str_eq(cJSON_GetObjectItem(rank, "time_of")->valuestring, "all_threads");
	cr_expect_float_eq(field(rank, "mpi_s"), 300e-6, NEAR);
	cr_expect_float_eq(field(rank, "useful_s"), 700e-6 - TRACED, NEAR);
	cr_expect_float_eq(field(rank, "tracing_s"), TRACED, NEAR, "the first call's falls into the second");
	cr_expect_float_eq(field(rank, "wait_s"), 300e-6 * 380 / 400, NEAR);
	cr_expect_float_eq(field(rank, "caused_wait_s"), 0, NEAR);
	cJSON_Delete(root);
}

Test(threads, spend_no_more_in_the_tracer_than_the_slowest_of_them)
{
	struct program *p = program_create(2, 1);
	late_message(p, 0, 100, 290, 300);
	late_message(p, 1, 200, 390, 400);
	program_slow(p, 0, 0, 1, 60);
	program_slow(p, 0, 1, 1, 40);
	cJSON *root = analyse_program(p, 1000), *rank = find(root, "per_rank", "rank", 0, NULL);
	cr_expect_float_eq(field(rank, "tracing_s"), 60e-6 + TRACED, NEAR);
	cr_expect_float_eq(field(rank, "useful_s"), 640e-6 - TRACED, NEAR);
	cJSON_Delete(root);
}

Test(threads, are_told_each_in_its_own_time)
{
	cJSON *root = waiting_together(), *rank = find(root, "per_rank", "rank", 0, NULL);
	cJSON *first = find(rank, "threads", "thread", 0, NULL), *second = find(rank, "threads", "thread", 1, NULL);
	cr_assert(first != NULL && second != NULL);
	cr_expect_float_eq(field(first, "span_s"), 1000e-6, NEAR);
	cr_expect_float_eq(field(first, "mpi_s"), 200e-6, NEAR);
	cr_expect_float_eq(field(first, "wait_s"), 190e-6, NEAR);
	cr_expect_float_eq(field(first, "useful_s"), 800e-6 - TRACED, NEAR);
	cr_expect_float_eq(field(second, "span_s"), 200e-6, NEAR);
	cr_expect_float_eq(field(second, "wait_s"), 190e-6, NEAR);
	cr_expect_float_eq(field(second, "useful_s"), 0, NEAR);
	cr_expect_float_eq(field(rank, "threads_s"), 1200e-6, NEAR);
	cr_expect_float_eq(at_path(root, "summary.threads_s"), 2200e-6, NEAR);
	cr_expect_str_eq(cJSON_GetObjectItem(first, "role")->valuestring, "worker");
	cJSON_Delete(root);
}

/* Rank 0 waits on both threads all the time: that is all of the time, not twice as much. */
Test(threads, never_wait_for_more_than_all_of_the_time)
{
	struct program *p = program_create(2, 1);
	late_message(p, 0, 0, 980, 1000);
	late_message(p, 1, 0, 990, 1000);
	cJSON *root = analyse_program(p, 1000), *rank = find(root, "per_rank", "rank", 0, NULL), *row;
	double all = at_path(root, "summary.threads_s");
	cr_expect_float_eq(field(rank, "mpi_s"), 1000e-6, NEAR);
	cr_expect(field(rank, "wait_s") <= field(rank, "mpi_s"));
	cr_expect(at_path(root, "efficiency.parallel") <= 1);
	cJSON_ArrayForEach(row, node_at(root, "operations")) cr_expect(field(row, "time_s") <= all);
	cJSON_ArrayForEach(row, node_at(root, "issues"))
	{
		cr_expect(field(row, "loss_s") <= field(row, "loss_of_s"));
		cr_expect(field(cJSON_GetObjectItem(row, "metric"), "value") <= 1 ||
			  strstr(cJSON_GetObjectItem(cJSON_GetObjectItem(row, "metric"), "name")->valuestring,
				 "share") == NULL);
	}
	cr_expect_not_null(find_text(root, "issues", "issue", "late_sender"));
	cJSON_Delete(root);
}

Test(threads, that_only_poll_for_others_count_in_no_efficiency)
{
	for (unsigned poller = 0; poller < 2; poller++) {
		struct program *p = program_create(2, 1);
		polls(p, 0, poller, 0, 90);
		late_message(p, 1 - poller, 500, 590, 600);
		cJSON *root = analyse_program(p, 1000), *rank = find(root, "per_rank", "rank", 0, NULL);
		cJSON *thread = find(rank, "threads", "thread", (int)poller, NULL);
		cr_assert_str_eq(cJSON_GetObjectItem(thread, "role")->valuestring, "progress");
		cr_expect_str_eq(cJSON_GetObjectItem(rank, "time_of")->valuestring, "one_thread");
		cr_expect_float_eq(field(rank, "mpi_s"), 100e-6, NEAR);
		cr_expect_float_eq(field(rank, "wait_s"), 90e-6, NEAR);
		cr_expect_float_eq(field(rank, "useful_s"), 900e-6 - TRACED, NEAR);
		cr_expect_float_eq(field(thread, "mpi_s"), 180e-6, NEAR);
		cJSON_Delete(root);
	}
}

Test(threads, that_all_poll_poll_for_themselves)
{
	struct program *p = program_create(2, 1);
	polls(p, 0, 0, 0, 50);
	polls(p, 0, 1, 1, 50);
	late_message(p, 1, 600, 690, 700);
	cJSON *root = analyse_program(p, 1000), *rank = find(root, "per_rank", "rank", 0, NULL);
	cr_expect_null(find_text(rank, "threads", "role", "progress"));
	cr_expect_float_eq(field(rank, "mpi_s"), 50 * 3e-6 + 100e-6, NEAR);
	cJSON_Delete(root);
}

/* One thread in ten calls something else: 0.9 is where it begins. */
Test(threads, that_do_more_than_poll_count)
{
	for (unsigned n = 8; n <= 9; n++) {
		struct program *p = program_create(2, 1);
		late_message(p, 0, 500, 590, 600);
		late_message(p, 1, 0, 90, 100);
		polls(p, 0, 1, 700, n);
		cJSON *root = analyse_program(p, 1000), *rank = find(root, "per_rank", "rank", 0, NULL);
		cr_expect_eq(find_text(rank, "threads", "role", "progress") != NULL, n == 9, "%u polls", n);
		cJSON_Delete(root);
	}
}

Test(threads, without_single_calls_the_first_speaks_for_its_rank)
{
	struct program *p = program_create(2, 1);
	program_budget_spent(p, 0);
	late_message(p, 0, 100, 290, 300);
	late_message(p, 1, 200, 390, 400);
	cJSON *root = analyse_program(p, 1000), *rank = find(root, "per_rank", "rank", 0, NULL);
	cr_expect_str_eq(cJSON_GetObjectItem(rank, "time_of")->valuestring, "first_thread");
	cr_expect_float_eq(field(rank, "mpi_s"), 200e-6, NEAR);
	cr_expect(cJSON_IsNull(cJSON_GetObjectItem(find(rank, "threads", "thread", 1, NULL), "span_s")));
	cJSON_Delete(root);
}

Test(threads, are_no_matter_where_each_rank_has_one)
{
	struct program *p = program_create(2, 1);
	polls(p, 0, 0, 0, 50);
	late_message(p, 0, 600, 690, 700);
	cJSON *root = analyse_program(p, 1000), *rank = find(root, "per_rank", "rank", 0, NULL);
	cr_expect_null(cJSON_GetObjectItem(rank, "threads"));
	cr_expect_null(cJSON_GetObjectItem(rank, "time_of"));
	cr_expect(isnan(at_path(root, "summary.threads_s")));
	cr_expect_float_eq(field(rank, "mpi_s"), 200e-6, NEAR);
	cJSON_Delete(root);
}
