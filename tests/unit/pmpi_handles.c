/* pmpi_handles.c - the tracer's tables from handles to what they stand for, against a list that is searched. */
#include "pmpi/handles.h"

#include <criterion/criterion.h>

#define PLACES 64u
#define HANDLES 4096u

static uint32_t value_of[HANDLES]; /* 0: not there */
static uint64_t state = 9;

static uint32_t random_below(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* As far apart as an MPI's handles may be. */
static uint64_t handle(uint32_t i)
{
	return 0x44000000u + (uint64_t)i * (i % 3 == 0 ? 1 : i % 3 == 1 ? 4096 : 1ull << 33);
}

static void all_are_as_they_should_be(const struct handle_map *m)
{
	for (uint32_t i = 0; i < HANDLES; i++) {
		uint32_t value = 0;
		cr_assert_eq(handle_map_find(m, handle(i), &value), value_of[i] != 0, "handle %u", i);
		cr_assert_eq(value, value_of[i], "handle %u", i);
	}
}

Test(handles, are_found_until_they_are_taken_whatever_comes_and_goes_beside_them)
{
	struct handle_map m = {.places = PLACES};
	uint32_t there = 0;
	for (int step = 0; step < 4000; step++) {
		uint32_t i = random_below(HANDLES), value = 0;
		if (step % 3 == 2) /* one that is there, if any */
			for (uint32_t k = 0; k < HANDLES && value_of[i] == 0; k++)
				i = (i + 1) % HANDLES;
		if (value_of[i] != 0 && step % 3 == 2) {
			cr_assert(handle_map_take(&m, handle(i), &value));
			cr_assert_eq(value, value_of[i]);
			value_of[i] = 0;
			there--;
		} else {
			bool room = value_of[i] != 0 || there < PLACES / 2;
			cr_assert_eq(handle_map_put(&m, handle(i), (uint32_t)step + 1), room);
			there += room && value_of[i] == 0;
			value_of[i] = room ? (uint32_t)step + 1 : 0;
		}
		cr_assert_eq(m.used, there);
		if (step % 16 == 0)
			all_are_as_they_should_be(&m);
	}
	all_are_as_they_should_be(&m);
}

Test(handles, that_are_nothing_or_not_there_are_not_found)
{
	struct handle_map m = {.places = PLACES};
	uint32_t value = 7;
	cr_expect_not(handle_map_find(&m, 5, &value));
	cr_expect_not(handle_map_take(&m, 5, &value));
	cr_expect_not(handle_map_put(&m, 0, 1), "no object has that handle");
	cr_expect(handle_map_put(&m, 5, 1));
	cr_expect(handle_map_put(&m, 5, 2));
	cr_expect_eq(m.used, 1);
	cr_expect_not(handle_map_take(&m, 6, &value));
	cr_expect_eq(value, 7, "what it was stays");
	cr_expect(handle_map_take(&m, 5, &value));
	cr_expect_eq(value, 2);
	cr_expect_eq(m.used, 0);
}

/* The one given back last first. */
Test(handles, numbers_that_are_given_back_are_handed_out_again)
{
	struct index_pool p = {.max = 4};
	uint32_t index;
	for (uint32_t i = 0; i < 4; i++) {
		cr_assert(index_take(&p, &index));
		cr_expect_eq(index, i);
	}
	cr_expect_not(index_take(&p, &index));
	for (uint32_t i = 0; i < 3; i++)
		index_give(&p, i);
	for (uint32_t i = 3; i-- > 0;) {
		cr_assert(index_take(&p, &index));
		cr_expect_eq(index, i, "%u", index);
	}
	cr_expect_not(index_take(&p, &index));
	index_give(&p, 3);
	cr_expect(index_take(&p, &index));
	cr_expect_eq(index, 3);
}

Test(handles, a_cache_knows_the_last_of_a_place_and_nothing_that_was_dropped)
{
	static struct handle_cache c;
	struct handle_cached got;
	uint64_t epoch = handle_epoch;
	cr_expect_not(handle_cache_get(&c, 5, HANDLE_ID, &got));
	handle_cache_put(&c, 5, 77, 1, 2);
	cr_expect_gt(handle_epoch, epoch, "who kept something else looks again");
	cr_expect(handle_cache_get(&c, 5, HANDLE_ID | HANDLE_A | HANDLE_B, &got));
	cr_expect(got.id == 77 && got.a == 1 && got.b == 2);
	handle_cache_drop(&c, 6);
	epoch = handle_epoch;
	cr_expect(handle_cache_get(&c, 5, HANDLE_ID, &got));
	handle_cache_drop(&c, 5);
	cr_expect_gt(handle_epoch, epoch);
	cr_expect_not(handle_cache_get(&c, 5, HANDLE_ID, &got));
}
