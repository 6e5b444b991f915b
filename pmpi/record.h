/* record.h - from the arguments of a call to its signature. Wrappers (generated and by hand) are made of
 * span_begin, the call, span_stop and one record_* function. */
#pragma once

#include "format/mpic.h"
#include "pmpi/front.h"
#include "pmpi/op_names.h"
#include "pmpi/segfile.h"
#include "pmpi/tables.h"

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

/* Address of the user's call when `address` lies in MPI's Fortran layer; and further frames. */
uint64_t callsite_behind(uint64_t address, const void *frame) HIDDEN COLD;
uint32_t callsite_frames(uint64_t *ret_frames, uint32_t max, uint64_t address, uint64_t frame) HIDDEN COLD;

/* Count a call that gets no event. */
void count_call(uint32_t op) HIDDEN;

/* The stream of a thread that has none yet. A call outside of MPI_Init ... MPI_Finalize is only counted. */
struct stream *span_attach(void) HIDDEN COLD;
extern uint64_t calls_outside HIDDEN;

/* False: not ours to record (tracing is off, or the MPI library calls itself). `frame` is the wrapper's frame: a
 * call made from inside another has a lower one; a stale `inside` left by longjmp is thereby noticed. */
INLINE bool span_open(struct call_span *s, void *address, void *frame)
{
	struct stream *stream = stream_mine;
	if (__builtin_expect(stream == NULL, false)) {
		stream = span_attach();
		if (stream == NULL)
			return false;
	}
	if (__builtin_expect((uintptr_t)frame < stream->inside, false))
		return false;
	stream->inside = (uintptr_t)frame;
	s->stream = stream;
	s->address = (uintptr_t)address;
	if (__builtin_expect(s->address - mpi_hull_begin < mpi_hull_len, false))
		s->address = callsite_behind(s->address, frame);
	return true;
}

/* The call begins: nothing of ours stands between this and it. */
INLINE void span_start(struct call_span *s)
{
	s->enter = tick_now();
}

INLINE bool span_begin(struct call_span *s, void *address, void *frame)
{
	if (!span_open(s, address, frame))
		return false;
	span_start(s);
	return true;
}

INLINE void span_stop(struct call_span *s, int rc)
{
	s->exit = tick_now();
	s->failed = rc != MPI_SUCCESS ? SIG_FAILED : 0;
}

/* Room for what callers may add behind n words. */
#define FRAMES_MAX 32

/* The call's signature is known: totals, then the record. */
INLINE void span_told(struct call_span *s, uint32_t sig)
{
	struct stream *stream = s->stream;
	struct segment_total *total = &stream->totals[sig];
	total->calls++;
	total->ticks += s->exit - s->enter;
	stream_record(stream, sig, s->enter, s->exit);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	stream->inside = 0;
}

/* True when a call with that key was made before: then it is told. */
INLINE bool span_end_known(struct call_span *s, const uint64_t key[KEY_WORDS])
{
	const struct known_call *k = known_place(s->stream, key);
	if (!is_known(k, key))
		return false;
	span_told(s, k->sig);
	return true;
}

/* Look the signature up by its words, and remember it for the key; NULL = never. words has room for FRAMES_MAX more. */
void span_end_new(struct call_span *s, const uint64_t *key, uint64_t *words, uint32_t n) HIDDEN;
/* The words are the key where they are few. */
void span_end(struct call_span *s, uint64_t *words, uint32_t n) HIDDEN;

/* Calls that were not made like this before, and failed ones. Spans go by value: wrappers keep theirs in registers. */
void record_time_new(struct call_span s, uint32_t op) HIDDEN COLD;
void record_message_new(struct call_span s, uint64_t head, MPI_Comm comm, int peer, int tag, MPI_Datatype type,
			uint64_t count, uint64_t bytes) HIDDEN COLD;
void record_coll_new(struct call_span s, uint64_t head, MPI_Comm comm, uint32_t root, uint64_t send_unit,
		     uint64_t recv_unit) HIDDEN COLD;

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

INLINE unsigned wildcards(int source, int tag)
{
	return (source == MPI_ANY_SOURCE ? SIG_ANY_SOURCE : 0) | (tag == MPI_ANY_TAG ? SIG_ANY_TAG : 0);
}

