/* stream.c - the cold half of stream.h: making streams, new signatures, full segments, long records. */
#include "pmpi/stream.h"

#include "format/mpic.h"
#include "format/mpic_defs.h"
#include "pmpi/op_names.h"
#include "pmpi/processor.h"
#include "pmpi/segfile.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREAD_BYTES 4096u
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older ones refuse, and pages come one by one */
#endif
#define MAIN_SEGMENT_BYTES (256u << 10)
#define OTHER_SEGMENT_BYTES (64u << 10)
#define DEFS_FIRST_BYTES (32u << 10)
#define DEFS_BYTES (256u << 10)
#define DEFS_LAST_BYTES (2 * DEFS_BYTES) /* for which call it was, when there is no room for what it meant */
#define TOTALS_BYTES (32u << 10)
#define SIGS_ALL (STREAM_SIGS_MAX + STREAM_COARSE_MAX)
_Static_assert(THREAD_OPEN_OFFSET + sizeof(struct stream) <= THREAD_BYTES, "a stream is in its thread's region");
_Static_assert(OP_COUNT <= OPEN_OP, "an operation has its bits in an open call");
_Static_assert(SIGS_ALL < SEGREC_LONG, "a short record has 16 bits for the signature");

static struct stream *no_stream; /* never another */
__thread struct stream **stream_place __attribute__((tls_model("initial-exec"))) = &no_stream;
bool stream_on;

/* So many threads are recorded at once: each takes four regions or more. A lane is the stream of one thread after the
 * other: who comes later goes on where one that has ended stopped, with its dictionary and its totals. */
#define LANES_MAX (SEGFILE_REGIONS_MAX / 4 - 1)
static struct lane {
	_Atomic uint32_t owner; /* a thread by its number in the kernel; 0 = nobody */
	struct thread_area *area;
	bool whole;
} lanes[LANES_MAX];

/* What streams of lanes are, and behind them that this process is no child. _Fork() and clone() call no handlers of
 * pthread_atfork(): the kernel empties these pages in the child (madvise(2), MADV_WIPEONFORK; Linux 4.14). */
static struct stream **places;

static bool make_places(void)
{
	size_t bytes = (LANES_MAX + 1) * sizeof(*places);
	if (places != NULL)
		return true;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return false;
	madvise(at, bytes, MADV_WIPEONFORK);
	places = at;
	places[LANES_MAX] = at; /* only that it is something counts */
	return true;
}

void stream_set_limit(struct stream *s)
{
	bool careful = s->events_off || s->area->polls.busy != 0;
	s->limit = careful ? s->pos : (uint64_t *)(void *)((uint8_t *)s->segment + s->segment_bytes);
}

/* The pages of a slot at its first use, all at once; later uses find them there. */
static void touch_slot(struct stream *s, uint32_t slot)
{
	if (slot < s->ring_touched)
		return;
	int saved = errno;
	madvise(s->ring + (size_t)slot * s->segment_bytes, s->segment_bytes, MADV_POPULATE_WRITE);
	errno = saved;
	s->ring_touched = slot + 1;
}

static void open_segment(struct stream *s)
{
	struct segment *g = (struct segment *)(void *)(s->ring + (size_t)s->ring_at * s->segment_bytes);
	atomic_store_explicit(&g->committed, 0, memory_order_relaxed);
	g->thread = s->thread;
	g->len_bytes = s->segment_bytes;
	g->seq = atomic_fetch_add_explicit(&s->area->next_seq, 1, memory_order_relaxed);
	g->begin_tick = s->previous_exit;
	/* Partner: the agent's acquire load of state in collect/drain.c. */
	atomic_store_explicit(&g->state, SEGMENT_OPEN, memory_order_release);
	s->segment = g;
	s->pos = s->first = (uint64_t *)(void *)(g + 1);
	stream_set_limit(s);
}

static void lose(struct stream *s, uint64_t events, uint64_t tick, enum lost_reason reason)
{
	if (s->area->lost == 0) {
		s->area->lost_from_tick = tick;
		s->area->lost_reason = reason;
	}
	s->area->lost += events;
}

static void events_stop(struct stream *s)
{
	s->events_off = true;
	stream_set_limit(s);
}

void stream_control(struct stream *s, bool on)
{
	stream_flush_polls(s);
	if (!on && !s->events_off) {
		s->paused = true;
		events_stop(s);
	} else if (on && s->paused) {
		s->paused = s->events_off = false;
		stream_set_limit(s);
	}
}

