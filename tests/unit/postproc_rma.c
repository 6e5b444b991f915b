/* postproc_rma.c - one-sided communication and files whose waits are known. */
#include "one_sided.h"
#include "postproc/postproc.h"
#include "postproc/totals/traffic.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_MPI_NOCHECK 1
#define MPICH_NOPRECEDE 8192

/* ---- all members of a window ---- */

Test(rma, waits_for_the_last_to_make_fence_and_free_a_window)
{
	struct program *p = program_create(3, 1);
	program_window(p, 0);
	for (unsigned r = 0; r < 3; r++) {
		double late = r == 2 ? 40 : 0;
		rma_together(p, r, "MPI_Win_create", RMA_CREATE, 100 + late, 150, 0);
		rma_together(p, r, "MPI_Win_fence", RMA_FENCE, 200 + late / 2, 250, 0);
		rma_together(p, r, "MPI_Win_fence", RMA_FENCE, 300 + late / 4, 350, 0);
		rma_together(p, r, "MPI_Win_free", RMA_FREE, 400 + late / 8, 450, 0);
	}
	cJSON *root = analyse_program(p, 1000);
	for (int r = 0; r < 2; r++) {
		expect_wait(root, "wait_at_create", r, 40, 2);
		expect_wait(root, "wait_at_fence", r, 20 + 10, 2);
		expect_wait(root, "wait_at_free", r, 5, 2);
	}
	cr_expect_null(row_of(root, "wait_at_create", 2));
	cr_expect_float_eq(at_path(find(root, "per_rank", "rank", 0, NULL), "wait_s"), 75e-6, NEAR);
	cJSON_Delete(root);
}

Test(rma, of_a_fence_that_need_not_wait_only_who_was_still_there_waited)
{
	struct program *p = program_create(3, 1);
	program_window(p, 0);
	rma_together(p, 0, "MPI_Win_fence", RMA_FENCE, 100, 110, MPICH_NOPRECEDE);
	rma_together(p, 1, "MPI_Win_fence", RMA_FENCE, 100, 160, MPICH_NOPRECEDE);
	rma_together(p, 2, "MPI_Win_fence", RMA_FENCE, 150, 160, MPICH_NOPRECEDE);
	cJSON *root = analyse_program(p, 1000);
	expect_wait(root, "wait_at_fence", 1, 50, 2);
	cr_expect_null(row_of(root, "wait_at_fence", 0), "rank 0 went on before rank 2 came");
	cJSON_Delete(root);
}

Test(rma, an_ideal_fence_ends_when_the_last_has_come)
{
	struct program *p = program_create(2, 1);
	program_window(p, 0);
	rma_together(p, 0, "MPI_Win_fence", RMA_FENCE, 100, 500, 0);
	rma_together(p, 1, "MPI_Win_fence", RMA_FENCE, 400, 500, 0);
	program_words(p, 0, (struct call){.op = "MPI_Comm_rank", .from_us = 600, .to_us = 601}, SIG_TIME, 0, NULL, 0);
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(at_path(root, "efficiency.ideal_s"), 500e-6, NEAR, "rank 0 goes on at 400, not at 100");
	cJSON_Delete(root);
}

/* ---- posts and starts ---- */

Test(rma, charges_a_late_post_to_the_call_that_was_held)
{
	struct program *p = program_create(2, 1);
	program_window(p, 0);
	rma_start(p, 0, 100, 161, 1); /* the library waits here */
	rma_put(p, 0, 162, 163, 1);
	rma_complete(p, 0, 164, 165);
	rma_start(p, 0, 200, 201, 1); /* and now only at the end */
	rma_put(p, 0, 202, 203, 1);
	rma_complete(p, 0, 210, 271);
	rma_start(p, 0, 300, 301, 1); /* and now not at all: the post was there */
	rma_complete(p, 0, 310, 320);
	double posts[] = {160, 270, 299};
	for (int i = 0; i < 3; i++) {
		rma_post(p, 1, posts[i], 0);
		rma_wait(p, 1, posts[i] + 25, posts[i] + 26);
	}
	cJSON *root = analyse_program(p, 1000);
	cr_expect_float_eq(field(find_text(root, "wait_totals", "state", "late_post"), "seconds"), 120e-6, NEAR);
	expect_wait(root, "late_post", 0, 60, 1); /* each of its two call sites */
	expect_none(root, "early_transfer");
	expect_none(root, "early_wait");
	cJSON_Delete(root);
}

