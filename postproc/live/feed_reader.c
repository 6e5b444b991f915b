/* feed_reader.c - see feed_reader.h. In: lines of whoever connected, untrusted.  Out: announcements, samples, one
 * line for each mistake. Nothing is queued: a reader has places in what is kept, and the next line is made when the
 * last is gone. */
#include "postproc/live/feed_reader.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include <poll.h>
#include <unistd.h>

#define PROTOCOL "mpitrace-live 1"

void feed_sample_release(struct feed_sample *s)
{
	if (s == NULL || --s->held > 0)
		return;
	free(s->s.json);
	free(s->s.summary);
	free(s);
}

/* Only when all before is sent. */
static void __attribute__((format(printf, 2, 3))) say(struct feed_reader *r, const char *fmt, ...)
{
	va_list list;
	size_t room = sizeof(r->out) - r->out_len;
	va_start(list, fmt);
	int n = vsnprintf(r->out + r->out_len, room, fmt, list);
	va_end(list);
	r->out_len += n > 0 && (size_t)n < room ? (size_t)n : 0;
}

static uint64_t oldest(const struct feed_samples *kept)
{
	return kept->newest + 1 - kept->list.n;
}

static struct feed_sample *sample_of(const struct feed_samples *kept, uint64_t number)
{
	return number >= oldest(kept) && number <= kept->newest && number > 0 ? kept->list.at[number - oldest(kept)]
									      : NULL;
}

static void greet(struct feed_reader *r, const struct feed_samples *kept)
{
	r->token = NULL;
	say(r, PROTOCOL "\nhave %" PRIu64 " %" PRIu64 "\n", kept->newest > 0 ? oldest(kept) : 0, kept->newest);
	r->announced = kept->newest;
}

void reader_begin(struct feed_reader *r, int fd, const char *token, const struct feed_samples *kept, int64_t now_ns)
{
	*r = (struct feed_reader){.fd = fd, .token = token, .since_ns = now_ns, .next = 1};
	if (token == NULL)
		greet(r, kept);
}

void reader_done(struct feed_reader *r)
{
	feed_sample_release(r->taking);
	close(r->fd);
}

/* ---- what it says ---- */