/* Calls recorded in a segment. */
static uint64_t records_in(const struct segment *g)
{
	const uint64_t *p = (const uint64_t *)(const void *)(g + 1);
	const uint64_t *end = p + atomic_load_explicit(&g->committed, memory_order_relaxed) / sizeof(*p);
	uint64_t n = 0;
	for (; p < end; n++)
		p += (*p & SEGREC_LONG) == SEGREC_LONG ? 3 + (*p >> 40) : 1;
	return n;
}

/* The first slot that the agent has drained: the fewer are in use, the more of them stay in the cache. */
static bool find_free_slot(const struct stream *s, uint32_t *ret_slot)
{
	for (uint32_t i = 0; i < s->ring_segments; i++) {
		struct segment *g = (struct segment *)(void *)(s->ring + (size_t)i * s->segment_bytes);
		/* Partner: the release store in give_ring_back(), collect/drain.c. */
		if (i != s->ring_at && atomic_load_explicit(&g->state, memory_order_acquire) == SEGMENT_FREE) {
			*ret_slot = i;
			return true;
		}
	}
	return false;
}

/* The segment is full: go on in another one if the agent has drained it, else write this one out ourselves. */
static void next_segment(struct stream *s)
{
	uint32_t slot;
	uint64_t from = tick_now();
	if (atomic_load_explicit(&segfile->stop_events, memory_order_relaxed) != 0) {
		events_stop(s);
		return;
	}
	if (find_free_slot(s, &slot)) {
		touch_slot(s, slot); /* before there is a moment with no open segment */
		/* Partner: the agent's acquire load of state in collect/drain.c: all of its records are seen. */
		atomic_store_explicit(&s->segment->state, SEGMENT_FULL, memory_order_release);
		s->ring_at = slot;
	} else {
		enum lost_reason why = segfile_spill(s->segment);
		if (why != LOST_NOTHING)
			lose(s, records_in(s->segment), s->segment->begin_tick, why);
	}
	open_segment(s);
	stream_slow(s, from);
}

static enum lost_reason why_off(const struct stream *s)
{
	if (s->paused)
		return LOST_PAUSED;
	return atomic_load_explicit(&segfile->stop_events, memory_order_relaxed) == 2 ? LOST_MODE : LOST_BUDGET;
}

static void record_any(struct stream *s, uint32_t sig, uint64_t enter, uint64_t exit, const uint64_t *extra,
		       uint32_t nextra)
{
	size_t need = 8 * (3 + (size_t)nextra);
	uint64_t gap, duration = exit - enter;

	if (s->events_off) {
		lose(s, 1, enter, why_off(s));
		s->previous_exit = exit;
		return;
	}
	if (nextra > STREAM_WORDS_MAX) { /* the call is recorded, its details are not */
		lose(s, 1, enter, LOST_DICTIONARY_FULL);
		nextra = 0;
		need = 8 * 3;
	}
	if ((uint8_t *)s->pos + need > (uint8_t *)s->segment + s->segment_bytes) {
		next_segment(s);
		if (s->events_off) {
			record_any(s, sig, enter, exit, extra, nextra);
			return;
		}
	}
	gap = enter - s->previous_exit;
	uint64_t *p = s->pos;
	if (nextra == 0 && (gap | duration) <= SEGREC_TICKS_MAX) {
		*p++ = segrec_short(sig, gap, duration);
	} else {
		*p++ = segrec_long(sig, nextra);
		*p++ = gap;
		*p++ = duration;
		for (uint32_t i = 0; i < nextra; i++)
			*p++ = extra[i];
	}
	s->pos = p;
	s->previous_exit = exit;
	stream_commit(s);
}

void stream_flush_polls(struct stream *s)
{
	struct pending_polls *polls = &s->area->polls;
	if (!polls->busy)
		return;
	uint64_t extra[2] = {polls->calls, polls->ticks};
	record_any(s, polls->sig, polls->enter_tick, polls->exit_tick, extra, 2);
	/* Last: who is killed in between leaves both, and the agent knows by the time that they are the same. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	polls->busy = 0;
	stream_set_limit(s);
}

void stream_record_slow(struct stream *s, uint32_t sig, uint64_t enter, uint64_t exit, const uint64_t *extra,
			uint32_t nextra)
{
	if (s->events_off && s->area->lost != 0 && !s->area->polls.busy) { /* each call of a profile */
		s->area->lost++;
		s->previous_exit = exit;
		return;
	}
	stream_flush_polls(s);
	record_any(s, sig, enter, exit, extra, nextra);
}

