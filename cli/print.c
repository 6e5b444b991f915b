/* print.c - see print.h. */
#include "cli/print.h"

#include "base/utf8.h"

void put_plain(FILE *to, const char *text, int max_bytes)
{
	while (*text != 0 && max_bytes > 0) {
		uint32_t code;
		size_t n = utf8_next_of(text, &code);
		if (n == 0)
			fprintf(to, "\\x%02x", (unsigned char)*text);
		else if (utf8_is_unseen(code))
			fprintf(to, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
		else
			fwrite(text, 1, n, to);
		n += n == 0;
		text += n;
		max_bytes -= (int)n;
	}
	if (*text != 0)
		fputs("...", to);
}
