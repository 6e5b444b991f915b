/* html_carried.c - links into the trace, and the page that carries it: their addresses, base64, the policy. */
#include "reports/html/html.h"
#include "reports/html/page.h"
#include "reports/text/place.h"
#include "tests/unit/html_probe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(html, a_place_is_the_address_of_its_ranks_interval_and_call_site)
{
	char text[PLACE_TEXT];
	struct place at = PLACE_ANYWHERE;
	cr_expect_not(place_address(&at, text));
	cr_expect_str_eq(text, "");
	place_add_ranks(&at, 0, 3);
	place_add_ranks(&at, 7, 7);
	place_add_ranks(&at, NAN, 2);
	place_add_ranks(&at, -1, -1);
	cr_expect(place_address(&at, text));
	cr_expect_str_eq(text, "ranks=0-3,7");
	at.from_s = 0.1;
	at.to_s = 0.2;
	at.site = 5;
	cr_expect(place_address(&at, text));
	cr_expect_str_eq(text, "t=0~400000000&mark=100000000~200000000&ranks=0-3,7&filter.sites=5");
	at.end_s = 0.25;
	place_address(&at, text);
	cr_expect_not_null(strstr(text, "t=0~250000000&"), "%s", text);
	uint32_t first, last;
	place_ranks(&at, &first, &last);
	cr_expect(first == 0 && last == 7, "%u to %u", first, last);
	at = PLACE_ANYWHERE;
	place_ranks(&at, &first, &last);
	cr_expect(first == 0 && last == UINT32_MAX, "all");
	place_add_ranks(&at, 70, 80);
	place_add_ranks(&at, 3, 3);
	place_ranks(&at, &first, &last);
	cr_expect(first == 3 && last == 80, "the most important one may stand first: %u to %u", first, last);
	at = PLACE_ANYWHERE;
	at.from_s = 2;
	at.to_s = 1;
	cr_expect_not(place_address(&at, text), "%s", text);
	for (double rank = 0; rank < 1000; rank += 2)
		place_add_ranks(&at, rank, rank);
	cr_expect(place_address(&at, text));
	cr_expect_lt(strlen(text), sizeof(at.ranks) + strlen("ranks="));
}

/* Where it was worst, if the analysis knows that. */
Test(html, the_place_of_an_issue_is_its_worst_moment_else_all_of_it)
{
	cJSON *issue =
		cJSON_Parse("{\"ranks\":[2,3],\"window_s\":[1,5],\"worst\":{\"rank\":3,\"from_s\":2,\"to_s\":4}}");
	struct place at = place_of_issue(issue);
	cr_expect_str_eq(at.ranks, "3");
	cr_expect(at.from_s == 2 && at.to_s == 4, "%g to %g", at.from_s, at.to_s);
	cJSON_DeleteItemFromObject(issue, "worst");
	at = place_of_issue(issue);
	cr_expect_str_eq(at.ranks, "2-3");
	cr_expect(at.from_s == 1 && at.to_s == 5, "%g to %g", at.from_s, at.to_s);
	cJSON_DeleteItemFromObject(issue, "window_s");
	at = place_of_issue(issue);
	cr_expect_str_eq(at.ranks, "2-3");
	cr_expect(isnan(at.from_s) && isnan(at.to_s));
	cJSON_Delete(issue);
}

/* A page of an analysis, with a viewer and a trace of these contents. */
static char *carrying_page_of(const char *analysis, const char *viewer, const char *trace)
{
	char *page = NULL, dir[] = "/tmp/mpitrace-test-XXXXXX", files[2][64];
	const char *contents[] = {viewer, trace};
	size_t len_bytes;
	struct error e;
	cr_assert_not_null(mkdtemp(dir));
	for (size_t i = 0; i < 2; i++) {
		snprintf(files[i], sizeof(files[i]), "%s/%zu.mpix", dir, i);
		FILE *f = fopen(files[i], "w");
		cr_assert(f != NULL && fputs(contents[i], f) >= 0 && fclose(f) == 0);
	}
	FILE *out = open_memstream(&page, &len_bytes);
	struct html_source source = {.analysis_json = analysis, .trace = files[1], .viewer = files[0]};
	cr_expect_eq(html_report_of(&source, out, &e), 0);
	fclose(out);
	unlink(files[0]);
	unlink(files[1]);
	rmdir(dir);
	return page;
}