/* ---- definitions ---- */

static bool defs_room(struct stream *s, uint32_t need, bool last)
{
	uint32_t most = STREAM_DEFS_MAX - (last ? 0 : DEFS_LAST_BYTES);
	if (s->defs_total > most)
		return false;
	uint32_t used = s->defs != NULL ? atomic_load_explicit(&s->defs->committed, memory_order_relaxed) : 0;
	if (s->defs != NULL && s->defs_cap - used >= need)
		return true;
	uint32_t len = s->defs == NULL ? DEFS_FIRST_BYTES : DEFS_BYTES;
	if (need + sizeof(struct defs_area) > len)
		len = need + (uint32_t)sizeof(struct defs_area);
	if (s->defs_total + len > most)
		return false;
	struct defs_area *d = segfile_add_region(REGION_DEFS, s->thread, len, NULL, false);
	if (d == NULL)
		return false;
	s->defs = d;
	s->defs_cap = len - (uint32_t)sizeof(*d);
	s->defs_total += len;
	return true;
}

/* One signature for many different calls? */
static bool is_coarse(const uint64_t *words, uint32_t len_bytes)
{
	return len_bytes == 2 * sizeof(*words) && (words[0] >> 16 & 0xff) == SIG_TIME && (words[0] >> 32 & 0xffff) != 0;
}

bool stream_put_def(struct stream *s, uint32_t type, const void *head, uint32_t head_bytes, const void *tail,
		    uint32_t tail_bytes)
{
	uint32_t body = head_bytes + tail_bytes, need = 8 + (body + 7) / 8 * 8;
	bool last = type == MPIC_DEF_OP || (type == MPIC_DEF_SIG && is_coarse(tail, tail_bytes));
	if (!defs_room(s, need, last)) {
		s->area->defs_missing += type != MPIC_DEF_SIG; /* an event carries the words of a signature instead */
		return false;
	}
	uint32_t used = atomic_load_explicit(&s->defs->committed, memory_order_relaxed);
	uint8_t *p = (uint8_t *)(s->defs + 1) + used;
	memcpy(p, &type, 4);
	memcpy(p + 4, &body, 4);
	memcpy(p + 8, head, head_bytes);
	if (tail_bytes > 0)
		memcpy(p + 8 + head_bytes, tail, tail_bytes);
	memset(p + 8 + body, 0, need - 8 - body);
	/* Partners: the acquire loads in process_defs(), collect/drain.c, and in collect/predecessor.c. */
	atomic_store_explicit(&s->defs->committed, used + need, memory_order_release);
	return true;
}

void stream_no_room(void)
{
	if (stream_mine != NULL)
		stream_mine->area->defs_missing++;
}

void stream_define_op(struct stream *s, uint32_t op)
{
	uint64_t bit = 1ull << (op % 64);
	if (op / 64 >= 16 || (s->op_defined[op / 64] & bit) != 0)
		return;
	if (stream_put_def(s, MPIC_DEF_OP, &op, 4, op_names[op], (uint32_t)strlen(op_names[op])))
		s->op_defined[op / 64] |= bit;
}

/* Operations in which a program may be when it ends, whether or not it ever came back from one. */
static void define_blocking(struct stream *s)
{
	static const uint16_t ops[] = {
		OP_MPI_Send,	   OP_MPI_Ssend,	  OP_MPI_Rsend,
		OP_MPI_Recv,	   OP_MPI_Sendrecv,	  OP_MPI_Sendrecv_replace,
		OP_MPI_Probe,	   OP_MPI_Mprobe,	  OP_MPI_Wait,
		OP_MPI_Waitall,	   OP_MPI_Waitany,	  OP_MPI_Waitsome,
		OP_MPI_Barrier,	   OP_MPI_Bcast,	  OP_MPI_Reduce,
		OP_MPI_Allreduce,  OP_MPI_Gather,	  OP_MPI_Gatherv,
		OP_MPI_Scatter,	   OP_MPI_Scatterv,	  OP_MPI_Allgather,
		OP_MPI_Allgatherv, OP_MPI_Alltoall,	  OP_MPI_Alltoallv,
		OP_MPI_Scan,	   OP_MPI_Alltoallw,	  OP_MPI_Exscan,
		OP_MPI_Finalize,   OP_MPI_Reduce_scatter, OP_MPI_Reduce_scatter_block,
	};
	for (size_t i = 0; s->thread == 0 && i < sizeof(ops) / sizeof(ops[0]); i++)
		stream_define_op(s, ops[i]);
}

