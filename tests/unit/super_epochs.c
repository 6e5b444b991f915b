/* super_epochs.c - consecutive epochs that are merged: what was in flight long ago still counts. */
#include "postproc/protocol/epochs_super.h"

#include <criterion/criterion.h>

static int add(struct super_epochs *s, uint64_t number, struct epoch_message *m, uint32_t n)
{
	struct epoch x = {.number = number, .single = true, .message = m, .nmessage = n, .total = {0, n, n}};
	struct super_run before;
	int rc = super_add(s, &x, &before);
	cr_assert_geq(rc, 0);
	return rc;
}

/* One more message at a time than turns are kept; the first epoch had `peak` at once. */
static struct super_epochs long_run(uint64_t budget, uint32_t peak)
{
	struct super_epochs s = {.budget = budget};
	struct epoch_message first[8];
	for (uint32_t i = 0; i < peak; i++)
		first[i] = (struct epoch_message){0, 1, 1, 10, 20};
	add(&s, 1, first, peak);
	for (uint32_t i = 1; i <= SUPER_TURNS_MAX; i++) {
		struct epoch_message m = {0, 1, 1, 100 + i * 10ll, 105 + i * 10ll};
		cr_assert_eq(add(&s, 1 + i, &m, 1), 0);
	}
	return s;
}

/* Whether it lies beside that peak is not known any more: it counts as if it did. */
Test(super_epochs, a_peak_that_is_no_longer_kept_singly_counts_for_what_began_before)
{
	struct super_epochs s = long_run(3, 3);
	struct epoch_message old = {0, 1, 1, 30, 40};
	cr_assert_lt(s.turns.n, 2 * SUPER_TURNS_MAX);
	cr_assert_eq(s.turns.at[0].level, 3, "the largest of them: %lu", s.turns.at[0].level);
	cr_assert_eq(add(&s, SUPER_TURNS_MAX + 2, &old, 1), 1, "it may be the fourth at once");
	super_done(&s);
}

Test(super_epochs, what_comes_later_has_nothing_to_do_with_it)
{
	struct super_epochs s = long_run(3, 3);
	struct epoch_message late[2] = {{0, 1, 1, 100 + SUPER_TURNS_MAX * 10ll, 1000000000},
					{0, 1, 1, 100 + SUPER_TURNS_MAX * 10ll, 1000000000}};
	cr_assert_eq(add(&s, SUPER_TURNS_MAX + 2, late, 2), 0);
	cr_assert_eq(s.need, 3);
	cr_assert_eq(s.run.first, 1);
	cr_assert_eq(s.count, 1);
	struct epoch_message one_more = {0, 1, 1, 200 + SUPER_TURNS_MAX * 10ll, 1000000000};
	cr_assert_eq(add(&s, SUPER_TURNS_MAX + 3, &one_more, 1), 0);
	cr_assert_eq(add(&s, SUPER_TURNS_MAX + 4, &one_more, 1), 1);
	super_done(&s);
}

/* An epoch that needs more alone is a run of its own, and said. */
Test(super_epochs, one_that_alone_needs_more_is_counted)
{
	struct super_epochs s = {.budget = 2};
	struct epoch_message m[3] = {{0, 1, 1, 10, 20}, {0, 1, 1, 10, 20}, {0, 1, 1, 10, 20}};
	add(&s, 1, m, 1);
	cr_assert_eq(add(&s, 2, m, 3), 1);
	cr_assert_eq(s.over, 1);
	cr_assert_eq(add(&s, 3, m, 1), 1, "nothing is added to it");
	cr_assert_eq(s.over, 1);
	cr_assert_eq(s.count, 3);
	super_done(&s);
}
