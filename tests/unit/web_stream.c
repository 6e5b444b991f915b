/* web_stream.c - who listens to announcements hears them in order, and whoever is slow hears how many were missed. */
#include "reports/web/web.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void stream_only(void *context, const struct web_request *r, struct web_answer *ret_answer)
{
	(void)context, (void)r;
	ret_answer->kind = WEB_STREAM;
}

static struct web *start(void)
{
	struct web *w;
	struct error e;
	struct web_options o = {.token = "secret", .handler = stream_only, .streams = true};
	cr_assert_eq(web_start(&o, &w, &e), 0, "%s", e.text);
	return w;
}

/* A connection that has asked for the stream; narrow: which takes little before it must be read. */
static int listen_to(const struct web *w, bool narrow)
{
	static const char request[] = "GET /secret/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(web_port(w))};
	int fd = socket(AF_INET, SOCK_STREAM, 0), few = 2048;
	struct timeval limit = {.tv_sec = 60};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (narrow)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few));
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(send(fd, request, sizeof(request) - 1, 0), (ssize_t)sizeof(request) - 1);
	return fd;
}

struct heard {
	char text[1 << 22];
	size_t n;
};

/* Read on until the text is there, or nothing comes any more. */
static bool hears(int fd, struct heard *h, const char *text)
{
	while (strstr(h->text, text) == NULL) {
		ssize_t n = recv(fd, h->text + h->n, sizeof(h->text) - 1 - h->n, 0);
		if (n <= 0)
			return false;
		h->n += (size_t)n;
		h->text[h->n] = '\0';
	}
	return true;
}

Test(web_stream, all_hear_the_same_in_order)
{
	struct web *w = start();
	static struct heard a, b;
	int one = listen_to(w, false), two = listen_to(w, false);
	cr_expect(hears(one, &a, ":\n\n") && hears(two, &b, ":\n\n"), "heard at once that one is heard");
	web_announce(w, "sample", "{\"sample\":1}");
	cr_expect(hears(one, &a, "id: 0\nevent: sample\ndata: {\"sample\":1}\n\n"));
	web_announce(w, "sample", "{\"sample\":2}");
	cr_expect(hears(one, &a, "id: 1\nevent: sample\ndata: {\"sample\":2}\n\n"));
	cr_expect(hears(two, &b, "{\"sample\":2}"));
	cr_expect_lt(strstr(b.text, "{\"sample\":1}"), strstr(b.text, "{\"sample\":2}"));
	cr_expect_not_null(strstr(a.text, "Content-Type: text/event-stream"));
	close(one);
	close(two);
	web_stop(w);
}

Test(web_stream, who_comes_late_hears_where_things_stand)
{
	struct web *w = start();
	static struct heard h;
	web_announce(w, "sample", "first");
	web_announce(w, "sample", "last");
	int fd = listen_to(w, false);
	cr_expect(hears(fd, &h, "data: last\n\n"));
	cr_expect_null(strstr(h.text, "first"));
	close(fd);
	web_stop(w);
}

Test(web_stream, who_is_slow_keeps_nobody_waiting_and_hears_how_many_were_missed)
{
	struct web *w = start();
	static struct heard fast, slow;
	char data[WEB_EVENT_MAX];
	int quick = listen_to(w, false), lazy = listen_to(w, true);
	cr_assert(hears(quick, &fast, ":\n\n") && hears(lazy, &slow, ":\n\n"));
	for (int i = 0; i < 4000; i++) { /* 16 MB: more than the kernel keeps for the lazy one */
		snprintf(data, sizeof(data), "%d.%0*d", i, 4000, 0);
		web_announce(w, "sample", data);
		if (i % 32 != 31)
			continue;
		char last[32];
		snprintf(last, sizeof(last), "data: %d.", i);
		cr_assert(hears(quick, &fast, last), "%s", last);
		fast.n = 0;
	}
	web_announce(w, "sample", "end");
	cr_expect(hears(quick, &fast, "data: end\n"));
	cr_expect_null(strstr(fast.text, "missed"));
	bool there = hears(lazy, &slow, "event: missed\ndata: ");
	cr_expect(there, "the lazy one is told");
	close(quick);
	close(lazy);
	web_stop(w);
}

Test(web_stream, all_hear_that_they_are_still_heard)
{
	struct web *w = start();
	static struct heard h[2];
	int fds[2] = {listen_to(w, false), listen_to(w, false)};
	for (int i = 0; i < 2; i++)
		cr_assert(hears(fds[i], &h[i], ":\n\n"));
	memset(h, 0, sizeof(h));
	web_ping(w);
	for (int i = 0; i < 2; i++) {
		cr_assert(hears(fds[i], &h[i], ":\n\n"));
		close(fds[i]);
	}
	web_stop(w);
}

Test(web_stream, ends_with_readers_that_wait)
{
	struct web *w = start();
	static struct heard h;
	int fds[8];
	for (int i = 0; i < 8; i++)
		fds[i] = listen_to(w, false);
	for (int i = 0; i < 8; i++) {
		h.n = 0;
		h.text[0] = '\0';
		cr_assert(hears(fds[i], &h, ":\n\n"));
	}
	close(fds[0]); /* one has gone meanwhile */
	web_ping(w);
	web_stop(w);
	for (int i = 1; i < 8; i++) {
		char rest[256];
		ssize_t n;
		while ((n = recv(fds[i], rest, sizeof(rest), 0)) > 0)
			;
		cr_expect_eq(n, 0);
		close(fds[i]);
	}
}
