/* quick.h - calls that were made before with the same arguments. What they are follows from the arguments alone, so the
 * signature is known before the call, and next to nothing is kept across it. Any other call goes the long way of
 * record.h from its start: quick_*() say false before anything has changed. Words are those of the same recorder. */
#pragma once

#include "pmpi/record.h"

struct quick {
	struct stream *stream;
	uint64_t address;
	uint64_t enter;
	uint32_t sig;
};

/* False: not ours to record, the first call of a thread, or out of MPI's Fortran layer. */
INLINE bool quick_open(struct quick *q, void *address, void *frame)
{
	q->stream = stream_mine;
	q->address = (uintptr_t)address;
	return __builtin_expect(q->stream != NULL && (uintptr_t)frame >= q->stream->open.inside &&
					q->address - mpi_hull_begin >= mpi_hull_len,
				true);
}

INLINE void quick_start(struct quick *q, void *frame)
{
	q->stream->open.inside = (uintptr_t)frame;
	q->stream->open.sig = q->sig;
	q->stream->open.enter_tick = q->enter = tick_now();
}

/* In a wrapper. Frame and address are there to be read again: they need not be kept across the call. */
#define QUICK_OPEN(quick) quick_open((quick), __builtin_return_address(0), __builtin_frame_address(0))
#define QUICK_START(quick) quick_start((quick), __builtin_frame_address(0))
#define QUICK_FAILED(quick, op, exit) \
	quick_failed((quick)->stream, (op), (quick)->enter, (exit), __builtin_return_address(0))

INLINE void quick_end(struct quick *q, uint64_t exit)
{
	struct call_span s = {.stream = q->stream, .enter = q->enter, .exit = exit};
	span_record(&s, q->sig);
}

/* The call returned an error: only its time is recorded. */
void quick_failed(struct stream *stream, uint32_t op, uint64_t enter, uint64_t exit, void *address) HIDDEN COLD;

/* What both handles stand for; NULL when that must be looked up. */
INLINE const struct last_handles *quick_handles(struct stream *s, MPI_Comm comm, MPI_Datatype type)
{
	const struct last_handles *last = last_handles(s, comm, type);
	uint64_t epoch = __atomic_load_n(&handle_epoch, __ATOMIC_ACQUIRE); /* partner: the last store of put() */
	bool same = last->comm == comm_bits(comm) && last->type == type_bits(type) && last->epoch == epoch;
	return __builtin_expect(same, true) ? last : NULL;
}

INLINE bool quick_known(struct quick *q, const uint64_t *words, uint32_t n)
{
	return sig_at_home(q->stream, sig_hash(words, n), &q->sig);
}

INLINE bool quick_send(struct quick *q, uint32_t op, unsigned flags, MPI_Comm comm, int dest, int tag,
		       MPI_Datatype type, uint64_t count)
{
	const struct last_handles *last = quick_handles(q->stream, comm, type);
	if (last == NULL)
		return false;
	const uint64_t w[5] = {sig_head((uint16_t)op, SIG_SEND, flags, 0, 0, 0), q->address,
			       last->comm_id | sig_pair(0, peer_of(dest)), last->type_id | (uint32_t)tag, count};
	return quick_known(q, w, 5);
}

/* From one that is named. */
INLINE bool quick_recv(struct quick *q, uint32_t op, unsigned flags, MPI_Comm comm, int source, int tag,
		       MPI_Datatype type, uint64_t count)
{
	const struct last_handles *last = quick_handles(q->stream, comm, type);
	if (__builtin_expect((source | tag) < 0, false) || last == NULL)
		return false;
	const uint64_t w[5] = {sig_head((uint16_t)op, SIG_RECV, flags, 0, 0, 0), q->address,
			       last->comm_id | sig_pair(0, (uint32_t)source), last->type_id | (uint32_t)tag, count};
	return quick_known(q, w, 5);
}

INLINE bool quick_equal(struct quick *q, uint32_t op, unsigned flags, enum sig_coll kind, MPI_Comm comm, int root,
			MPI_Datatype type, uint64_t count)
{
	const struct last_handles *last = quick_handles(q->stream, comm, type);
	if (last == NULL)
		return false;
	uint64_t bytes = count * last->type_size_bytes;
	const uint64_t w[5] = {sig_head((uint16_t)op, SIG_COLL, flags, 0, 0, kind), q->address,
			       last->comm_id | sig_pair(0, coll_root(kind, root)), bytes, bytes};
	return quick_known(q, w, 5);
}

/* The request that the call began. */
INLINE void quick_request(struct quick *q, unsigned flags, MPI_Request *request)
{
	struct stream *s = q->stream;
	if (flags & SIG_PERSISTENT)
		request_put_slow(*request, (struct request){s->next_serial, s->thread, REQUEST_PERSISTENT});
	else
		request_put_plain(*request, s->thread, s->next_serial);
	s->next_serial++;
	stream_started(s, q->sig);
}
