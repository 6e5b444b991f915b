/* peers.c - see peers.h. Addresses tell nobody apart here: each user of a machine has all of 127.0.0.0/8. So what is
 * bounded is who has shown no token, and how long anybody may take. */
#include "reports/web/peers.h"
#include "reports/web/request.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_outside(const struct peer *p)
{
	return p->state == PEER_WAITING || p->state == PEER_READY;
}

static bool is_inside(const struct peer *p)
{
	return p->state >= PEER_HANDED;
}

static bool is_closing(const struct peer *p)
{
	return is_inside(p) && p->is_closing;
}

static bool is_stream(const struct peer *p)
{
	return is_inside(p) && p->is_stream && !p->is_closing;
}

static bool is_ready(const struct peer *p)
{
	return p->state == PEER_READY && p->has_token;
}

static unsigned count(const struct peers *s, bool (*is)(const struct peer *p))
{
	unsigned n = 0;
	for (const struct peer *p = s->at; p < s->at + PEERS_MAX; p++)
		n += is(p);
	return n;
}

/* ---- outside ---- */

void peer_drop(struct peer *p)
{
	close(p->fd);
	p->state = PEER_NONE;
}

static struct peer *older(struct peer *a, struct peer *b)
{
	return a == NULL || b->began_ns < a->began_ns ? b : a;
}

static struct peer *newer(struct peer *a, struct peer *b)
{
	return a == NULL || b->began_ns >= a->began_ns ? b : a;
}

bool peers_make_way(struct peers *s)
{
	struct peer *without = NULL, *with = NULL;
	for (struct peer *p = s->at; p < s->at + PEERS_MAX; p++) {
		if (is_outside(p) && p->has_token)
			with = older(with, p);
		else if (is_outside(p))
			without = older(without, p);
	}
	struct peer *oldest = without != NULL ? without : with;
	if (oldest != NULL)
		peer_drop(oldest);
	return oldest != NULL;
}

struct peer *peers_place(struct peers *s)
{
	if (count(s, is_outside) == PEERS_WAITING_MAX)
		peers_make_way(s);
	struct peer *p = s->at;
	while (p->state != PEER_NONE)
		p++;
	return p;
}

