/* print.h - texts from outside, on a terminal and in JSON. */
#pragma once

#include <stdio.h>

/* Print text for a terminal: bytes that are no UTF-8, and characters that show nothing or turn the direction of
 * writing, as \xNN or \uNNNN; at most max_bytes of it. */
void put_plain(FILE *to, const char *text, int max_bytes);
/* Print text as a JSON string with its quotes. */
void put_json_text(FILE *to, const char *text);
