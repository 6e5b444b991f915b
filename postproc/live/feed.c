/* feed.c - see feed.h. */
#include "postproc/live/feed.h"
#include "base/clock.h"
#include "base/loopback.h"
#include "postproc/live/feed_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FEED_ACCEPTED_AT_ONCE 32 /* then all are heard again, before others take their places */

enum { UNIX, TCP, LISTENERS };

struct feed {
	int listeners[LISTENERS]; /* -1: none */
	char *socket_path;
	uint16_t port;
	char token[FEED_TOKEN_CHARS + 1];
	struct feed_samples kept;
	size_t kept_bytes;
	VEC(struct feed_reader) readers;
	int64_t active_ns;
};

/* ---- where readers come ---- */

/* A name that a server which died left behind may be taken. */
static bool is_left_behind(const struct sockaddr_un *address)
{
	struct stat st;
	if (lstat(address->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return false;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool dead =
		fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 && errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return dead;
}

static int listen_unix(struct feed *f, const char *path, struct error *e)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address.sun_path))
		return fail(e, -ENAMETOOLONG, "%.128s...: the name of a socket has at most %zu bytes", path,
			    sizeof(address.sun_path) - 1);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (is_left_behind(&address))
		unlink(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t before = umask(0177); /* nobody else may connect, from the first moment on */
	int code = fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(before);
	if (code == 0) {
		f->socket_path = strdup(path);
		code = f->socket_path == NULL ? -ENOMEM : listen(fd, SOMAXCONN) < 0 ? -errno : 0;
	}
	f->listeners[UNIX] = fd;
	return code < 0 ? fail(e, code, "%s: cannot listen there: %s", path, strerror(-code)) : 0;
}

static int listen_tcp(struct feed *f, uint16_t port, struct error *e)
{
	int fd = f->listeners[TCP] = loopback_listen(port, &f->port);
	if (fd < 0)
		return fail(e, fd, "cannot listen on 127.0.0.1 port %u: %s; choose another with --port", port,
			    strerror(-fd));
	return loopback_token(f->token, FEED_TOKEN_CHARS) < 0 ? fail(e, -EIO, "no random numbers from the system") : 0;
}

int feed_create(const struct feed_options *o, struct feed **ret_feed, struct error *e)
{
	struct feed *f = calloc(1, sizeof(*f));
	if (f == NULL)
		return fail(e, -ENOMEM, "no memory for a server");
	f->listeners[UNIX] = f->listeners[TCP] = -1;
	int code = o->socket_path != NULL ? listen_unix(f, o->socket_path, e) : 0;
	code = code == 0 && o->tcp ? listen_tcp(f, o->port, e) : code;
	if (code < 0)
		feed_destroy(f);
	else
		*ret_feed = f;
	return code;
}

void feed_destroy(struct feed *f)
{
	if (f == NULL)
		return;
	for (size_t i = 0; i < f->readers.n; i++)
		reader_done(&f->readers.at[i]);
	vec_done(&f->readers);
	for (size_t i = 0; i < f->kept.list.n; i++)
		feed_sample_release(f->kept.list.at[i]);
	vec_done(&f->kept.list);
	for (int i = 0; i < LISTENERS; i++)
		if (f->listeners[i] >= 0)
			close(f->listeners[i]);
	if (f->socket_path != NULL)
		unlink(f->socket_path);
	free(f->socket_path);
	free(f);
}

uint16_t feed_port(const struct feed *f)
{
	return f->port;
}

const char *feed_token(const struct feed *f)
{
	return f->token;
}

int64_t feed_active_ns(const struct feed *f)
{
	return f->active_ns;
}

/* ---- what is kept ---- */

int feed_add(struct feed *f, const struct merged *s)
{
	struct feed_sample *sample = malloc(sizeof(*sample));
	if (sample == NULL || vec_push(&f->kept.list, sample) < 0) {
		free(sample);
		free(s->json);
		free(s->summary);
		return -ENOMEM;
	}
	*sample = (struct feed_sample){.s = *s, .held = 1};
	f->kept.newest = s->number;
	f->kept_bytes += s->len_bytes;
	size_t gone = 0;
	while (f->kept_bytes > FEED_KEPT_MAX_BYTES && gone + 1 < f->kept.list.n) {
		f->kept_bytes -= f->kept.list.at[gone]->s.len_bytes;
		feed_sample_release(f->kept.list.at[gone++]);
	}
	f->kept.list.n -= gone;
	memmove(f->kept.list.at, f->kept.list.at + gone, f->kept.list.n * sizeof(*f->kept.list.at));
	return 0;
}

