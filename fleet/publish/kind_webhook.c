/* kind_webhook.c - any server that takes JSON: {"batch": NAME, "records": [...]}, signed by HMAC-SHA-256. Each record
 * has its id; the batch's name is the same when it comes again, so that a receiver needs to know only the last one. */
#include "fleet/publish/kind.h"
#include "base/json.h"
#include "fleet/alert.h"

#include <errno.h>
#include <string.h>

#ifdef HAVE_NETTLE
#include <nettle/hmac.h>
#endif

static const char *missing(const struct destination *d)
{
	(void)d;
	return NULL;
}

static void url(const struct destination *d, struct buf *ret_url)
{
	buf_str(ret_url, d->url);
}

/* Those that are alerts, or those that are not; how many. */
static size_t put(const struct publish_batch *b, bool alerts, struct buf *ret_body)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++) {
		if ((strcmp(json_text(b->records[i].json, "schema", ""), ALERT_SCHEMA) == 0) != alerts)
			continue;
		if (n++ > 0)
			buf_u8(ret_body, ',');
		buf_str(ret_body, b->records[i].text);
	}
	return n;
}

/* A body without alerts is as it was when there were none. */
static void encode(const struct publish_batch *b, struct buf *ret_body)
{
	buf_printf(ret_body, "{\"batch\":\"%s\",\"records\":[", b->name);
	if (put(b, false, ret_body) < b->n) {
		buf_str(ret_body, "],\"alerts\":[");
		put(b, true, ret_body);
	}
	buf_str(ret_body, "]}");
}

static int sign(const char *secret, const struct buf *body, struct buf *ret_lines, struct error *e)
{
#ifdef HAVE_NETTLE
	struct hmac_sha256_ctx c;
	uint8_t digest[SHA256_DIGEST_SIZE];
	hmac_sha256_set_key(&c, strlen(secret), (const uint8_t *)secret);
	hmac_sha256_update(&c, body->len_bytes, body->data);
	hmac_sha256_digest(&c, sizeof(digest), digest);
	explicit_bzero(&c, sizeof(c));
	buf_str(ret_lines, "X-Mpitrace-Signature: sha256=");
	for (size_t i = 0; i < sizeof(digest); i++)
		buf_printf(ret_lines, "%02x", digest[i]);
	buf_u8(ret_lines, '\n');
	(void)e;
	return 0;
#else
	(void)secret, (void)body, (void)ret_lines;
	return fail(e, -ENOSYS, "secret_file needs mpitrace built with nettle");
#endif
}

static int headers(const struct destination *d, const struct publish_batch *b, const struct buf *body,
		   struct buf *ret_lines, struct error *e)
{
	buf_printf(ret_lines, "X-Mpitrace-Batch: %s\n", b->name);
	if (d->token != NULL)
		buf_printf(ret_lines, "Authorization: Bearer %s\n", d->token);
	return d->secret != NULL ? sign(d->secret, body, ret_lines, e) : 0;
}

const struct publish_kind publish_webhook = {
	.name = "webhook",
	.content_type = "application/json",
	.missing = missing,
	.url = url,
	.encode = encode,
	.headers = headers,
	.alerts = true,
};