/* Received bytes, straight from where this MPI keeps them (MPI_Get_elements would cost a call a message). */
INLINE uint64_t status_bytes(const MPI_Status *status)
{
#ifdef OPEN_MPI
	return status->_ucount;
#else
	return (uint32_t)status->count_lo | (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32;
#endif
}

INLINE bool status_cancelled(const MPI_Status *status)
{
#ifdef OPEN_MPI
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

INLINE void record_time(struct call_span *s, uint32_t op)
{
	const uint64_t key[KEY_WORDS] = {sig_head((uint16_t)op, SIG_TIME, 0, 0, 0, 0), s->address};
	if (__builtin_expect(s->failed || !span_end_known(s, key), false))
		record_time_new(*s, op);
}

INLINE uint64_t type_bits(MPI_Datatype type)
{
	return (uint64_t)(uintptr_t)type;
}

INLINE uint64_t comm_bits(MPI_Comm comm)
{
	return (uint64_t)(uintptr_t)comm;
}

INLINE void record_send(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm, int dest,
			int tag, MPI_Datatype type, uint64_t count)
{
	uint64_t head = sig_head((uint16_t)op, SIG_SEND, flags, 0, 0, 0);
	const uint64_t key[KEY_WORDS] = {
		head, s->address, comm_bits(comm), sig_pair((uint32_t)dest, (uint32_t)tag), type_bits(type), count};
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, 0, request);
	if (__builtin_expect(s->failed || !span_end_known(s, key), false))
		record_message_new(*s, head, comm, dest, tag, type, count, 0);
}

INLINE void record_recv(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm,
			int source, int tag, MPI_Datatype type, uint64_t count, const MPI_Status *status)
{
	bool any = source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG;
	uint64_t bytes = 0;
	if (__builtin_expect(any, false))
		flags |= wildcards(source, tag);
	if (status != NULL && source != MPI_PROC_NULL && s->failed == 0) {
		if (any) {
			source = status->MPI_SOURCE;
			tag = status->MPI_TAG;
		}
		flags |= SIG_SIZED;
		bytes = status_bytes(status);
	}
	uint64_t head = sig_head((uint16_t)op, SIG_RECV, flags, 0, 0, 0);
	const uint64_t key[KEY_WORDS] = {
		head,  s->address, comm_bits(comm), sig_pair((uint32_t)source, (uint32_t)tag), type_bits(type),
		count, bytes};
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, any ? REQUEST_WANTS_STATUS : 0, request);
	if (__builtin_expect(s->failed || !span_end_known(s, key), false))
		record_message_new(*s, head, comm, source, tag, type, count, bytes);
}

INLINE void record_sendrecv(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm,
			    int dest, int sendtag, MPI_Datatype sendtype, uint64_t sendcount, int source, int recvtag,
			    MPI_Datatype recvtype, uint64_t recvcount, const MPI_Status *status)
{
	uint64_t w[9 + FRAMES_MAX];
	uint32_t n = 8, id = comm_find(comm)->id;
	unsigned wild = wildcards(source, recvtag);
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, wild != 0 ? REQUEST_WANTS_STATUS : 0, request);
	if (status != NULL && source != MPI_PROC_NULL && s->failed == 0) {
		source = status->MPI_SOURCE;
		recvtag = status->MPI_TAG;
		wild |= SIG_SIZED;
		w[8] = status_bytes(status);
		n = 9;
	}
	w[0] = sig_head((uint16_t)op, SIG_SENDRECV, flags | wild | s->failed, 0, 0, 0);
	w[1] = s->address;
	w[2] = sig_pair(id, peer_of(dest));
	w[3] = sig_pair((uint32_t)sendtag, type_find(sendtype).id);
	w[4] = sendcount;
	w[5] = sig_pair(id, peer_of(source));
	w[6] = sig_pair((uint32_t)recvtag, type_find(recvtype).id);
	w[7] = recvcount;
	span_end(s, w, n);
}

/* A matched message waits for its Mrecv under its handle. */
void message_put(MPI_Message message, MPI_Comm comm, int source, int tag) HIDDEN COLD;
bool message_take(MPI_Message message, MPI_Comm *ret_comm, int *ret_source, int *ret_tag) HIDDEN COLD;

INLINE void record_probe(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, MPI_Comm comm,
			 int source, int tag, const int *flag, const MPI_Status *status, const MPI_Message *message)
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
	w[2] = sig_pair(comm_find(comm)->id, peer_of(source));
	w[3] = sig_pair((uint32_t)tag, 0);
	if (found)
		span_end(s, w, 5);
	else
		span_end_poll(s, w, 5);
}