void feed_end(struct feed *f)
{
	f->kept.ended = true;
	f->active_ns = now_ns();
}

/* ---- serving ---- */

/* Only the same user, and root, whatever the directory allows. */
static bool may_connect(int fd, int listener)
{
	struct ucred who;
	socklen_t len = sizeof(who);
	return listener == TCP ||
	       (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && (who.uid == geteuid() || who.uid == 0));
}

static void refuse(int fd, const char *why)
{
	(void)!send(fd, why, strlen(why), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

/* Who goes when another one comes: who has shown no token for longest, or else who has not read for longest. */
static struct feed_reader *least_missed(struct feed *f, int64_t now)
{
	struct feed_reader *stalled = NULL;
	for (struct feed_reader *r = f->readers.at; r < f->readers.at + f->readers.n; r++) {
		if (r->token != NULL)
			return r; /* they stand in the order in which they came */
		if (reader_owes(r, &f->kept) && now - r->since_ns > FEED_HURRY_SECONDS * 1000000000ll &&
		    (stalled == NULL || r->since_ns < stalled->since_ns))
			stalled = r;
	}
	return stalled;
}

static bool make_room(struct feed *f)
{
	if (f->readers.n < FEED_READERS_MAX)
		return true;
	struct feed_reader *r = least_missed(f, now_ns());
	if (r == NULL)
		return false;
	reader_done(r);
	size_t behind = (size_t)(f->readers.at + f->readers.n - (r + 1));
	memmove(r, r + 1, behind * sizeof(*r));
	f->readers.n--;
	return true;
}

/* false: there is nobody more, or no descriptor for them. */
static bool let_in(struct feed *f, int listener)
{
	int fd = accept4(f->listeners[listener], NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return false;
	if (!may_connect(fd, listener))
		refuse(fd, "error user: this belongs to another user\n");
	else if (!make_room(f) || vec_push(&f->readers, (struct feed_reader){.fd = fd}) < 0)
		refuse(fd, "error full: too many readers; try again later\n");
	else
		reader_begin(&f->readers.at[f->readers.n - 1], fd, listener == TCP ? f->token : NULL, &f->kept,
			     now_ns());
	return true;
}

/* All readers once; polls[i] is of reader i. */
static void turn(struct feed *f, const struct pollfd *polls)
{
	size_t left = 0;
	int64_t now = now_ns();
	for (size_t i = 0; i < f->readers.n; i++) {
		struct feed_reader r = f->readers.at[i];
		bool stays = reader_turn(&r, &f->kept, polls[i].revents != 0, now);
		if (r.token == NULL && r.since_ns > f->active_ns)
			f->active_ns = r.since_ns;
		if (stays)
			f->readers.at[left++] = r;
		else
			reader_done(&r);
	}
	f->readers.n = left;
}

/* false: a signal came. */
static bool serve_once(struct feed *f, int timeout_ms)
{
	struct pollfd polls[FEED_READERS_MAX + LISTENERS];
	size_t n = f->readers.n;
	for (size_t i = 0; i < n; i++)
		polls[i] = (struct pollfd){f->readers.at[i].fd, reader_events(&f->readers.at[i], &f->kept), 0};
	for (int i = 0; i < LISTENERS; i++)
		polls[n + (size_t)i] = (struct pollfd){f->listeners[i], POLLIN, 0};
	if (poll(polls, n + LISTENERS, timeout_ms) < 0)
		return false;
	turn(f, polls);
	for (int i = 0; i < LISTENERS; i++)
		for (int k = 0; polls[n + (size_t)i].revents != 0 && k < FEED_ACCEPTED_AT_ONCE && let_in(f, i); k++)
			;
	return true;
}

void feed_serve(struct feed *f, int64_t ns)
{
	int64_t end = now_ns() + ns, left;
	bool on = true;
	while (on && (left = end - now_ns()) > 0)
		on = serve_once(f, left > 1000000000 ? 1000 : (int)(left / 1000000) + 1);
}
