/* http.h - one connection per destination, kept alive; the only user of libcurl in the project. */
#pragma once

#include "base/buf.h"
#include "fleet/publish/config.h"

struct http;

struct http_answer {
	long status;	       /* 0: none came, or not all of it */
	int64_t retry_after_s; /* 0: it did not say */
	char text[256];	       /* for people: what came, or why nothing did; no secret is in it */
	const char *body;      /* what came, ended by a zero, until the next request */
};

/* NULL without memory. */
struct http *http_create(const struct destination *d);
void http_destroy(struct http *h);
/* POST body (or whatever method the kind has) with the header lines. 0 with an answer, or -errno with text: this will
 * never work. */
int http_send(struct http *h, const char *url, const char *lines, const struct buf *body, struct http_answer *ret_a,
	      struct error *e);
/* Make what a server says fit for people: no secret of ours is in it, and nothing that a terminal heeds. */
void http_clean(const struct destination *d, char *text, size_t cap);
/* Can the server be reached, and is it who it says? The same answer: status 200 if so. */
int http_reach(struct http *h, struct http_answer *ret_a, struct error *e);
