/* postproc_death.c - ranks that die: who was first, how, in which call; who waited since when; and what their missing
 * time is not. */
#include "base/json.h"
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#define EXIT(code) ((code) << 8)

static void barrier(struct program *p, unsigned rank, double from, double to)
{
	program_coll(p, rank,
		     (struct call){.op = "MPI_Barrier",
				   .from_us = from,
				   .to_us = to,
				   .peer = SIG_NO_ROOT,
				   .coll = COLL_BARRIER,
				   .line = 7});
}

/* All n meet at 100 µs. */
static struct program *begun(unsigned n)
{
	struct program *p = program_create(n, 1);
	for (unsigned r = 0; r < n; r++)
		barrier(p, r, 100, 101);
	return p;
}

/* It never comes back from a second barrier, which it entered then, until the launcher ends it. */
static void waits(struct program *p, unsigned rank, double since, double until)
{
	program_died_in(
		p, rank,
		(struct call){
			.op = "MPI_Barrier", .from_us = since, .peer = SIG_NO_ROOT, .coll = COLL_BARRIER, .line = 9},
		SIG_COLL, 0);
	program_ended(p, rank, until);
}

static void dies(struct program *p, unsigned rank, double at, int status)
{
	program_killed(p, rank, status);
	program_ended(p, rank, at);
}

static const cJSON *first_issue(const cJSON *root)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItem(root, "issues"), 0);
}

static void expect_death(struct program *p, unsigned rank, const char *said)
{
	cJSON *root = analyse_program(p, 1010);
	const cJSON *row = first_issue(root);
	cr_assert_str_eq(text_at(row, "issue"), "death");
	cr_expect_eq(cJSON_GetArrayItem(cJSON_GetObjectItem(row, "ranks"), 0)->valueint, (int)rank);
	cr_expect_not_null(strstr(text_at(row, "what"), said), "%s", text_at(row, "what"));
	cr_expect_eq(strncmp(text_at(root, "verdict"), text_at(row, "what"), strlen(text_at(row, "what"))), 0);
	cJSON_Delete(root);
}

/* Rank 2 of four, others wait for it since 300, 310 and 320 µs. */
static struct program *three_wait(int status)
{
	struct program *p = begun(4);
	for (unsigned r = 0; r < 4; r++)
		if (r != 2)
			waits(p, r, 300 + 10 * r, 1005);
	dies(p, 2, 1000, status);
	return p;
}

Test(postproc_death, of_one_killed_by_a_signal_is_said_with_its_name_and_since_when_others_waited)
{
	expect_death(three_wait(SIGSEGV), 2, "Rank 2 was killed by signal 11 (segmentation fault) at 1.00 ms");
	expect_death(three_wait(SIGSEGV), 2,
		     "3 other ranks were waiting at MPI_Barrier, the first since 300 µs after the start.");
}

Test(postproc_death, of_one_that_exits_is_said_with_its_code)
{
	expect_death(three_wait(EXIT(3)), 2, "Rank 2 exited with code 3 without MPI_Finalize at 1.00 ms");
	expect_death(three_wait(EXIT(0)), 2, "Rank 2 exited with code 0 without MPI_Finalize at 1.00 ms");
}

Test(postproc_death, seconds_of_it_are_what_others_waited_until_then)
{
	cJSON *root = analyse_program(three_wait(SIGSEGV), 1010);
	cr_expect_float_eq(field(first_issue(root), "loss_s"), (700 + 690 + 670) * 1e-6, 1e-8);
	cJSON_Delete(root);
}

/* A launcher may end others before it knows of all. */
Test(postproc_death, of_a_crash_goes_before_that_of_one_that_was_ended_earlier)
{
	struct program *p = begun(3);
	dies(p, 0, 500, SIGKILL);
	dies(p, 1, 510, SIGFPE);
	waits(p, 2, 200, 520);
	expect_death(p, 1, "Rank 1 was killed by signal 8 (arithmetic error)");
}

Test(postproc_death, of_two_that_crash_is_the_first)
{
	struct program *p = begun(3);
	dies(p, 0, 900, SIGSEGV);
	dies(p, 1, 400, SIGABRT);
	waits(p, 2, 200, 905);
	expect_death(p, 1, "Rank 1 was killed by signal 6 (abort) at 400 µs");
}

