/* calls_objects.c - calls after which a handle means something else: matched receives, communicators, datatypes. */
#include "pmpi/recorders.h"

static void record_mrecv(struct call_span *s, uint32_t op, unsigned flags, MPI_Message handle, MPI_Datatype type,
			 uint64_t count, const MPI_Status *status, MPI_Request *request)
{
	MPI_Comm comm = MPI_COMM_NULL;
	int source = MPI_PROC_NULL, tag = 0;
	if (!message_take(handle, &comm, &source, &tag)) { /* MPI_MESSAGE_NO_PROC, or probed before tracing */
		struct type_view t = type_find(type);
		uint64_t w[5 + FRAMES_MAX] = {sig_head((uint16_t)op, SIG_RECV, flags | s->failed, 0, 0, 0), s->address,
					      sig_pair(MPIC_NO_COMM, (uint32_t)SIG_PROC_NULL), sig_pair(0, t.id),
					      count_of(t, count)};
		if (flags & SIG_STARTS_REQUEST)
			request_begin(s, flags, 0, request);
		span_end(s, w, 5);
		return;
	}
	record_recv(s, op, flags, request, comm, source, tag, type, count, status);
}

/* Received where no call is recorded. */
static void message_pass(MPI_Message handle)
{
	MPI_Comm comm;
	int source, tag;
	if (!forked && message_take(handle, &comm, &source, &tag))
		atomic_fetch_add_explicit(&segfile->requests_unseen, 1, memory_order_relaxed);
}

#define MRECV(name, count_type) \
	int wrap_##name(void *buf, count_type count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) \
	{ \
		MPI_Status own; \
		MPI_Message handle = message != NULL ? *message : MPI_MESSAGE_NULL; \
		struct call_span s; \
		if (!SPAN_BEGIN(&s, OP_##name)) { \
			message_pass(handle); \
			return next.name(buf, count, type, message, status); \
		} \
		status = status == MPI_STATUS_IGNORE ? &own : status; \
		int rc = next.name(buf, count, type, message, status); \
		if (!span_stop(&s, rc)) \
			return rc; \
		if (s.failed && !was_truncated(rc)) /* the message is still there */ \
			record_time(&s, OP_##name); \
		else \
			record_mrecv(&s, OP_##name, 0, handle, type, (uint64_t)count, status, NULL); \
		return rc; \
	}

#define IMRECV(name, count_type) \
	int wrap_##name(void *buf, count_type count, MPI_Datatype type, MPI_Message *message, MPI_Request *request) \
	{ \
		MPI_Message handle = message != NULL ? *message : MPI_MESSAGE_NULL; \
		struct call_span s; \
		if (!SPAN_BEGIN(&s, OP_##name)) { \
			message_pass(handle); \
			return next.name(buf, count, type, message, request); \
		} \
		int rc = next.name(buf, count, type, message, request); \
		if (!span_stop(&s, rc)) \
			return rc; \
		if (s.failed) \
			record_time(&s, OP_##name); \
		else \
			record_mrecv(&s, OP_##name, SIG_STARTS_REQUEST, handle, type, (uint64_t)count, NULL, request); \
		return rc; \
	}

MRECV(MPI_Mrecv, int)
IMRECV(MPI_Imrecv, int)
#ifdef HAVE_MPI_Mrecv_c
MRECV(MPI_Mrecv_c, MPI_Count)
IMRECV(MPI_Imrecv_c, MPI_Count)
#endif

static void record_idup(struct call_span *s, uint32_t op, MPI_Comm comm, const MPI_Comm *newcomm, MPI_Request *request)
{
	uint64_t w[3 + FRAMES_MAX];
	if (s->failed) {
		record_time(s, op);
		return;
	}
	w[0] = sig_head((uint16_t)op, SIG_COMM, SIG_STARTS_REQUEST, 0, 0, 0);
	w[1] = s->address;
	w[2] = sig_pair(comm_id(comm), MPIC_NO_COMM);
	comm_promised(op, comm, *newcomm);
	request_begin(s, SIG_STARTS_REQUEST, 0, request);
	span_end(s, w, 3);
}

int wrap_MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Comm_idup))
		return next.MPI_Comm_idup(comm, newcomm, request);
	int rc = next.MPI_Comm_idup(comm, newcomm, request);
	if (!span_stop(&s, rc))
		return rc;
	record_idup(&s, OP_MPI_Comm_idup, comm, newcomm, request);
	return rc;
}

#ifdef HAVE_MPI_Comm_idup_with_info
int wrap_MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Comm_idup_with_info))
		return next.MPI_Comm_idup_with_info(comm, info, newcomm, request);
	int rc = next.MPI_Comm_idup_with_info(comm, info, newcomm, request);
	if (!span_stop(&s, rc))
		return rc;
	record_idup(&s, OP_MPI_Comm_idup_with_info, comm, newcomm, request);
	return rc;
}
#endif

