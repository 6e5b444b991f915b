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
