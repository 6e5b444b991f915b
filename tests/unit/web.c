/* web.c - who may ask `mpitrace view`, and for what part, as RFC 9110 says. */
#include "reports/web/request.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

Test(web, only_loopback_names_are_local)
{
	static const char *const local[] = {"127.0.0.1", "127.0.0.1:8080", "localhost", "LocalHost:1", "localhost:"};
	static const char *const foreign[] = {"evil.example",
					      "127.0.0.1.evil.example",
					      "127.0.0.2:80",
					      "",
					      "localhost.evil.example:80",
					      "localhost:80@evil.example",
					      "127.0.0.1 "};
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		cr_expect(host_is_known(local[i], NULL), "%s", local[i]);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		cr_expect(!host_is_known(foreign[i], NULL), "%s", foreign[i]);
	cr_expect(!host_is_known(NULL, NULL), "no Host at all");
}

Test(web, names_that_a_site_gives_are_known_too)
{
	const char *const names[] = {"mpi.site.example", NULL};
	cr_expect(host_is_known("mpi.site.example", names));
	cr_expect(host_is_known("MPI.site.example:443", names));
	cr_expect(!host_is_known("site.example", names));
	cr_expect(origin_is_known("https://mpi.site.example", names));
}

Test(web, a_page_of_another_origin_may_not_ask)
{
	cr_expect(origin_is_known("http://127.0.0.1:8080", NULL));
	cr_expect(origin_is_known("http://localhost:8080", NULL));
	static const char *const foreign[] = {"null",
					      "http://evil.example",
					      "http://127.0.0.1.evil.example",
					      "file://localhost",
					      "127.0.0.1",
					      "",
					      "http://127.0.0.1:80/x",
					      "evil://127.0.0.1://",
					      "http://evil.example://127.0.0.1"};
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		cr_expect(!origin_is_known(foreign[i], NULL), "%s", foreign[i]);
}

Test(web, serves_the_range_asked_for)
{
	uint64_t first, len;
	cr_assert_eq(range_of("bytes=10-19", 100, &first, &len), 206);
	cr_assert(first == 10 && len == 10);
	cr_assert_eq(range_of("bytes=90-", 100, &first, &len), 206);
	cr_assert(first == 90 && len == 10);
	cr_assert_eq(range_of("bytes=-7", 100, &first, &len), 206);
	cr_assert(first == 93 && len == 7);
	cr_assert_eq(range_of("bytes=95-1000", 100, &first, &len), 206);
	cr_assert(first == 95 && len == 5);
	cr_assert_eq(range_of("bytes=0-0", 1, &first, &len), 206);
	cr_assert(first == 0 && len == 1);
}

Test(web, a_range_outside_is_refused_and_nonsense_is_ignored)
{
	uint64_t first, len;
	cr_assert_eq(range_of("bytes=100-", 100, &first, &len), 416);
	cr_assert_eq(range_of("bytes=0-", 0, &first, &len), 416);
	cr_assert_eq(range_of("bytes=-0", 100, &first, &len), 416);
	static const char *const nonsense[] = {"bytes=",	"bytes=-",   "bytes=5-2",
					       "bytes=1-2,4-5", "lines=1-2", "bytes=99999999999999999999-",
					       "bytes=0x10-"};
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		cr_assert_eq(range_of(nonsense[i], 100, &first, &len), 200, "%s", nonsense[i]);
	cr_assert_eq(range_of(NULL, 100, &first, &len), 200);
	cr_assert(first == 0 && len == 100);
}

Test(web, only_the_whole_token_opens)
{
	cr_assert_str_eq(behind_token("/secret/trace.mpix", "secret"), "trace.mpix");
	cr_assert_str_eq(behind_token("/secret/", "secret"), "");
	static const char *const others[] = {"/",	  "",	      "secret/",   "/secre/",	"/secret",
					     "/secretx/", "/Secret/", "//secret/", "/x/secret/"};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_assert_null(behind_token(others[i], "secret"), "%s", others[i]);
	cr_assert_str_eq(behind_token("/jobs/1", NULL), "jobs/1");
}

Test(web, a_head_is_whole_at_its_empty_line)
{
	static const char head[] = "\r\nGET /secret/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
	for (size_t n = 0; n + 1 < sizeof(head); n++)
		cr_expect(!head_is_whole(head, n), "%zu bytes", n);
	cr_expect(head_is_whole(head, sizeof(head) - 1));
	cr_expect(!head_is_whole("\r\n\r\n", 4), "nothing before it");
}

Test(web, arguments_are_those_of_the_address_alone)
{
	static const struct {
		const char *head;
		unsigned arguments;
	} cases[] = {{"", 0},
		     {"GET /a&b HTTP/1.1\r\nReferer: /?a&b\r\n\r\n", 0},
		     {"GET /a? HTTP/1.1\r\n", 1},
		     {"\r\nGET /a?b=1&c=2&&d HTTP/1.1\r\nCookie: ?&&&\r\n\r\n", 4},
		     {"GET /a?b&c", 2}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(head_arguments(cases[i].head, strlen(cases[i].head)), cases[i].arguments, "%zu", i);
}

Test(web, a_token_is_seen_as_soon_as_it_is_there)
{
	static const char head[] = "\r\nGET /secret/x HTTP/1.1\r\n";
	size_t upto = strlen("\r\nGET /secret/");
	for (size_t n = 0; n + 1 < sizeof(head); n++)
		cr_expect_eq(head_has_token(head, n, "secret"), n >= upto, "%zu bytes", n);
	cr_expect(!head_has_token("GET /x/secret/ HTTP/1.1\r\n", 25, "secret"));
	cr_expect(!head_has_token("GET /secretx/ HTTP/1.1\r\n", 24, "secret"));
	cr_expect(head_has_token("", 0, NULL), "no token is wanted");
}
