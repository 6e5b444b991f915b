/* user.h - how a job record calls a user (mpitrace.conf: record_users). */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define USER_TEXT_MAX 96u
#define SITE_KEY_LEAST 16u
#define SITE_KEY_MAX 4096u

/* "h:" and the first 16 bytes of HMAC-SHA-256 (RFC 2104) of the name, hexadecimal: the same user has the same text as
 * long as the key is the same. 0, or -EINVAL for a key that is too short. */
int user_hash(const void *key, size_t key_bytes, const char *name, char ret_text[USER_TEXT_MAX], struct error *e);
/* The same with the key in a file: regular, root's or one's own, and nobody else's to write. */
int user_hash_by(const char *key_file, const char *name, char ret_text[USER_TEXT_MAX], struct error *e);
