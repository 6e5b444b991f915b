/* web.h - HTTP on loopback for people's browsers: GET and HEAD, ranges, streams of events (server-sent events, HTML
 * Living Standard 9.2). libmicrohttpd speaks; here is who may ask, and what for. Handlers run in the server's threads,
 * several at a time. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEB_TOKEN_CHARS 32
#define WEB_PATIENCE_MS 20000 /* for a request to come, and for an answer to go on being taken (reports/web/peers.h) */
#define WEB_HEADERS_MAX 16384 /* bytes of request line and headers */
#define WEB_EVENTS_KEPT 64    /* a reader of the stream who is further behind misses some, and is told how many */
#define WEB_EVENT_MAX 4096    /* bytes of one event's data */

struct web;

/* What was asked for. */
struct web_request {
	const char *path;     /* behind the token's slash: "" or "trace.mpix" */
	const void *internal; /* for web_query() */
};

enum web_kind { WEB_NOTHING, WEB_FILE, WEB_TEXT, WEB_STREAM };

/* What the handler answers; all zero is 404. */
struct web_answer {
	enum web_kind kind;
	const char *type;   /* Content-Type; static */
	const char *policy; /* Content-Security-Policy beside ours, static; NULL: the page has its own, or needs none */
	int status;	    /* of TEXT; 0: 200 */
	const char *go_to;  /* Location of a status 3xx; static or NULL */
	const char
		*name; /* FILE: what its reader calls it, without quotes and control characters; NULL: as its address */
	int fd;	       /* FILE: a regular file */
	bool given;    /* FILE: the descriptor is closed when it is answered; else it stays the handler's */
	uint64_t len_bytes; /* FILE: of which the answer is this much from its begin */
	char *text;	    /* TEXT: freed with free() */
	size_t text_bytes;  /* without a terminating 0 */
	bool download;	    /* to be saved, not shown */
};

typedef void web_handler(void *context, const struct web_request *r, struct web_answer *ret_answer);

struct web_options {
	uint16_t port;	   /* 0: any that is free */
	const char *token; /* first part of each path; NULL: none, whoever reaches the port may ask */
	const char *const
		*hosts; /* further names by which it may be asked for, NULL-terminated; or NULL: loopback's only */
	web_handler *handler;
	void *context;
	bool streams;	      /* some answers are WEB_STREAM */
	unsigned patience_ms; /* 0: WEB_PATIENCE_MS */
};

/* Serve on 127.0.0.1 until web_stop(). 0 or -errno with text. */
int web_start(const struct web_options *o, struct web **ret_web, struct error *e);
uint16_t web_port(const struct web *w);
/* Tell all readers of streams: a line of text without control characters. Never waits for any of them. */
void web_announce(struct web *w, const char *event, const char *data);
/* Once in a while, where there are streams: else it is not noticed that a reader has gone. */
void web_ping(struct web *w);
/* How many read streams now, as far as the last pings have shown. */
unsigned web_readers(struct web *w);
void web_stop(struct web *w);

/* A parameter of the query by name, or NULL. Valid while the handler runs. */
const char *web_query(const struct web_request *r, const char *name);
/* A header of the request, or NULL. Valid while the handler runs. */
const char *web_header(const struct web_request *r, const char *name);

/* How many there are of that name: a header that says who asks must be there once. */
unsigned web_header_times(const struct web_request *r, const char *name);