Test(postproc_death, of_all_from_outside_is_nobodys)
{
	struct program *p = begun(2);
	dies(p, 0, 500, SIGTERM);
	dies(p, 1, 501, SIGTERM);
	cJSON *root = analyse_program(p, 1010);
	cr_expect_str_eq(text_at(first_issue(root), "issue"), "unfinished");
	cr_expect_not_null(strstr(text_at(root, "verdict"), "Stopped from outside after 501 µs"), "%s",
			   text_at(root, "verdict"));
	cr_expect_null(find_text(root, "issues", "issue", "death"));
	cJSON_Delete(root);
}

/* The others lived on: what ended them is that it was killed. */
Test(postproc_death, of_one_killed_alone_is_its_own)
{
	struct program *p = begun(3);
	waits(p, 0, 200, 300000);
	dies(p, 1, 500, SIGKILL);
	waits(p, 2, 200, 300000);
	expect_death(p, 1, "Rank 1 was killed by signal 9 (killed)");
}

/* All four had set themselves the same time: rank 2 computes until then, and the others wait for it, though the clock
 * of one of them was faster. */
Test(postproc_death, by_a_timer_of_who_was_outside_goes_before_that_of_those_who_waited_for_it)
{
	for (int last = 0; last < 2; last++) {
		struct program *p = begun(4);
		for (unsigned r = 0; r < 4; r++) {
			if (r == 2)
				continue;
			waits(p, r, 300 + 10 * r, last && r == 1 ? 990 : 1001);
			program_killed(p, r, SIGALRM);
		}
		dies(p, 2, 1000, SIGALRM);
		expect_death(p, 2, ". 3 other ranks were waiting at MPI_Barrier, the first since 300 µs");
	}
}

Test(postproc_death, of_all_alike_is_said_of_all)
{
	struct program *p = begun(4);
	for (unsigned r = 0; r < 4; r++)
		dies(p, r, 500 + r, EXIT(0));
	expect_death(p, 0, "So did all others, 3 more ranks.");
}

/* Shares are of the time until nobody advanced any more; how long nobody did is beside them. */
Test(postproc_death, time_in_which_nobody_advanced_is_apart)
{
	struct program *p = begun(3);
	for (unsigned r = 0; r < 3; r++)
		waits(p, r, 300 + 10 * r, 3000320);
	cJSON *root = analyse_program(p, 3000320);
	const cJSON *row = find(root, "per_rank", "rank", 0, NULL);
	cr_expect_float_eq(at_path(root, "job.hung_s"), 3, 1e-6);
	cr_expect_float_eq(at_path(root, "job.elapsed_s"), 3.00032, 1e-6);
	cr_expect_float_eq(field(row, "hung_s"), 3, 1e-6);
	cr_expect_float_eq(field(row, "unreturned_s"), 20e-6, 1e-8);
	cr_expect_lt(at_path(root, "efficiency.region_s"), 320.1e-6);
	cr_expect_not_null(strstr(text_at(root, "verdict"), "no rank advanced in the last 3.00 s"), "%s",
			   text_at(root, "verdict"));
	cJSON_Delete(root);
}

Test(postproc_death, inside_a_call_is_in_that_call_and_no_deadlock)
{
	struct program *p = begun(2);
	waits(p, 0, 200, 900);
	program_died_in(p, 1, (struct call){.op = "MPI_Send", .from_us = 880, .peer = 0, .line = 11}, SIG_SEND, 0);
	dies(p, 1, 890, SIGSEGV);
	expect_death(p, 1, ", in MPI_Send. 1 other rank was waiting at MPI_Barrier since 200 µs after the start.");
}

/* Of ranks that others ended while they waited for each other, the deadlock is the reason. */
Test(postproc_death, of_ranks_that_wait_for_each_other_is_a_deadlock_first)
{
	struct program *p = begun(2);
	for (unsigned r = 0; r < 2; r++)
		program_died_in(p, r, (struct call){.op = "MPI_Recv", .from_us = 200, .peer = (int)(1 - r), .line = 5},
				SIG_RECV, 0);
	cJSON *root = analyse_program(p, 1010);
	cr_expect_str_eq(text_at(first_issue(root), "issue"), "deadlock");
	cr_expect_null(find_text(root, "issues", "issue", "death"));
	cr_expect_not_null(find_text(root, "issues", "issue", "unfinished"));
	cJSON_Delete(root);
}

