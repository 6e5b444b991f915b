/* record.c - the less frequent recorders of record.h. */
#include "pmpi/record.h"

#include "pmpi/beginning.h"
#include "pmpi/modules.h"
#include "pmpi/fast.h"

#include <string.h>

const char *const op_names[OP_COUNT] = {OP_NAMES};

#define MESSAGES_MAX 1024u
#define ONCE_DEFINED_MAX 256u
#define WORDS_SHORT 16u /* of signatures whose events carry words of their own, without frames */

static struct message {
	MPI_Message handle;
	MPI_Comm comm;
	int source, tag;
	bool busy;
} messages[MESSAGES_MAX];

uint64_t calls_before_init;

bool was_truncated(int rc)
{
	int class = MPI_SUCCESS;
	return pmpi.MPI_Error_class(rc, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
}

struct stream *span_attach(void)
{
	/* Partner: the release store in process_begin(). */
	bool on = __atomic_load_n(&stream_on, __ATOMIC_ACQUIRE) && !again && !beginning_shuts_out();
	struct stream *s = on ? stream_attach() : NULL;
	if (s == NULL && forked)
		atomic_fetch_add_explicit(segfile_calls_forked, 1, memory_order_relaxed);
	else if (s == NULL && again)
		atomic_fetch_add_explicit(&segfile->calls_again, 1, memory_order_relaxed);
	else if (s == NULL && on && stream_on)
		atomic_fetch_add_explicit(&segfile->calls_outside, 1, memory_order_relaxed);
	else if (s == NULL)
		__atomic_fetch_add(&calls_before_init, 1, __ATOMIC_RELAXED); /* or after MPI_Finalize */
	return s;
}

static const bool local_calls[OP_COUNT] = {OP_LOCAL};

bool call_is_local(uint32_t op)
{
	return local_calls[op];
}

static void message_put(MPI_Message handle, MPI_Comm comm, int source, int tag)
{
	bool kept = false;
	tables_lock();
	for (uint32_t i = 0; i < MESSAGES_MAX && !kept; i++)
		if (!messages[i].busy) {
			messages[i] = (struct message){handle, comm, source, tag, true};
			kept = true;
		}
	tables_unlock();
	if (!kept)
		stream_no_room();
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

/* Behind n words. Returns the hash. */
COLD static uint64_t put_frames(const struct call_span *s, uint64_t *words, uint32_t *n)
{
	uint32_t frames = callsite_frames(s->stream, words + *n, stack_frames, s->address);
	words[0] |= (uint64_t)frames << 48;
	*n += frames;
	/* Not the one that is asked for before frames are known: they may be, the next time, where there were none. */
	return ~sig_hash(words, *n);
}

static uint64_t whole_hash(const struct call_span *s, uint64_t *words, uint32_t *n)
{
	return stack_frames != 0 ? put_frames(s, words, n) : sig_hash(words, *n);
}

static uint32_t hashed_sig(struct stream *s, const uint64_t *words, uint32_t n, uint64_t hash, bool *ret_literal)
{
	uint32_t before = s->nsigs;
	uint32_t sig = stream_sig(s, words, n, hash, ret_literal);
	if (__builtin_expect(s->nsigs != before, false))
		modules_note(words[1]);
	return sig;
}

uint32_t record_sig(struct stream *s, const uint64_t *words, uint32_t n, bool *ret_literal)
{
	return hashed_sig(s, words, n, sig_hash(words, n), ret_literal);
}

void count_call(uint32_t op)
{
	struct stream *s = stream_mine;
	uintptr_t frame = (uintptr_t)WRAPPER_FRAME, address = (uintptr_t)__builtin_return_address(0);
	if (s != NULL && (s->open.inside == 0 || !callsite_is_inside(s, op, address, frame)))
		s->totals[stream_counted(s, op)].calls++;
}

INLINE void record_literal(struct call_span *s, uint32_t sig, const uint64_t *words, uint32_t n)
{
	struct stream *stream = s->stream;
	stream->totals[sig].calls++;
	stream->totals[sig].ticks += s->exit - s->enter;
	stream_record_words(stream, sig, s->enter, s->exit, words, n);
	stream->open.inside = 0;
}

/* As if its words had not been asked for before. */
NOINLINE static void end_new(struct call_span *s, uint64_t *words, uint32_t n, uint64_t hash)
{
	struct stream *stream = s->stream;
	uint32_t before = stream->nsigs;
	bool literal = false;
	uint32_t sig = hashed_sig(stream, words, n, hash, &literal);
	span_started(s, words, sig);
	if (!literal)
		span_record(s, sig);
	else
		record_literal(s, sig, words, n);
	if (stream->nsigs != before || literal || stack_frames != 0) /* else a probe or two more than usual */
		stream_slow(stream, s->exit);
}

void span_end_once(struct call_span *s, uint64_t *words, uint32_t n)
{
	struct stream *stream = s->stream;
	uint32_t before = stream->nsigs;
	uint64_t hash = whole_hash(s, words, &n);
	if (stream->nonce < ONCE_DEFINED_MAX) {
		stream->nonce++;
		end_new(s, words, n, hash);
		return;
	}
	uint32_t sig = stream_coarse(stream, words);
	if (stream->nsigs != before)
		modules_note(words[1]);
	record_literal(s, sig, words, n);
	stream_slow(stream, s->exit);
}

void span_end_new(struct call_span *s, uint64_t *words, uint32_t n)
{
	uint64_t hash = stack_frames != 0 ? put_frames(s, words, &n) : s->stream->missed;
	end_new(s, words, n, hash);
}

void span_end(struct call_span *s, uint64_t *words, uint32_t n)
{
	if (!span_end_known(s, words, n))
		span_end_new(s, words, n);
}

void span_end_words(struct call_span s, uint64_t head, uint64_t w2, uint64_t w3, uint64_t w4, uint64_t w5, uint32_t n)
{
	uint64_t w[6 + FRAMES_MAX];
	w[0] = head;
	w[1] = s.address;
	w[2] = w2;
	w[3] = w3;
	w[4] = w4;
	w[5] = w5;
	span_end_new(&s, w, n);
}

void fast_failed(struct stream *stream, uint32_t op, uint64_t enter, uint64_t exit, void *address)
{
	struct call_span s = {stream, enter, exit, (uintptr_t)address, SIG_FAILED};
	record_time(&s, op);
}

/* Extra words follow those of a signature that is recorded literally. */
static void record_extra(struct stream *s, uint32_t sig, uint64_t enter, uint64_t exit, const uint64_t *words,
			 uint32_t n, const uint64_t *extra, uint32_t nextra)
{
	uint64_t both[WORDS_SHORT + FRAMES_MAX + EXTRA_MAX];
	if (n > WORDS_SHORT + FRAMES_MAX)
		n = nextra = 0; /* never so long: recorded coarsely */
	memcpy(both, words, n * sizeof(*words));
	memcpy(both + n, extra, nextra * sizeof(*extra));
	stream_record_slow(s, sig, enter, exit, both, n + nextra);
}

void span_end_extra(struct call_span *s, uint64_t *words, uint32_t n, const uint64_t *extra, uint32_t nextra)
{
	struct stream *stream = s->stream;
	bool literal = false;
	uint64_t hash = whole_hash(s, words, &n);
	uint32_t sig = hashed_sig(stream, words, n, hash, &literal);
	stream->totals[sig].calls++;
	stream->totals[sig].ticks += s->exit - s->enter;
	record_extra(stream, sig, s->enter, s->exit, words, literal ? n : 0, extra, nextra);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stream->open.inside = 0;
}

void span_end_poll(struct call_span *s, uint64_t *words, uint32_t n)
{
	struct stream *stream = s->stream;
	struct pending_polls *polls = &stream->area->polls;
	bool literal = false;
	uint32_t sig = record_sig(stream, words, n, &literal);
	stream->totals[sig].calls++;
	stream->totals[sig].ticks += s->exit - s->enter;
	if (literal) { /* equal numbers need not be equal calls: no run */
		uint64_t one[2] = {1, s->exit - s->enter};
		record_extra(stream, sig, s->enter, s->exit, words, n, one, 2);
		stream->open.inside = 0;
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
	stream->open.inside = 0;
}

void record_sendrecv(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm, int dest,
		     int sendtag, MPI_Datatype sendtype, uint64_t sendcount, int source, int recvtag,
		     MPI_Datatype recvtype, uint64_t recvcount, const MPI_Status *status)
{
	uint64_t w[9 + FRAMES_MAX];
	uint32_t n = 8, id = comm_id(comm);
	unsigned wild = wildcards(source, recvtag);
	struct type_view sent = type_find(sendtype), received = type_find(recvtype);
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, wild != 0 ? REQUEST_WANTS_STATUS | REQUEST_MAY_BE_FALSE : 0, request);
	if (status != NULL && source != MPI_PROC_NULL && (s->failed == 0 || wild != 0)) {
		source = status->MPI_SOURCE;
		recvtag = status->MPI_TAG;
		wild |= SIG_SIZED;
		w[8] = status_bytes(status);
		n = 9;
	}
	w[0] = sig_head((uint16_t)op, SIG_SENDRECV, flags | wild | s->failed, 0, 0, 0);
	w[1] = s->address;
	w[2] = sig_pair(id, peer_of(dest));
	w[3] = sig_pair((uint32_t)sendtag, sent.id);
	w[4] = count_of(sent, sendcount);
	w[5] = sig_pair(id, peer_of(source));
	w[6] = sig_pair((uint32_t)recvtag, received.id);
	w[7] = count_of(received, recvcount);
	/* Numbers of words that the compiler knows. */
	if (__builtin_expect(n == 9 ? !span_end_known(s, w, 9) : !span_end_known(s, w, 8), false))
		span_end_new(s, w, n);
}

void record_probe(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm, int source,
		  int tag, const int *flag, const MPI_Status *status, const MPI_Message *message)
{
	uint64_t w[5 + FRAMES_MAX];
	bool found = s->failed == 0 && (flag == NULL || *flag != 0);
	unsigned wild = wildcards(source, tag);
	(void)request;
	w[4] = 0;
	if (found && source != MPI_PROC_NULL) {
		source = status->MPI_SOURCE;
		tag = status->MPI_TAG;
		wild |= SIG_SIZED;
		w[4] = status_bytes(status);
		if (message != NULL)
			message_put(*message, comm, source, tag);
	}
	w[0] = sig_head((uint16_t)op, SIG_PROBE, flags | wild | s->failed | (found ? 0 : SIG_POLLS), 0, 0, 0);
	w[1] = s->address;
	w[2] = sig_pair(comm_id(comm), peer_of(source));
	w[3] = sig_pair((uint32_t)tag, 0);
	if (found)
		span_end(s, w, 5);
	else
		span_end_poll(s, w, 5);
}
