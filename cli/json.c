/* json.c - see json.h. */
#include "cli/json.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

double json_number(const cJSON *object, const char *name, double fallback)
{
	const cJSON *x = cJSON_GetObjectItemCaseSensitive(object, name);
	return cJSON_IsNumber(x) && isfinite(x->valuedouble) ? x->valuedouble : fallback;
}

const char *json_text(const cJSON *object, const char *name, const char *fallback)
{
	const cJSON *x = cJSON_GetObjectItemCaseSensitive(object, name);
	return cJSON_IsString(x) && x->valuestring != NULL ? x->valuestring : fallback;
}

int json_true(const cJSON *object, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

const cJSON *json_child(const cJSON *object, const char *name)
{
	const cJSON *x = cJSON_GetObjectItemCaseSensitive(object, name);
	return cJSON_IsObject(x) || cJSON_IsArray(x) ? x : NULL;
}

int json_count(const cJSON *list)
{
	return cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
}

/* Length of the printable UTF-8 character at s, or 0. C1 controls and surrogates are not printable.
 */
static int utf8_length(const unsigned char *s)
{
	int n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;
	if (s[0] >= 0xf5 || s[0] < 0x20 || s[0] == 0x7f || n == 0)
		return 0;
	for (int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90))
		return 0;
	return n;
}

/* Marks that turn the direction of writing can make text show what it does not say (U+202A..E,
 * U+2066..9). */
static bool turns_direction(const unsigned char *s)
{
	return s[0] == 0xe2 &&
	       ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

void put_plain(FILE *to, const char *text, int max_bytes)
{
	const unsigned char *s = (const unsigned char *)text;
	while (*s != 0 && max_bytes > 0) {
		int n = utf8_length(s);
		if (n == 0 || turns_direction(s)) {
			fprintf(to, "\\x%02x", *s);
			n = 1;
		} else {
			fwrite(s, 1, (size_t)n, to);
		}
		s += n;
		max_bytes -= n;
	}
	if (*s != 0)
		fputs("...", to);
}

void put_json_text(FILE *to, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	putc('"', to);
	while (*s != 0) {
		int n = utf8_length(s);
		if (n == 0)
			fprintf(to, "\\u%04x", *s++);
		else if (*s == '"' || *s == '\\')
			fprintf(to, "\\%c", *s++);
		else
			s += fwrite(s, 1, (size_t)n, to);
	}
	putc('"', to);
}
