/* utf8.c - see utf8.h. */
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

size_t utf8_next(const void *text, size_t len_bytes, uint32_t *ret_code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *s = text;
	size_t n;
	if (len_bytes == 0)
		return 0;
	n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	if (n == 0 || n > len_bytes)
		return 0;
	uint32_t code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*ret_code = code;
	return n;
}

size_t utf8_next_of(const char *text, uint32_t *ret_code)
{
	size_t n = strnlen(text, 4);
	return utf8_next(text, n > 0 ? n : 1, ret_code);
}

bool utf8_is_unseen(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code & 0xfffe) == 0xfffe || code >= 0xe0000;
}

char *utf8_clean(const void *text, size_t len_bytes)
{
	const uint8_t *from = text;
	char *clean = malloc(len_bytes + 1);
	size_t n = 0;
	if (clean == NULL)
		return NULL;
	for (size_t i = 0; i < len_bytes;) {
		uint32_t code;
		size_t step = utf8_next(from + i, len_bytes - i, &code);
		if (step == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
			clean[n++] = '?';
			i += step > 0 ? step : 1;
			continue;
		}
		memcpy(clean + n, from + i, step);
		n += step;
		i += step;
	}
	clean[n] = '\0';
	return clean;
}