/* One piece lies behind the other: whole pages. */
static uint32_t totals_bytes(void)
{
	return TOTALS_BYTES > page_bytes ? TOTALS_BYTES : (uint32_t)page_bytes;
}

static bool totals_room(struct stream *s, uint32_t sig)
{
	if (sig < s->totals_cap)
		return true;
	uint8_t *at = (uint8_t *)s->totals + (size_t)s->totals_cap * sizeof(*s->totals);
	if (segfile_add_region(REGION_TOTALS, s->thread, totals_bytes(), at, false) == NULL)
		return false;
	s->totals_cap += totals_bytes() / (uint32_t)sizeof(*s->totals);
	return true;
}

static bool define_sig(struct stream *s, uint32_t id, const uint64_t *words, uint32_t n)
{
	struct mpic_sig_head head = {id, n};
	if (!totals_room(s, id))
		return false;
	stream_define_op(s, (uint32_t)words[0] & 0xffff);
	return stream_put_def(s, MPIC_DEF_SIG, &head, sizeof(head), words, n * 8);
}

/* Where the hash stands, or the empty slot where it goes. */
static uint64_t *find_slot(const struct stream *s, uint64_t hash)
{
	size_t at = hash & s->slots_mask;
	while (s->slots[at] != 0 && (s->slots[at] ^ hash) > SLOT_SIG)
		at = (at + 1) & s->slots_mask;
	return &s->slots[at];
}

static void put_slot(struct stream *s, uint64_t hash, uint32_t sig)
{
	s->hashes[sig] = hash;
	*find_slot(s, hash) = (hash & ~SLOT_SIG) | sig;
}

/* Room for one more. Few pages are touched where signatures are few. */
static bool slots_room(struct stream *s)
{
	size_t have = s->slots_mask + 1;
	if (s->nsigs < have / 2)
		return true;
	uint64_t *old = s->slots, *more = memory_reserve(2 * have * sizeof(*more));
	if (more == NULL)
		return false;
	s->slots = more;
	s->slots_mask = 2 * have - 1;
	for (uint32_t sig = 1; sig < s->nsigs; sig++)
		put_slot(s, s->hashes[sig], sig);
	munmap(old, have * sizeof(*old));
	return true;
}

/* Define it under the next number; UINT32_MAX when there is no room. */
static uint32_t add_sig(struct stream *s, const uint64_t *words, uint32_t n, uint64_t hash)
{
	uint32_t id = s->nsigs;
	if (id >= SIGS_ALL || !slots_room(s) || !define_sig(s, id, words, n))
		return UINT32_MAX;
	put_slot(s, hash, id);
	s->nsigs++;
	return id;
}

/* The dictionary is full, or the call is like no other: one signature per operation and call site (the last ones: per
 * operation); what differs goes with the event. */
uint32_t stream_coarse(struct stream *s, const uint64_t *words)
{
	uint64_t w[2] = {sig_head((uint16_t)words[0], SIG_TIME, 0, 1, 0, 0), words[1]};
	for (int i = 0; i < 2; i++, w[1] = 0) {
		uint64_t hash = sig_hash(w, 2);
		uint64_t slot = *find_slot(s, hash);
		if (slot != 0)
			return (uint32_t)(slot & SLOT_SIG);
		if (i == 1 || s->nsigs < SIGS_ALL - OP_NAME_COUNT) {
			uint32_t sig = add_sig(s, w, 2, hash);
			return sig != UINT32_MAX ? sig : 0; /* signature 0 is "some call" */
		}
	}
	return 0;
}

/* Messages of sizes and tags that never come again would each leave a definition, a total and a slot behind, in
 * memory that nobody touched before: dearer than their words in the event. So after the first signatures, which are
 * all of most programs, a message is remembered by some bits of its hash, in one of the places of a cache line, and
 * defined when it comes again. One that was forgotten meanwhile goes with its event once more; one taken for another
 * is defined. */
#define SEEN_LINES 4096u
#define SEEN_PLACES 16u

static bool is_message(uint64_t head)
{
	uint32_t shape = head >> 16 & 0xff;
	return (shape == SIG_SEND || shape == SIG_RECV || shape == SIG_SENDRECV) && (head >> 24 & SIG_PERSISTENT) == 0;
}

