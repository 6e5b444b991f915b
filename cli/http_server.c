/* http_server.c - accepts on loopback and answers; see http.h. One thread a connection, few at a
 * time. */
#include "cli/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64
#define IDLE_SECONDS 20

struct connection {
	const struct http_server *server;
	int fd;
};

static atomic_int connections; /* relaxed: only a limit */

static int send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int send_file(int fd, const struct http_resource *x, uint64_t first, uint64_t len)
{
	off_t offset = (off_t)first;
	while (len > 0) {
		ssize_t n = sendfile(fd, x->fd, &offset, len < (1u << 30) ? (size_t)len : 1u << 30);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EPIPE; /* gone, or the file has become shorter */
		len -= (uint64_t)n;
	}
	return 0;
}

static const char *reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 206:
		return "Partial Content";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 414:
		return "URI Too Long";
	case 416:
		return "Range Not Satisfiable";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Bad Request";
	}
}

#define COMMON_HEADERS \
	"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: " \
	"no-referrer\r\n" \
	"Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: frame-ancestors " \
	"'none'\r\n"

static int refuse(int fd, int status, uint64_t resource_bytes)
{
	char text[512];
	char range[64] = "";
	if (status == 416)
		snprintf(range, sizeof(range), "Content-Range: bytes */%llu\r\n", (unsigned long long)resource_bytes);
	snprintf(text, sizeof(text),
		 "HTTP/1.1 %d %s\r\n" COMMON_HEADERS "%sContent-Length: 0\r\nConnection: close\r\n\r\n", status,
		 reason(status), range);
	send_all(fd, text, strlen(text));
	return -EPIPE;
}

static int answer(int fd, const struct http_request *r, const struct http_resource *x)
{
	uint64_t first, len;
	char text[1024], range[96] = "";
	int status = http_range(r, x->len_bytes, &first, &len);
	if (status == 416)
		return refuse(fd, status, x->len_bytes);
	if (status == 206)
		snprintf(range, sizeof(range), "Content-Range: bytes %llu-%llu/%llu\r\n", (unsigned long long)first,
			 (unsigned long long)(first + len - 1), (unsigned long long)x->len_bytes);
	snprintf(text, sizeof(text),
		 "HTTP/1.1 %d %s\r\n" COMMON_HEADERS "Content-Type: %s\r\nAccept-Ranges: bytes\r\n%s"
		 "Content-Length: %llu\r\nConnection: %s\r\n\r\n",
		 status, reason(status), x->type, range, (unsigned long long)len,
		 r->keep_alive ? "keep-alive" : "close");
	int rc = send_all(fd, text, strlen(text));
	if (rc == 0 && !r->head)
		rc = send_file(fd, x, first, len);
	return rc < 0 || !r->keep_alive ? -EPIPE : 0;
}

/* Takes the same time for every path of the same length: the token is a secret. */
static int same_path(const char *a, const char *b)
{
	size_t n = strlen(b);
	unsigned char differ = strlen(a) != n;
	for (size_t i = 0; i < n && a[i] != 0; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return differ == 0;
}

static int handle(const struct connection *c, const char *text, size_t len)
{
	struct http_request r;
	int status = http_parse(text, len, &r);
	if (status != 0)
		return refuse(c->fd, status, 0);
	if (!r.host_is_local)
		return refuse(c->fd, 403, 0);
	for (size_t i = 0; i < c->server->nresources; i++)
		if (same_path(r.path, c->server->resources[i].path))
			return answer(c->fd, &r, &c->server->resources[i]);
	return refuse(c->fd, 404, 0);
}

/* Requests one after the other until the peer closes, is idle too long or sends nonsense. */
static void converse(const struct connection *c)
{
	char text[HTTP_REQUEST_MAX];
	size_t len = 0;
	for (;;) {
		char *end = memmem(text, len, "\r\n\r\n", 4);
		if (end != NULL) {
			size_t request = (size_t)(end - text) + 4;
			if (handle(c, text, request) < 0)
				return;
			memmove(text, text + request, len - request);
			len -= request;
			continue;
		}
		ssize_t n = len < sizeof(text) ? recv(c->fd, text + len, sizeof(text) - len, 0) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		len += (size_t)n;
	}
}

static void *run(void *argument)
{
	struct connection *c = argument;
	converse(c);
	close(c->fd);
	free(c);
	atomic_fetch_sub_explicit(&connections, 1, memory_order_relaxed);
	return NULL;
}

static void start(const struct http_server *s, int fd)
{
	struct timeval idle = {.tv_sec = IDLE_SECONDS};
	struct connection *c = malloc(sizeof(*c));
	pthread_t thread;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &idle, sizeof(idle));
	if (c == NULL || atomic_load_explicit(&connections, memory_order_relaxed) >= CONNECTIONS_MAX) {
		free(c);
		close(fd);
		return;
	}
	*c = (struct connection){s, fd};
	atomic_fetch_add_explicit(&connections, 1, memory_order_relaxed);
	if (pthread_create(&thread, NULL, run, c) == 0) {
		pthread_detach(thread);
		return;
	}
	atomic_fetch_sub_explicit(&connections, 1, memory_order_relaxed);
	close(fd);
	free(c);
}

int http_listen(uint16_t port, struct http_server *ret_server)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	socklen_t len = sizeof(address);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
		int code = -errno;
		close(fd);
		return code;
	}
	*ret_server = (struct http_server){.listen_fd = fd, .port = ntohs(address.sin_port)};
	return 0;
}

int http_serve(const struct http_server *s)
{
	for (;;) {
		int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			start(s, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			usleep(100000);
		else if (errno != EINTR && errno != ECONNABORTED)
			return -errno;
	}
}
