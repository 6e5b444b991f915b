/* html_probe.c - a strict little reader of our own pages, for tests of hostile and odd input. */
#include "tests/unit/html_probe.h"

#include "base/buf_file.h"
#include "reports/html/html.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64
#define NAME_MAX_BYTES 16

static const char *const known_tags[] = {
	"html",	  "head",	"body",	   "meta",    "title",	 "style", "main", "section", "header",
	"footer", "nav",	"article", "div",     "p",	 "h1",	  "h2",	  "h3",	     "ul",
	"li",	  "dl",		"dt",	   "dd",      "a",	 "b",	  "br",	  "small",   "span",
	"code",	  "pre",	"table",   "caption", "thead",	 "tbody", "tr",	  "th",	     "td",
	"figure", "figcaption", "svg",	   "defs",    "pattern", "rect",  "line", "path",    "g",
	"text",	  "circle",	"details", "aside",   "summary", "use"};

char *page_of(const char *json, size_t *ret_len_bytes)
{
	char *page = NULL;
	struct error e;
	FILE *out = open_memstream(&page, ret_len_bytes);
	int r = html_report(json, out, &e);
	fclose(out);
	if (r == 0)
		return page;
	free(page);
	return NULL;
}

char *corpus(const char *name)
{
	char path[512];
	struct buf text = {0};
	snprintf(path, sizeof(path), "%s/analysis/%s", getenv("MPITRACE_CORPUS"), name);
	cr_assert_eq(buf_file(&text, path, SIZE_MAX), 0, "%s", path);
	buf_u8(&text, 0);
	return (char *)text.data;
}

static bool complain(const char *what, const char *at)
{
	fprintf(stderr, "%s at: %.80s\n", what, at);
	return false;
}

static bool is_known(const char *name)
{
	for (size_t i = 0; i < sizeof(known_tags) / sizeof(known_tags[0]); i++)
		if (name[0] == known_tags[i][0] && strcmp(name, known_tags[i]) == 0)
			return true;
	return false;
}

/* Read the attributes from s up to '>', which is returned; NULL when one is not quoted or is a
 * handler. */
static const char *read_attributes(const char *s, bool *ret_empty)
{
	*ret_empty = false;
	while (*s == ' ') {
		s++;
		if (strncmp(s, "on", 2) == 0 || strncmp(s, "src", 3) == 0 || strncmp(s, "style", 5) == 0)
			return NULL;
		if (strncmp(s, "href", 4) == 0 && strncmp(s, "href=\"#", 7) != 0 &&
		    strncmp(s, "href=\"data:text/csv;charset=utf-8,", 34) != 0)
			return NULL;
		while (islower((unsigned char)*s) || isupper((unsigned char)*s) || isdigit((unsigned char)*s) ||
		       *s == '-')
			s++;
		if (strncmp(s, "=\"", 2) != 0)
			return NULL;
		s = strchr(s + 2, '"');
		if (s == NULL)
			return NULL;
		s++;
	}
	if (*s == '/') {
		*ret_empty = true;
		s++;
	}
	return *s == '>' ? s : NULL;
}

struct open_tags {
	char name[DEPTH_MAX][NAME_MAX_BYTES];
	size_t depth;
};

static bool read_name(const char **s, char *ret_name)
{
	size_t n = 0;
	while (n + 1 < NAME_MAX_BYTES && (islower((unsigned char)**s) || isdigit((unsigned char)**s)))
		ret_name[n++] = *(*s)++;
	ret_name[n] = '\0';
	return is_known(ret_name);
}

/* s points behind '<' of an opening tag; returns behind its '>'. */
static const char *open_tag(struct open_tags *t, const char *s)
{
	const char *at = s;
	char name[NAME_MAX_BYTES];
	bool empty;
	if (!read_name(&s, name) || (s = read_attributes(s, &empty)) == NULL) {
		complain("tag not ours", at);
		return NULL;
	}
	if (!empty && strcmp(name, "meta") != 0 && strcmp(name, "br") != 0 && t->depth < DEPTH_MAX)
		memcpy(t->name[t->depth++], name, sizeof(name));
	return s + 1;
}

static const char *close_tag(struct open_tags *t, const char *s)
{
	const char *at = s;
	char name[NAME_MAX_BYTES];
	if (!read_name(&s, name) || *s != '>' || t->depth == 0 || strcmp(t->name[--t->depth], name) != 0) {
		complain("tag closed out of order", at);
		return NULL;
	}
	return s + 1;
}

static bool is_clean_text(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)s[i] < 0x20 && s[i] != '\n' && s[i] != '\t') || s[i] == 0x7f)
			return complain("control character", s + i);
	return true;
}

/* Text that nobody runs: one JSON object up to the next tag, which is its end. */
static const char *end_of_data(const char *s)
{
	const char *from = s + strlen(HTML_DATA), *end = from + strcspn(from, "<");
	if (strncmp(end, "</script>", 9) != 0) {
		complain("the data do not end", end);
		return NULL;
	}
	const char *parsed = NULL;
	cJSON *data = cJSON_ParseWithLengthOpts(from, (size_t)(end - from), &parsed, false);
	bool whole = cJSON_IsObject(data) && parsed == end;
	cJSON_Delete(data);
	if (!whole) {
		complain("the data are no JSON", from);
		return NULL;
	}
	return end + strlen("</script>");
}

bool page_is_sound(const char *page)
{
	struct open_tags t = {.depth = 0};
	const char *s = page + strlen("<!doctype html>");
	if (strncmp(page, "<!doctype html>", strlen("<!doctype html>")) != 0 || strstr(page, "://") != NULL)
		return complain("no doctype, or an outside address", page);
	for (;;) {
		size_t text = strcspn(s, "<");
		if (!is_clean_text(s, text))
			return false;
		s += text;
		if (*s == '\0')
			return t.depth == 0 || complain("tag left open", t.name[t.depth - 1]);
		if (strncmp(s, HTML_DATA, strlen(HTML_DATA)) == 0) {
			s = end_of_data(s);
			if (s == NULL)
				return false;
			continue;
		}
		s = s[1] == '/' ? close_tag(&t, s + 2) : open_tag(&t, s + 1);
		if (s == NULL)
			return false;
	}
}