INLINE void record_coll(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
			MPI_Comm comm, int root, uint64_t send_unit, uint64_t recv_unit)
{
	bool rooted = kind == COLL_BCAST || kind == COLL_REDUCE || kind == COLL_GATHER || kind == COLL_SCATTER;
	uint32_t root_told = rooted ? root_of(root) : (uint32_t)SIG_NO_ROOT;
	uint64_t head = sig_head((uint16_t)op, SIG_COLL, flags, 0, 0, kind);
	const uint64_t key[KEY_WORDS] = {head, s->address, comm_bits(comm), root_told, send_unit, recv_unit};
	if (flags & SIG_STARTS_REQUEST)
		request_begin(s, flags, 0, request);
	if (__builtin_expect(s->failed || !span_end_known(s, key), false))
		record_coll_new(*s, head, comm, root_told, send_unit, recv_unit);
}

/* Am I the root, as arguments are significant only there? For inter-communicators the root says MPI_ROOT. */
INLINE bool is_root(const struct comm_entry *c, int root)
{
	return c->remote_size > 0 ? root == MPI_ROOT : root == c->rank;
}

INLINE void record_gather(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
			  MPI_Comm comm, int root, const void *sendbuf, uint64_t sendcount, MPI_Datatype sendtype,
			  uint64_t recvcount, MPI_Datatype recvtype)
{
	const struct comm_entry *c = comm_find(comm);
	bool root_here = is_root(c, root);
	bool sends = sendbuf != MPI_IN_PLACE && (c->remote_size == 0 || root >= 0);
	record_coll(s, op, flags, request, kind, comm, root, sends ? bytes_of(sendcount, sendtype) : 0,
		    root_here ? bytes_of(recvcount, recvtype) : 0);
}

INLINE void record_scatter(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
			   MPI_Comm comm, int root, const void *recvbuf, uint64_t sendcount, MPI_Datatype sendtype,
			   uint64_t recvcount, MPI_Datatype recvtype)
{
	const struct comm_entry *c = comm_find(comm);
	bool root_here = is_root(c, root);
	bool receives = recvbuf != MPI_IN_PLACE && (c->remote_size == 0 || root >= 0);
	record_coll(s, op, flags, request, kind, comm, root, root_here ? bytes_of(sendcount, sendtype) : 0,
		    receives ? bytes_of(recvcount, recvtype) : 0);
}

INLINE void record_alltoall(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
			    MPI_Comm comm, const void *sendbuf, uint64_t sendcount, MPI_Datatype sendtype,
			    uint64_t recvcount, MPI_Datatype recvtype)
{
	uint64_t in = bytes_of(recvcount, recvtype);
	record_coll(s, op, flags, request, kind, comm, SIG_NO_ROOT,
		    sendbuf == MPI_IN_PLACE ? in : bytes_of(sendcount, sendtype), in);
}

/* ---- sizes per peer: record.c ---- */

/* Counts of either width, of one type or one each. */
struct sizes {
	const void *counts;
	bool wide; /* MPI_Count instead of int */
	MPI_Datatype type;
	const MPI_Datatype *types; /* one each, or NULL */
};

#define SIZES(counts_, type_) (&(struct sizes){(counts_), sizeof(*(counts_)) == 8, (type_), NULL})
#define SIZES_W(counts_, types_) (&(struct sizes){(counts_), sizeof(*(counts_)) == 8, MPI_DATATYPE_NULL, (types_)})

/* Bytes of my part where one's own lies in the receive buffer (MPI_IN_PLACE). */
uint64_t own_part(MPI_Comm comm, const struct sizes *sizes) HIDDEN;

/* kind decides what the list means (sig.h); sizes is NULL where it is not significant. */
void record_list(struct call_span *s, uint32_t op, unsigned flags, MPI_Request *request, enum sig_coll kind,
		 MPI_Comm comm, int root, uint64_t send_unit, uint64_t recv_unit, const struct sizes *sizes) HIDDEN;

#define record_reduce_scatter(s, op, flags, request, comm, recvcounts, type) \
	record_list(s, op, flags, request, COLL_REDUCE_SCATTER, comm, SIG_NO_ROOT, 0, 0, SIZES(recvcounts, type))
#define record_gatherv(s, op, flags, request, comm, root, sendbuf, sendcount, sendtype, recvcounts, recvtype) \
	record_list(s, op, flags, request, COLL_GATHERV, comm, root, \
		    (sendbuf) != MPI_IN_PLACE && (comm_find(comm)->remote_size == 0 || (root) >= 0) \
			    ? bytes_of((uint64_t)(sendcount), sendtype) \
			    : 0, \
		    0, is_root(comm_find(comm), root) ? SIZES(recvcounts, recvtype) : NULL)
