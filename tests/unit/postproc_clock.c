/* postproc_clock.c - nodes' clocks of which the truth is known: no time is further off than the bound that is
 * printed. */
#include "tests/unit/clock_cases.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CASES 400     /* of each kind */
#define ROUNDING_NS 2 /* times are whole nanoseconds */

static uint64_t first_seed(void)
{
	const char *seed = getenv("SEED");
	return seed != NULL ? strtoull(seed, NULL, 10) : 1;
}

static bool holds(enum case_kind kind, uint64_t seed)
{
	struct clock_outcome o = clock_case(kind, seed);
	bool good = o.worst_ns <= o.bound_ns + ROUNDING_NS;
	if (!good)
		fprintf(stderr, "SEED=%llu %s: %u nodes, %.3g s: off by %.0f ns, said at most %.0f ns\n",
			(unsigned long long)seed, case_names[kind], o.nodes, o.run_s, o.worst_ns, o.bound_ns);
	return good;
}

static void expect_all(enum case_kind kind)
{
	unsigned failed = 0;
	for (uint64_t i = 0; i < CASES; i++)
		failed += !holds(kind, first_seed() + i);
	cr_expect_eq(failed, 0, "%s: %u of %u", case_names[kind], failed, CASES);
}

#define HOLDS(name, kind) \
	Test(clock_bound, name) \
	{ \
		expect_all(kind); \
	}

HOLDS(holds_whatever_the_offsets_are, CASE_OFFSET)
HOLDS(holds_where_real_time_clocks_are_good, CASE_NTP)
HOLDS(holds_whatever_the_drift_is, CASE_DRIFT)
HOLDS(holds_if_clocks_are_set_in_the_run, CASE_JUMP)
HOLDS(holds_if_one_way_takes_longer_than_the_other, CASE_SKEWED)
HOLDS(holds_if_nodes_begin_and_end_apart, CASE_LATE)
HOLDS(holds_if_rates_are_steered, CASE_STEER)
