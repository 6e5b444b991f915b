/* http_request.c - reads a request; see http.h. Every byte is untrusted. */
#include "cli/http.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct slice {
	const char *at;
	size_t len;
};

/* Cut the next line off rest, without its line end. False at the end. */
static bool next_line(struct slice *rest, struct slice *ret_line)
{
	const char *end = memchr(rest->at, '\n', rest->len);
	if (end == NULL)
		return false;
	size_t len = (size_t)(end - rest->at);
	*ret_line = (struct slice){rest->at, len > 0 && end[-1] == '\r' ? len - 1 : len};
	rest->at += len + 1;
	rest->len -= len + 1;
	return true;
}

/* Cut the next word at blanks. */
static struct slice next_word(struct slice *line)
{
	while (line->len > 0 && *line->at == ' ') {
		line->at++;
		line->len--;
	}
	const char *end = memchr(line->at, ' ', line->len);
	struct slice word = {line->at, end != NULL ? (size_t)(end - line->at) : line->len};
	line->at += word.len;
	line->len -= word.len;
	return word;
}

static bool is(struct slice s, const char *text)
{
	return s.len == strlen(text) && strncasecmp(s.at, text, s.len) == 0;
}

static int parse_request_line(struct slice line, struct http_request *r)
{
	struct slice method = next_word(&line), target = next_word(&line), version = next_word(&line);
	if (!is(version, "HTTP/1.1") && !is(version, "HTTP/1.0"))
		return version.len >= 5 && strncmp(version.at, "HTTP/", 5) == 0 ? 505 : 400;
	if (!is(method, "GET") && !is(method, "HEAD"))
		return 405;
	const char *query = memchr(target.at, '?', target.len);
	if (query != NULL)
		target.len = (size_t)(query - target.at);
	if (target.len == 0 || target.at[0] != '/' || memchr(target.at, 0, target.len) != NULL)
		return 400;
	if (target.len >= HTTP_PATH_MAX)
		return 414;
	memcpy(r->path, target.at, target.len);
	r->path[target.len] = 0;
	r->head = is(method, "HEAD");
	r->keep_alive = is(version, "HTTP/1.1");
	return 0;
}

/* Digits only; stops at UINT64_MAX / 16. Returns how many were read. */
static size_t parse_number(struct slice s, uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t n = 0;
	while (n < s.len && isdigit((unsigned char)s.at[n]) && value < UINT64_MAX / 16)
		value = value * 10 + (uint64_t)(s.at[n++] - '0');
	*ret_value = value;
	return n;
}

/* "bytes=10-19", "bytes=10-", "bytes=-5". Anything else is as if it were not there, as RFC 9110
 * allows. */
static void parse_range(struct slice value, struct http_request *r)
{
	uint64_t first, last = UINT64_MAX;
	if (value.len < 6 || strncasecmp(value.at, "bytes=", 6) != 0)
		return;
	struct slice s = {value.at + 6, value.len - 6};
	size_t n = parse_number(s, &first);
	if (n >= s.len || s.at[n] != '-')
		return;
	struct slice rest = {s.at + n + 1, s.len - n - 1};
	size_t m = parse_number(rest, &last);
	if (m != rest.len || (n == 0 && m == 0) || (n > 0 && m > 0 && last < first))
		return;
	r->has_range = true;
	r->from_end = n == 0;
	r->first = n == 0 ? last : first;
	r->last = m == 0 || n == 0 ? UINT64_MAX : last;
}

static bool host_is_local(struct slice host)
{
	const char *colon = memchr(host.at, ':', host.len);
	if (colon != NULL)
		host.len = (size_t)(colon - host.at);
	return is(host, "127.0.0.1") || is(host, "localhost");
}

static int parse_header(struct slice line, struct http_request *r, int *hosts)
{
	const char *colon = memchr(line.at, ':', line.len);
	if (colon == NULL)
		return 400;
	struct slice name = {line.at, (size_t)(colon - line.at)};
	struct slice value = {colon + 1, line.len - name.len - 1};
	while (value.len > 0 && (*value.at == ' ' || *value.at == '\t')) {
		value.at++;
		value.len--;
	}
	while (value.len > 0 && (value.at[value.len - 1] == ' ' || value.at[value.len - 1] == '\t'))
		value.len--;
	if (is(name, "host") && (*hosts)++ == 0)
		r->host_is_local = host_is_local(value);
	else if (is(name, "range"))
		parse_range(value, r);
	else if (is(name, "connection") && is(value, "close"))
		r->keep_alive = false;
	else if (is(name, "content-length") && !is(value, "0"))
		return 400; /* nothing here takes a body */
	else if (is(name, "transfer-encoding"))
		return 400;
	return *hosts > 1 ? 400 : 0;
}

int http_parse(const char *text, size_t len_bytes, struct http_request *ret_request)
{
	struct http_request r = {0};
	struct slice rest = {text, len_bytes}, line;
	int hosts = 0;
	if (!next_line(&rest, &line))
		return 400;
	int status = parse_request_line(line, &r);
	while (status == 0 && next_line(&rest, &line) && line.len > 0)
		status = parse_header(line, &r, &hosts);
	if (status == 0)
		*ret_request = r;
	return status;
}

int http_range(const struct http_request *r, uint64_t resource_bytes, uint64_t *ret_first, uint64_t *ret_len)
{
	*ret_first = 0;
	*ret_len = resource_bytes;
	if (!r->has_range)
		return 200;
	if (r->from_end) {
		*ret_len = r->first < resource_bytes ? r->first : resource_bytes;
		*ret_first = resource_bytes - *ret_len;
		return *ret_len > 0 ? 206 : 416;
	}
	if (r->first >= resource_bytes)
		return 416;
	uint64_t last = r->last < resource_bytes - 1 ? r->last : resource_bytes - 1;
	*ret_first = r->first;
	*ret_len = last - r->first + 1;
	return 206;
}
