/* json_quote.h - text as a JSON string: the one place where JSON is escaped. */
#pragma once

#include "base/buf.h"

#include <stdio.h>

/* Append text with its quotes. Control characters are escaped, so that a terminal obeys none of them; a byte that is
 * not UTF-8 becomes U+FFFD. */
void json_quote(struct buf *out, const char *text);
/* The same to a stream. */
void json_quote_to(FILE *to, const char *text);
