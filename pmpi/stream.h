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
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define COLD __attribute__((noinline, cold))
#define NOINLINE __attribute__((noinline))
/* A function's frame: 16 bytes below the stack pointer of before the call. On x86-64 that is its frame pointer. */
#ifdef __aarch64__
#define WRAPPER_FRAME ((void *)((char *)__builtin_dwarf_cfa() - 16))
#else
#define WRAPPER_FRAME __builtin_frame_address(0)
#endif
#define INLINE static inline __attribute__((always_inline))

#define STREAM_SIGS_MAX 57344u	 /* exact signatures of a thread; later ones are coarse, their words in the event */
#define STREAM_COARSE_MAX 4096u	 /* coarse signatures on top */
#define STREAM_FIRST_SIGHT 1024u /* from so many exact ones on, a message must be seen twice to become one */
#define STREAM_WORDS_MAX SEGREC_EXTRA_MAX /* of one signature */
#define STREAM_DEFS_MAX (8u << 20)	  /* bytes of definitions of a thread */

/* Who needs a long piece of memory for the length of one call. */
enum scratch_use { SCRATCH_REQUESTS, SCRATCH_WORDS, SCRATCH_DEFINITION, SCRATCH_USES };

/* The dictionary: signatures by a hash of their words, open addressing from its low bits, at most half full. A
 * slot holds the upper 48 bits of the hash and the number of the signature; 0 = empty. Place and slot stand for
 * the words: of 60,000 different calls two are taken for one once in 10^9 programs. */
#define SLOTS_BITS_FIRST 10

/* A communicator and a datatype that a call named, as words of signatures; see fast_handles(). */
struct last_handles {
	uint64_t epoch, comm, type;
	uint64_t comm_id;
	uint64_t type_id; /* in the upper half */
	uint64_t type_size_bytes;
	uint64_t reserved[2];
};

#define LAST_HANDLES 16u /* by a hash of both */

/* What is known of the stack that the thread was made with; see callsite.c. */
struct own_stack {
	uint64_t low, high; /* all of it can be read, as long as the thread is there */
	uint64_t asked;	    /* a page of another one, which is there as long as a walk lasts */
	uint32_t vain, skip;
};

struct stream {
	struct open_call open;	/* first: the agent looks for it behind the thread's area */
	uint64_t previous_exit; /* of the last call that is recorded: times are gaps from it */
	uint64_t *pos,
		*limit;	 /* next record, end of the segment; equal when the next one needs more care than a store */
	uint64_t *first; /* record of the segment */
	struct segment_total *totals;
	uint64_t *slots;
	size_t slots_mask;
	uint64_t *hashes; /* by signature */
	uint32_t *seen;	  /* messages that were seen once, see is_first() in stream.c; NULL: none yet */
	uint32_t nseen;
	uint64_t missed; /* hash of the words that span_end_known() did not find */
	struct thread_area *area;
	uint64_t next_serial; /* of requests */
	uint32_t nsigs, nexact;
	uint32_t nonce; /* of span_end_once() */
	uint32_t thread;
	uint32_t timed_below; /* which calls are timed, see stream_timed() */
	struct last_handles last[LAST_HANDLES] __attribute__((aligned(64)));
	uint64_t status[4]; /* where the program gave none: room for MPI's */
	/* cold */
	struct own_stack own_stack;
	struct segment *segment;
	uint32_t ring_segments, ring_at, ring_touched;
	uint8_t *ring;
	uint32_t segment_bytes;
	struct defs_area *defs; /* the newest region */
	uint32_t defs_cap;	/* bytes of records it holds */
	uint32_t defs_total;	/* bytes of all regions */
	uint32_t totals_cap;
	bool events_off, paused;
	uint64_t unrecorded_exit; /* of the last call while events are off */
	struct completing {	  /* requests that the open call looks for when it returns; n = 0: it does not */
		const void *handles;
		int n;
		uintptr_t inside; /* whose they are */
	} completing;
	uint64_t slow_until;	 /* the tracer's time is measured so far */
	uint64_t op_defined[16]; /* bits: operations whose name is in this thread's definitions */
	struct scratch {
		uint64_t *words;
		size_t len_words;
	} scratch[SCRATCH_USES];
};

