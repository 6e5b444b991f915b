/* changed.c - what became of a run: where its time went, and how it scales. */
#include "reports/text/changed.h"

#include <criterion/criterion.h>

#define ROW(metric, a, b, a_rank, b_rank) \
	"{\"metric\":\"" metric "\",\"a_s\":" #a ",\"b_s\":" #b ",\"a_per_rank_s\":" #a_rank \
	",\"b_per_rank_s\":" #b_rank "}"

static void expect(const char *json, const char *want)
{
	char text[CHANGED_TEXT];
	cJSON *diff = cJSON_Parse(json);
	changed_text(diff, fmt_plain, text);
	cr_expect_str_eq(text, want, "%s", text);
	cJSON_Delete(diff);
}

Test(changed, says_where_the_time_went)
{
	expect("{\"a\":{\"ranks\":2},\"b\":{\"ranks\":2},\"time\":[" ROW("region", 3, 5, 3, 5) "," ROW(
		       "useful", 2, 6, 1, 3) "," ROW("mpi", 4, 3.5, 2, 1.75) "," ROW("wait", 1, 2, 0.5, 1) "]}",
	       "In the mean of the ranks, computing took 2.00 s longer, and MPI 250 ms shorter (in it, waiting for "
	       "others "
	       "500 ms longer).");
}

Test(changed, says_how_it_scales_where_the_ranks_differ)
{
	expect("{\"a\":{\"ranks\":2},\"b\":{\"ranks\":4},\"time\":[" ROW("region", 3, 2, 3, 2) "," ROW(
		       "useful", 4, 4, 2, 1) "," ROW("mpi", 2, 4, 1, 1) "]}",
	       "In the mean of the ranks, computing took 1.00 s shorter, and MPI as long. With 2.00 times the ranks "
	       "it "
	       "ran 1.50 times as fast; for the same problem 2.00 is ideal.");
}

Test(changed, of_what_is_not_known_says_nothing)
{
	expect("{}", "");
	expect("{\"time\":[" ROW("region", 3, 5, 3, 5) "]}", "");
}
