/* user.c - see user.h. */
#include "fleet/user.h"

#include "base/buf_file.h"
#include "base/trusted.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_NETTLE
#include <nettle/hmac.h>
#endif

#define SHOWN_BYTES 16 /* of 32: enough that two users of one site do not meet */

int user_hash(const void *key, size_t key_bytes, const char *name, char ret_text[USER_TEXT_MAX], struct error *e)
{
	uint8_t digest[32] = {0};
	size_t at = 2;
	if (key_bytes < SITE_KEY_LEAST)
		return fail(e, -EINVAL, "the site's key has %zu bytes, and needs at least %u: head -c 32 /dev/urandom",
			    key_bytes, SITE_KEY_LEAST);
#ifdef HAVE_NETTLE
	struct hmac_sha256_ctx c;
	hmac_sha256_set_key(&c, key_bytes, key);
	hmac_sha256_update(&c, strlen(name), (const uint8_t *)name);
	hmac_sha256_digest(&c, sizeof(digest), digest);
#else
	(void)key;
	(void)name;
	return fail(e, -ENOSYS, "record_users = hash needs mpitrace built with nettle");
#endif
	memcpy(ret_text, "h:", at);
	for (size_t i = 0; i < SHOWN_BYTES; i++, at += 2)
		snprintf(ret_text + at, USER_TEXT_MAX - at, "%02x", digest[i]);
	return 0;
}

int user_hash_by(const char *key_file, const char *name, char ret_text[USER_TEXT_MAX], struct error *e)
{
	_cleanup_buf_ struct buf key = {0};
	struct error why;
	int fd = trusted_open(key_file, TRUSTED_PUBLIC, &why);
	if (fd < 0)
		return fail(e, fd, "site_key %s", why.text);
	int rc = buf_read(&key, fd, SITE_KEY_MAX);
	close(fd);
	if (rc < 0)
		return fail(e, rc, "site_key %s: %s", key_file, strerror(-rc));
	return user_hash(key.data, key.len_bytes, name, ret_text, e);
}
