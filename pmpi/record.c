/* record.c - the less frequent recorders of record.h. */
#include "pmpi/record.h"

#include <string.h>

const char *const op_names[OP_COUNT] = {OP_NAMES};

#define MESSAGES_MAX 1024u
#define WORDS_SHORT 16u /* of signatures whose events carry words of their own, without frames */

static struct message {
	MPI_Message handle;
	MPI_Comm comm;
	int source, tag;
	bool busy;
} messages[MESSAGES_MAX];
static atomic_flag lock = ATOMIC_FLAG_INIT;
bool tables_shared;
struct next next;

uint64_t calls_outside;

struct stream *span_attach(void)
{
	struct stream *s = stream_attach();
	if (s == NULL)
		__atomic_fetch_add(&calls_outside, 1, __ATOMIC_RELAXED);
	return s;
}

void tables_lock(void)
{
	if (__builtin_expect(!tables_shared, true))
		return;
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		__builtin_ia32_pause();
}

void tables_unlock(void)
{
	if (__builtin_expect(tables_shared, false))
		atomic_flag_clear_explicit(&lock, memory_order_release);
}

void message_put(MPI_Message handle, MPI_Comm comm, int source, int tag)
{
	tables_lock();
	for (uint32_t i = 0; i < MESSAGES_MAX; i++)
		if (!messages[i].busy) {
			messages[i] = (struct message){handle, comm, source, tag, true};
			break;
		}
	tables_unlock();
}

bool message_take(MPI_Message handle, MPI_Comm *ret_comm, int *ret_source, int *ret_tag)
{
	bool found = false;
	tables_lock();
	for (uint32_t i = 0; i < MESSAGES_MAX && !found; i++)
		if (messages[i].busy && messages[i].handle == handle) {
			*ret_comm = messages[i].comm;
			*ret_source = messages[i].source;
			*ret_tag = messages[i].tag;
			messages[i].busy = false;
			found = true;
		}
	tables_unlock();
	return found;
}

static uint32_t totals_sig(struct stream *s, uint32_t op)
{
	uint64_t w[2] = {sig_head((uint16_t)op, SIG_TIME, 0, 0, 0, 0), 0};
	bool literal = false;
	return stream_sig(s, w, 2, &literal);
}

void count_call(uint32_t op)
{
	struct stream *s = stream_mine;
	if (s != NULL && (uintptr_t)__builtin_frame_address(0) >= s->inside)
		s->totals[totals_sig(s, op)].calls++;
}

/* Behind n words; how many. */
COLD static uint32_t put_frames(const struct call_span *s, uint64_t *words, uint32_t n)
{
	uint32_t frames = callsite_frames(words + n, stack_frames, s->address, s->stream->inside);
	words[0] |= (uint64_t)frames << 48;
	return frames;
}

void span_end_new(struct call_span *s, const uint64_t *key, uint64_t *words, uint32_t n)
{
	struct stream *stream = s->stream;
	bool literal = false;
	if (stack_frames != 0)
		n += put_frames(s, words, n);
	uint32_t epoch = __atomic_load_n(&handles_epoch, __ATOMIC_RELAXED);
	uint32_t sig = stream_sig(stream, words, n, &literal);
	if (!literal) {
		if (key != NULL && stack_frames == 0) {
			struct known_call *k = known_place(stream, key);
			memcpy(k->key, key, sizeof(k->key));
			k->sig = sig;
			k->epoch = epoch;
		}
		span_told(s, sig);
		return;
	}
	stream->totals[sig].calls++;
	stream->totals[sig].ticks += s->exit - s->enter;
	stream_record_slow(stream, sig, s->enter, s->exit, words, n);
	stream->inside = 0;
}