Test(rma, a_start_waits_for_the_last_of_its_targets)
{
	struct program *p = program_create(3, 1);
	const int targets[] = {2, 1};
	program_window(p, 0);
	rma_group(p, 0, "MPI_Win_start", RMA_START, 100, 181, targets, 2);
	rma_complete(p, 0, 190, 191);
	rma_post(p, 1, 150, 0);
	rma_post(p, 2, 180, 0);
	rma_wait(p, 1, 195, 196);
	rma_wait(p, 2, 195, 196);
	cJSON *root = analyse_program(p, 1000);
	expect_wait(root, "late_post", 0, 80, 2);
	cJSON_Delete(root);
}

Test(rma, an_access_that_is_held_until_the_post_came_early)
{
	struct program *p = program_create(2, 1);
	program_window(p, 0);
	rma_start(p, 0, 100, 101, 1);
	rma_put(p, 0, 102, 103, 1);
	rma_put(p, 0, 110, 151, 1);
	rma_put(p, 0, 152, 153, 1);
	rma_complete(p, 0, 160, 161);
	rma_post(p, 1, 150, 0);
	rma_wait(p, 1, 170, 171);
	cJSON *root = analyse_program(p, 1000);
	expect_wait(root, "early_transfer", 0, 40, 1);
	expect_none(root, "late_post");
	cJSON_Delete(root);
}

Test(rma, an_early_wait_lasts_until_the_last_complete_and_part_of_it_is_late)
{
	struct program *p = program_create(3, 1);
	const int origins[] = {0, 2};
	program_window(p, 0);
	rma_group(p, 1, "MPI_Win_post", RMA_POST, 90, 91, origins, 2);
	rma_wait(p, 1, 100, 205);
	rma_start(p, 0, 95, 96, 1);
	rma_put(p, 0, 110, 111, 1);
	rma_complete(p, 0, 120, 121);
	rma_start(p, 2, 95, 96, 1);
	rma_put(p, 2, 130, 140, 1);
	rma_complete(p, 2, 200, 204);
	cJSON *root = analyse_program(p, 1000);
	expect_wait(root, "early_wait", 1, 100, 2);
	expect_wait(root, "late_complete", 1, 60, 2);
	cr_expect_float_eq(at_path(find(root, "per_rank", "rank", 1, NULL), "wait_s"), 100e-6, NEAR,
			   "late_complete is a part of it and not added again");
	cJSON_Delete(root);
}

Test(rma, epochs_are_met_in_order_of_each_pair)
{
	struct program *p = program_create(3, 1);
	const int both[] = {0, 2};
	program_window(p, 0);
	rma_group(p, 1, "MPI_Win_post", RMA_POST, 10, 11, both, 2); /* the first of both */
	rma_wait(p, 1, 100, 121);
	rma_post(p, 1, 300, 2); /* of rank 2 the second, of rank 0 none */
	rma_wait(p, 1, 350, 351);
	rma_post(p, 1, 500, 0);
	rma_wait(p, 1, 550, 551);
	rma_start(p, 0, 20, 21, 1);
	rma_complete(p, 0, 30, 31);
	rma_start(p, 0, 320, 501, 1);
	rma_complete(p, 0, 510, 511);
	rma_start(p, 2, 40, 41, 1);
	rma_complete(p, 2, 120, 121);
	rma_start(p, 2, 200, 301, 1);
	rma_complete(p, 2, 310, 311);
	cJSON *root = analyse_program(p, 1000);
	expect_wait(root, "late_post", 0, 180, 1);
	expect_wait(root, "late_post", 2, 100, 1);
	expect_wait(root, "early_wait", 1, 20, 2);
	cJSON_Delete(root);
}