static bool is_first(struct stream *s, uint64_t hash)
{
	if (s->seen == NULL)
		s->seen = memory_reserve(SEEN_LINES * SEEN_PLACES * sizeof(*s->seen));
	if (s->seen == NULL)
		return false;
	uint32_t *line = &s->seen[hash % SEEN_LINES * SEEN_PLACES], mark = (uint32_t)(hash >> 32) | 1, found = 0;
	for (uint32_t i = 0; i < SEEN_PLACES; i++)
		found |= line[i] == mark;
	if (found == 0)
		line[s->nseen++ % SEEN_PLACES] = mark;
	return found == 0;
}

/* Without events nobody would read the words. */
static bool goes_with_event(struct stream *s, const uint64_t *words, uint64_t hash)
{
	return s->nexact >= STREAM_FIRST_SIGHT && !s->events_off && is_message(words[0]) && is_first(s, hash);
}

uint32_t stream_sig(struct stream *s, const uint64_t *words, uint32_t n, uint64_t hash, bool *ret_literal)
{
	uint64_t slot = *find_slot(s, hash);
	if (slot != 0)
		return (uint32_t)(slot & SLOT_SIG);
	if (s->nexact < STREAM_SIGS_MAX && n <= STREAM_WORDS_MAX && !goes_with_event(s, words, hash)) {
		uint32_t sig = add_sig(s, words, n, hash);
		if (sig != UINT32_MAX) {
			s->nexact++;
			return sig;
		}
	}
	*ret_literal = true;
	return stream_coarse(s, words);
}

void stream_slow(struct stream *s, uint64_t from)
{
	stream_slow_until(s, from, tick_now());
}

uint64_t *stream_scratch(struct stream *s, enum scratch_use use, size_t words)
{
	struct scratch *have = &s->scratch[use];
	if (words > have->len_words) {
		size_t want = (words + 8191) / 8192 * 8192;
		uint64_t *p = memory_reserve(want * 8);
		if (p == NULL)
			return NULL;
		if (have->words != NULL)
			munmap(have->words, have->len_words * 8);
		*have = (struct scratch){p, want};
	}
	return have->words;
}

/* ---- making one ---- */

/* A shorter one where there is little room: two segments will do. */
static void allocate_ring(struct stream *s)
{
	uint32_t n = s->thread == 0 ? RING_SEGMENTS : 2;
	s->segment_bytes = s->thread == 0 ? MAIN_SEGMENT_BYTES : OTHER_SEGMENT_BYTES;
	for (; n >= 2 && s->ring == NULL; n /= 2) {
		s->ring_segments = n;
		s->ring = segfile_add_region(REGION_RING, s->thread, (size_t)n * s->segment_bytes, NULL, false);
	}
}

/* What an attempt before got stays. */
static bool allocate(struct stream *s)
{
	if (s->slots == NULL)
		s->slots = memory_reserve(sizeof(*s->slots) << SLOTS_BITS_FIRST);
	if (s->hashes == NULL)
		s->hashes = memory_reserve(SIGS_ALL * sizeof(*s->hashes));
	if (s->totals == NULL)
		s->totals = memory_reserve(SIGS_ALL * sizeof(*s->totals) + totals_bytes());
	if (s->ring == NULL)
		allocate_ring(s);
	s->slots_mask = ((size_t)1 << SLOTS_BITS_FIRST) - 1;
	return s->slots != NULL && s->hashes != NULL && s->totals != NULL && s->ring != NULL;
}

/* Its frames lie below: glibc puts the thread's own data at the top of its stack, the kernel some words of the
 * program's. */
static void find_stack(struct stream *s)
{
	bool is_main = s->area->tid == (uint32_t)getpid();
	uint64_t high = is_main ? getauxval(AT_RANDOM) : (uint64_t)pthread_self();
	s->own_stack = (struct own_stack){.low = high & -page_bytes, .high = high};
}

static bool begin_stream(struct stream *s)
{
	uint64_t anything[2] = {sig_head(0, SIG_TIME, 0, 1, 0, 0), 0};
	if (!allocate(s) || !define_sig(s, 0, anything, 2))
		return false;
	s->previous_exit = tick_now();
	touch_slot(s, 0);
	for (uint32_t i = 0; i < s->ring_segments; i++) /* the agent takes the size of a slot from the first */
		((struct segment *)(void *)(s->ring + (size_t)i * s->segment_bytes))->len_bytes = s->segment_bytes;
	open_segment(s);
	s->nsigs = 1;
	define_blocking(s);
	if (atomic_load_explicit(&segfile->stop_events, memory_order_relaxed) != 0)
		events_stop(s);
	return true;
}

