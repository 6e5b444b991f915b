/* print.h - texts from outside, on a terminal. */
#pragma once

#include <stdio.h>

/* Print text for a terminal: bytes that are no UTF-8, and characters that show nothing or turn the direction of
 * writing, as \xNN or \uNNNN; at most max_bytes of it. */
void put_plain(FILE *to, const char *text, int max_bytes);
