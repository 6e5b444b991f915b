/* postproc_cut.c - files that were cut early: what of their times and of their clock is known. */
#include "format/mpic_sample.h"
#include "step_analysis.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define TICKS_A_NS 2 /* which no file tells, only two readings of the clock do */

static struct program *barriers(void)
{
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < 10; i++)
		for (unsigned r = 0; r < 2; r++)
			program_coll(p, r,
				     (struct call){.op = "MPI_Barrier",
						   .from_us = 10000 * i + 1000,
						   .to_us = 10000 * i + 6000,
						   .peer = SIG_NO_ROOT,
						   .coll = COLL_BARRIER});
	return p;
}

/* A reading as another clock's: ticks are those that there are, and half as many nanoseconds go by. */
static int64_t slower(int64_t ns)
{
	return 1000000000 + (ns - 1000000000) / TICKS_A_NS;
}

static void put_first_readings(const struct buf *raw, unsigned n, struct buf *out)
{
	struct cursor c = cursor_over(raw->data, raw->len_bytes);
	struct mpic_clock reading;
	while (n-- > 0 && mpic_next_clock(&c, &reading) == 1) {
		reading.monotonic_ns = slower(reading.monotonic_ns);
		mpic_put_clock(out, &reading);
	}
}

static void put_head(const struct buf *raw, struct buf *out)
{
	struct mpic_sample head;
	struct mpic_sample_reader r;
	cr_assert_eq(mpic_sample_begin(cursor_over(raw->data, raw->len_bytes), &head, &r), 0);
	head.monotonic_ns = slower(head.monotonic_ns);
	mpic_put_sample(out, &head);
}

/* The file without an end, with the first readings of the clock, the first samples, and no rate told. */
static void cut(const char *path, unsigned readings, unsigned samples)
{
	struct mpic_file f;
	_cleanup_buf_ struct buf file = {0};
	cr_assert_eq(mpic_open(path, &f, NULL), 0);
	mpic_append_magic(&file, f.id);
	for (size_t b = 0; b < f.nblocks; b++) {
		_cleanup_buf_ struct buf raw = {0}, own = {0};
		enum mpic_kind kind = f.blocks[b].kind;
		cr_assert_eq(mpic_read(&f, &f.blocks[b], &raw, NULL), 0);
		char *hz = memmem(raw.data, raw.len_bytes, "\"hz\":1e9", 8);
		if (kind == MPIC_META && hz != NULL)
			memcpy(hz, "\"hz\":0  ", 8);
		if (kind == MPIC_CLOCK)
			put_first_readings(&raw, readings, &own);
		if (kind == MPIC_SAMPLE && samples > 0)
			put_head(&raw, &own);
		samples -= kind == MPIC_SAMPLE && samples > 0;
		const struct buf *to = kind == MPIC_CLOCK || kind == MPIC_SAMPLE ? &own : &raw;
		if (kind != MPIC_END && to->len_bytes > 0)
			cr_assert_eq(mpic_append_block(&file, &f.blocks[b], to->data, to->len_bytes, 1, NULL), 0);
	}
	mpic_close(&f);
	FILE *to = fopen(path, "w");
	cr_assert_not_null(to);
	cr_assert_eq(fwrite(file.data, 1, file.len_bytes, to), file.len_bytes);
	fclose(to);
}

static cJSON *analyse_cut(struct program *p, double end_us, unsigned readings, unsigned samples)
{
	char *dir = make_directory(), path[512];
	program_write(p, dir, end_us, -1);
	program_destroy(p);
	snprintf(path, sizeof(path), "%s/n0.mpic", dir);
	cut(path, readings, samples);
	cJSON *root = analyse(dir);
	remove_directory(dir);
	return root;
}

static bool says_unknown_rate(const cJSON *root)
{
	const cJSON *x;
	cJSON_ArrayForEach(
		x, node_at(root, "coverage.reasons")) if (strstr(x->valuestring, "its rate is not known")) return true;
	return false;
}

