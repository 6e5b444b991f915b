/* request.c - see request.h. */
#include "reports/web/request.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define HEAD_PATH_MAX 64u /* bytes of a path, of which the token is the first */

static bool equals(const char *text, size_t len, const char *name)
{
	return strlen(name) == len && strncasecmp(text, name, len) == 0;
}

bool host_is_known(const char *host, const char *const *names)
{
	if (host == NULL)
		return false;
	size_t len = strcspn(host, ":");
	if (host[len] == ':' && strspn(host + len + 1, "0123456789") != strlen(host + len + 1))
		return false;
	if (equals(host, len, "127.0.0.1") || equals(host, len, "localhost"))
		return true;
	for (; names != NULL && *names != NULL; names++)
		if (equals(host, len, *names))
			return true;
	return false;
}

bool origin_is_known(const char *origin, const char *const *names)
{
	const char *host = strstr(origin, "://");
	if (host == NULL ||
	    (!equals(origin, (size_t)(host - origin), "http") && !equals(origin, (size_t)(host - origin), "https")))
		return false;
	return host_is_known(host + 3, names);
}

/* Digits only; stops at UINT64_MAX / 16. */
static const char *read_number(const char *s, uint64_t *ret_value)
{
	uint64_t value = 0;
	while (isdigit((unsigned char)*s) && value < UINT64_MAX / 16)
		value = value * 10 + (uint64_t)(*s++ - '0');
	*ret_value = value;
	return s;
}

/* "bytes=10-19", "bytes=10-", "bytes=-5". */
static bool read_range(const char *range, bool *ret_from_end, uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first, last;
	if (range == NULL || strncasecmp(range, "bytes=", 6) != 0)
		return false;
	const char *begin = range + 6, *dash = read_number(begin, &first);
	if (*dash != '-')
		return false;
	const char *end = read_number(dash + 1, &last);
	bool has_first = dash > begin, has_last = end > dash + 1;
	if (*end != '\0' || (!has_first && !has_last) || (has_first && has_last && last < first))
		return false;
	*ret_from_end = !has_first;
	*ret_first = has_first ? first : last;
	*ret_last = has_first && has_last ? last : UINT64_MAX;
	return true;
}

int range_of(const char *range, uint64_t resource_bytes, uint64_t *ret_first, uint64_t *ret_len)
{
	uint64_t first, last;
	bool from_end;
	*ret_first = 0;
	*ret_len = resource_bytes;
	if (!read_range(range, &from_end, &first, &last))
		return 200;
	if (from_end) {
		*ret_len = first < resource_bytes ? first : resource_bytes;
		*ret_first = resource_bytes - *ret_len;
		return *ret_len > 0 ? 206 : 416;
	}
	if (first >= resource_bytes)
		return 416;
	if (last > resource_bytes - 1)
		last = resource_bytes - 1;
	*ret_first = first;
	*ret_len = last - first + 1;
	return 206;
}

const char *behind_token(const char *path, const char *token)
{
	if (*path != '/')
		return NULL;
	path++;
	if (token == NULL)
		return path;
	size_t n = strlen(token);
	unsigned char differ = 0;
	for (size_t i = 0; i < n; i++) {
		if (path[i] == '\0')
			return NULL;
		differ |= (unsigned char)(path[i] ^ token[i]);
	}
	return differ == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* Empty lines may stand before a request (RFC 9112, 2.2). */
static size_t empty_lines(const char *bytes, size_t len)
{
	size_t at = 0;
	while (at < len && (bytes[at] == '\r' || bytes[at] == '\n'))
		at++;
	return at;
}

bool head_is_whole(const char *bytes, size_t len)
{
	size_t at = empty_lines(bytes, len);
	return memmem(bytes + at, len - at, "\r\n\r\n", 4) != NULL;
}

unsigned head_arguments(const char *bytes, size_t len)
{
	size_t at = empty_lines(bytes, len);
	const char *line_end = memchr(bytes + at, '\n', len - at), *end = line_end != NULL ? line_end : bytes + len;
	const char *next = memchr(bytes + at, '?', (size_t)(end - bytes) - at);
	unsigned n = 0;
	for (; next != NULL; n++)
		next = memchr(next + 1, '&', (size_t)(end - next) - 1);
	return n;
}

bool head_has_token(const char *bytes, size_t len, const char *token)
{
	char path[HEAD_PATH_MAX + 1];
	size_t at = empty_lines(bytes, len);
	const char *blank = memchr(bytes + at, ' ', len - at);
	if (token == NULL || blank == NULL)
		return token == NULL;
	size_t n = len - (size_t)(blank + 1 - bytes);
	n = n < HEAD_PATH_MAX ? n : HEAD_PATH_MAX;
	memcpy(path, blank + 1, n);
	path[n] = '\0';
	return behind_token(path, token) != NULL;
}
