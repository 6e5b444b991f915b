/* json_quote.c - see json_quote.h. In: text that nobody vouches for. Out: RFC 8259, section 7. */
#include "base/json_quote.h"

#include "base/utf8.h"

#include <string.h>

/* From here on, what needs no look: printable ASCII but the two that JSON escapes. */
static size_t plain_bytes(const char *text)
{
	size_t n = 0;
	while (text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\') /* char is unsigned on aarch64 */
		n++;
	return n;
}

static void put_escaped(struct buf *out, uint32_t code)
{
	static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *at = code < 0x80 ? strchr(escaped, (int)code) : NULL;
	if (at != NULL)
		buf_printf(out, "\\%c", letters[at - escaped]);
	else
		buf_printf(out, "\\u%04x", (unsigned)code);
}

void json_quote(struct buf *out, const char *text)
{
	buf_u8(out, '"');
	for (;;) {
		size_t n = plain_bytes(text);
		uint32_t code;
		buf_bytes(out, text, n);
		text += n;
		if (*text == '\0')
			break;
		n = utf8_next_of(text, &code);
		if (n == 0)
			put_escaped(out, 0xfffd);
		else if (code < 0xa0)
			put_escaped(out, code);
		else
			buf_bytes(out, text, n);
		text += n > 0 ? n : 1;
	}
	buf_u8(out, '"');
}

void json_quote_to(FILE *to, const char *text)
{
	_cleanup_buf_ struct buf quoted = {0};
	json_quote(&quoted, text);
	if (buf_failed(&quoted))
		fputs("null", to);
	else
		fwrite(quoted.data, 1, quoted.len_bytes, to);
}