#define record_scatterv(s, op, flags, request, comm, root, recvbuf, sendcounts, sendtype, recvcount, recvtype) \
	record_list(s, op, flags, request, COLL_SCATTERV, comm, root, 0, \
		    (recvbuf) != MPI_IN_PLACE && (comm_find(comm)->remote_size == 0 || (root) >= 0) \
			    ? bytes_of((uint64_t)(recvcount), recvtype) \
			    : 0, \
		    is_root(comm_find(comm), root) ? SIZES(sendcounts, sendtype) : NULL)
#define record_allgatherv(s, op, flags, request, comm, sendbuf, sendcount, sendtype, recvcounts, recvtype) \
	record_list(s, op, flags, request, COLL_ALLGATHERV, comm, SIG_NO_ROOT, \
		    (sendbuf) == MPI_IN_PLACE ? own_part(comm, SIZES(recvcounts, recvtype)) \
					      : bytes_of((uint64_t)(sendcount), sendtype), \
		    0, SIZES(recvcounts, recvtype))
#define record_alltoallv(s, op, flags, request, comm, sendbuf, sendcounts, sendtype, recvcounts, recvtype) \
	record_list(s, op, flags, request, COLL_ALLTOALLV, comm, SIG_NO_ROOT, 0, 0, \
		    (sendbuf) == MPI_IN_PLACE ? SIZES(recvcounts, recvtype) : SIZES(sendcounts, sendtype))
#define record_alltoallw(s, op, flags, request, comm, sendbuf, sendcounts, sendtypes, recvcounts, recvtypes) \
	record_list(s, op, flags, request, COLL_ALLTOALLV, comm, SIG_NO_ROOT, 0, 0, \
		    (sendbuf) == MPI_IN_PLACE ? SIZES_W(recvcounts, recvtypes) : SIZES_W(sendcounts, sendtypes))

#define record_neighbor(s, op, flags, request, comm, to_each, from_each) \
	record_coll(s, op, flags, request, (comm_neighbors(comm), COLL_NEIGHBOR), comm, SIG_NO_ROOT, to_each, from_each)
#define record_neighbor_allgatherv(s, op, flags, request, comm, sendcount, sendtype, recvcounts, recvtype) \
	record_list(s, op, flags, request, COLL_NEIGHBOR_ALLGATHERV, comm, SIG_NO_ROOT, \
		    bytes_of((uint64_t)(sendcount), sendtype), 0, SIZES(recvcounts, recvtype))
#define record_neighbor_alltoallv(s, op, flags, request, comm, sendcounts, sendtype) \
	record_list(s, op, flags, request, COLL_NEIGHBOR_ALLTOALLV, comm, SIG_NO_ROOT, 0, 0, \
		    SIZES(sendcounts, sendtype))
#define record_neighbor_alltoallw(s, op, flags, request, comm, sendcounts, sendtypes) \
	record_list(s, op, flags, request, COLL_NEIGHBOR_ALLTOALLV, comm, SIG_NO_ROOT, 0, 0, \
		    SIZES_W(sendcounts, sendtypes))

/* ---- communicators: record.c ---- */

void record_comm_any(struct call_span *s, uint32_t op, MPI_Comm parent, MPI_Comm newcomm, int64_t salt) HIDDEN;

#define record_comm(s, op, flags, request, parent, newcomm) \
	record_comm_any(s, op, parent, (s)->failed ? MPI_COMM_NULL : *(newcomm), -1)
#define record_comm_group(s, op, flags, request, parent, tag, newcomm) \
	record_comm_any(s, op, parent, (s)->failed ? MPI_COMM_NULL : *(newcomm), (int64_t)(tag))
#define record_intercomm(s, op, flags, request, parent, tag, newcomm) \
	record_comm_any(s, op, parent, (s)->failed ? MPI_COMM_NULL : *(newcomm), (int64_t)(tag) | 1ll << 40)

/* Two groups meet by a port or a socket: each knows only its own side's communicator, so members tell. */
#define record_meeting(s, op, flags, request, parent, newcomm) \
	record_comm_any(s, op, parent, (s)->failed ? MPI_COMM_NULL : *(newcomm), 1ll << 42)

/* No parent: members and the string tell communicators apart. */
#define record_comm_tagged(s, op, flags, request, stringtag, newcomm) \
	record_comm_any(s, op, MPI_COMM_NULL, (s)->failed ? MPI_COMM_NULL : *(newcomm), tag_salt(stringtag))
int64_t tag_salt(const char *stringtag) HIDDEN COLD;

#include "pmpi/record_io.h"
#include "pmpi/record_partitioned.h"
#include "pmpi/record_rma.h"