/* What it has said is taken: with bytes that nobody reads, close(2) takes the answer back. */
static void refuse(struct peer *p, char *head, size_t len)
{
	static const char answer[] = "HTTP/1.1 414 URI Too Long\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	if (recv(p->fd, head, len, MSG_DONTWAIT) > 0)
		(void)!send(p->fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	peer_drop(p);
}

/* The bytes stay where they are: the library reads them from the first. */
void peer_examine(struct peer *p, const char *token, bool left)
{
	char head[PEERS_HEAD_MAX];
	ssize_t n = recv(p->fd, head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
	if (n > 0) {
		p->has_token = head_has_token(head, (size_t)n, token);
		bool whole = n == PEERS_HEAD_MAX || head_is_whole(head, (size_t)n); /* too long: the library says so */
		if (whole && head_arguments(head, (size_t)n) > PEERS_ARGUMENTS_MAX)
			refuse(p, head, (size_t)n);
		else if (whole)
			p->state = PEER_READY;
		else if (left)
			peer_drop(p);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		peer_drop(p);
	}
}

struct peer *peers_next(struct peers *s)
{
	struct peer *without = NULL, *with = NULL;
	unsigned served = count(s, is_inside);
	for (struct peer *p = s->at; p < s->at + PEERS_MAX; p++) {
		if (is_ready(p))
			with = newer(with, p);
		else if (p->state == PEER_READY)
			without = newer(without, p);
	}
	if (with != NULL)
		return served < PEERS_SERVED_MAX ? with : NULL;
	return served < PEERS_SERVED_MAX - PEERS_RESERVE ? without : NULL;
}

bool peers_wait(const struct peers *s)
{
	for (const struct peer *p = s->at; p < s->at + PEERS_MAX; p++)
		if (p->state == PEER_READY)
			return true;
	return false;
}

/* ---- inside ---- */

struct peer *peers_by_fd(struct peers *s, int fd)
{
	for (struct peer *p = s->at; p < s->at + PEERS_MAX; p++)
		if (p->state == PEER_HANDED && !p->is_known && p->fd == fd)
			return p;
	return NULL;
}

/* 1 for a stream. */
static unsigned end(struct peer *p)
{
	shutdown(p->fd, SHUT_RDWR);
	p->is_closing = true;
	return p->is_stream;
}

/* As long as nothing is left for it to take, the next step is ours. */
static void see_progress(struct peer *p, int64_t now_ns)
{
	struct tcp_info i = {0};
	socklen_t len = sizeof(i);
	int left = 0;
	getsockopt(p->fd, IPPROTO_TCP, TCP_INFO, &i, &len);
	ioctl(p->fd, SIOCOUTQ, &left);
	if (left > 0 && i.tcpi_bytes_acked < p->taken_bytes + PEERS_STEP_BYTES)
		return;
	p->since_ns = now_ns;
	p->taken_bytes = i.tcpi_bytes_acked;
}

/* hurry: others wait for its place. */
static bool is_late(const struct peers *s, const struct peer *p, int64_t now_ns, bool hurry)
{
	int64_t limit_ns = s->patience_ns;
	if (p->state == PEER_HANDED && p->is_known && p->has_token)
		return false; /* it is the library's turn */
	if (hurry && limit_ns > PEERS_HURRY_NS)
		limit_ns = PEERS_HURRY_NS;
	if (hurry && p->state == PEER_IDLE)
		limit_ns = 0;
	return now_ns - p->since_ns > limit_ns;
}

/* As many as wait with the token. */
static unsigned make_room(struct peers *s, int64_t now_ns)
{
	unsigned want = count(s, is_ready), streams = 0;
	unsigned have = PEERS_SERVED_MAX - count(s, is_inside) + count(s, is_closing);
	for (; have < want; have++) {
		struct peer *oldest = NULL;
		for (struct peer *p = s->at; p < s->at + PEERS_MAX; p++)
			if (is_inside(p) && p->is_known && !p->is_closing && is_late(s, p, now_ns, true) &&
			    (oldest == NULL || p->since_ns < oldest->since_ns))
				oldest = p;
		if (oldest == NULL)
			break;
		streams += end(oldest);
	}
	return streams;
}

unsigned peers_keep_time(struct peers *s, int64_t now_ns)
{
	unsigned streams = 0;
	for (struct peer *p = s->at; p < s->at + PEERS_MAX; p++) {
		if (p->state == PEER_ANSWERED && !p->is_closing)
			see_progress(p, now_ns);
		if (p->state == PEER_NONE || p->is_closing || !is_late(s, p, now_ns, false))
			continue;
		if (is_outside(p))
			peer_drop(p);
		else if (p->is_known)
			streams += end(p);
		else
			p->state = PEER_NONE; /* the library did not take it: its descriptor may be another's */
	}
	return streams + make_room(s, now_ns);
}

unsigned peers_bound_streams(struct peers *s)
{
	struct peer *oldest = NULL;
	if (count(s, is_stream) <= PEERS_STREAMS_MAX)
		return 0;
	for (struct peer *p = s->at; p < s->at + PEERS_MAX; p++)
		if (is_stream(p))
			oldest = older(oldest, p);
	return end(oldest);
}

int peers_timeout_ms(const struct peers *s)
{
	int64_t ns = s->patience_ns / 4;
	bool somebody = false;
	for (const struct peer *p = s->at; p < s->at + PEERS_MAX; p++)
		somebody |= p->state != PEER_NONE;
	if (count(s, is_ready) > 0 && ns > PEERS_HURRY_NS / 8)
		ns = PEERS_HURRY_NS / 8;
	return somebody ? (int)((ns < 1000000000 ? ns : 1000000000) / 1000000) + 1 : -1;
}
