/* record.h - from the arguments of a call to its signature. Wrappers (generated and by hand) are made of
 * span_begin, the call, span_stop and one record_* function. Inline is what programs call most: send, recv, collectives
 * and calls of which only the time is recorded. The other recorders: recorders.h. */
#pragma once

#include "format/mpic.h"
#include "pmpi/front.h"
#include "pmpi/op_names.h"
#include "pmpi/segfile.h"
#include "pmpi/comms.h"
#include "pmpi/objects.h"
#include "pmpi/requests.h"
#include "pmpi/tools.h"
#include "pmpi/types.h"

extern const struct wrapper wrappers[] HIDDEN;

struct call_span {
	struct stream *stream;
	uint64_t enter, exit;
	uint64_t address;
	unsigned failed; /* SIG_FAILED or 0 */
};

extern unsigned stack_frames HIDDEN;				   /* extra return addresses wanted per call */
extern uintptr_t mpi_code_begin[2] HIDDEN, mpi_code_len[2] HIDDEN; /* Fortran layers: call sites lie behind them */
extern uintptr_t mpi_hull_begin HIDDEN, mpi_hull_len HIDDEN;	   /* all of them, and what lies between */

/* Address of the program's call when `address` lies in MPI's Fortran layer; 0 when the layer asks something for
 * itself. `frame`: the wrapper's. */
uint64_t callsite_behind(struct stream *s, uint32_t op, uint64_t address, uint64_t frame) HIDDEN COLD;
/* The return addresses from that of a wrapper on, given its frame; how many. *ret_whole: there are no more, or max is
 * reached. */
uint32_t callsite_walk(struct stream *s, uint64_t frame, uint64_t *ret_addresses, uint32_t max,
		       bool *ret_whole) HIDDEN COLD;
/* A call has come while another is open: is it of that one's making? Not where that was left by longjmp or an
 * exception, which is counted, or on another stack. Where it cannot be told it is, and counted; so is one of the
 * program's that MPI has called. */
bool callsite_is_inside(struct stream *s, uint32_t op, uint64_t address, uint64_t frame) HIDDEN COLD;
/* Above the call at that address, from which the open call of the stream came. How many. */
uint32_t callsite_frames(struct stream *s, uint64_t *ret_frames, uint32_t max, uint64_t address) HIDDEN COLD;

/* Did a receive return an error because the message was longer than its room? */
bool was_truncated(int rc) HIDDEN COLD;

/* Does it begin no communication: `local` in mpi.tab? */
bool call_is_local(uint32_t op) HIDDEN COLD;

/* Count a call that gets no event. */
void count_call(uint32_t op) HIDDEN;

/* The stream of a thread that has none yet. A call outside of MPI_Init ... MPI_Finalize is only counted, and one of a
 * thread for which there is no room. */
struct stream *span_attach(void) HIDDEN COLD;
extern uint64_t calls_before_init HIDDEN;
extern bool forked HIDDEN; /* this process, from one in which MPI had begun */
extern bool again HIDDEN;  /* MPI was begun once more when all of it was finalised, as the record was */

/* False: not ours to record (tracing is off, or the MPI library calls itself). `frame` is the wrapper's frame: a
 * call made from inside another has a lower one. */
INLINE bool span_open(struct call_span *s, uint32_t op, void *address, void *frame)
{
	struct stream *stream = stream_mine;
	if (__builtin_expect(stream == NULL, false)) {
		stream = span_attach();
		if (stream == NULL)
			return false;
	}
	s->address = (uintptr_t)address;
	if (__builtin_expect(stream->open.inside != 0, false) &&
	    callsite_is_inside(stream, op, s->address, (uintptr_t)frame))
		return false;
	if (__builtin_expect(s->address - mpi_hull_begin < mpi_hull_len, false)) {
		s->address = callsite_behind(stream, op, s->address, (uintptr_t)frame);
		if (s->address == 0 || tools_own(stream, op, s->address, (uintptr_t)frame))
			return false;
	}
	stream->open.inside = (uintptr_t)frame;
	stream->open.sig = open_by_name(op, SIG_TIME, 0);
	s->stream = stream;
	return true;
}

/* The call begins: nothing of ours stands between this and it. */
INLINE void span_start(struct call_span *s)
{
	s->stream->open.enter_tick = s->enter = tick_now();
}

