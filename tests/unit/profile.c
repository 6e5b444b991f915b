/* profile.c - the ranks at a glance: nodes are the means of their ranks, slow is told from the median node, and out of
 * line from the middle half. */
#include "reports/text/profile.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct profile profile_of(const char *json)
{
	struct profile p;
	cJSON *analysis = cJSON_Parse(json);
	cr_assert_not_null(analysis, "%s", json);
	cr_assert_eq(profile_create(analysis, &p), 0);
	for (size_t i = 0; i < p.nnodes; i++)
		p.node[i].name = ""; /* which was the analysis' */
	cJSON_Delete(analysis);
	return p;
}

#define ROW(rank, node, useful) \
	"{\"rank\":" #rank ",\"node\":\"" node "\",\"useful_s\":" #useful ",\"mpi_s\":" #rank ",\"wait_s\":0.5}"

Test(profile, a_node_is_the_mean_of_its_ranks_and_slow_if_a_fifth_above_the_median_node)
{
	struct profile p = profile_of("{\"per_rank\":[" ROW(0, "a", 10) "," ROW(1, "b", 11) "," ROW(2, "c", 13) "," ROW(
		3, "a", 12) "," ROW(4, "b", 11) "," ROW(5, "c", 14) "]}");
	cr_assert_eq(p.nnodes, 3);
	cr_expect_eq(p.node[0].useful_s, 13.5, "most useful time first: %g", p.node[0].useful_s);
	cr_expect_eq(p.node[0].longest_s, 14);
	cr_expect_eq(p.node[0].mpi_s, 3.5);
	cr_expect_eq(p.node[0].wait_s, 0.5);
	cr_expect_eq(p.node[0].ranks, 2);
	cr_expect_eq(p.node[1].useful_s, 11);
	cr_expect(p.node[0].slow && !p.node[1].slow && !p.node[2].slow);
	cr_expect_eq(p.nslow, 1);
	profile_done(&p);
	p = profile_of("{\"per_rank\":[" ROW(0, "a", 10) "," ROW(1, "b", 99) "]}");
	cr_expect_eq(p.nslow, 0, "of two nodes either is the odd one");
	profile_done(&p);
}

/* Ranks 1 to 11 compute for 96 to 106 s, rank 0 for last_s. */
static struct profile profile_with(double last_s)
{
	char json[2048];
	int n = snprintf(json, sizeof(json), "{\"per_rank\":[{\"rank\":0,\"useful_s\":%g}", last_s);
	for (int i = 1; i < 12; i++)
		n += snprintf(json + n, sizeof(json) - (size_t)n, ",{\"rank\":%d,\"useful_s\":%d}", i, 95 + i);
	snprintf(json + n, sizeof(json) - (size_t)n, ",{\"rank\":12,\"useful_s\":1,\"state\":\"missing\"}]}");
	return profile_of(json);
}

/* Tukey's fence: 1.5 times the middle half's width beyond it. */
Test(profile, out_of_line_is_who_is_far_from_the_middle_half)
{
	struct profile p = profile_with(113);
	cr_expect_eq(p.nranks, 12, "one has no record");
	cr_expect_eq(p.lower_s, 98);
	cr_expect_eq(p.median_s, 101);
	cr_expect_eq(p.upper_s, 105);
	cr_expect(p.least_s == 96 && p.least_rank == 1 && p.most_s == 113 && p.most_rank == 0);
	cr_expect_eq(p.noutliers, 0, "within 105 + 1.5 * 7");
	profile_done(&p);
	p = profile_with(116);
	cr_expect(p.noutliers == 1 && p.outlier[0] == 0);
	profile_done(&p);
	p = profile_with(50);
	cr_expect(p.noutliers == 1 && p.outlier[0] == 0);
	profile_done(&p);
}

Test(profile, of_more_outliers_than_there_is_room_for_all_are_counted)
{
	char json[65536];
	int n = snprintf(json, sizeof(json), "{\"per_rank\":[");
	for (int i = 0; i < 400; i++)
		n += snprintf(json + n, sizeof(json) - (size_t)n, "%s{\"rank\":%d,\"useful_s\":%d}", i > 0 ? "," : "",
			      i, i < 40 ? 1 : 100);
	snprintf(json + n, sizeof(json) - (size_t)n, "]}");
	struct profile p = profile_of(json);
	cr_expect_eq(p.noutliers, 40);
	for (long i = 0; i < OUTLIERS_MAX; i++)
		cr_expect_eq(p.outlier[i], i, "%ld", p.outlier[i]);
	profile_done(&p);
}
