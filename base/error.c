/* error.c - see error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names are anybody's: what a terminal would obey, of ASCII or past it (U+0080 to U+009F), becomes '?'. Lines stay: a
 * mistake in a specification is shown below its line. */
static void make_plain(char *text, bool has_lines)
{
	for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
		bool past_ascii = *c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0;
		if (past_ascii)
			*c++ = '?';
		if ((*c < ' ' && !(*c == '\n' && (has_lines || c[1] == '\0')) && *c != '\t') || *c == 0x7f ||
		    past_ascii)
			*c = '?';
	}
}

void print_plain(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	int len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	make_plain(text, false);
	fputs(text, stderr);
	free(text);
}

int fail(struct error *e, int code, const char *fmt, ...)
{
	if (e != NULL) {
		va_list ap;
		va_start(ap, fmt);
		vsnprintf(e->text, sizeof(e->text), fmt, ap);
		va_end(ap);
		make_plain(e->text, true);
	}
	return code;
}

void error_say_new(const char *who, const struct error *e, struct error *said)
{
	if (strcmp(e->text, said->text) != 0)
		print_plain("%s: %s\n", who, e->text);
	*said = *e;
}
