/* policy_sampling.c - of which jobs a share is. */
#include "spank/policy/policy.h"

#include <criterion/criterion.h>

Test(policy_sampling, is_uniform)
{
	static const uint64_t shares[] = {1000, 50000, 333333, 500000};
	for (size_t s = 0; s < 4; s++) {
		unsigned taken = 0, rows[20] = {0};
		const unsigned jobs = 1000000;
		for (unsigned job = 1; job <= jobs; job++) {
			bool in = policy_sampled(job, shares[s]);
			taken += in;
			rows[job % 20] += in; /* jobs of a workflow often come in a rhythm */
		}
		double wanted = (double)shares[s], sigma2 = wanted * (1 - wanted / 1e6);
		double off = taken - wanted;
		cr_assert_lt(off * off, 16 * sigma2, "%u of %g", taken, wanted);
		for (int i = 0; i < 20; i++) {
			off = rows[i] - wanted / 20;
			cr_assert_lt(off * off, 25 * sigma2 / 20, "%u in row %d of %g", rows[i], i, wanted / 20);
		}
	}
	cr_assert(policy_sampled(5, 1000000) && !policy_sampled(5, 0));
}

/* Nodes, restarts and versions must agree: these never change. */
Test(policy_sampling, is_the_same_for_ever)
{
	static const unsigned taken[] = {9, 23, 53, 97, 99, 188};
	unsigned n = 0;
	for (unsigned job = 1; job <= 200; job++)
		if (policy_sampled(job, 50000))
			cr_assert_eq(job, n < sizeof(taken) / sizeof(taken[0]) ? taken[n++] : 0, "job %u", job);
	cr_assert_eq(n, sizeof(taken) / sizeof(taken[0]));
}
