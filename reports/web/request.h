/* request.h - what a request says, where the library leaves it to us. Every byte is untrusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is it the name of this machine's loopback, or one of names (NULL-terminated, or NULL), with or without a port? A page
 * of another name, which leads a browser here, is not read by it (DNS rebinding). */
bool host_is_known(const char *host, const char *const *names);
/* The same of an Origin: a scheme before it, "null" is none. */
bool origin_is_known(const char *origin, const char *const *names);

/* Turn the value of Range, or NULL, into [*ret_first, *ret_first + *ret_len) of a resource. 200, 206 or 416. One range
 * only; anything else is as if it were not there, as RFC 9110 allows. */
int range_of(const char *range, uint64_t resource_bytes, uint64_t *ret_first, uint64_t *ret_len);

/* Is the head of a request, of which these are the first bytes, all there: its line, its fields, the line without
 * anything? */
bool head_is_whole(const char *bytes, size_t len_bytes);
/* Has it, as far as can be seen, the token as the first part of its path? Takes the same time for all of one length. */
bool head_has_token(const char *bytes, size_t len_bytes, const char *token);

/* How many arguments the address in its first line has. */
unsigned head_arguments(const char *bytes, size_t len_bytes);

/* Is path "/TOKEN/rest"? What is behind the slash, or NULL. Takes the same time for all of one length. */
const char *behind_token(const char *path, const char *token);