static double barrier_s(const cJSON *root)
{
	return field(find_text(root, "operations", "op", "MPI_Barrier"), "time_s");
}

Test(cut, samples_tell_the_rate_of_a_clock_that_was_read_once)
{
	static const struct {
		unsigned readings, samples;
	} rows[] = {{11, 0}, {1, 2}, {0, 2}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cJSON *root = analyse_cut(barriers(), 100000, rows[i].readings, rows[i].samples);
		cr_expect_float_eq(barrier_s(root), 2 * 10 * 5e-3 / TICKS_A_NS, 1e-7, "%zu: %g s", i, barrier_s(root));
		cr_expect_eq(at_path(root, "clock.error_bound_us"), 0);
		cr_expect_not(says_unknown_rate(root));
		cJSON_Delete(root);
	}
}

/* Both ranks are in calls for all of the time, and nobody is late in the events that there are; of the calls of rank
 * `cut_short` the file has half. */
static cJSON *analyse_long_calls(unsigned cut_short)
{
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < 10; i++)
		for (unsigned r = 0; r < 2; r++) {
			program_sendrecv(p, r,
					 (struct call){.op = "MPI_Sendrecv",
						       .from_us = 1000 * i,
						       .to_us = 1000 * i + 990,
						       .peer = (int)(1 - r),
						       .bytes = 1 << 20,
						       .recv_peer = (int)(1 - r),
						       .recv_bytes = 1 << 20,
						       .line = 3});
			if (i == 4)
				program_end_block(p, r, 0, BLOCK_WHOLE);
			if (i == 9)
				program_end_block(p, r, 0, r == cut_short ? BLOCK_LATER : BLOCK_WHOLE);
		}
	return analyse_cut(p, 10000, 11, 2);
}

Test(cut, a_call_is_not_said_to_take_long_by_itself_where_single_calls_are_missing)
{
	for (unsigned cut_short = 0; cut_short < 3; cut_short++) {
		cJSON *root = analyse_long_calls(cut_short);
		cr_expect_eq(at_path(root, "coverage.events_lost"), cut_short < 2 ? 5 : 0);
		cr_expect_eq(issue(root, "unexplained") == NULL, cut_short < 2, "rank %u", cut_short);
		cJSON_Delete(root);
	}
}

/* Rank 0 computes for 90 ms, rank 1 for one; of no call the event is in the file. */
Test(cut, nothing_is_0_that_only_single_calls_tell_where_none_is_there)
{
	struct program *p = program_create(2, 1);
	for (unsigned r = 0; r < 2; r++) {
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = r == 0 ? 90000 : 1000,
					   .to_us = 91000,
					   .peer = SIG_NO_ROOT,
					   .coll = COLL_BARRIER});
		program_end_block(p, r, 0, BLOCK_LATER);
	}
	cJSON *root = analyse_program(p, 92000), *uneven = issue(root, "load_imbalance"), *row;
	cr_assert_eq(at_path(root, "coverage.events_lost"), 2);
	cJSON_ArrayForEach(row, node_at(root, "per_rank"))
	{
		cr_expect(cJSON_IsNull(cJSON_GetObjectItem(row, "wait_s")));
		cr_expect(cJSON_IsNull(cJSON_GetObjectItem(row, "caused_wait_s")));
	}
	cr_assert_not_null(uneven);
	cr_expect_null(cJSON_GetObjectItem(uneven, "gain"), "nothing was replayed");
	cr_expect_null(node_at(root, "replay"));
	cJSON_Delete(root);
}

Test(cut, where_the_clock_was_read_once_its_times_are_said_to_be_estimates)
{
	for (unsigned samples = 0; samples < 2; samples++) {
		cJSON *root = analyse_cut(barriers(), 100000, 1, samples);
		cr_expect(says_unknown_rate(root), "%u samples", samples);
		cr_expect(cJSON_IsNull(node_at(root, "clock.error_bound_us")));
		cJSON_Delete(root);
	}
}
