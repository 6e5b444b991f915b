/* backoff.h - when to write something again that a later block replaces: gaps are a share of its age, so that a file
 * that is cut misses at most this share of the time, and their number grows with the logarithm of the time only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BACKOFF_MIN_NS 1000000000ll

struct backoff {
	int64_t began_ns, last_ns; /* zeroed: never written */
};

/* Nothing was written yet, or the last time is max(1 s, age then / share) or more ago. */
static inline bool backoff_is_due(const struct backoff *b, int64_t share, int64_t now_ns)
{
	int64_t gap_ns = (b->last_ns - b->began_ns) / share;
	return b->last_ns == 0 || now_ns - b->last_ns >= (gap_ns > BACKOFF_MIN_NS ? gap_ns : BACKOFF_MIN_NS);
}

static inline void backoff_written(struct backoff *b, int64_t now_ns)
{
	b->began_ns = b->last_ns == 0 ? now_ns : b->began_ns;
	b->last_ns = now_ns;
}