INLINE bool span_begin(struct call_span *s, uint32_t op, void *address, void *frame)
{
	if (!span_open(s, op, address, frame))
		return false;
	span_start(s);
	return true;
}

/* For the agent, should the call never return: what it waits for. kind: of a collective. */
INLINE void span_waits(const struct call_span *s, uint32_t op, enum sig_shape shape, unsigned kind, MPI_Comm comm,
		       int peer, int tag)
{
	struct open_words *w = stream_open_words(s->stream);
	s->stream->open.sig = open_by_name(op, shape, kind);
	w->address = s->address;
	w->comm = comm_bits(comm);
	w->peer = peer;
	w->tag = tag;
}

INLINE void span_waits_both(const struct call_span *s, uint32_t op, MPI_Comm comm, int dest, int sendtag, int source,
			    int recvtag)
{
	struct open_words *w = stream_open_words(s->stream);
	span_waits(s, op, SIG_SENDRECV, 0, comm, dest, sendtag);
	w->recv_peer = source;
	w->recv_tag = recvtag;
}

/* In a wrapper: who called it, and from which frame. */
#define SPAN_OPEN(span, op) span_open((span), (op), __builtin_return_address(0), WRAPPER_FRAME)
#define SPAN_BEGIN(span, op) span_begin((span), (op), __builtin_return_address(0), WRAPPER_FRAME)

/* The call has returned. False: in a child that was forked while it was open, and whose call it is not. */
__attribute__((warn_unused_result)) INLINE bool span_stop(struct call_span *s, int rc)
{
	s->exit = tick_now();
	s->failed = rc != MPI_SUCCESS ? SIG_FAILED : 0;
	return stream_is_ours();
}

/* Room for what callers may add behind n words. */
#define FRAMES_MAX 32

/* The call's signature is known: totals, then the record. */
INLINE void span_record(struct call_span *s, uint32_t sig)
{
	struct stream *stream = s->stream;
	struct segment_total *total = &stream->totals[sig];
	total->calls++;
	total->ticks += s->exit - s->enter;
	stream_record(stream, sig, s->enter, s->exit);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stream->open.inside = 0;
	if (stream_timed(stream, s->exit))
		stream_time(stream, s->exit);
}

/* Its words say whether the call started a request. */
INLINE void span_started(const struct call_span *s, const uint64_t *words, uint32_t sig)
{
	if ((words[0] & (uint64_t)SIG_STARTS_REQUEST << 24) != 0)
		stream_started(s->stream, sig);
}

/* True when a call with those words was recorded before: then this one is, too. */
INLINE bool span_end_known(struct call_span *s, const uint64_t *words, uint32_t n)
{
	uint32_t sig;
	uint64_t hash = sig_hash(words, n);
	if (!sig_at_home(s->stream, hash, &sig)) {
		s->stream->missed = hash;
		return false;
	}
	span_started(s, words, sig);
	span_record(s, sig);
	return true;
}

/* Look the signature up by its words, which span_end_known() does not know, and remember it. words has room for
 * FRAMES_MAX more. */
void span_end_new(struct call_span *s, uint64_t *words, uint32_t n) HIDDEN NOINLINE;
/* No other call has these words, as where communicators are made: a definition that nothing else uses would cost more
 * than words that go with the event. But a reader looks for such events first, so the first calls of a thread, which
 * are all of most programs, are defined like others. */
void span_end_once(struct call_span *s, uint64_t *words, uint32_t n) HIDDEN NOINLINE;
/* For those who have no words that the compiler knows the number of. */
void span_end(struct call_span *s, uint64_t *words, uint32_t n) HIDDEN;
/* n words, the second of which is the address. By value: wrappers keep theirs in registers. */
void span_end_words(struct call_span s, uint64_t head, uint64_t w2, uint64_t w3, uint64_t w4, uint64_t w5,
		    uint32_t n) HIDDEN NOINLINE;

/* The number of a signature; where it is new, the module of its call site becomes known, too. As stream_sig(). */
uint32_t record_sig(struct stream *s, const uint64_t *words, uint32_t n, bool *ret_literal) HIDDEN;

/* An unsuccessful test: a run of equal ones becomes one event. */
void span_end_poll(struct call_span *s, uint64_t *words, uint32_t n) HIDDEN;