static void record_comm_end(struct call_span *s, uint32_t op, uint32_t id)
{
	uint64_t w[3 + FRAMES_MAX];
	w[0] = sig_head((uint16_t)op, SIG_COMM, s->failed, 0, 0, 0);
	w[1] = s->address;
	w[2] = sig_pair(id, MPIC_NO_COMM);
	span_end_once(s, w, 3);
}

/* `address`, `frame`: the wrapper's. */
static int end_comm(uint32_t op, int (*end)(MPI_Comm *), MPI_Comm *comm, void *address, void *frame)
{
	struct call_span s;
	MPI_Comm handle = comm != NULL ? *comm : MPI_COMM_NULL;
	bool traced = span_open(&s, op, address, frame);
	uint64_t from = tick_now();
	uint32_t id = traced ? comm_known(handle) : MPIC_NO_COMM, place = comm_leaves(handle);
	if (traced) {
		span_start(&s);
		stream_slow_until(s.stream, from, s.enter);
	}
	int rc = end(comm);
	if (traced && !span_stop(&s, rc))
		return rc;
	comm_left(handle, place, rc != MPI_SUCCESS);
	if (traced)
		record_comm_end(&s, op, id);
	return rc;
}

int wrap_MPI_Comm_free(MPI_Comm *comm)
{
	return end_comm(OP_MPI_Comm_free, next.MPI_Comm_free, comm, __builtin_return_address(0), WRAPPER_FRAME);
}

int wrap_MPI_Comm_disconnect(MPI_Comm *comm)
{
	return end_comm(OP_MPI_Comm_disconnect, next.MPI_Comm_disconnect, comm, __builtin_return_address(0),
			WRAPPER_FRAME);
}

int wrap_MPI_Comm_set_name(MPI_Comm comm, const char *name)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Comm_set_name))
		return next.MPI_Comm_set_name(comm, name);
	int rc = next.MPI_Comm_set_name(comm, name);
	if (!span_stop(&s, rc))
		return rc;
	if (rc == MPI_SUCCESS)
		comm_named(comm, name);
	record_time(&s, OP_MPI_Comm_set_name);
	return rc;
}

int wrap_MPI_Type_set_name(MPI_Datatype type, const char *name)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Type_set_name))
		return next.MPI_Type_set_name(type, name);
	int rc = next.MPI_Type_set_name(type, name);
	if (!span_stop(&s, rc))
		return rc;
	if (rc == MPI_SUCCESS)
		type_named(type, name);
	stream_slow(s.stream, s.exit);
	record_time(&s, OP_MPI_Type_set_name);
	return rc;
}

int wrap_MPI_Type_free(MPI_Datatype *type)
{
	struct call_span s;
	bool traced = SPAN_OPEN(&s, OP_MPI_Type_free);
	if (type != NULL)
		type_freed(*type);
	if (!traced)
		return next.MPI_Type_free(type);
	span_start(&s);
	int rc = next.MPI_Type_free(type);
	if (!span_stop(&s, rc))
		return rc;
	record_time(&s, OP_MPI_Type_free);
	return rc;
}