/* The others compute on: what a dead rank did not do any more is not that it had less to do. */
Test(postproc_death, long_before_the_others_end_is_no_imbalance_and_no_idling)
{
	for (int dead = 0; dead < 2; dead++) {
		struct program *p = begun(6);
		for (unsigned r = 0; r < 6; r++)
			if (r != 2 || !dead)
				barrier(p, r, 1000, 1001);
		if (dead)
			dies(p, 2, 150, SIGSEGV);
		cJSON *root = analyse_program(p, 1010);
		cr_expect_eq(strcmp(text_at(first_issue(root), "issue"), "death") == 0, dead == 1);
		cr_expect_null(find_text(root, "issues", "issue", "load_imbalance"));
		cr_expect_null(find_text(root, "issues", "issue", "idle_ranks"));
		cr_expect_gt(at_path(root, "efficiency.load_balance"), 0.99);
		cJSON_Delete(root);
	}
}

static void expect_balance(struct program *p, double load_balance, double useful_max_s, const char *without)
{
	cJSON *root = analyse_program(p, 4010);
	cr_expect_float_eq(at_path(root, "efficiency.load_balance"), load_balance, 0.01, "%g",
			   at_path(root, "efficiency.load_balance"));
	cr_expect_float_eq(at_path(root, "efficiency.useful_max_s"), useful_max_s, 2e-6);
	cr_expect_not_null(strstr(text_at(first_issue(root), "why"), without), "%s", text_at(first_issue(root), "why"));
	cJSON_Delete(root);
}

/* It is over long before its launcher has ended the others, which waited for it: the mean is of all four. */
Test(postproc_death, of_one_that_computes_longest_is_in_the_mean_as_it_is_the_maximum)
{
	struct program *p = begun(4);
	for (unsigned r = 0; r < 4; r++)
		if (r != 2)
			waits(p, r, 200, 4000);
	dies(p, 2, 2000, SIGSEGV);
	expect_balance(p, (3 * 199e-6 + 1999e-6) / 4 / 1999e-6, 1999e-6, "4 of 4 did not reach MPI_Finalize");
}

/* Who is in MPI_Finalize has done its work, and is in the mean however early that was. */
Test(postproc_death, leaves_those_in_the_mean_who_had_come_to_finalize)
{
	struct program *p = begun(4);
	for (unsigned r = 0; r < 4; r++)
		if (r != 1)
			program_finalizing(p, r, 301, SIGTERM);
	dies(p, 1, 3001, SIGSEGV);
	expect_balance(p, (3 * 300e-6 + 3000e-6) / 4 / 3000e-6, 3000e-6, "1 of 4 did not reach MPI_Finalize");
}

Test(postproc_death, inside_of_finalize_is_told_as_such)
{
	struct program *p = begun(2);
	program_finalizing(p, 0, 301, SIGTERM);
	program_finalizing(p, 1, 301, SIGSEGV);
	expect_balance(p, 1, 300e-6, "2 of 2 did not come out of MPI_Finalize");
}

static bool is_reason(const cJSON *root, const char *reason)
{
	for (const cJSON *x = json_first(node_at(root, "coverage"), "reasons"); x != NULL; x = x->next)
		if (strcmp(x->valuestring, reason) == 0)
			return true;
	return false;
}

Test(postproc_death, who_has_come_to_finalize_is_not_counted_as_one_who_has_not)
{
	struct program *p = begun(4);
	for (unsigned r = 0; r < 4; r++)
		if (r == 1)
			dies(p, r, 301, SIGTERM);
		else
			program_finalizing(p, r, 301, SIGTERM);
	cJSON *root = analyse_program(p, 3010);
	cr_expect(is_reason(root, "1 rank did not reach MPI_Finalize"));
	cr_expect(is_reason(root, "3 ranks did not come out of MPI_Finalize"));
	cr_expect_not_null(strstr(text_at(first_issue(root), "why"), "1 of 4 ranks had not reached MPI_Finalize"), "%s",
			   text_at(first_issue(root), "why"));
	cJSON_Delete(root);
}

/* Long after the begin of the run: it has not stood in that call since then. */
Test(postproc_death, inside_a_call_of_a_run_that_took_seconds_is_no_giving_up)
{
	struct program *p = begun(3);
	waits(p, 0, 5e6, 5.5e6);
	waits(p, 1, 5e6, 5.5e6);
	program_died_in(p, 2,
			(struct call){.op = "MPI_Allreduce",
				      .from_us = 5.1e6,
				      .peer = SIG_NO_ROOT,
				      .coll = COLL_ALLREDUCE,
				      .line = 5},
			SIG_COLL, 0);
	dies(p, 2, 5.2e6, SIGSEGV);
	cJSON *root = analyse_program(p, 5.6e6);
	const char *what = text_at(first_issue(root), "what");
	cr_expect_str_eq(text_at(first_issue(root), "issue"), "death");
	cr_expect_not_null(
		strstr(what, "2 other ranks were waiting at MPI_Barrier, the first since 5.00 s after the start."),
		"%s", what);
	cJSON_Delete(root);
}