/* Its name is among the definitions, whether or not a call of it ever returns. */
void stream_define_op(struct stream *s, uint32_t op) HIDDEN;

/* Beside the stream, in the same region. */
INLINE struct open_words *stream_open_words(struct stream *s)
{
	return &((struct thread_area *)(void *)((char *)s - THREAD_OPEN_OFFSET))->open;
}

/* The thread's last request was started by that signature. */
INLINE void stream_started(struct stream *s, uint32_t sig)
{
	uint64_t *started = (uint64_t *)(void *)((char *)s - THREAD_OPEN_OFFSET + THREAD_STARTED_OFFSET);
	uint64_t serial = s->next_serial - 1;
	started[serial % THREAD_STARTED] = started_word(serial, sig);
}

/* This thread's stream, NULL: it has none yet. Its place is in memory that a child finds empty, whoever forked it. */
#define stream_mine (*stream_place)
extern __thread struct stream **stream_place HIDDEN __attribute__((tls_model("initial-exec")));
/* For who has found it before: what he keeps of it is the parent's in a child, which must never write there. */
INLINE bool stream_is_ours(void)
{
	return __builtin_expect(stream_mine != NULL, true);
}
/* This process is a child of a traced one. */
void process_is_child(void) HIDDEN COLD;
extern bool stream_on HIDDEN; /* a segment file is open and MPI is initialised or being so */

/* This thread's stream, made on first use; NULL when tracing is off. */
struct stream *stream_attach(void) HIDDEN COLD;
/* Of a new one: its ring, its dictionary, its first segment. False: no room yet, ask again. */
bool stream_begin(struct stream *s) HIDDEN COLD;
/* Take in advance what the thread's own stream will need later: nothing can be had from now on. */
void stream_stock(struct stream *s) HIDDEN COLD;
/* The calls that threads ended in are counted: nobody comes after these. */
void streams_count_left(void) HIDDEN COLD;
/* Of each thread that has one and is still there. */
void streams_each(void (*visit)(struct thread_area *area)) HIDDEN COLD;

/* Find or add; hash is sig_hash(). Returns the id of the signature. *ret_literal = its words must go with the
 * event: the dictionary is full, or a message is the first of its kind and may be the only one. The call site of a
 * new one is not looked at: record_sig() does that, too. */
uint32_t stream_sig(struct stream *s, const uint64_t *words, uint32_t n, uint64_t hash, bool *ret_literal) HIDDEN;
/* That of its operation and call site; the words go with the event. */
uint32_t stream_coarse(struct stream *s, const uint64_t *words) HIDDEN;
/* That of calls of which only the number is recorded. */
uint32_t stream_counted(struct stream *s, uint32_t op) HIDDEN;
void stream_record_slow(struct stream *s, uint32_t sig, uint64_t enter, uint64_t exit, const uint64_t *extra,
			uint32_t nextra) HIDDEN COLD;
void stream_flush_polls(struct stream *s) HIDDEN COLD;
/* Short records may fill the segment, unless something must be looked at before the next: call when that changes. */
void stream_set_limit(struct stream *s) HIDDEN;
/* Append one definition; false when there is no room. */
bool stream_put_def(struct stream *s, uint32_t type, const void *head, uint32_t head_bytes, const void *tail,
		    uint32_t tail_bytes) HIDDEN NOINLINE;
/* A table is full: what calls mean that name the object is not known. Counted once an object. */
void stream_no_room(void) HIDDEN COLD;
/* MPI_Pcontrol: events of this thread off and on; totals go on. */
void stream_control(struct stream *s, bool on) HIDDEN COLD;
/* At least that many words, valid until the next request for the same use; NULL without memory. */
uint64_t *stream_scratch(struct stream *s, enum scratch_use use, size_t words) HIDDEN;

/* When the thread was last seen. */
INLINE uint64_t stream_last_exit(const struct stream *s)
{
	return s->unrecorded_exit > s->previous_exit ? s->unrecorded_exit : s->previous_exit;
}