/* ---- locks ---- */

/* Rank 1 holds a lock of rank 0's window until 200, which rank 2 asks for at 120 and gets. Rank 0 is in a barrier. */
static cJSON *contended(unsigned holds, unsigned wants, unsigned assertion)
{
	struct program *p = program_create(3, 1);
	program_window(p, 0);
	rma_lock(p, 1, 20, 21, 2, 2, 0); /* elsewhere: the window has exclusive locks in any case */
	rma_unlock(p, 1, 30, 31, 2);
	rma_lock(p, 1, 100, 101, 0, holds, assertion);
	rma_unlock(p, 1, 200, 201, 0);
	rma_lock(p, 2, 120, 202, 0, wants, 0);
	rma_unlock(p, 2, 203, 204, 0);
	for (unsigned r = 0; r < 3; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = r == 0 ? 50 : 300,
					   .to_us = 310,
					   .peer = SIG_NO_ROOT,
					   .coll = COLL_BARRIER});
	return analyse_program(p, 1000);
}

Test(rma, a_lock_is_waited_for_until_its_holder_gives_it_back)
{
	cJSON *root = contended(2, 2, 0);
	expect_wait(root, "lock_contention", 2, 80, 1);
	cr_expect_null(row_of(root, "lock_contention", 1));
	expect_none(root, "wait_for_progress");
	cJSON_Delete(root);
}

Test(rma, locks_conflict_if_one_is_exclusive_and_they_are_checked)
{
	const struct {
		unsigned holds, wants, assertion;
		bool waits;
	} cases[] = {{1, 2, 0, true}, {2, 1, 0, true}, {1, 1, 0, false}, {2, 2, OPEN_MPI_NOCHECK, false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cJSON *root = contended(cases[i].holds, cases[i].wants, cases[i].assertion);
		cr_expect_eq(row_of(root, "lock_contention", 2) != NULL, cases[i].waits, "case %zu", i);
		cJSON_Delete(root);
	}
}

Test(rma, a_lock_that_is_put_off_is_waited_for_where_it_is_needed)
{
	for (int proof = 0; proof < 2; proof++) {
		struct program *p = program_create(3, 1);
		program_window(p, 0);
		rma_lock(p, 1, 100, 101, 0, 2, 0);
		rma_put(p, 1, 102, 103, 0);
		if (proof) /* its put is done, so rank 1 has the lock; else nobody knows */
			rma_flush(p, 1, 104, 110, 0);
		rma_unlock(p, 1, 200, 201, 0);
		rma_lock(p, 2, 120, 121, 0, 2, 0);
		rma_put(p, 2, 122, 123, 0);
		rma_unlock(p, 2, 130, 205, 0);
		cJSON *root = analyse_program(p, 1000);
		if (proof)
			expect_wait(root, "lock_contention", 2, 70, 1);
		else
			expect_none(root, "lock_contention");
		cJSON_Delete(root);
	}
}

Test(rma, of_two_who_had_a_lock_before_the_one_counts_of_whom_that_is_certain)
{
	struct program *p = program_create(4, 1);
	program_window(p, 0);
	rma_lock(p, 1, 100, 101, 0, 2, 0);
	rma_put(p, 1, 102, 103, 0);
	rma_flush(p, 1, 104, 110, 0);
	rma_unlock(p, 1, 200, 201, 0);
	rma_lock(p, 3, 120, 121, 0, 2, 0);
	rma_put(p, 3, 122, 123, 0);
	rma_unlock(p, 3, 250, 260, 0);
	rma_lock(p, 2, 120, 121, 0, 2, 0);
	rma_put(p, 2, 122, 123, 0);
	rma_unlock(p, 2, 130, 270, 0);
	cJSON *root = analyse_program(p, 1000);
	expect_wait(root, "lock_contention", 2, 70, 1);
	cJSON_Delete(root);
}

Test(rma, locks_of_all_and_exclusive_ones_wait_for_each_other)
{
	struct program *p = program_create(3, 1);
	program_window(p, 0);
	rma_lock(p, 1, 100, 101, 0, 2, 0);
	rma_unlock(p, 1, 200, 201, 0);
	rma_lock(p, 2, 120, 202, SIG_ANY, 1, 0);
	rma_unlock(p, 2, 300, 301, SIG_ANY);
	rma_lock(p, 1, 250, 302, 0, 2, 0);
	rma_unlock(p, 1, 303, 304, 0);
	cJSON *root = analyse_program(p, 1000);
	expect_wait(root, "lock_contention", 2, 80, 1);
	expect_wait(root, "lock_contention", 1, 50, 2);
	cJSON_Delete(root);
}

/* ---- progress ---- */

/* Rank 1 reaches for the window of rank 0, which computes until a barrier at 300. */
static cJSON *reached(double unlock_ends, bool inside, bool alone_before)
{
	struct program *p = program_create(2, 1);
	program_window(p, 0);
	if (inside)
		program_recv(p, 0, (struct call){.op = "MPI_Recv", .from_us = 50, .to_us = 290, .peer = 1, .bytes = 8});
	if (alone_before) { /* once it went without rank 0 */
		rma_lock(p, 1, 60, 61, 0, 1, 0);
		rma_put(p, 1, 62, 63, 0);
		rma_unlock(p, 1, 64, 70, 0);
	}
	rma_lock(p, 1, 100, 101, 0, 1, 0);
	rma_put(p, 1, 102, 103, 0);
	rma_unlock(p, 1, 110, unlock_ends, 0);
	/* a call that asks nothing of others does not help */
	program_words(p, 0, (struct call){.op = "MPI_Comm_rank", .from_us = 295, .to_us = 296}, SIG_TIME, 0, NULL, 0);
	for (unsigned r = 0; r < 2; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = r == 0 ? 300 : 700,
					   .to_us = 710,
					   .peer = SIG_NO_ROOT,
					   .coll = COLL_BARRIER});
	return analyse_program(p, 1000);
}