/* With words that belong to this one event; at most EXTRA_MAX. */
#define EXTRA_MAX 2
void span_end_extra(struct call_span *s, uint64_t *words, uint32_t n, const uint64_t *extra, uint32_t nextra) HIDDEN;

INLINE uint32_t peer_of(int rank)
{
	if (__builtin_expect(rank >= 0, true))
		return (uint32_t)rank;
	return rank == MPI_PROC_NULL ? (uint32_t)SIG_PROC_NULL : (uint32_t)SIG_ANY;
}

INLINE uint32_t root_of(int root)
{
	if (root >= 0)
		return (uint32_t)root;
	return root == MPI_PROC_NULL ? (uint32_t)SIG_PROC_NULL
	       : root == MPI_ROOT    ? (uint32_t)SIG_ROOT
				     : (uint32_t)SIG_NO_ROOT;
}

INLINE uint32_t coll_root(enum sig_coll kind, int root)
{
	bool rooted = kind == COLL_BCAST || kind == COLL_REDUCE || kind == COLL_GATHER || kind == COLL_SCATTER;
	return rooted ? root_of(root) : (uint32_t)SIG_NO_ROOT;
}

INLINE unsigned wildcards(int source, int tag)
{
	return (source == MPI_ANY_SOURCE ? SIG_ANY_SOURCE : 0) | (tag == MPI_ANY_TAG ? SIG_ANY_TAG : 0);
}

/* Received bytes, straight from where this MPI keeps them (MPI_Get_elements would cost a call a message). The
 * standard's ABI leaves the place to each library, so there it is asked. */
INLINE uint64_t status_bytes(const MPI_Status *status)
{
#ifdef STANDARD_ABI
	MPI_Count bytes = 0;
	return pmpi.MPI_Get_count_c(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes > 0 ? (uint64_t)bytes : 0;
#elif defined(OPEN_MPI)
	return status->_ucount;
#else
	return (uint32_t)status->count_lo | (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32;
#endif
}

INLINE bool status_cancelled(const MPI_Status *status)
{
#ifdef STANDARD_ABI
	int flag = 0;
	pmpi.MPI_Test_cancelled(status, &flag);
	return flag != 0;
#elif defined(OPEN_MPI)
	return status->_cancelled != 0;
#else
	return (status->count_hi_and_cancelled & 1) != 0;
#endif
}

/* A request begins: it takes the next serial of its thread. */
INLINE void request_begin(struct call_span *s, unsigned flags, unsigned request_flags, MPI_Request *request)
{
	struct request r = {.serial = s->stream->next_serial,
			    .thread = s->stream->thread,
			    .flags = request_flags | ((flags & SIG_PERSISTENT) != 0 ? REQUEST_PERSISTENT : 0)};
	if (s->failed == 0)
		request_put(*request, r);
	s->stream->next_serial++;
}

INLINE struct last_handles *last_handles(struct stream *s, MPI_Comm comm, MPI_Datatype type)
{
	uint64_t hash = (comm_bits(comm) + type_bits(type)) * 0x9e3779b97f4a7c15ull;
	return (struct last_handles *)(void *)((char *)s->last + (hash >> 54 & (LAST_HANDLES - 1) * sizeof(*s->last)));
}

/* What the handles of a call stand for, and for fast_handles() of the next one with the same two. Of a type
 * without a number, bytes are counted. */
struct handle_ids {
	uint32_t comm, type;
	uint64_t type_size_bytes;
};

INLINE struct handle_ids handle_ids(struct stream *s, MPI_Comm comm, MPI_Datatype type, uint64_t *count)
{
	uint64_t epoch = __atomic_load_n(&handle_epoch, __ATOMIC_ACQUIRE); /* first: partner: the last store of put() */
	struct type_view t = type_find(type);
	struct handle_ids ids = {comm_id(comm), t.id, t.size_bytes};
	if (__builtin_expect(t.id == MPIC_NO_TYPE, false))
		*count *= t.size_bytes;
	else
		*last_handles(s, comm, type) = (struct last_handles){
			.epoch = epoch,
			.comm = comm_bits(comm),
			.type = type_bits(type),
			.comm_id = ids.comm,
			.type_id = (uint64_t)t.id << 32,
			.type_size_bytes = t.size_bytes,
		};
	return ids;
}

INLINE void record_time(struct call_span *s, uint32_t op)
{
	const uint64_t w[2] = {sig_head((uint16_t)op, SIG_TIME, s->failed, 0, 0, 0), s->address};
	if (__builtin_expect(!span_end_known(s, w, 2), false))
		span_end_words(*s, w[0], 0, 0, 0, 0, 2);
}

INLINE void record_send(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm, int dest,
			int tag, MPI_Datatype type, uint64_t count)
{
	struct handle_ids ids = handle_ids(s->stream, comm, type, &count);
	const uint64_t w[5] = {sig_head((uint16_t)op, SIG_SEND, flags | s->failed, 0, 0, 0), s->address,
			       sig_pair(ids.comm, peer_of(dest)), sig_pair((uint32_t)tag, ids.type), count};
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, 0, request);
	if (__builtin_expect(!span_end_known(s, w, 5), false))
		span_end_words(*s, w[0], w[2], w[3], w[4], 0, 5);
}

INLINE void record_recv(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm,
			int source, int tag, MPI_Datatype type, uint64_t count, const MPI_Status *status)
{
	bool any = source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG;
	uint64_t bytes = 0;
	if (__builtin_expect(any, false))
		flags |= wildcards(source, tag);
	if (status != NULL && source != MPI_PROC_NULL && (s->failed == 0 || any)) {
		if (any) {
			source = status->MPI_SOURCE;
			tag = status->MPI_TAG;
		}
		flags |= SIG_SIZED;
		bytes = status_bytes(status);
	}
	struct handle_ids ids = handle_ids(s->stream, comm, type, &count);
	/* The last word is part of the signature of a SIZED one only. */
	const uint64_t w[6] = {sig_head((uint16_t)op, SIG_RECV, flags | s->failed, 0, 0, 0),
			       s->address,
			       sig_pair(ids.comm, peer_of(source)),
			       sig_pair((uint32_t)tag, ids.type),
			       count,
			       bytes};
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, any ? REQUEST_WANTS_STATUS : 0, request);
	if ((flags & SIG_SIZED) == 0 && __builtin_expect(!span_end_known(s, w, 5), false))
		span_end_words(*s, w[0], w[2], w[3], w[4], 0, 5);
	if ((flags & SIG_SIZED) != 0 && __builtin_expect(!span_end_known(s, w, 6), false))
		span_end_words(*s, w[0], w[2], w[3], w[4], w[5], 6);
}