void span_end(struct call_span *s, uint64_t *words, uint32_t n)
{
	uint64_t key[KEY_WORDS] = {0};
	if (n > KEY_WORDS) {
		span_end_new(s, NULL, words, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		key[i] = words[i];
	if (!span_end_known(s, key))
		span_end_new(s, key, words, n);
}

/* A failed call is told like others, but never remembered. */
static const uint64_t *unless_failed(const struct call_span *s, const uint64_t *key)
{
	return s->failed ? NULL : key;
}

void record_time_new(struct call_span s, uint32_t op)
{
	const uint64_t key[KEY_WORDS] = {sig_head((uint16_t)op, SIG_TIME, 0, 0, 0, 0), s.address};
	uint64_t w[2 + FRAMES_MAX];
	w[0] = sig_head((uint16_t)op, SIG_TIME, s.failed, 0, 0, 0);
	w[1] = s.address;
	span_end_new(&s, unless_failed(&s, key), w, 2);
}

void record_message_new(struct call_span s, uint64_t head, MPI_Comm comm, int peer, int tag, MPI_Datatype type,
			uint64_t count, uint64_t bytes)
{
	const uint64_t key[KEY_WORDS] = {
		head,  s.address, comm_bits(comm), sig_pair((uint32_t)peer, (uint32_t)tag), type_bits(type),
		count, bytes};
	uint64_t w[6 + FRAMES_MAX];
	w[0] = head | sig_head(0, 0, s.failed, 0, 0, 0);
	w[1] = s.address;
	w[2] = sig_pair(comm_find(comm)->id, peer_of(peer));
	w[3] = sig_pair((uint32_t)tag, type_find(type).id);
	w[4] = count;
	w[5] = bytes;
	span_end_new(&s, unless_failed(&s, key), w, head & sig_head(0, 0, SIG_SIZED, 0, 0, 0) ? 6 : 5);
}

void record_coll_new(struct call_span s, uint64_t head, MPI_Comm comm, uint32_t root, uint64_t send_unit,
		     uint64_t recv_unit)
{
	const uint64_t key[KEY_WORDS] = {head, s.address, comm_bits(comm), root, send_unit, recv_unit};
	uint64_t w[5 + FRAMES_MAX];
	w[0] = head | sig_head(0, 0, s.failed, 0, 0, 0);
	w[1] = s.address;
	w[2] = sig_pair(comm_find(comm)->id, root);
	w[3] = send_unit;
	w[4] = recv_unit;
	span_end_new(&s, unless_failed(&s, key), w, 5);
}

/* Extra words follow those of a signature that is told literally. */
static void record_extra(struct stream *s, uint32_t sig, uint64_t enter, uint64_t exit, const uint64_t *words,
			 uint32_t n, const uint64_t *extra, uint32_t nextra)
{
	uint64_t both[WORDS_SHORT + FRAMES_MAX + EXTRA_MAX];
	if (n > WORDS_SHORT + FRAMES_MAX)
		n = nextra = 0; /* never so long: told coarsely */
	memcpy(both, words, n * sizeof(*words));
	memcpy(both + n, extra, nextra * sizeof(*extra));
	stream_record_slow(s, sig, enter, exit, both, n + nextra);
}

void span_end_extra(struct call_span *s, uint64_t *words, uint32_t n, const uint64_t *extra, uint32_t nextra)
{
	struct stream *stream = s->stream;
	bool literal = false;
	if (stack_frames != 0)
		n += put_frames(s, words, n);
	uint32_t sig = stream_sig(stream, words, n, &literal);
	stream->totals[sig].calls++;
	stream->totals[sig].ticks += s->exit - s->enter;
	record_extra(stream, sig, s->enter, s->exit, words, literal ? n : 0, extra, nextra);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stream->inside = 0;
}

void span_end_poll(struct call_span *s, uint64_t *words, uint32_t n)
{
	struct stream *stream = s->stream;
	struct pending_polls *polls = &stream->area->polls;
	bool literal = false;
	uint32_t sig = stream_sig(stream, words, n, &literal);
	stream->totals[sig].calls++;
	stream->totals[sig].ticks += s->exit - s->enter;
	if (literal) { /* equal numbers need not be equal calls: no run */
		uint64_t one[2] = {1, s->exit - s->enter};
		record_extra(stream, sig, s->enter, s->exit, words, n, one, 2);
		stream->inside = 0;
		return;
	}
	if (polls->busy && polls->sig != sig)
		stream_flush_polls(stream);
	if (!polls->busy) {
		*polls = (struct pending_polls){
			.sig = sig, .enter_tick = s->enter, .previous_exit_tick = stream->previous_exit};
		polls->busy = 1;
	}
	polls->calls++;
	polls->ticks += s->exit - s->enter;
	polls->exit_tick = s->exit;
	stream_set_limit(stream);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stream->inside = 0;
}

static uint64_t size_at(const struct sizes *sizes, uint32_t i)
{
	MPI_Datatype type = sizes->types != NULL ? sizes->types[i] : sizes->type;
	uint64_t count = sizes->wide ? (uint64_t)((const int64_t *)sizes->counts)[i]
				     : (uint64_t)(int64_t)((const int *)sizes->counts)[i];
	return count == 0 ? 0 : bytes_of(count, type);
}

uint64_t own_part(MPI_Comm comm, const struct sizes *sizes)
{
	int32_t rank = comm_find(comm)->rank;
	return rank >= 0 ? size_at(sizes, (uint32_t)rank) : 0;
}

#define LIST_REPEAT_MAX 0xffffu
#define LIST_WORDS_MAX 0xffffu

static uint32_t put_sizes(uint64_t *w, const struct sizes *sizes, uint32_t n)
{
	uint32_t used = 0;
	for (uint32_t i = 0; i < n && used < LIST_WORDS_MAX;) {
		uint64_t bytes = size_at(sizes, i) & ((1ull << 48) - 1);
		uint32_t repeat = 1;
		while (i + repeat < n && repeat < LIST_REPEAT_MAX && size_at(sizes, i + repeat) == bytes)
			repeat++;
		w[used++] = bytes | (uint64_t)repeat << 48;
		i += repeat;
	}
	return used;
}

void record_list(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
		 MPI_Comm comm, int root, uint64_t send_unit, uint64_t recv_unit, const struct sizes *sizes)
{
	const struct comm_entry *c = comm_find(comm);
	uint32_t peers = kind == COLL_NEIGHBOR_ALLGATHERV  ? comm_neighbors(comm)->in
			 : kind == COLL_NEIGHBOR_ALLTOALLV ? comm_neighbors(comm)->out
			 : c->remote_size > 0		   ? c->remote_size
							   : c->size;
	uint64_t small[5 + 16 + FRAMES_MAX], *w = small;
	uint32_t list = 0;

	if (sizes != NULL && peers > 16)
		w = stream_scratch(s->stream, SCRATCH_WORDS, 5 + peers + FRAMES_MAX);
	if (w == NULL) {
		record_time(s, op);
		return;
	}
	if (sizes != NULL)
		list = put_sizes(w + 5, sizes, peers);
	w[0] = sig_head((uint16_t)op, SIG_COLL, flags | s->failed, list, 0, kind);
	w[1] = s->address;
	w[2] = sig_pair(c->id, kind == COLL_GATHERV || kind == COLL_SCATTERV ? root_of(root) : (uint32_t)SIG_NO_ROOT);
	w[3] = send_unit;
	w[4] = recv_unit;
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, 0, request);
	span_end(s, w, 5 + list);
}

void record_comm_any(struct call_span *s, uint32_t op, MPI_Comm parent, MPI_Comm newcomm, int64_t salt)
{
	uint64_t w[3 + FRAMES_MAX];
	uint32_t parent_id = comm_find(parent)->id;
	w[0] = sig_head((uint16_t)op, SIG_COMM, s->failed, 0, 0, 0);
	w[1] = s->address;
	w[2] = sig_pair(parent_id, comm_created(op, parent, newcomm, salt));
	span_end(s, w, 3);
}

int64_t tag_salt(const char *stringtag)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */
	for (; *stringtag != '\0'; stringtag++)
		h = (h ^ (unsigned char)*stringtag) * 0x100000001b3ull;
	return (int64_t)(h >> 20) | 1ll << 41;
}
