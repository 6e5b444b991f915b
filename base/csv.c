/* csv.c - see csv.h. */
#include "base/csv.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

char *csv_cell(const char *text)
{
	char *clean = utf8_clean(text, strlen(text));
	char *cell = clean != NULL ? malloc(2 * strlen(clean) + 4) : NULL, *to = cell;
	if (cell == NULL) {
		free(clean);
		return NULL;
	}
	bool quoted = strpbrk(clean, ",\"") != NULL;
	char last = '\0';
	if (quoted)
		*to++ = '"';
	if (*text != '\0' && strchr("\t\r\n", *text) != NULL)
		*to++ = '\'';
	for (const char *c = clean; *c != '\0'; last = *c++) {
		if (strchr("=+-@", *c) != NULL && (last == '\0' || strchr(",;\"", last) != NULL))
			*to++ = '\'';
		if (*c == '"')
			*to++ = '"';
		*to++ = *c;
	}
	if (quoted)
		*to++ = '"';
	*to = '\0';
	free(clean);
	return cell;
}