/* The mean is of the same time: 100 us to the barrier. */
Test(postproc_death, behind_the_last_call_nothing_is_on_the_critical_path_which_says_so)
{
	struct program *p = begun(4);
	for (unsigned r = 0; r < 4; r++)
		if (r != 2)
			waits(p, r, 200, 4000);
	dies(p, 2, 2000, SIGSEGV);
	cJSON *root = analyse_program(p, 4010);
	const cJSON *path = node_at(root, "critical_path");
	cr_expect_float_eq(field(path, "length_s"), 101e-6, 1e-8);
	cr_expect_float_eq(field(path, "imbalance_s"), 0, 2e-7, "%g", field(path, "imbalance_s"));
	cr_expect_str_eq(text_at(path, "note"), "it ends at 101 µs, with the last call that ended: what ranks did in "
						"the 3.90 ms behind that is not on it");
	cJSON_Delete(root);
	root = analyse_program(begun(4), 1010);
	cr_expect_str_eq(text_at(node_at(root, "critical_path"), "note"), "");
	cJSON_Delete(root);
}

/* Who never came back from a call was in MPI, not computing. */
Test(postproc_death, time_in_the_call_that_never_ended_is_time_in_mpi)
{
	cJSON *root = analyse_program(three_wait(SIGSEGV), 1010);
	const cJSON *row = find(root, "per_rank", "rank", 0, NULL);
	cr_expect_float_eq(field(row, "mpi_s"), 706e-6, 1e-8);
	cr_expect_lt(field(row, "useful_s"), 300e-6);
	cJSON_Delete(root);
}

/* ---- who exits out of a call ---- */

#define SECOND 1e6 /* µs */

static void receives(struct program *p, unsigned rank, int from, double since, double until)
{
	program_died_in(p, rank, (struct call){.op = "MPI_Recv", .from_us = since, .peer = from, .line = 9}, SIG_RECV,
			0);
	program_ended(p, rank, until);
}

/* Two of three wait for each other, the third for them; rank 0 exits out of its call then, and that ends the others. */
static struct program *exits_out_of_its_call(double at)
{
	struct program *p = begun(3);
	receives(p, 0, 1, 300, at);
	receives(p, 1, 0, 310, at + 1000);
	receives(p, 2, 1, 320, at + 1000);
	dies(p, 0, at, EXIT(1));
	return p;
}

Test(postproc_death, the_library_that_ends_a_rank_in_a_deadlock_is_no_death_of_it)
{
	cJSON *root = analyse_program(exits_out_of_its_call(5 * SECOND), 5 * SECOND + 1000);
	cr_expect_str_eq(text_at(first_issue(root), "issue"), "deadlock");
	cr_expect_null(find_text(root, "issues", "issue", "death"));
	cr_expect_float_eq(field(node_at(root, "job"), "hung_s"), 5, 0.01);
	cJSON_Delete(root);
}

Test(postproc_death, who_exits_out_of_a_call_at_once_met_an_error)
{
	expect_death(exits_out_of_its_call(1000), 0, "Rank 0 exited with code 1 without MPI_Finalize");
}

Test(postproc_death, who_exits_out_of_a_call_that_could_have_returned_died)
{
	struct program *p = begun(2);
	receives(p, 0, 1, 300, 5 * SECOND);
	dies(p, 0, 5 * SECOND, EXIT(1));
	dies(p, 1, 5 * SECOND + 1000, 9); /* which computed */
	expect_death(p, 0, "Rank 0 exited with code 1 without MPI_Finalize");
}

Test(postproc_death, of_one_that_is_not_in_the_record_its_end_is_a_reason)
{
	struct program *p = three_wait(SIGSEGV);
	program_unrecorded(p, 2);
	cJSON *root = analyse_program(p, 1010);
	cr_expect(is_reason(root, "rank 2, of which nothing else is in the record, was killed by signal 11"));
	cJSON_Delete(root);
	p = three_wait(0);
	program_unrecorded(p, 2);
	root = analyse_program(p, 1010);
	for (const cJSON *x = json_first(node_at(root, "coverage"), "reasons"); x != NULL; x = x->next)
		cr_expect_null(strstr(x->valuestring, "nothing else"), "%s", x->valuestring);
	cJSON_Delete(root);
}
