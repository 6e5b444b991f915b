/* csv.c - see csv.h. */
#include "base/csv.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What begins a formula, also in the wide form that East Asian keyboards have. */
static bool calculates(const char *at)
{
	static const char *const wide[] = {"\uff1d", "\uff0b", "\uff0d", "\uff20"}; /* = + - @ */
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		if (strncmp(at, wide[i], strlen(wide[i])) == 0)
			return true;
	return *at != '\0' && strchr("=+-@", *at) != NULL;
}

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
		if (calculates(c) && (last == '\0' || strchr(",;\"", last) != NULL))
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
