/* text.h - an input as texts. */
#pragma once

#include "base/cursor.h"

#include <stdlib.h>

/* The next part of an input, up to a zero or its end, as a text; free it. */
static inline char *text_next(struct cursor *c)
{
	size_t left = cursor_left(c), n = left > 0 ? strnlen((const char *)c->pos, left) : 0;
	char *text = malloc(n + 1);
	if (text == NULL)
		abort();
	if (n > 0)
		memcpy(text, c->pos, n);
	text[n] = '\0';
	c->pos += n < left ? n + 1 : n;
	return text;
}
