/* fast.h - calls that were made before with the same arguments. What they are follows from the arguments alone, so the
 * signature is known before the call, and next to nothing is kept across it. Any other call goes the long way of
 * record.h from its start: fast_*() say false before anything has changed. Words are those of the same recorder. */
#pragma once

#include "pmpi/record.h"

struct fast {
	struct stream *stream;
	uint64_t address;
	uint64_t enter;
	uint32_t sig;
};

/* False: not ours to record, the first call of a thread, or out of MPI's Fortran layer. */
INLINE bool fast_open(struct fast *q, void *address)
{
	q->stream = stream_mine;
	q->address = (uintptr_t)address;
	return __builtin_expect(
		q->stream != NULL && q->stream->open.inside == 0 && q->address - mpi_hull_begin >= mpi_hull_len, true);
}

INLINE void fast_start(struct fast *q, void *frame)
{
	q->stream->open.inside = (uintptr_t)frame;
	q->stream->open.sig = q->sig;
	q->stream->open.enter_tick = q->enter = tick_now();
}

/* In a wrapper. Frame and address are there to be read again: they need not be kept across the call. */
#define FAST_OPEN(fast) fast_open((fast), __builtin_return_address(0))
#define FAST_START(fast) fast_start((fast), WRAPPER_FRAME)
#define FAST_FAILED(fast, op, exit) \
	fast_failed((fast)->stream, (op), (fast)->enter, (exit), __builtin_return_address(0))

INLINE void fast_end(struct fast *q, uint64_t exit)
{
	struct call_span s = {.stream = q->stream, .enter = q->enter, .exit = exit};
	span_record(&s, q->sig);
}

/* The call returned an error: only its time is recorded. */
void fast_failed(struct stream *stream, uint32_t op, uint64_t enter, uint64_t exit, void *address) HIDDEN COLD;

/* What both handles stand for; NULL when that must be looked up. */
INLINE const struct last_handles *fast_handles(struct stream *s, MPI_Comm comm, MPI_Datatype type)
{
	const struct last_handles *last = last_handles(s, comm, type);
	uint64_t epoch = __atomic_load_n(&handle_epoch, __ATOMIC_ACQUIRE); /* partner: the last store of put() */
	bool same = last->comm == comm_bits(comm) && last->type == type_bits(type) && last->epoch == epoch;
	return __builtin_expect(same, true) ? last : NULL;
}

INLINE bool fast_known(struct fast *q, const uint64_t *words, uint32_t n)
{
	return sig_at_home(q->stream, sig_hash(words, n), &q->sig);
}

INLINE bool fast_send(struct fast *q, uint32_t op, unsigned flags, MPI_Comm comm, int dest, int tag, MPI_Datatype type,
		      uint64_t count)
{
	const struct last_handles *last = fast_handles(q->stream, comm, type);
	if (last == NULL)
		return false;
	const uint64_t w[5] = {sig_head((uint16_t)op, SIG_SEND, flags, 0, 0, 0), q->address,
			       last->comm_id | sig_pair(0, peer_of(dest)), last->type_id | (uint32_t)tag, count};
	return fast_known(q, w, 5);
}

/* From one that is named. */
INLINE bool fast_recv(struct fast *q, uint32_t op, unsigned flags, MPI_Comm comm, int source, int tag,
		      MPI_Datatype type, uint64_t count)
{
	const struct last_handles *last = fast_handles(q->stream, comm, type);
	if (__builtin_expect((source | tag) < 0, false) || last == NULL)
		return false;
	const uint64_t w[5] = {sig_head((uint16_t)op, SIG_RECV, flags, 0, 0, 0), q->address,
			       last->comm_id | sig_pair(0, (uint32_t)source), last->type_id | (uint32_t)tag, count};
	return fast_known(q, w, 5);
}

INLINE bool fast_equal(struct fast *q, uint32_t op, unsigned flags, enum sig_coll kind, MPI_Comm comm, int root,
		       MPI_Datatype type, uint64_t count)
{
	const struct last_handles *last = fast_handles(q->stream, comm, type);
	if (last == NULL)
		return false;
	uint64_t bytes = count * last->type_size_bytes;
	const uint64_t w[5] = {sig_head((uint16_t)op, SIG_COLL, flags, 0, 0, kind), q->address,
			       last->comm_id | sig_pair(0, coll_root(kind, root)), bytes, bytes};
	return fast_known(q, w, 5);
}

/* The request that the call began. */
INLINE void fast_request(struct fast *q, unsigned flags, MPI_Request *request)
{
	struct stream *s = q->stream;
	if (flags & SIG_PERSISTENT)
		request_put_slow(*request, (struct request){s->next_serial, s->thread, REQUEST_PERSISTENT});
	else
		request_put_plain(*request, s->thread, s->next_serial);
	s->next_serial++;
	stream_started(s, q->sig);
}
