/* stream.h - one thread's stream of records into shared memory, with its dictionary of signatures and exact totals.
 * In: what a call was, as words (format/sig.h), and two ticks.
 * Out: committed bytes in the process's segment file, drained by collect/.
 * Runs inside the user's program: no malloc, no locks on the hot path, no stdio, never fails loudly. */
#pragma once

#include "format/segment.h"
#include "format/sig.h"
#include "base/tick.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define COLD __attribute__((noinline, cold))
#define INLINE static inline __attribute__((always_inline))

#define STREAM_SIGS_MAX 32768u	/* exact signatures of a thread; later ones are coarse, their words in the event */
#define STREAM_COARSE_MAX 4096u /* coarse signatures on top */
#define STREAM_SLOTS_FIRST 1024u		  /* of the hash table: a power of two over twice the signatures */
#define STREAM_WORDS_MAX SEGREC_EXTRA_MAX /* of one signature */
#define STREAM_DEFS_MAX (4u << 20)	  /* bytes of definitions of a thread */

/* Who needs a long piece of memory for the length of one call. */
enum scratch_use { SCRATCH_REQUESTS, SCRATCH_WORDS, SCRATCH_DEFINITION, SCRATCH_USES };

struct sig_slot {
	uint32_t tag; /* high bits of the hash */
	uint32_t sig; /* id + 1; 0 = empty */
};

/* The signatures of the last calls, found by their first words without a look into the dictionary. */
#define KEY_WORDS 7

struct known_call {
	uint64_t words[KEY_WORDS]; /* the signature; zero behind its end */
	uint32_t sig;
	uint32_t n; /* words; 0 = an empty place */
};

/* Places of a thread, by a hash of the words: more where a program makes so many different calls that they push each other
 * out. */
#define KNOWN_BITS_FIRST 8
#define KNOWN_BITS_MAX 16

struct stream {
	uintptr_t inside; /* frame of the MPI call this thread is in; 0 outside */
	uint64_t previous_exit;
	uint64_t *pos,
		*limit; /* next record, end of the segment; equal when the next one needs more care than a store */
	struct segment *segment;
	struct segment_total *totals;
	struct known_call *known;
	unsigned known_shift; /* 64 - bits */
	struct sig_slot *slots;
	const uint64_t **sig_words;
	struct thread_area *area;
	uint64_t next_serial; /* of requests */
	uint32_t nsigs, nexact;
	uint32_t thread;
	/* cold */
	uint32_t ring_segments, ring_at, ring_touched;
	uint8_t *ring;
	uint32_t segment_bytes;
	struct defs_area *defs; /* the newest region */
	uint32_t defs_cap;	/* bytes of records it holds */
	uint32_t defs_total;	/* bytes of all regions */
	uint32_t totals_cap;
	bool events_off, paused;
	uint32_t known_evicted; /* since the places became more */
	uint32_t slots_mask;
	uint64_t slow_until;	 /* the tracer's time is measured so far */
	uint64_t op_defined[16]; /* bits: operations whose name is in this thread's definitions */
	struct scratch {
		uint64_t *words;
		size_t len_words;
	} scratch[SCRATCH_USES];
};

extern __thread struct stream *stream_mine HIDDEN __attribute__((tls_model("initial-exec")));
extern bool stream_on HIDDEN; /* a segment file is open and MPI is initialised or being so */

/* This thread's stream, made on first use; NULL when tracing is off. */
struct stream *stream_attach(void) HIDDEN COLD;

/* Find or add. Returns the id of the signature. *ret_literal = its words must go with the event. The call site of a new one is
 * not looked at: record_sig() does that, too. */
uint32_t stream_sig(struct stream *s, const uint64_t *words, uint32_t n, bool *ret_literal) HIDDEN;
void stream_record_slow(struct stream *s, uint32_t sig, uint64_t enter, uint64_t exit, const uint64_t *extra,
			uint32_t nextra) HIDDEN COLD;
void stream_flush_polls(struct stream *s) HIDDEN COLD;
/* Short records may fill the segment, unless something must be looked at before the next: call when that changes. */
void stream_set_limit(struct stream *s) HIDDEN;
/* Append one definition; false when there is no room. */
bool stream_put_def(struct stream *s, uint32_t type, const void *head, uint32_t head_bytes, const void *tail,
		    uint32_t tail_bytes) HIDDEN COLD;
/* MPI_Pcontrol: events of this thread off and on; totals go on. */
void stream_control(struct stream *s, bool on) HIDDEN COLD;
/* At least that many words, valid until the next request for the same use; NULL without memory. */
uint64_t *stream_scratch(struct stream *s, enum scratch_use use, size_t words) HIDDEN;

static inline uint64_t sig_hash(const uint64_t *w, uint32_t n)
{
	/* One odd factor a word: the products do not wait for each other. The last mix spreads them; equality is
	 * decided by the words, not by the hash. */
	uint64_t h = w[0] * 0x9e3779b97f4a7c15ull + w[1] * 0xc2b2ae3d27d4eb4full;
	for (uint32_t i = 2; i < n; i++)
		h += w[i] * (0xd6e8feb86659fd93ull + 2 * 0x165667b19e3779f9ull * i);
	h ^= h >> 32;
	h *= 0xff51afd7ed558ccdull;
	return h ^ h >> 29;
}

INLINE void stream_record(struct stream *s, uint32_t sig, uint64_t enter, uint64_t exit)
{
	uint64_t gap = enter - s->previous_exit, duration = exit - enter;
	uint64_t *p = s->pos;
	if (__builtin_expect((gap | duration) > SEGREC_TICKS_MAX || p >= s->limit, false)) {
		stream_record_slow(s, sig, enter, exit, NULL, 0);
		return;
	}
	*p++ = segrec_short(sig, gap, duration);
	s->pos = p;
	s->previous_exit = exit;
	/* Partner: the agent's acquire load in collect/drain.c. */
	atomic_store_explicit(&s->segment->committed, (uint32_t)((uint8_t *)p - (uint8_t *)(s->segment + 1)),
			      memory_order_release);
}

/* Where a call with those words stands, if it is known. n is a constant. */
INLINE struct known_call *known_place(const struct stream *s, const uint64_t *words, uint32_t n)
{
	uint64_t h = words[1];
	for (uint32_t i = 2; i < n; i++)
		h += words[i] * (2 * i + 1);
	return &s->known[h * 0x9e3779b97f4a7c15ull >> s->known_shift];
}

INLINE bool is_known(const struct known_call *k, const uint64_t *words, uint32_t n)
{
	uint64_t differ = 0;
#pragma GCC unroll 7
	for (uint32_t i = 0; i < n; i++)
		differ |= k->words[i] ^ words[i];
	return __builtin_expect(differ == 0, true);
}

/* Remember the signature of those words (n <= KEY_WORDS). */
void stream_remember(struct stream *s, const uint64_t *words, uint32_t n, uint32_t sig) HIDDEN;
/* The tracer has worked since the tick `from`: what lies behind what was measured before is added to the thread's slow time. */
void stream_slow(struct stream *s, uint64_t from) HIDDEN;
