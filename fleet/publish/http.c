/* http.c - see http.h. */
#include "fleet/publish/http.h"
#include "fleet/publish/kind.h"

#include "base/utf8.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES_MAX 1024u	    /* more of an answer is read and forgotten, */
#define FATES_BYTES_MAX (64u << 20) /* unless it says what became of each record: 10,000 with 6 KB each */
#define CONNECT_SECONDS 10L

struct http {
	CURL *curl;
	const struct destination *d;
	struct buf answer;
	char why[CURL_ERROR_SIZE];
};

static size_t write_body(char *data, size_t size, size_t n, void *context)
{
	struct http *h = context;
	size_t most = h->d->kind->fates != NULL ? FATES_BYTES_MAX : ANSWER_BYTES_MAX;
	size_t room = most - h->answer.len_bytes, len = size * n;
	buf_bytes(&h->answer, data, len < room ? len : room);
	return buf_failed(&h->answer) ? 0 : len;
}

/* No file, no other protocol, no redirect: a server cannot send us elsewhere with what authenticates us. */
static bool set_up(struct http *h)
{
	const struct destination *d = h->d;
	CURL *c = h->curl;
	CURLcode rc = curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	rc |= curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	rc |= curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	rc |= curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	rc |= curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)d->timeout_s);
	rc |= curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT,
			       (long)d->timeout_s < CONNECT_SECONDS ? (long)d->timeout_s : CONNECT_SECONDS);
	rc |= curl_easy_setopt(c, CURLOPT_USERAGENT, "mpitrace-publish/" MPITRACE_VERSION);
	rc |= curl_easy_setopt(c, CURLOPT_ERRORBUFFER, h->why);
	rc |= curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, write_body);
	rc |= curl_easy_setopt(c, CURLOPT_WRITEDATA, h);
	if (d->ca != NULL)
		rc |= curl_easy_setopt(c, CURLOPT_CAINFO, d->ca);
	if (d->certificate != NULL) {
		rc |= curl_easy_setopt(c, CURLOPT_SSLCERT, d->certificate);
		rc |= curl_easy_setopt(c, CURLOPT_SSLKEY, d->key);
	}
	if (d->proxy != NULL)
		rc |= curl_easy_setopt(c, CURLOPT_PROXY, d->proxy);
	if (d->user != NULL)
		rc |= curl_easy_setopt(c, CURLOPT_USERNAME, d->user);
	if (d->password != NULL)
		rc |= curl_easy_setopt(c, CURLOPT_PASSWORD, d->password);
	return rc == CURLE_OK;
}

struct http *http_create(const struct destination *d)
{
	struct http *h = calloc(1, sizeof(*h));
	if (h == NULL)
		return NULL;
	h->d = d;
	h->curl = curl_easy_init();
	if (h->curl != NULL && set_up(h))
		return h;
	http_destroy(h);
	return NULL;
}

void http_destroy(struct http *h)
{
	if (h != NULL && h->curl != NULL)
		curl_easy_cleanup(h->curl);
	if (h != NULL)
		buf_done(&h->answer);
	free(h);
}

static bool holds(const char *text, const char *secret)
{
	return secret != NULL && strstr(text, secret) != NULL;
}

/* A server may say again what it was sent. */
void http_clean(const struct destination *d, char *text, size_t cap)
{
	char *clean = utf8_clean(text, strlen(text));
	if (clean == NULL || holds(clean, d->token) || holds(clean, d->password) || holds(clean, d->secret))
		snprintf(text, cap, "(its text is left out)");
	else
		snprintf(text, cap, "%s", clean);
	free(clean);
}

static void explain(struct http *h, CURLcode rc, struct http_answer *a)
{
	char said[ANSWER_BYTES_MAX + 1];
	snprintf(said, sizeof(said), "%.*s", (int)ANSWER_BYTES_MAX, a->body);
	http_clean(h->d, said, sizeof(said));
	if (rc != CURLE_OK)
		snprintf(a->text, sizeof(a->text), "%.200s", h->why[0] != '\0' ? h->why : curl_easy_strerror(rc));
	else
		snprintf(a->text, sizeof(a->text), "status %ld: %.200s", a->status, said);
}

static void answer(struct http *h, CURLcode rc, struct http_answer *a)
{
	curl_off_t wait = 0;
	buf_u8(&h->answer, 0);
	*a = (struct http_answer){.body = buf_failed(&h->answer) ? "" : (const char *)h->answer.data};
	if (rc == CURLE_OK) {
		curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &a->status);
		curl_easy_getinfo(h->curl, CURLINFO_RETRY_AFTER, &wait);
		a->retry_after_s = wait;
	}
	explain(h, rc, a);
}

static struct curl_slist *add_line(struct curl_slist *list, const char *line)
{
	struct curl_slist *longer = list != NULL || line != NULL ? curl_slist_append(list, line) : NULL;
	return longer != NULL ? longer : list;
}

static struct curl_slist *add_lines(struct curl_slist *list, const char *lines)
{
	char *copy = strdup(lines), *rest = copy, *line;
	while (copy != NULL && (line = strsep(&rest, "\n")) != NULL)
		if (*line != '\0')
			list = add_line(list, line);
	if (copy != NULL)
		explicit_bzero(copy, strlen(lines));
	free(copy);
	return list;
}

int http_send(struct http *h, const char *url, const char *lines, const struct buf *body, struct http_answer *ret_a,
	      struct error *e)
{
	struct curl_slist *list = add_lines(add_line(NULL, "Expect:"), lines);
	buf_done(&h->answer);
	h->why[0] = '\0';
	CURLcode rc = curl_easy_setopt(h->curl, CURLOPT_URL, url);
	rc |= curl_easy_setopt(h->curl, CURLOPT_CONNECT_ONLY, 0L);
	rc |= curl_easy_setopt(h->curl, CURLOPT_POST, 1L);
	rc |= curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len_bytes);
	rc |= curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, body->data);
	rc |= curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, list);
	rc |= curl_easy_setopt(h->curl, CURLOPT_CUSTOMREQUEST, h->d->kind->method);
	if (rc == CURLE_OK)
		answer(h, curl_easy_perform(h->curl), ret_a);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(list);
	return rc == CURLE_OK ? 0 : fail(e, -EINVAL, "%s: %s", h->d->name, curl_easy_strerror(rc));
}

int http_reach(struct http *h, struct http_answer *ret_a, struct error *e)
{
	buf_done(&h->answer);
	h->why[0] = '\0';
	CURLcode rc = curl_easy_setopt(h->curl, CURLOPT_URL, h->d->url);
	rc |= curl_easy_setopt(h->curl, CURLOPT_CONNECT_ONLY, 1L);
	if (rc != CURLE_OK)
		return fail(e, -EINVAL, "%s: %s", h->d->name, curl_easy_strerror(rc));
	rc = curl_easy_perform(h->curl);
	answer(h, rc, ret_a);
	ret_a->status = rc == CURLE_OK ? 200 : 0;
	return 0;
}
