/* target_feed.c - what a reader of `mpitrace live --socket` or `--port` says: it gets lines that docs/LIVE.md knows,
 * samples whole, and one line for each mistake; nobody gets anything without the token. The first byte: how it
 * connects, and how much of what it says comes at once. */
#include "tests/fuzz/fuzz.h"

#include "postproc/live/feed_reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SAMPLES 3
#define NEWEST 7
#define TURNS_MAX 4096
#define TOKEN "0123456789abcdef0123456789abcdef"

static const char *const json[SAMPLES] = {"{}", "{\"n\":6,\"text\":\"error x\"}", "{\"n\":7}"};

static void keep(struct feed_samples *kept)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct feed_sample *s = calloc(1, sizeof(*s));
		fuzz_check(s != NULL);
		s->s = (struct merged){NEWEST - SAMPLES + 1 + i, 1000000000, strdup(json[i]), strlen(json[i]),
				       strdup("{}")};
		s->held = 1;
		fuzz_check(vec_push(&kept->list, s) == 0);
	}
	kept->newest = NEWEST;
}

/* A line of the document; *ret_bytes: of a sample that follows it. */
static bool is_known(const char *line, size_t *ret_bytes)
{
	uint64_t a, b;
	double time;
	int end = -1;
	*ret_bytes = 0;
	if (strcmp(line, "mpitrace-live 1") == 0 || strcmp(line, "end") == 0)
		return true;
	if (sscanf(line, "data %" SCNu64 " %lf %zu%n", &a, &time, ret_bytes, &end) == 3 && line[end] == '\0')
		return a > NEWEST - SAMPLES && a <= NEWEST && *ret_bytes == strlen(json[a - (NEWEST - SAMPLES + 1)]);
	if (sscanf(line, "have %" SCNu64 " %" SCNu64 "%n", &a, &b, &end) == 2 && line[end] == '\0')
		return a <= b;
	if (sscanf(line, "range %" SCNu64 " %" SCNu64 "%n", &a, &b, &end) == 2 && line[end] == '\0')
		return a <= b && b <= NEWEST;
	if (sscanf(line, "gone %" SCNu64 " %" SCNu64 "%n", &a, &b, &end) == 2 && line[end] == '\0')
		return a <= b && b <= NEWEST - SAMPLES;
	if (sscanf(line, "sample %" SCNu64 " %lf %" SCNu64 "%n", &a, &time, &b, &end) == 3 && line[end] == '\0')
		return a <= NEWEST;
	return strncmp(line, "error syntax: ", 14) == 0 || strncmp(line, "error unknown: ", 15) == 0 ||
	       strncmp(line, "error gone: ", 12) == 0 || strncmp(line, "error long: ", 12) == 0 ||
	       strncmp(line, "error token: ", 13) == 0;
}

/* All that it was sent, up to where it was cut off. */
static void check_sent(struct buf *got, bool named)
{
	size_t at = 0, bytes;
	buf_u8(got, '\0');
	fuzz_check(!got->failed);
	for (char *text = (char *)got->data; at + 1 < got->len_bytes;) {
		char *end = memchr(text + at, '\n', got->len_bytes - at);
		if (end == NULL)
			return;
		*end = '\0';
		fuzz_check(is_known(text + at, &bytes));
		fuzz_check(named || strncmp(text + at, "error ", 6) == 0); /* no word to who has no token */
		at = (size_t)(end - text) + 1;
		if (bytes == 0)
			continue;
		if (at + bytes >= got->len_bytes)
			return;
		fuzz_check(text[at + bytes] == '\n' && text[at] == '{');
		at += bytes + 1;
	}
}

static void take(int fd, struct buf *got)
{
	char text[4096];
	for (ssize_t n; (n = read(fd, text, sizeof(text))) > 0;)
		buf_bytes(got, text, (size_t)n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct feed_samples kept = {0};
	struct feed_reader r;
	_cleanup_buf_ struct buf got = {0};
	int pair[2];
	if (len_bytes < 1 || len_bytes > 1 << 16)
		return 0;
	bool tcp = (data[0] & 1) != 0;
	size_t piece = 1 + (data[0] >> 1), at = 1;
	bool named = !tcp || (len_bytes > sizeof("token " TOKEN) &&
			      memcmp(data + 1, "token " TOKEN "\n", sizeof("token " TOKEN)) == 0);
	fuzz_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	keep(&kept);
	reader_begin(&r, pair[0], tcp ? TOKEN : NULL, &kept, 0);
	bool open = true;
	for (unsigned turn = 0; open && turn < TURNS_MAX && at <= len_bytes; turn++) {
		size_t n = len_bytes - at < piece ? len_bytes - at : piece;
		ssize_t sent = n > 0 ? write(pair[1], data + at, n) : 0;
		if (n == 0 && !reader_owes(&r, &kept))
			break;
		at += sent > 0 ? (size_t)sent : 0;
		open = reader_turn(&r, &kept, sent > 0, 0);
		take(pair[1], &got);
	}
	reader_done(&r);
	take(pair[1], &got);
	close(pair[1]);
	check_sent(&got, named);
	for (size_t i = 0; i < kept.list.n; i++)
		feed_sample_release(kept.list.at[i]);
	vec_done(&kept.list);
	return 0;
}
