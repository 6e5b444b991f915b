/* shell_word.c - see shell_word.h. Within single quotes nothing has a meaning but the quote, which stands between two
 * quoted parts: 'it'\''s' (POSIX.1-2017, Shell Command Language, 2.2). */
#include "base/shell_word.h"
#include "base/buf.h"

#include <string.h>

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@%/:,="

char *shell_word(const char *text)
{
	struct buf b = {0};
	bool plain = text[0] != '\0' && text[strspn(text, PLAIN)] == '\0';
	if (text[0] == '-')
		buf_bytes(&b, "./", 2);
	if (!plain)
		buf_u8(&b, '\'');
	for (const char *c = text; *c != '\0'; c++)
		if (*c == '\'')
			buf_bytes(&b, "'\\''", 4);
		else
			buf_u8(&b, (uint8_t)*c);
	if (!plain)
		buf_u8(&b, '\'');
	buf_u8(&b, 0);
	if (b.failed)
		buf_done(&b);
	return (char *)b.data;
}
