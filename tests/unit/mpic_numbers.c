/* mpic_numbers.c - columns of numbers that are alike: what was put comes back, whatever it is, and nothing that was
 * not. */
#include "format/mpic_times.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#define N 700u

static struct mpic_time_coder *coder;
static struct mpic_time_columns out;

static void end(void)
{
	buf_done(&out.tables);
	buf_done(&out.symbols);
	buf_done(&out.others);
	buf_done(&out.bits);
	mpic_times_done(coder);
}

TestSuite(mpic_numbers, .fini = end);

static struct mpic_time_cursors cursors_of(const struct buf *tables)
{
	return (struct mpic_time_cursors){.tables = cursor_over(tables->data, tables->len_bytes),
					  .symbols = cursor_over(out.symbols.data, out.symbols.len_bytes),
					  .others = cursor_over(out.others.data, out.others.len_bytes),
					  .bits = cursor_over(out.bits.data, out.bits.len_bytes)};
}

static void comes_back(const uint64_t *numbers, uint32_t n)
{
	uint64_t *read = calloc(n + 1, sizeof(*read));
	out.tables.len_bytes = out.symbols.len_bytes = out.others.len_bytes = out.bits.len_bytes = 0;
	cr_assert_eq(mpic_numbers_put(&coder, numbers, n, &out), 0);
	struct mpic_time_cursors in = cursors_of(&out.tables);
	cr_assert_eq(mpic_numbers_read(&in, n, read), 0);
	for (uint32_t i = 0; i < n; i++)
		cr_assert_eq(read[i], numbers[i], "number %u of %u", i, n);
	cr_assert_eq(cursor_left(&in.tables) + cursor_left(&in.bits), 0, "all is taken");
	free(read);
}

Test(mpic_numbers, of_any_kind_come_back)
{
	uint64_t numbers[N], state = 5;
	for (int kind = 0; kind < 7; kind++) {
		for (uint32_t i = 0; i < N; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			uint64_t x = state >> 33;
			numbers[i] = kind == 0	 ? 0
				     : kind == 1 ? 4096
				     : kind == 2 ? x % 3
				     : kind == 3 ? 1000 + x % 50
				     : kind == 4 ? x % 100 * 8
				     : kind == 5 ? x >> (x % 30)
						 : (i % 97 == 0 ? UINT32_MAX : 7);
		}
		for (uint32_t n = 1; n <= N; n = n < 3 ? n + 1 : n * 3)
			comes_back(numbers, n);
		comes_back(numbers, N);
	}
}

/* A clock's steps are of 1 to 256 ticks; 2^32 and one is no 1. */
Test(mpic_numbers, steps_that_no_clock_has_are_refused)
{
	uint64_t numbers[N], read[N], period = 0;
	for (uint32_t i = 0; i < N; i++)
		numbers[i] = i % 50 * 8;
	comes_back(numbers, N);
	struct mpic_time_cursors in = cursors_of(&out.tables);
	cr_assert_eq(rd_varint(&in.tables, &period), 0);
	cr_assert(period >= 1 && period <= 256);
	const uint64_t forged[] = {0, 257, period + (1ull << 32), UINT64_MAX};
	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
		struct buf tables = {0};
		buf_varint(&tables, forged[i]);
		size_t left = cursor_left(&in.tables);
		buf_bytes(&tables, out.tables.data + out.tables.len_bytes - left, left);
		struct mpic_time_cursors other = cursors_of(&tables);
		cr_expect_eq(mpic_numbers_read(&other, N, read), -EBADMSG, "%llu", (unsigned long long)forged[i]);
		buf_done(&tables);
	}
}

Test(mpic_numbers, columns_that_are_cut_are_refused)
{
	uint64_t numbers[N], read[N];
	for (uint32_t i = 0; i < N; i++)
		numbers[i] = i * 7919u % 1000;
	comes_back(numbers, N);
	for (size_t n = 0; n < out.tables.len_bytes; n++) {
		struct mpic_time_cursors in = cursors_of(&out.tables);
		in.tables = cursor_over(out.tables.data, n);
		cr_expect_eq(mpic_numbers_read(&in, N, read), -EBADMSG, "tables of %zu bytes", n);
	}
	for (size_t n = 0; n < out.bits.len_bytes; n++) {
		struct mpic_time_cursors in = cursors_of(&out.tables);
		in.bits = cursor_over(out.bits.data, n);
		cr_expect_eq(mpic_numbers_read(&in, N, read), -EBADMSG, "bits of %zu bytes", n);
	}
	struct mpic_time_cursors in = cursors_of(&out.tables);
	cr_expect_eq(mpic_numbers_read(&in, N + 1, read), -EBADMSG, "more than there are");
}
