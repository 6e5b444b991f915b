/* feed_reader.h - one reader of a feed: what it is sent, and what it said. Private to feed.c and feed_reader.c. */
#pragma once

#include "base/vec.h"
#include "postproc/live/feed.h"

struct feed_sample {
	struct merged s;
	unsigned held; /* by the feed, and by readers that are taking it */
};

/* What is kept: samples of consecutive numbers, the oldest first. */
struct feed_samples {
	VEC(struct feed_sample *) list;
	uint64_t newest; /* 0: there has been none */
	bool ended;
};

struct feed_reader {
	int fd;
	const char *token; /* that it has to name first; NULL: it is let in */
	int64_t since_ns;  /* of its connection, or of the last byte that it took */
	bool told_end;
	bool leaves; /* closed when all is sent */
	uint64_t announced;
	uint64_t next, last;	    /* still to be sent; next > last: none */
	struct feed_sample *taking; /* of which the bytes from taken on are to be sent */
	size_t taken;
	char out[512];
	size_t out_len, out_at;
	char in[FEED_LINE_MAX];
	size_t in_len;
};

/* Its first lines. token as in struct feed_reader. */
void reader_begin(struct feed_reader *r, int fd, const char *token, const struct feed_samples *kept, int64_t now_ns);
/* Send and read what is possible now; readable: it has said something, or left. false: it is to be closed. */
bool reader_turn(struct feed_reader *r, const struct feed_samples *kept, bool readable, int64_t now_ns);
/* For poll(2). */
short reader_events(const struct feed_reader *r, const struct feed_samples *kept);
void reader_done(struct feed_reader *r);
/* Is there something that it has not taken? */
bool reader_owes(const struct feed_reader *r, const struct feed_samples *kept);
void feed_sample_release(struct feed_sample *s);