static char *carrying_page(const char *viewer, const char *trace)
{
	return carrying_page_of("{}", viewer, trace);
}

#define VIEWER(scripts) "<meta content=\"script-src " scripts "; style-src 'sha256-cccc'; img-src data:\">"

Test(html, a_page_carries_a_trace_as_base64_and_allows_hashes_only)
{
	char *page = carrying_page(VIEWER("'sha256-aaaa=' 'sha256-bbbb' 'wasm-unsafe-eval'"),
				   "</script><script>pwned()</script>");
	cr_expect_not_null(strstr(page, "'sha256-aaaa=' 'sha256-bbbb' 'wasm-unsafe-eval'; style-src 'sha256-"));
	cr_expect_not_null(strstr(page, ">PC9zY3JpcHQ+PHNjcmlwdD5wd25lZCgpPC9zY3JpcHQ+</script>"));
	cr_expect_null(strstr(page, "pwned"));
	free(page);
	const char *const odd[] = {VIEWER("'unsafe-inline'"),
				   VIEWER("'sha256-aaaa' *"),
				   VIEWER("'sha256-\">'"),
				   VIEWER("'sha256-aaaa' 'unsafe-eval'"),
				   VIEWER("'sha256-aaaa''unsafe-inline'"),
				   "",
				   "a"};
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		page = carrying_page(odd[i], "trace");
		cr_expect_null(strstr(page, "script-src"), "%s", odd[i]);
		cr_expect_null(strstr(page, "carried"), "%s", odd[i]);
		cr_expect(page_is_sound(page), "%s", odd[i]);
		free(page);
	}
}

Test(html, a_page_carries_no_more_than_the_site_lets_it)
{
	static const struct {
		const char *job;
		bool carries, says;
	} cases[] = {
		{"{}", true, false},
		{"{\"page_bytes\": 5e6}", true, false},
		{"{\"page_bytes\": 1e12}", true, false},
		{"{\"page_bytes\": -1}", true, false},
		{"{\"page_bytes\": \"no\"}", true, false},
		{"{\"page_bytes\": 3000}", false, true},
		{"{\"page_bytes\": 0}", false, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char analysis[64];
		snprintf(analysis, sizeof(analysis), "{\"job\": %s}", cases[i].job);
		char *page = carrying_page_of(analysis, VIEWER("'sha256-aaaa='"), "trace");
		cr_expect_eq(strstr(page, "script-src") != NULL, cases[i].carries, "%s", cases[i].job);
		cr_expect_eq(strstr(page, "The trace is not in this page") != NULL, cases[i].says, "%s", cases[i].job);
		cr_expect(cases[i].carries || page_is_sound(page), "%s", cases[i].job);
		free(page);
	}
}

Test(html, a_moment_in_which_something_was_wrong_a_phase_and_who_waited_lead_to_their_places)
{
	static const char analysis[] =
		"{\"summary\": {\"runtime_s\": 100}, \"callsites\": [{\"id\": 7, \"op\": \"MPI_Recv\"}],"
		"\"correctness\": [{\"kind\": \"x\", \"count\": 1, \"what\": \"y\", \"callsites\": [7], "
		"\"examples\": [{\"what\": \"z\", \"time_s\": 50, \"ranks\": [3, 4]},"
		"{\"what\": \"never\", \"time_s\": null, \"ranks\": [9]}]}],"
		"\"phases\": {\"iterations\": 2, \"parts\": [{\"phase\": \"loop\", \"window_s\": [10, 60]}]},"
		"\"wait_states\": [{\"state\": \"late_sender\", \"rank\": 5, \"callsite\": 7, \"seconds\": 2, "
		"\"count\": 1}]}";
	static const char *const places[] = {
		"\"t=49980000000~50030000000&amp;mark=50000000000~50010000000&amp;ranks=3-4\"",
		"\"ranks=9\"",
		"\"t=0~100000000000&amp;mark=10000000000~60000000000\"",
		"\"ranks=5\"",
		"\"ranks=5&amp;filter.sites=7\"",
	};
	char *page = carrying_page_of(analysis, VIEWER("'sha256-aaaa='"), "trace");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		cr_expect_not_null(strstr(page, places[i]), "%s", places[i]);
	free(page);
}
