/* utf8.h - text that nobody vouches for, character by character (RFC 3629). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at the beginning of text, 1..4, and its code; 0 when the bytes are none, or there are none. */
size_t utf8_next(const void *text, size_t len_bytes, uint32_t *ret_code);
/* The same in a text that ends with NUL; the NUL is a character, too. */
size_t utf8_next_of(const char *text, uint32_t *ret_code);
/* A character that would show nothing, or change how others are shown: control characters, marks of direction. */
bool utf8_is_unseen(uint32_t code);
/* A copy of text with control characters (of those past ASCII one is CSI, U+009B), and bytes that are not UTF-8,
 * replaced by '?'. The caller frees it. */
char *utf8_clean(const void *text, size_t len_bytes);
