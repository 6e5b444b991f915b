/* dictionary.c - see dictionary.h. */
#include "pmpi/dictionary.h"

#include "format/mpic.h"
#include "format/mpic_defs.h"
#include "pmpi/op_names.h"
#include "pmpi/segfile.h"

#include <string.h>
#include <sys/mman.h>

#define DEFS_FIRST_BYTES (48u << 10)
#define DEFS_BYTES (256u << 10)
/* When there is no room for what a call meant, there is some for which one it was and where, of each thread; and for
 * which one it was, in what the thread has, whatever it gets no more. */
#define DEFS_LAST_BYTES (2 * DEFS_BYTES)
#define DEFS_NAMES_BYTES (16u << 10)
#define TOTALS_NAMES OP_NAME_COUNT
#define TOTALS_BYTES (32u << 10)
#define STOCK_TOTALS 4u
#define SIGS_ALL (STREAM_SIGS_MAX + STREAM_COARSE_MAX)
_Static_assert(OP_COUNT <= OPEN_OP, "an operation has its bits in an open call");
_Static_assert(OP_COUNT <= SIG_OP_SOME, "some call has a number of its own");
_Static_assert(SIGS_ALL < SEGREC_LONG, "a short record has 16 bits for the signature");

/* How much of the call a definition tells: the less, the longer there is room for it. */
enum told { TOLD_ALL, TOLD_SITE, TOLD_NAME };

static enum told told_by(uint32_t type, const uint64_t *words, uint32_t len_bytes)
{
	bool time = type == MPIC_DEF_SIG && len_bytes == 2 * sizeof(*words) && (words[0] >> 16 & 0xff) == SIG_TIME;
	if (type == MPIC_DEF_OP || (time && words[1] == 0))
		return TOLD_NAME;
	return time && (words[0] >> 32 & 0xffff) != 0 ? TOLD_SITE : TOLD_ALL;
}

static bool more_defs(struct stream *s, uint32_t need, uint32_t most)
{
	uint32_t len = s->defs == NULL ? DEFS_FIRST_BYTES : DEFS_BYTES;
	need += (uint32_t)sizeof(struct defs_area) + DEFS_NAMES_BYTES;
	len = need > len ? need : len;
	struct defs_area *d =
		s->defs_total + len <= most ? segfile_add_region(REGION_DEFS, s->thread, len, NULL, false) : NULL;
	if (d == NULL)
		return false;
	s->defs = d;
	s->defs_cap = len - (uint32_t)sizeof(*d);
	s->defs_total += len;
	return true;
}

static bool defs_room(struct stream *s, uint32_t need, enum told told)
{
	uint32_t used = s->defs != NULL ? atomic_load_explicit(&s->defs->committed, memory_order_relaxed) : 0;
	uint32_t left = s->defs != NULL ? s->defs_cap - used : 0, most = STREAM_DEFS_MAX;
	if (told == TOLD_ALL)
		most -= DEFS_LAST_BYTES;
	if (s->defs_total <= most && left >= need + DEFS_NAMES_BYTES)
		return true;
	return more_defs(s, need, most) || (told == TOLD_NAME && left >= need);
}

bool stream_put_def(struct stream *s, uint32_t type, const void *head, uint32_t head_bytes, const void *tail,
		    uint32_t tail_bytes)
{
	uint32_t body = head_bytes + tail_bytes, need = 8 + (body + 7) / 8 * 8;
	if (!defs_room(s, need, told_by(type, tail, tail_bytes))) {
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
	const char *name = op < OP_COUNT ? op_names[op] : SIG_OP_SOME_NAME;
	if (stream_put_def(s, MPIC_DEF_OP, &op, 4, name, (uint32_t)strlen(name)))
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

static bool totals_room(struct stream *s, uint32_t sig, enum told told)
{
	if (sig + TOTALS_NAMES < s->totals_cap)
		return true;
	uint8_t *at = (uint8_t *)s->totals + (size_t)s->totals_cap * sizeof(*s->totals);
	if (segfile_add_region(REGION_TOTALS, s->thread, totals_bytes(), at, false) == NULL)
		return told == TOLD_NAME && sig < s->totals_cap;
	s->totals_cap += totals_bytes() / (uint32_t)sizeof(*s->totals);
	return true;
}

static bool define_sig(struct stream *s, uint32_t id, const uint64_t *words, uint32_t n)
{
	struct mpic_sig_head head = {id, n};
	if (!totals_room(s, id, told_by(MPIC_DEF_SIG, words, n * 8)))
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
static bool slots_room(struct stream *s, enum told told)
{
	size_t have = s->slots_mask + 1;
	if (s->nsigs < have / 2)
		return true;
	uint64_t *old = s->slots, *more = memory_reserve(2 * have * sizeof(*more));
	if (more == NULL)
		return told == TOLD_NAME && s->nsigs < have / 2 + TOTALS_NAMES && s->nsigs < have - 1;
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
	if (id >= SIGS_ALL || !slots_room(s, told_by(MPIC_DEF_SIG, words, n * 8)) || !define_sig(s, id, words, n))
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
		if (i == 1 || s->nsigs < SIGS_ALL - 2 * OP_NAME_COUNT) {
			uint32_t sig = add_sig(s, w, 2, hash);
			if (sig != UINT32_MAX)
				return sig;
		}
	}
	return 0; /* SIG_OP_SOME */
}

uint32_t stream_counted(struct stream *s, uint32_t op)
{
	uint64_t w[2] = {sig_head((uint16_t)op, SIG_TIME, 0, 0, 0, 0), 0}, hash = sig_hash(w, 2);
	uint64_t slot = *find_slot(s, hash);
	uint32_t sig = slot != 0 ? (uint32_t)(slot & SLOT_SIG) : add_sig(s, w, 2, hash);
	return sig != UINT32_MAX ? sig : 0;
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

/* For several thousand signatures more. */
void dictionary_stock(struct stream *s)
{
	uint32_t most = s->totals_cap + STOCK_TOTALS * totals_bytes() / (uint32_t)sizeof(*s->totals);
	more_defs(s, 0, STREAM_DEFS_MAX);
	while (s->totals_cap < most && s->totals_cap < SIGS_ALL && totals_room(s, s->totals_cap, TOLD_ALL))
		;
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
	s->slots_mask = ((size_t)1 << SLOTS_BITS_FIRST) - 1;
	return s->slots != NULL && s->hashes != NULL && s->totals != NULL;
}

bool dictionary_begin(struct stream *s)
{
	uint64_t some[2] = {sig_head(SIG_OP_SOME, SIG_TIME, 0, 1, 0, 0), 0};
	if (!allocate(s) || !define_sig(s, 0, some, 2))
		return false;
	s->nsigs = 1;
	define_blocking(s);
	return true;
}
