/* answering.c - see answering.h. */
#include "answering.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MOST 65536

struct answering server;

static void serve(int fd)
{
	char *text = calloc(1, REQUEST_MOST + 1), *head_end = NULL;
	size_t got = 0, want = SIZE_MAX;
	while (got < want && got < REQUEST_MOST) {
		ssize_t n = read(fd, text + got, REQUEST_MOST - got);
		if (n <= 0)
			break;
		got += (size_t)n;
		if (head_end == NULL && (head_end = strstr(text, "\r\n\r\n")) != NULL) {
			const char *length = strcasestr(text, "Content-Length:");
			want = (size_t)(head_end + 4 - text) + (length != NULL ? (size_t)atol(length + 15) : 0);
		}
	}
	if (head_end != NULL && server.n < ANSWERS_MOST) {
		const char *answer = "", *status;
		char out[4096];
		int k = server.n;
		*head_end = '\0';
		server.heads[k] = text;
		server.bodies[k] = head_end + 4;
		server.sizes[k] = got - (size_t)(head_end + 4 - text);
		server.n++;
		status = server.say(k, text, head_end + 4, &answer);
		int n = snprintf(out, sizeof(out), "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
				 status, strlen(answer), answer);
		cr_expect_eq(write(fd, out, (size_t)n), n);
	} else {
		free(text);
	}
	close(fd);
}

static void *run_server(void *context)
{
	(void)context;
	for (int fd; (fd = accept(server.fd, NULL, NULL)) >= 0;)
		serve(fd);
	return NULL;
}

void answering_begin(char ret_url[64])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	pthread_t thread;
	unsetenv("http_proxy");
	server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(bind(server.fd, (struct sockaddr *)&a, len) == 0 && listen(server.fd, 8) == 0);
	cr_assert_eq(getsockname(server.fd, (struct sockaddr *)&a, &len), 0);
	cr_assert_eq(pthread_create(&thread, NULL, run_server, NULL), 0);
	snprintf(ret_url, 64, "http://127.0.0.1:%u", ntohs(a.sin_port));
}

void answering_end(void)
{
	shutdown(server.fd, SHUT_RDWR);
	close(server.fd);
}
