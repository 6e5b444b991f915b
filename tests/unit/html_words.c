/* html_words.c - what headings and sentences of the report say is what its tables have. */
#include "tests/unit/html_probe.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(html_words, messages_of_totals_alone_are_in_headings_as_in_tables)
{
	size_t len_bytes;
	char *page = page_of("{\"summary\":{\"transfers\":0,\"bytes\":0,\"messages_sent\":900,\"bytes_sent\":921600},"
			     "\"matrix\":{\"p2p\":[{\"src\":0,\"dst\":1,\"messages\":900,\"bytes\":921600}]},"
			     "\"message_sizes\":[{\"from_bytes\":512,\"messages\":900,\"message_bytes\":921600}]}",
			     &len_bytes);
	cr_assert_not_null(page);
	cr_expect_not_null(strstr(page, " in 900 messages</span>"));
	cr_expect_not_null(strstr(page, "no pattern with a name, 900 messages"));
	free(page);
}

static bool page_says(const char *json, const char *text)
{
	size_t len_bytes;
	char *page = page_of(json, &len_bytes);
	cr_assert_not_null(page);
	bool says = strstr(page, text) != NULL;
	free(page);
	return says;
}

Test(html_words, calls_of_a_job_that_runs_may_well_return)
{
	static const char running[] =
		"{\"coverage\":{\"files_without_end\":1},"
		"\"per_rank\":[{\"rank\":0,\"state\":\"running\",\"useful_s\":1,\"mpi_s\":5,\"wait_s\":0,"
		"\"unreturned_s\":5}]}";
	static const char lost[] = "{\"per_rank\":[{\"rank\":0,\"state\":\"lost\",\"useful_s\":1,\"mpi_s\":5,"
				   "\"wait_s\":0,\"unreturned_s\":5}]}";
	cr_expect(page_says(running, "In calls that were still open when this was read: "));
	cr_expect(page_says(running, "Calls that were still open when this was read took "));
	cr_expect_not(page_says(running, "never returned"));
	cr_expect(page_says(lost, "In calls that never returned: "));
	cr_expect(page_says(lost, "Calls that never returned took "));
	cr_expect_not(page_says("{}", "never returned"), "nothing took nothing");
}

#define ENDED(issue) \
	"{\"issues\":[{\"issue\":\"" issue "\",\"severity\":\"high\",\"what\":\"Rank 1 is gone. Others wait.\"}]}"

Test(html_words, how_the_program_ended_is_the_headline)
{
	cr_expect(page_says(ENDED("death"), "<h1>Rank 1 is gone.</h1>"));
	cr_expect(page_says(ENDED("deadlock"), "<h1>Rank 1 is gone.</h1>"));
	cr_expect(page_says(ENDED("unfinished"), "<h1>Rank 1 is gone.</h1>"));
	cr_expect_not(page_says(ENDED("late_sender"), "<h1>Rank 1 is gone."));
}
