/* feed.h - merged samples for other programs: the line protocol of docs/LIVE.md, on a Unix socket and on loopback
 * TCP. One thread, nothing blocks: a reader that is slow has a place in what is kept, and nobody waits for it. */
#pragma once

#include "postproc/live/merge.h"

#define FEED_READERS_MAX 128
#define FEED_LINE_MAX 256u		/* bytes of what a reader says, with its end */
#define FEED_KEPT_MAX_BYTES (64u << 20) /* of samples; the newest is kept whatever its size */
#define FEED_BEHIND_MAX 64u		/* announcements that a reader may be behind before it misses some */
#define FEED_TOKEN_SECONDS 10		/* for the whole line */
#define FEED_STALLED_SECONDS 30		/* without a byte taken, while there is something to take */
#define FEED_HURRY_SECONDS 1		/* the same, when somebody waits for the place */
#define FEED_TOKEN_CHARS 32

struct feed;

struct feed_options {
	const char *socket_path; /* NULL: none */
	bool tcp;
	uint16_t port; /* 0: any that is free */
};

/* 0 or -errno with text. */
int feed_create(const struct feed_options *o, struct feed **ret_feed, struct error *e);
/* Readers are cut off, the socket's name goes. */
void feed_destroy(struct feed *f);
uint16_t feed_port(const struct feed *f);
const char *feed_token(const struct feed *f);
/* Announce s, whose text is the feed's from now on. 0 or -ENOMEM. */
int feed_add(struct feed *f, const struct merged *s);
/* No more samples will come. */
void feed_end(struct feed *f);
/* Serve readers for that long, or until a signal comes. */
void feed_serve(struct feed *f, int64_t ns);
/* CLOCK_MONOTONIC of when a reader last came, said or took something; who has shown no token is none. */
int64_t feed_active_ns(const struct feed *f);