INLINE void record_coll_on(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
			   uint32_t comm, int root, uint64_t send_unit, uint64_t recv_unit)
{
	const uint64_t w[5] = {sig_head((uint16_t)op, SIG_COLL, flags | s->failed, 0, 0, kind), s->address,
			       sig_pair(comm, coll_root(kind, root)), send_unit, recv_unit};
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, 0, request);
	if (__builtin_expect(!span_end_known(s, w, 5), false))
		span_end_words(*s, w[0], w[2], w[3], w[4], 0, 5);
}

INLINE void record_coll(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
			MPI_Comm comm, int root, uint64_t send_unit, uint64_t recv_unit)
{
	record_coll_on(s, op, flags, request, kind, comm_id(comm), root, send_unit, recv_unit);
}

/* As many bytes both ways. */
INLINE void record_equal(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
			 MPI_Comm comm, int root, MPI_Datatype type, uint64_t count)
{
	struct handle_ids ids = handle_ids(s->stream, comm, type, &count);
	uint64_t bytes = ids.type == MPIC_NO_TYPE ? count : count * ids.type_size_bytes;
	record_coll_on(s, op, flags, request, kind, ids.comm, root, bytes, bytes);
}

/* ---- record.c ---- */

void record_sendrecv(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm, int dest,
		     int sendtag, MPI_Datatype sendtype, uint64_t sendcount, int source, int recvtag,
		     MPI_Datatype recvtype, uint64_t recvcount, const MPI_Status *status) HIDDEN;

bool message_take(MPI_Message message, MPI_Comm *ret_comm, int *ret_source, int *ret_tag) HIDDEN COLD;

/* flag, message: NULL where the call has none. */
void record_probe(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm, int source,
		  int tag, const int *flag, const MPI_Status *status, const MPI_Message *message) HIDDEN;
