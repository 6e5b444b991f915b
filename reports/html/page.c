/* page.c - writing markup: escaping, section frames, and the small phrases that several sections
 * share. In: strings nobody vouches for.  Out: HTML that shows them and does nothing else. */
#include "reports/html/page.h"

#include "base/path.h"
#include "base/shell_word.h"
#include "base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void put(struct page *p, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(p->out, fmt, ap);
	va_end(ap);
}

static void put_code(FILE *out, uint32_t code, const char *bytes, size_t len)
{
	if (code == '&')
		fputs("&amp;", out);
	else if (code == '<')
		fputs("&lt;", out);
	else if (code == '>')
		fputs("&gt;", out);
	else if (code == '"')
		fputs("&quot;", out);
	else if (code == '\'')
		fputs("&#39;", out);
	else if (code == '\t' || code == '\n')
		fputc(' ', out);
	else if (utf8_is_unseen(code))
		fprintf(out, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
	else
		fwrite(bytes, 1, len, out);
}

void put_text(struct page *p, const char *untrusted, unsigned max_chars)
{
	const char *s = untrusted;
	for (unsigned shown = 0; *s != '\0'; shown++) {
		if (shown == max_chars) {
			fputs("\xe2\x80\xa6", p->out);
			return;
		}
		uint32_t code;
		size_t len = utf8_next_of(s, &code);
		if (len == 0)
			fprintf(p->out, "\\x%02x", (unsigned char)*s);
		else
			put_code(p->out, code, s, len);
		s += len == 0 ? 1 : len;
	}
}

void put_text_part(struct page *p, const char *untrusted, size_t bytes)
{
	char *part = strndup(untrusted, bytes);
	if (part != NULL)
		put_text(p, part, SENTENCE_CHARS);
	free(part);
}

void put_command(struct page *p, const char *before, const char *after)
{
	char *name = shell_word(p->model->trace);
	put(p, "mpitrace %s", before);
	put_text(p, name != NULL ? name : "FILE.mpix", SENTENCE_CHARS);
	put(p, "%s", after);
	free(name);
}

void put_json_command(struct page *p)
{
	put_command(p, p->model->totals ? "analyze --totals --json " : "show --json ", "");
}

void put_all_of_it(struct page *p)
{
	put(p, "<code>");
	put_json_command(p);
	put(p, "</code> has all");
}

void put_left_out(struct page *p, size_t left_out, const char *what)
{
	if (left_out == 0)
		return;
	put(p, "<p class=\"more\">%s not shown here; ", fmt_many((double)left_out, what).s);
	put_all_of_it(p);
	put(p, ".</p>\n");
}

void put_not_kept(struct page *p, double left_out, const char *what)
{
	if (left_out > 0)
		put(p, "<p class=\"more\">Too many for the analysis: %s.</p>\n", fmt_many(left_out, what).s);
}

static void put_place(struct page *p, const cJSON *callsite)
{
	const char *file = json_text(callsite, "file", "");
	const char *module = json_text(callsite, "module", "");
	double line = json_number(callsite, "line");
	if (*file != '\0') {
		put(p, " <span class=\"at\" title=\"");
		put_text(p, file, TITLE_CHARS);
		put(p, "\">");
		put_text(p, basename_of(file), NAME_CHARS);
		if (line >= 1)
			put(p, ":%.0f", line);
		put(p, "</span>");
	} else if (*module != '\0') {
		put(p, " <span class=\"at\">in ");
		put_text(p, json_text(callsite, "module_short", basename_of(module)), NAME_CHARS);
		put(p, "</span>");
	}
}

/* A stripped program has no names: module and address still tell one call from another. */
static void put_address(struct page *p, const cJSON *callsite)
{
	const char *address = json_text(callsite, "address", "");
	put_text(p, basename_of(json_text(callsite, "module", "unknown place")), NAME_CHARS);
	if (*address != '\0') {
		put(p, "+");
		put_text(p, address, 24);
	}
}

void put_callsite(struct page *p, const cJSON *callsite)
{
	const char *function = json_text(callsite, "function", "");
	const char *shown = json_text(callsite, "function_short", function);
	put(p, "<span class=\"site\"><code");
	if (shown != function) {
		put(p, " title=\"");
		put_text(p, function, TITLE_CHARS);
		put(p, "\"");
	}
	put(p, ">");
	if (*function != '\0')
		put_text(p, shown, NAME_CHARS);
	else
		put_address(p, callsite);
	put(p, "</code>");
	if (*function != '\0')
		put_place(p, callsite);
	put(p, "</span>");
}

static void put_run(struct page *p, long first, long last, bool comma)
{
	put(p, comma ? ", %ld" : "%ld", first);
	if (last > first)
		put(p, last == first + 1 ? ", %ld" : "\xe2\x80\x93%ld", last);
}

void put_ranks(struct page *p, const cJSON *ranks, unsigned max_runs)
{
	unsigned runs = 0;
	const cJSON *v = cJSON_IsArray(ranks) ? ranks->child : NULL;
	while (v != NULL) {
		double d = json_number_of(v);
		long first = isnan(d) || fabs(d) > 1e9 ? -1 : (long)d, last = first;
		for (v = v->next; v != NULL && json_number_of(v) == (double)last + 1; v = v->next)
			last++;
		if (runs == max_runs) {
			put(p, ", \xe2\x80\xa6");
			return;
		}
		put_run(p, first, last, runs++ > 0);
	}
}

void put_words(struct page *p, const char *identifier)
{
	char words[64];
	size_t i = 0;
	for (; identifier[i] != '\0' && i + 1 < sizeof(words); i++)
		words[i] = identifier[i] == '_' ? ' ' : identifier[i];
	words[i] = '\0';
	put_text(p, words, NAME_CHARS);
}