INLINE uint64_t sig_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* What is mixed into word i, so that equal words at different places do not cancel. */
#define SIG_KEY(i) (0x8bb84b93962eacc9ull + 0x9e3779b97f4a7c15ull * (i))
#define SIG_KEYS 10u

extern const uint64_t
	sig_keys[SIG_KEYS] HIDDEN; /* SIG_KEY(0) ...: from memory each is an operand, not an instruction */

INLINE uint64_t sig_key(uint32_t i)
{
	return __builtin_constant_p(i) && i < SIG_KEYS ? sig_keys[i] : SIG_KEY(i);
}

/* Products of two words each, which do not wait for each other. Head (in most calls a constant) and address share
 * one factor. A word of zero behind the last one changes nothing when n is even. */
INLINE uint64_t sig_hash(const uint64_t *w, uint32_t n)
{
	uint64_t first = sig_fold(w[0] ^ SIG_KEY(0), SIG_KEY(1)) ^ w[1];
	uint64_t h = sig_fold(first, (n > 2 ? w[2] : 0) ^ sig_key(2));
	for (uint32_t i = 3; i < n; i += 2)
		h += sig_fold(w[i] ^ sig_key(i), (i + 1 < n ? w[i + 1] : 0) ^ sig_key(i + 1));
	return h;
}

/* The records up to pos are whole. */
INLINE void stream_commit(struct stream *s)
{
	/* Partner: the agent's acquire load in collect/drain.c. */
	atomic_store_explicit(&((struct segment *)(void *)s->first)[-1].committed,
			      (uint32_t)((uint8_t *)s->pos - (uint8_t *)s->first), memory_order_release);
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
	stream_commit(s);
}

/* A long record where there is room for it and nothing else to look at. */
INLINE void stream_record_words(struct stream *s, uint32_t sig, uint64_t enter, uint64_t exit, const uint64_t *words,
				uint32_t n)
{
	uint64_t *p = s->pos;
	if (p >= s->limit || (size_t)(s->limit - p) < 3 + (size_t)n || n > STREAM_WORDS_MAX) {
		stream_record_slow(s, sig, enter, exit, words, n);
		return;
	}
	p[0] = segrec_long(sig, n);
	p[1] = enter - s->previous_exit;
	p[2] = exit - enter;
	memcpy(p + 3, words, n * sizeof(*words));
	s->pos = p + 3 + n;
	s->previous_exit = exit;
	stream_commit(s);
}

#define SLOT_SIG 0xffffull

/* True when the signature with that hash stands where it belongs. */
INLINE bool sig_at_home(const struct stream *s, uint64_t hash, uint32_t *ret_sig)
{
	uint64_t slot = s->slots[hash & s->slots_mask];
	*ret_sig = (uint32_t)(slot & SLOT_SIG);
	return __builtin_expect((slot ^ hash) <= SLOT_SIG, true);
}

/* The tracer has worked since the tick `from`: what lies behind what was measured before is added to the thread's
 * slow time. */
void stream_slow(struct stream *s, uint64_t from) HIDDEN;
/* Is the recording of the call that returned then timed? One in 64, whatever steps the clock makes. */
#define TIMED_BELOW (UINT32_MAX / 64)
INLINE bool stream_timed(const struct stream *s, uint64_t exit)
{
	return __builtin_expect((uint32_t)exit * 0x9e3779b1u <= s->timed_below, false);
}

/* It ends. A pause in the middle is the machine's, not ours: no more than TIMED_TICKS_MAX of it count. */
#define TIMED_TICKS_MAX 4096u
INLINE void stream_time(struct stream *s, uint64_t exit)
{
	uint64_t ticks = tick_now() - exit;
	s->area->recording_calls++;
	s->area->recording_ticks += ticks < TIMED_TICKS_MAX ? ticks : TIMED_TICKS_MAX;
}

/* The same, until then. */
INLINE void stream_slow_until(struct stream *s, uint64_t from, uint64_t now)
{
	if (from < s->slow_until)
		from = s->slow_until;
	s->area->slow_calls++;
	s->area->slow_ticks += now - from;
	s->slow_until = now;
}
