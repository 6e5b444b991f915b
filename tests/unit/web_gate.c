/* web_gate.c - whoever does not do their part is closed: in sending a request, between two, in taking an answer; who
 * only has to wait for us is not. */
#include "base/loopback.h"
#include "reports/web/gate.h"
#include "reports/web/peers.h"
#include "reports/web/web.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST(path) "GET /secret/" path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define LARGE_BYTES (32u << 20) /* more than the kernel keeps for who does not read */

struct served {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool asked, may_go_on;
};

static void wait_for(struct served *s, const bool *what)
{
	pthread_mutex_lock(&s->lock);
	while (!*what)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

static void say(struct served *s, bool *what)
{
	pthread_mutex_lock(&s->lock);
	*what = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void answer(void *context, const struct web_request *r, struct web_answer *a)
{
	struct served *s = context;
	size_t n = strcmp(r->path, "large") == 0 ? LARGE_BYTES : 5;
	if (strcmp(r->path, "stream") == 0) {
		a->kind = WEB_STREAM;
		return;
	}
	if (strcmp(r->path, "late") == 0) {
		say(s, &s->asked);
		wait_for(s, &s->may_go_on);
	}
	char *text = calloc(1, n);
	if (text != NULL)
		*a = (struct web_answer){.kind = WEB_TEXT, .type = "text/plain", .text = text, .text_bytes = n};
}

static struct web *start(struct served *s, unsigned patience_ms)
{
	struct web *w;
	struct error e;
	*s = (struct served){PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};
	struct web_options o = {
		.token = "secret", .handler = answer, .context = s, .streams = true, .patience_ms = patience_ms};
	cr_assert_eq(web_start(&o, &w, &e), 0, "%s", e.text);
	return w;
}

static int come(const struct web *w)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(web_port(w))};
	int fd = socket(AF_INET, SOCK_STREAM, 0), few = 2048;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few));
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void say_text(int fd, const char *text)
{
	cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Whether it is closed, and how many bytes came before. */
static bool is_closed(int fd, size_t *n)
{
	char bytes[65536];
	ssize_t got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	*n += got > 0 ? (size_t)got : 0;
	return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/* The bytes that come until it is closed, while a byte is sent now and then. */
static size_t send_slowly(int fd)
{
	size_t n = 0;
	while (!is_closed(fd, &n) && send(fd, "x", 1, MSG_NOSIGNAL) == 1)
		usleep(10000);
	return n;
}

/* So much time that one who does nothing is closed, while a byte is read now and then. */
static void read_slowly(const struct web *w, int fd)
{
	char byte;
	size_t n = 0;
	int other = come(w);
	while (!is_closed(other, &n)) {
		(void)!recv(fd, &byte, 1, MSG_DONTWAIT);
		usleep(1000);
	}
	close(other);
}

static void end(struct web *w, int fd)
{
	close(fd);
	web_stop(w);
}

static unsigned threads(void)
{
	unsigned n = 0;
	DIR *d = opendir("/proc/self/task");
	cr_assert_not_null(d);
	for (const struct dirent *entry; (entry = readdir(d)) != NULL;)
		n += entry->d_name[0] != '.';
	closedir(d);
	return n;
}

/* One that has been joined may still be seen for a moment. */
Test(web_gate, that_is_closed_has_no_thread_any_more, .timeout = 60)
{
	struct gate_options o = {.token = "secret", .patience_ms = 1000};
	struct gate *g;
	uint16_t port;
	unsigned before = threads();
	int listener = loopback_listen(0, &port);
	cr_assert_geq(listener, 0);
	cr_assert_eq(gate_create(&o, listener, &g), 0);
	cr_assert_eq(gate_open(g, NULL), 0);
	gate_close(g);
	while (threads() > before)
		sched_yield();
	gate_destroy(g);
	close(listener);
}

Test(web_gate, a_request_has_a_deadline_whatever_comes_of_it, .timeout = 60)
{
	struct served s;
	struct web *w = start(&s, 1000);
	int fd = come(w);
	say_text(fd, "GET /secret/ HTTP/1.1\r\nX: ");
	cr_expect_eq(send_slowly(fd), 0);
	end(w, fd);
}

Test(web_gate, and_so_has_the_next_one_of_a_connection, .timeout = 60)
{
	struct served s;
	struct web *w = start(&s, 1000);
	int fd = come(w);
	say_text(fd, REQUEST("") "GET /secret/ HTTP/1.1\r\nX: ");
	cr_expect_gt(send_slowly(fd), 5, "one answer");
	end(w, fd);
}

Test(web_gate, an_answer_is_taken_in_time_and_not_byte_by_byte, .timeout = 60)
{
	struct served s;
	struct web *w = start(&s, 1000);
	int fd = come(w);
	size_t n = 0;
	say_text(fd, REQUEST("large"));
	for (int i = 0; i < 2; i++)
		read_slowly(w, fd);
	while (!is_closed(fd, &n) && n < LARGE_BYTES)
		usleep(100);
	cr_expect_lt(n, LARGE_BYTES / 2, "%zu bytes", n);
	end(w, fd);
}

/* The library would be silent for ever. */
Test(web_gate, an_address_of_too_many_arguments_is_refused, .timeout = 60)
{
	struct served s;
	struct web *w = start(&s, 600000);
	for (unsigned n = PEERS_ARGUMENTS_MAX; n <= 4096; n *= 8) {
		char text[256] = "";
		int fd = come(w);
		say_text(fd, "GET /secret/?");
		for (unsigned i = 1; i < n; i++)
			say_text(fd, "a&");
		say_text(fd, "a HTTP/1.1\r\nHost: localhost\r\n\r\n");
		cr_assert_gt(recv(fd, text, sizeof(text) - 1, 0), 0);
		cr_expect_not_null(strstr(text, n == PEERS_ARGUMENTS_MAX ? " 200 OK" : " 414 "), "%u: %s", n, text);
		close(fd);
	}
	web_stop(w);
}

Test(web_gate, who_waits_for_us_is_not_closed, .timeout = 60)
{
	struct served s;
	struct web *w = start(&s, 1000);
	char text[4096];
	int fd = come(w);
	say_text(fd, REQUEST("late"));
	wait_for(&s, &s.asked);
	for (int i = 0; i < 2; i++)
		read_slowly(w, fd);
	say(&s, &s.may_go_on);
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);
	cr_assert_gt(n, 0);
	text[n] = '\0';
	cr_expect_not_null(strstr(text, " 200 OK"));
	end(w, fd);
}

Test(web_gate, a_stream_goes_on_and_the_oldest_of_too_many_ends, .timeout = 60)
{
	struct served s;
	struct web *w = start(&s, 1000);
	char text[4096];
	int fds[PEERS_STREAMS_MAX + 1];
	size_t n = 0;
	for (int i = 0; i <= PEERS_STREAMS_MAX; i++) {
		fds[i] = come(w);
		say_text(fds[i], REQUEST("stream"));
		cr_assert_gt(recv(fds[i], text, sizeof(text), 0), 0);
	}
	while (!is_closed(fds[0], &n))
		usleep(1000);
	read_slowly(w, fds[0]);
	for (int i = 1; i <= PEERS_STREAMS_MAX; i++)
		while (recv(fds[i], text, sizeof(text), MSG_DONTWAIT) > 0)
			;
	web_announce(w, "sample", "new");
	for (int i = 1; i <= PEERS_STREAMS_MAX; i++) {
		cr_expect_gt(recv(fds[i], text, sizeof(text), 0), 0, "stream %d", i);
		close(fds[i]);
	}
	end(w, fds[0]);
}
