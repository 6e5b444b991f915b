/* html_rows.c - rows of tables that few analyses have: exit codes, sizes of messages, waiting that is more than MPI. */
#include "tests/unit/html_probe.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Does the page of this analysis have that text? */
static bool has(const char *json, const char *text)
{
	size_t len_bytes;
	char *page = page_of(json, &len_bytes);
	cr_assert_not_null(page);
	cr_expect(page_is_sound(page));
	bool found = strstr(page, text) != NULL;
	free(page);
	return found;
}

#define RANK(members) \
	"{\"per_rank\":[{\"rank\":0,\"node\":\"n1\",\"useful_s\":1,\"mpi_s\":1" members "}," \
	"{\"rank\":1,\"node\":\"n2\",\"useful_s\":2,\"mpi_s\":1}]}"

Test(html, a_rank_that_ended_with_an_exit_code_has_it_in_its_row)
{
	cr_expect(has(RANK(",\"exit_status\":3"), "exit code 3<"));
	cr_expect_not(has(RANK(",\"exit_status\":0"), "exit code"));
	cr_expect_not(has(RANK(""), "exit code"));
}

/* A job without arguments has no row of none. */
Test(html, the_command_is_shown_where_it_is_known)
{
	cr_expect(has("{\"job\":{\"argv\":[\"./a\",\"-n\",\"3\"]}}", "<dt>Command</dt><dd><code>./a -n 3</code></dd>"));
	cr_expect_not(has("{\"job\":{\"argv\":[]}}", "<dt>Command</dt>"));
	cr_expect_not(has("{\"job\":{}}", "<dt>Command</dt>"));
}

#define SIZES(from) \
	"{\"message_sizes\":[{\"from_bytes\":" from ",\"messages\":5,\"message_bytes\":50,\"collectives\":1," \
	"\"collective_bytes\":8}]}"

/* 0 and 1 are one size each. */
Test(html, sizes_of_messages_are_those_from_so_many_bytes_on)
{
	cr_expect(has(SIZES("0"), "<th scope=\"row\">0"));
	cr_expect(has(SIZES("1"), "<th scope=\"row\">1"));
	cr_expect(has(SIZES("2"), "<th scope=\"row\">from 2"));
}

Test(html, the_bar_and_the_row_of_a_rank_have_no_more_waiting_than_mpi)
{
	cr_expect(has(RANK(",\"wait_s\":0.5"), "<td class=\"n\">500"));
	cr_expect(has(RANK(",\"wait_s\":7"), "<rect class=\"wait\""));
	cr_expect_not(has(RANK(",\"wait_s\":7"), "<td class=\"n\">7.00\xc2\xa0s</td><td class=\"n\">"));
}

#define SITES(ids) \
	"{\"callsites\":[{\"id\":0,\"op\":\"MPI_Send\"}],\"issues\":[{\"issue\":\"late_sender\",\"what\":\"Late.\"," \
	"\"callsites\":[" ids "]}]}"

Test(html, of_an_issues_call_sites_five_are_shown_and_others_counted)
{
	cr_expect_not(has(SITES("0"), "<dd><br>"), "the first begins the line");
	cr_expect_not(has(SITES("0,0,0,0,0"), "<br>and "));
	cr_expect(has(SITES("0,0,0,0,0,0"), "<br>and 1 more</dd>"));
	cr_expect(has(SITES("0,0,0,0,0,0,0"), "<br>and 2 more</dd>"));
}

/* What never happened has no chart, and none of it is divided by. */
Test(html, over_time_there_is_a_row_of_each_kind_that_happened)
{
	static const char windows[] = "{\"summary\":{\"runtime_s\":2},\"time_windows\":["
				      "{\"events\":3,\"bytes\":0,\"barriers\":1},{\"events\":1,\"bytes\":0}]}";
	cr_expect(has(windows, "<div>MPI calls<small>4 in all<br>at most 3 a column</small>"));
	cr_expect(has(windows, "<div>barriers<small>1 in all"));
	cr_expect_not(has(windows, "<div>data sent<small>"));
	cr_expect_not(has(windows, "<div>collectives<small>"));
}

/* Least and most are in colours of their own. */
Test(html, a_cell_of_the_matrix_is_as_dark_as_what_it_stands_for)
{
	static const char pairs[] =
		"{\"per_rank\":[{\"rank\":0,\"useful_s\":1},{\"rank\":1,\"useful_s\":1},{\"rank\":2,\"useful_s\":1}],"
		"\"matrix\":{\"p2p\":[{\"src\":0,\"dst\":1,\"messages\":1,\"bytes\":1},"
		"{\"src\":2,\"dst\":0,\"messages\":3,\"bytes\":1000000},{\"src\":2,\"dst\":2,\"messages\":1,\"bytes\":"
		"0}]}}";
	cr_expect(has(pairs, "\" d=\"M1 0h1v1h-1z\"/>"), "from 0 to 1, least");
	cr_expect(has(pairs, "\" d=\"M0 2h1v1h-1z\"/>"), "from 2 to 0, most");
	cr_expect_not(has(pairs, "M2 2h"), "without bytes it is blank");
	cr_expect(has(pairs, "<title>2 \xe2\x86\x92 0: "));
	cr_expect(has(pairs, "<title>2 \xe2\x86\x92 2: 0"), "and has its number nevertheless");
}

/* The last row of a full map is its last. */
Test(html, a_full_map_has_no_cell_below_its_last_row)
{
	static const char pairs[] = "{\"job\":{\"ranks\":64},\"matrix\":{\"p2p\":["
				    "{\"src\":0,\"dst\":0,\"messages\":1,\"bytes\":8},"
				    "{\"src\":63,\"dst\":63,\"messages\":1,\"bytes\":8}]}}";
	cr_expect(has(pairs, "M0 0h1v1h-1zM63 63h1v1h-1z"));
	cr_expect_not(has(pairs, "M0 64h"));
}
