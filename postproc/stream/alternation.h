/* alternation.h - do the messages of a pair of ranks take turns: is each sent by the one who received the last, after
 * that was there? Counts alone cannot tell a ping-pong from an exchange. A visitor of the stream around another one;
 * looks at messages only where each rank has one partner and there are few pairs. */
#pragma once

#include "postproc/stream/stream.h"

#define ALTERNATION_PAIRS_MAX 8

struct turn_message {
	int64_t sent_ns, received_ns;
	uint32_t pair, src, dst;
};

struct alternation {
	const struct stream_visitor *inner;
	struct turns {
		uint32_t ranks[2]; /* ascending */
		uint64_t messages, turns;
		uint32_t last_dst; /* of the message sent last; NONE: there was none */
		int64_t last_received_ns;
	} pairs[ALTERNATION_PAIRS_MAX];
	unsigned npairs;	      /* 0: not looked at */
	VEC(struct turn_message) now; /* of the window */
};

/* The visitor to give to stream_run() in place of inner; x holds what it finds. */
struct stream_visitor alternation_watch(struct alternation *x, const struct step *s,
					const struct stream_visitor *inner);
/* Share of the messages of all pairs that answer the one before, but the first of each; NaN: not known. */
double alternation_share(const struct alternation *x);
void alternation_done(struct alternation *x);