/* The thread before is gone: what it left half done is settled. */
static void go_on(struct stream *s)
{
	uint64_t now = tick_now();
	s->open.inside = 0;
	stream_flush_polls(s);
	if (s->paused)
		stream_control(s, true);
	s->area->threads_before++;
	s->area->unused_ticks += now - s->previous_exit;
	s->area->running_before_ns += atomic_exchange(&s->area->running_ns, 0);
	s->area->ready_before_ns += atomic_exchange(&s->area->ready_ns, 0);
	s->area->counted_before += atomic_exchange(&s->area->counted, THREAD_UNCOUNTED) != THREAD_UNCOUNTED;
	s->area->running_from_ns = s->area->ready_from_ns = 0;
}

static struct stream *take_lane(struct lane *l, uint32_t thread, uint32_t tid)
{
	if (l->area == NULL)
		l->area = segfile_add_region(REGION_THREAD, thread, THREAD_BYTES, NULL, true);
	if (l->area == NULL)
		return NULL;
	struct stream *s = (struct stream *)(void *)((char *)l->area + THREAD_OPEN_OFFSET);
	s->thread = thread;
	s->timed_below = TIMED_BELOW;
	s->area = l->area;
	if (l->whole)
		go_on(s);
	else
		l->whole = begin_stream(s);
	s->area->tid = tid;
	find_stack(s);
	return l->whole ? s : NULL;
}

/* No destructor says so: those of the program come before and after ours, and may call MPI. A number in the kernel that
 * another thread has by now only keeps the lane for longer. */
static bool has_ended(uint32_t tid)
{
	bool ended = tid == 0 || (syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH);
	atomic_thread_fence(
		memory_order_acquire); /* partner: the locks that a thread takes in the kernel when it ends */
	return ended;
}

static const struct stream *stream_in(const struct lane *l)
{
	return (const struct stream *)(const void *)((const char *)l->area + THREAD_OPEN_OFFSET);
}

/* Ours from now on? Not where the clock of the thread before was ahead of this processor's. */
static bool claim(struct lane *l, uint32_t tid)
{
	uint32_t owner = atomic_load_explicit(&l->owner, memory_order_acquire);
	if (!has_ended(owner) || !atomic_compare_exchange_strong(&l->owner, &owner, tid))
		return false;
	if (!l->whole || tick_now() >= stream_in(l)->previous_exit)
		return true;
	atomic_store(&l->owner, owner);
	return false;
}

static struct stream *find_lane(uint32_t tid)
{
	bool room = true;
	for (uint32_t i = 0; i < LANES_MAX; i++) {
		struct lane *l = &lanes[i];
		if ((!room && !l->whole) || !claim(l, tid))
			continue;
		struct stream *s = take_lane(l, i, tid);
		if (s != NULL)
			return s;
		room = false;
		atomic_store_explicit(&l->owner, 0, memory_order_release); /* partner: the load in claim() */
	}
	return NULL;
}

/* A thread for which there is no room asks again, but not at each of its calls. */
static atomic_uint in_vain, skip;
#define IN_VAIN_MAX 6

struct stream *stream_attach(void)
{
	if (!stream_on || !make_places())
		return NULL;
	if (places[LANES_MAX] == NULL) {
		process_is_child();
		return NULL;
	}
	uint32_t left = atomic_load_explicit(&skip, memory_order_relaxed);
	if (left > 0) {
		atomic_store_explicit(&skip, left - 1, memory_order_relaxed); /* more or less */
		return NULL;
	}
	int saved = errno;
	struct stream *s = find_lane((uint32_t)syscall(SYS_gettid));
	uint32_t n = s != NULL ? 0 : atomic_load_explicit(&in_vain, memory_order_relaxed) + 1;
	atomic_store_explicit(&in_vain, n < IN_VAIN_MAX ? n : IN_VAIN_MAX, memory_order_relaxed);
	atomic_store_explicit(&skip, n > 0 ? 1u << (n < IN_VAIN_MAX ? n : IN_VAIN_MAX) : 0, memory_order_relaxed);
	if (s != NULL) {
		stream_place = &places[s->thread];
		stream_mine = s;
		if (s->thread > 0) /* the first one calls MPI_Finalize */
			processor_watch();
	}
	errno = saved;
	return s;
}

void streams_each(void (*visit)(struct thread_area *area))
{
	for (uint32_t i = 0; i < LANES_MAX; i++)
		if (lanes[i].whole && !has_ended(atomic_load(&lanes[i].owner)))
			visit(lanes[i].area);
}