static bool read_number(const char *text, uint64_t *ret_number)
{
	uint64_t n = 0;
	if (*text == '\0' || strlen(text) > 18)
		return false;
	for (; *text != '\0'; text++) {
		if (!isdigit((unsigned char)*text))
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	*ret_number = n;
	return true;
}

static void set_range(struct feed_reader *r, const struct feed_samples *kept, uint64_t first, uint64_t last)
{
	r->next = first < oldest(kept) ? oldest(kept) : first;
	r->last = last;
	if (first < r->next && last >= first)
		say(r, "gone %" PRIu64 " %" PRIu64 "\n", first, r->next - 1 < last ? r->next - 1 : last);
}

static void get(struct feed_reader *r, const struct feed_samples *kept, const char *what)
{
	uint64_t number = kept->newest;
	if (strcmp(what, "latest") != 0 && !read_number(what, &number))
		say(r, "error syntax: get needs a number, or latest\n");
	else if (number == 0 || number > kept->newest)
		say(r, "error unknown: this sample does not exist yet; the newest is %" PRIu64 "\n", kept->newest);
	else if (sample_of(kept, number) == NULL)
		say(r, "error gone: sample %" PRIu64 " is no longer kept; the oldest is %" PRIu64 "\n", number,
		    oldest(kept));
	else
		set_range(r, kept, number, number);
}

static void since(struct feed_reader *r, const struct feed_samples *kept, const char *what)
{
	uint64_t number;
	if (!read_number(what, &number))
		say(r, "error syntax: since needs a number\n");
	else if (number > kept->newest)
		say(r, "error unknown: this sample does not exist yet; the newest is %" PRIu64 "\n", kept->newest);
	else if (number == kept->newest)
		say(r, "range 0 0\n");
	else {
		say(r, "range %" PRIu64 " %" PRIu64 "\n", number + 1, kept->newest);
		set_range(r, kept, number + 1, kept->newest);
	}
}

/* As long as the token, whatever comes: takes the same time. */
static bool is_token(const char *line, const char *token)
{
	unsigned char differ = 0;
	if (strncmp(line, "token ", 6) != 0 || strlen(line + 6) != strlen(token))
		return false;
	for (size_t i = 0; token[i] != '\0'; i++)
		differ |= (unsigned char)(line[6 + i] ^ token[i]);
	return differ == 0;
}

static void obey(struct feed_reader *r, const struct feed_samples *kept, const char *line)
{
	if (r->token != NULL && is_token(line, r->token)) {
		greet(r, kept);
	} else if (r->token != NULL) {
		say(r, "error token: the first line must be \"token \" and what mpitrace live printed\n");
		r->leaves = true;
	} else if (strncmp(line, "get ", 4) == 0) {
		get(r, kept, line + 4);
	} else if (strncmp(line, "since ", 6) == 0) {
		since(r, kept, line + 6);
	} else if (strcmp(line, "quit") == 0) {
		r->leaves = true;
	} else {
		say(r, "error syntax: known are get NUMBER, get latest, since NUMBER, quit\n");
	}
}

/* The next line that is there already; false: none. */
static bool take_line(struct feed_reader *r, const struct feed_samples *kept)
{
	char *end = memchr(r->in, '\n', r->in_len);
	if (end == NULL && r->in_len < sizeof(r->in))
		return false;
	if (end == NULL) {
		say(r, "error long: a line has at most %u bytes\n", FEED_LINE_MAX);
		r->leaves = true;
		r->in_len = 0;
		return true;
	}
	size_t len = (size_t)(end - r->in) + 1;
	*end = '\0';
	if (memchr(r->in, '\0', len - 1) != NULL)
		r->in[0] = '\0'; /* no line of text */
	obey(r, kept, r->in);
	memmove(r->in, r->in + len, r->in_len - len);
	r->in_len -= len;
	return true;
}

/* ---- what it is sent ---- */

static bool announces(const struct feed_reader *r, const struct feed_samples *kept)
{
	return r->token == NULL && (r->announced < kept->newest || (kept->ended && !r->told_end));
}

bool reader_owes(const struct feed_reader *r, const struct feed_samples *kept)
{
	return r->out_at < r->out_len || r->taking != NULL || r->next <= r->last || announces(r, kept);
}

static void announce(struct feed_reader *r, const struct feed_samples *kept)
{
	uint64_t first = r->announced + 1;
	uint64_t behind = kept->newest > FEED_BEHIND_MAX ? kept->newest - FEED_BEHIND_MAX + 1 : 1;
	uint64_t next = first < behind ? behind : first;
	next = next < oldest(kept) ? oldest(kept) : next;
	if (next > kept->newest) {
		r->told_end = true;
		say(r, "end\n");
		return;
	}
	const struct merged *s = &sample_of(kept, next)->s;
	if (next > first)
		say(r, "missed %" PRIu64 " %" PRIu64 "\n", first, next - 1);
	say(r, "sample %" PRIu64 " %.3f %zu\n", s->number, (double)s->realtime_ns / 1e9, s->len_bytes);
	r->announced = next;
}

static void begin_transfer(struct feed_reader *r, const struct feed_samples *kept)
{
	if (r->next < oldest(kept)) { /* it was so slow that they have gone */
		uint64_t gone = oldest(kept) - 1 < r->last ? oldest(kept) - 1 : r->last;
		say(r, "gone %" PRIu64 " %" PRIu64 "\n", r->next, gone);
		r->next = gone + 1;
		return;
	}
	r->taking = sample_of(kept, r->next++);
	r->taking->held++;
	r->taken = 0;
	say(r, "data %" PRIu64 " %.3f %zu\n", r->taking->s.number, (double)r->taking->s.realtime_ns / 1e9,
	    r->taking->s.len_bytes);
}

/* Send from a buffer: bytes, 0 when it takes none now, -errno. */
static ssize_t push(struct feed_reader *r, const char *bytes, size_t len, int64_t now_ns)
{
	ssize_t n = send(r->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	r->since_ns = now_ns;
	return n;
}

/* One step: false when the reader takes no more now, or has gone (*ret_gone). */
static bool send_some(struct feed_reader *r, const struct feed_samples *kept, int64_t now_ns, bool *ret_gone)
{
	ssize_t n = 1;
	if (r->out_at < r->out_len) {
		n = push(r, r->out + r->out_at, r->out_len - r->out_at, now_ns);
		r->out_at += n > 0 ? (size_t)n : 0;
	} else if (r->taking != NULL) {
		r->out_at = r->out_len = 0;
		n = push(r, r->taking->s.json + r->taken, r->taking->s.len_bytes - r->taken, now_ns);
		r->taken += n > 0 ? (size_t)n : 0;
		if (r->taken == r->taking->s.len_bytes) {
			feed_sample_release(r->taking);
			r->taking = NULL;
			say(r, "\n");
		}
	} else {
		r->out_at = r->out_len = 0;
		if (announces(r, kept))
			announce(r, kept);
		else if (r->next <= r->last)
			begin_transfer(r, kept);
		else
			return false;
	}
	*ret_gone |= n < 0;
	return n > 0;
}

/* ---- a turn ---- */

/* false: it has left. */
static bool hear(struct feed_reader *r)
{
	ssize_t n = recv(r->fd, r->in + r->in_len, sizeof(r->in) - r->in_len, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	r->in_len += (size_t)n;
	return n > 0;
}

static bool send_all(struct feed_reader *r, const struct feed_samples *kept, int64_t now_ns)
{
	bool gone = false;
	while (send_some(r, kept, now_ns, &gone))
		;
	return !gone;
}

bool reader_turn(struct feed_reader *r, const struct feed_samples *kept, bool readable, int64_t now_ns)
{
	if (!send_all(r, kept, now_ns))
		return false;
	if (readable && !reader_owes(r, kept) && r->in_len < sizeof(r->in)) {
		if (!hear(r))
			return false;
		if (r->token == NULL)
			r->since_ns = now_ns;
	}
	/* What it asked is answered before its next line is read. */
	while (!reader_owes(r, kept) && !r->leaves && take_line(r, kept))
		if (!send_all(r, kept, now_ns))
			return false;
	bool owes = reader_owes(r, kept);
	int64_t patience_ns = (r->token != NULL ? FEED_TOKEN_SECONDS : FEED_STALLED_SECONDS) * 1000000000ll;
	if ((owes || r->token != NULL) && now_ns - r->since_ns > patience_ns)
		return false;
	return owes || !r->leaves;
}

short reader_events(const struct feed_reader *r, const struct feed_samples *kept)
{
	return reader_owes(r, kept) ? POLLOUT : POLLIN;
}
