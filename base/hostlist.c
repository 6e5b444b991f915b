/* hostlist.c - see hostlist.h. A name is pieces of text with bracketed numbers between them; every combination is a
 * host, the last bracket counting fastest. */
#include "base/hostlist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 9

struct walk {
	char name[HOSTLIST_NAME_MAX];
	int (*found)(void *context, const char *name);
	void *context;
	int brackets; /* of the name under way */
};

/* The number at *at, which moves behind it; the digits tell the width ("007"). False: there is none. */
static int read_number(const char **at, unsigned long *ret_value)
{
	size_t digits = strspn(*at, "0123456789");
	if (digits == 0 || digits > DIGITS_MAX)
		return -EINVAL;
	*ret_value = strtoul(*at, NULL, 10);
	*at += digits;
	return (int)digits;
}

static int expand(struct walk *w, size_t len, const char *rest, const char *end);

/* One of "3" or "007-012" at *at, each number of it followed by what stands behind the bracket. */
static int expand_range(struct walk *w, size_t len, const char **at, const char *behind, const char *end)
{
	unsigned long first, last;
	int width = read_number(at, &first), code = width;
	last = first;
	if (code > 0 && **at == '-') {
		++*at;
		code = read_number(at, &last);
	}
	if (code < 0 || last < first)
		return -EINVAL;
	for (code = 0; first <= last && code == 0; first++) {
		int n = snprintf(w->name + len, sizeof(w->name) - len, "%0*lu", width, first);
		if (len + (size_t)n >= sizeof(w->name))
			return -ENAMETOOLONG;
		code = expand(w, len + (size_t)n, behind, end);
	}
	return code;
}

/* w->name holds len bytes; [rest, end) is what follows of this one entry of the list. */
static int expand(struct walk *w, size_t len, const char *rest, const char *end)
{
	size_t plain = strcspn(rest, "[]");
	plain = plain < (size_t)(end - rest) ? plain : (size_t)(end - rest);
	if (len + plain >= sizeof(w->name))
		return -ENAMETOOLONG;
	memcpy(w->name + len, rest, plain);
	len += plain;
	rest += plain;
	if (rest == end) {
		w->name[len] = '\0';
		return len > 0 ? w->found(w->context, w->name) : -EINVAL;
	}
	const char *close = memchr(rest, ']', (size_t)(end - rest));
	if (*rest != '[' || close == NULL || w->brackets++ == HOSTLIST_BRACKETS_MAX)
		return -EINVAL;
	int code = 0;
	for (const char *at = rest + 1; code == 0; at++) {
		code = expand_range(w, len, &at, close + 1, end);
		if (code == 0 && *at != ',' && at != close)
			code = -EINVAL;
		if (at == close)
			break;
	}
	w->brackets--;
	return code;
}

/* The comma that ends the entry, or the end of the text. */
static const char *entry_end(const char *text)
{
	int depth = 0;
	for (; *text != '\0' && (*text != ',' || depth > 0); text++)
		depth += *text == '[' ? 1 : *text == ']' ? -1 : 0;
	return text;
}

int hostlist_each(const char *text, int (*found)(void *context, const char *name), void *context)
{
	struct walk w = {.found = found, .context = context};
	int code = *text == '\0' ? -EINVAL : 0;
	while (code == 0) {
		const char *end = entry_end(text);
		code = expand(&w, 0, text, end);
		if (*end == '\0')
			break;
		text = end + 1;
	}
	return code;
}