Test(rma, a_passive_target_that_computes_is_waited_for_until_it_calls)
{
	cJSON *root = reached(310, false, false);
	expect_wait(root, "wait_for_progress", 1, 190, 0);
	cJSON_Delete(root);
}

Test(rma, what_the_record_cannot_prove_is_no_wait_for_progress)
{
	cJSON *root = reached(600, false, false);
	expect_none(root, "wait_for_progress"); /* it went on long after rank 0 came */
	cJSON_Delete(root);
	root = reached(310, true, false);
	expect_none(root, "wait_for_progress"); /* rank 0 was in MPI_Recv all the time */
	cJSON_Delete(root);
	root = reached(310, false, true);
	expect_none(root, "wait_for_progress"); /* this library needs no help of the target */
	cJSON_Delete(root);
}

/* ---- files ---- */

static struct call moving(const char *op, double from, double to, uint64_t bytes, unsigned flags)
{
	return (struct call){.op = op, .from_us = from, .to_us = to, .bytes = bytes, .flags = flags, .line = 4};
}

Test(rma, who_was_still_in_a_collective_write_waited_for_the_last)
{
	struct program *p = program_create(3, 1);
	uint32_t file = program_file(p, 0);
	const double from[] = {100, 100, 160}, to[] = {110, 170, 170};
	for (unsigned r = 0; r < 3; r++)
		program_io(p, r, moving("MPI_File_write_all", from[r], to[r], 1000, SIG_SIZED), IO_WRITE, file,
			   IO_COLLECTIVE);
	cJSON *root = analyse_program(p, 1000);
	expect_wait(root, "wait_at_collective_io", 1, 60, 2);
	cr_expect_null(row_of(root, "wait_at_collective_io", 0), "rank 0 was gone before rank 2 came");
	cr_expect_float_eq(at_path(root, "io.wait_s"), 60e-6, NEAR);
	cr_expect_float_eq(field(find_text(root, "io.classes", "class", "collective_write"), "wait_s"), 60e-6, NEAR);
	cJSON_Delete(root);
}

