/* http.h - the little of HTTP/1.1 that `mpitrace view` speaks: GET and HEAD of a fixed list of
 * resources, one range. In: bytes from whoever connects.  Out: the resource, or a refusal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_REQUEST_MAX 16384 /* bytes of request line and headers */
#define HTTP_PATH_MAX 256

struct http_request {
	bool head, keep_alive;
	char path[HTTP_PATH_MAX]; /* as sent, without the query */
	bool host_is_local;	  /* Host names this machine's loopback: no page of another name may read
			       us */
	bool has_range;
	bool from_end;	      /* the last `first` bytes */
	uint64_t first, last; /* inclusive; last = UINT64_MAX: to the end */
};

/* Parse a request that ends with an empty line. 0, or the status to answer with: 400, 405, 414,
 * 505. */
int http_parse(const char *text, size_t len_bytes, struct http_request *ret_request);
/* Turn the range of r into [*ret_first, *ret_first + *ret_len) of a resource. 200, 206 or 416. */
int http_range(const struct http_request *r, uint64_t resource_bytes, uint64_t *ret_first, uint64_t *ret_len);

struct http_resource {
	const char *path; /* "/token/trace.mpix" */
	const char *type; /* Content-Type */
	int fd;
	uint64_t len_bytes;
};

struct http_server {
	int listen_fd;
	uint16_t port;
	const struct http_resource *resources;
	size_t nresources;
};

/* Listen on 127.0.0.1; port 0 takes any free one. 0 or -errno. */
int http_listen(uint16_t port, struct http_server *ret_server);
/* Serve until the process is told to end. Returns only on a failure of accept: -errno. */
int http_serve(const struct http_server *s);
