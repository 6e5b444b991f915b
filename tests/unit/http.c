/* http.c - the server of `mpitrace view` reads requests as RFC 9110 says and refuses what it need
 * not know. */
#include "cli/http.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static int parse(const char *text, struct http_request *r)
{
	return http_parse(text, strlen(text), r);
}

#define LOCAL "Host: 127.0.0.1:8080\r\n"

Test(http, reads_path_without_query)
{
	struct http_request r;
	cr_assert_eq(parse("GET /a/b.mpix?x=1 HTTP/1.1\r\n" LOCAL "\r\n", &r), 0);
	cr_assert_str_eq(r.path, "/a/b.mpix");
	cr_assert(r.host_is_local && r.keep_alive && !r.head && !r.has_range);
}

Test(http, only_loopback_names_are_local)
{
	struct http_request r;
	static const char *const foreign[] = {"evil.example", "127.0.0.1.evil.example", "127.0.0.2:80", "",
					      "localhost.evil.example:80"};
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		char text[200];
		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", foreign[i]);
		cr_assert_eq(parse(text, &r), 0);
		cr_assert(!r.host_is_local, "%s", foreign[i]);
	}
	cr_assert_eq(parse("GET / HTTP/1.1\r\n\r\n", &r), 0);
	cr_assert(!r.host_is_local, "no Host at all");
	cr_assert_eq(parse("GET / HTTP/1.1\r\nhost: LocalHost:1\r\n\r\n", &r), 0);
	cr_assert(r.host_is_local);
	cr_assert_eq(parse("GET / HTTP/1.1\r\n" LOCAL LOCAL "\r\n", &r), 400, "two Hosts");
}

Test(http, refuses_other_methods_versions_and_bodies)
{
	struct http_request r;
	cr_assert_eq(parse("POST / HTTP/1.1\r\n" LOCAL "\r\n", &r), 405);
	cr_assert_eq(parse("GET / HTTP/2.0\r\n" LOCAL "\r\n", &r), 505);
	cr_assert_eq(parse("GET /\r\n\r\n", &r), 400);
	cr_assert_eq(parse("GET x HTTP/1.1\r\n\r\n", &r), 400);
	cr_assert_eq(parse("GET / HTTP/1.1\r\nnonsense\r\n\r\n", &r), 400);
	cr_assert_eq(parse("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", &r), 400);
	cr_assert_eq(parse("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", &r), 400);
	cr_assert_eq(parse("", &r), 400);
}

Test(http, refuses_a_path_one_past_the_limit)
{
	struct http_request r;
	char text[HTTP_PATH_MAX + 100], path[HTTP_PATH_MAX + 1];
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[HTTP_PATH_MAX] = 0;
	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n\r\n", path);
	cr_assert_eq(parse(text, &r), 414);
	path[HTTP_PATH_MAX - 1] = 0;
	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n\r\n", path);
	cr_assert_eq(parse(text, &r), 0);
}

static int range_of(const char *value, uint64_t size, uint64_t *first, uint64_t *len)
{
	struct http_request r;
	char text[200];
	snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nRange: %s\r\n\r\n", value);
	cr_assert_eq(parse(text, &r), 0);
	return http_range(&r, size, first, len);
}

Test(http, serves_the_range_asked_for)
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

Test(http, a_range_outside_is_refused_and_nonsense_is_ignored)
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
}