Test(rma, each_class_of_file_calls_has_its_time_and_bytes)
{
	struct program *p = program_create(1, 1);
	uint32_t file = program_file(p, 0);
	program_io(p, 0, moving("MPI_File_open", 10, 20, 0, 0), IO_OPEN, file, IO_COLLECTIVE);
	program_io(p, 0, moving("MPI_File_read", 20, 40, 2000, SIG_SIZED), IO_READ, file, 0);
	program_io(p, 0, moving("MPI_File_write_at", 50, 60, 500, SIG_SIZED), IO_WRITE, file, IO_EXPLICIT);
	program_io(p, 0, moving("MPI_File_read_all_begin", 60, 62, 0, 0), IO_READ, file, IO_COLLECTIVE | IO_BEGIN);
	program_io(p, 0, moving("MPI_File_read_all_end", 62, 65, 700, SIG_SIZED), IO_READ, file,
		   IO_COLLECTIVE | IO_END);
	program_io(p, 0, moving("MPI_File_iwrite", 70, 71, 300, SIG_STARTS_REQUEST), IO_WRITE, file, 0);
	program_io(p, 0, moving("MPI_File_seek", 80, 81, 0, 0), IO_OTHER, file, 0);
	program_io(p, 0, moving("MPI_File_close", 90, 95, 0, 0), IO_CLOSE, file, IO_COLLECTIVE);
	cJSON *root = analyse_program(p, 1000);
	const struct {
		const char *name;
		double calls, us, bytes;
	} rows[] = {{"open_close", 2, 15, 0},	    {"read", 1, 20, 2000},	{"write", 1, 10, 500},
		    {"collective_read", 1, 5, 700}, {"nonblocking", 1, 1, 300}, {"other", 1, 1, 0}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const cJSON *row = find_text(root, "io.classes", "class", rows[i].name);
		cr_expect_eq(field(row, "calls"), rows[i].calls, "%s", rows[i].name);
		cr_expect_float_eq(field(row, "time_s"), rows[i].us * 1e-6, NEAR, "%s", rows[i].name);
		cr_expect_eq(field(row, "bytes"), rows[i].bytes, "%s", rows[i].name);
	}
	cr_expect_float_eq(field(find_text(root, "io.classes", "class", "read"), "bytes_per_s"), 100e6, 1);
	cr_expect(isnan(field(find_text(root, "io.classes", "class", "nonblocking"), "bytes_per_s")));
	cr_expect_eq(cJSON_GetArraySize(node_at(root, "io.classes")), 6, "no collective writes, no row");
	cr_expect_float_eq(at_path(root, "io.time_s"), 52e-6, NEAR);
	cJSON_Delete(root);
}

/* ---- the issue ---- */

Test(rma, waiting_for_a_post_is_an_issue_from_a_share_on)
{
	for (int late = 0; late < 2; late++) {
		struct program *p = program_create(2, 1);
		program_window(p, 0);
		rma_start(p, 0, 100, late ? 501 : 101, 1);
		rma_complete(p, 0, 510, 511);
		rma_post(p, 1, late ? 500 : 90, 0);
		rma_wait(p, 1, 600, 601);
		cJSON *root = analyse_program(p, 1000);
		const cJSON *issue = find_text(root, "issues", "issue", "rma_wait");
		cr_expect_eq(issue != NULL, late);
		if (issue != NULL) {
			cr_expect_float_eq(field(issue, "loss_s"), 400e-6, NEAR);
			cr_expect_eq(cJSON_GetArrayItem(cJSON_GetObjectItem(issue, "ranks"), 0)->valueint, 1);
			cr_expect_float_eq(at_path(issue, "metric.value"), 0.2, 1e-6);
		}
		cJSON_Delete(root);
	}
}

/* ---- any number of threads, any order ---- */

#define MANY 12

static void many_epochs(struct program *p, unsigned ranks)
{
	for (unsigned r = 0; r < ranks; r++) {
		unsigned next = (r + 1) % ranks, before = (r + ranks - 1) % ranks;
		for (unsigned i = 0; i < 40; i++) {
			double t = 100 + 1000 * i + 7 * ((r * 31 + i * 17) % 23);
			rma_post(p, r, t, (int)before);
			rma_start(p, r, t + 2, 1000 * i + 300, (int)next);
			rma_put(p, r, 1000 * i + 301, 1000 * i + 302, (int)next);
			rma_complete(p, r, 1000 * i + 310 + r, 1000 * i + 330);
			rma_wait(p, r, 1000 * i + 330 + r % 3, 1000 * i + 350);
			double turn = 1000 * i + 400 + 20 * ((r + i) % ranks); /* one behind the other has the lock */
			rma_lock(p, r, 1000 * i + 400 - r, turn + 1, (int)(i % ranks), 2, 0);
			rma_put(p, r, turn + 2, turn + 3, (int)(i % ranks));
			rma_unlock(p, r, turn + 15, turn + 17, (int)(i % ranks));
			rma_together(p, r, "MPI_Win_fence", RMA_FENCE, 1000 * i + 700 + (r * 13 + i) % 50,
				     1000 * i + 760, 0);
		}
	}
}

static char *analysed(const char *dir, const char *mpix, unsigned threads, size_t *ret_bytes, char **ret_trace)
{
	struct postproc_result result = {0};
	struct error e = {0};
	char *paths[] = {(char *)dir};
	cr_assert_eq(postproc_analyze(paths, 1, mpix, threads, &result, &e), 0, "%s", e.text);
	FILE *f = fopen(mpix, "r");
	cr_assert_not_null(f);
	fseek(f, 0, SEEK_END);
	*ret_bytes = (size_t)ftell(f);
	*ret_trace = malloc(*ret_bytes);
	rewind(f);
	cr_assert_eq(fread(*ret_trace, 1, *ret_bytes, f), *ret_bytes);
	fclose(f);
	return result.json;
}

/* It would take minutes to look at each pair of ranks. */
Test(rma, without_one_sided_calls_many_ranks_take_no_time, .timeout = 20)
{
	struct step s = {.nranks = 1u << 18, .ranks = calloc(1u << 18, sizeof(struct process *))};
	struct traffic t = {0};
	cr_assert_eq(traffic_rma(&s, &t), 0);
	cr_expect_eq(t.links.n, 0);
	traffic_done(&t);
	free(s.ranks);
}

Test(rma, the_result_is_the_same_for_any_number_of_threads)
{
	struct program *p = program_create(MANY, 2);
	char *dir = make_directory(), *out = make_directory(), mpix[256], *first = NULL, *trace = NULL;
	const unsigned threads[] = {1, 2, 5};
	size_t bytes = 0;
	snprintf(mpix, sizeof(mpix), "%s/job.mpix", out);
	program_window(p, 0);
	many_epochs(p, MANY);
	program_write(p, dir, 50000, -1);
	program_destroy(p);
	for (int i = 0; i < 3; i++) {
		size_t n;
		char *its_trace, *json = analysed(dir, mpix, threads[i], &n, &its_trace);
		if (first == NULL) {
			first = json;
			trace = its_trace;
			bytes = n;
			cr_expect_not_null(strstr(json, "late_post"));
			cr_expect_not_null(strstr(json, "lock_contention"));
			cr_expect_not_null(strstr(json, "wait_at_fence"));
			continue;
		}
		cr_expect_str_eq(json, first, "%u threads", threads[i]);
		cr_expect(n == bytes && memcmp(its_trace, trace, n) == 0, "%u threads: the .mpix", threads[i]);
		free(json);
		free(its_trace);
	}
	free(first);
	free(trace);
	remove_directory(dir);
	remove_directory(out);
}
