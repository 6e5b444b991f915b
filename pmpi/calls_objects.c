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

#define MRECV(name, count_type) \
	int wrap_##name(void *buf, count_type count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) \
	{ \
		MPI_Status own; \
		MPI_Message handle = *message; \
		struct call_span s; \
		if (!SPAN_BEGIN(&s, OP_##name)) \
			return next.name(buf, count, type, message, status); \
		status = status == MPI_STATUS_IGNORE ? &own : status; \
		int rc = next.name(buf, count, type, message, status); \
		if (!span_stop(&s, rc)) \
			return rc; \
		record_mrecv(&s, OP_##name, 0, handle, type, (uint64_t)count, status, NULL); \
		return rc; \
	}

#define IMRECV(name, count_type) \
	int wrap_##name(void *buf, count_type count, MPI_Datatype type, MPI_Message *message, MPI_Request *request) \
	{ \
		MPI_Message handle = *message; \
		struct call_span s; \
		if (!SPAN_BEGIN(&s, OP_##name)) \
			return next.name(buf, count, type, message, request); \
		int rc = next.name(buf, count, type, message, request); \
		if (!span_stop(&s, rc)) \
			return rc; \
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
	w[0] = sig_head((uint16_t)op, SIG_COMM, SIG_STARTS_REQUEST | s->failed, 0, 0, 0);
	w[1] = s->address;
	w[2] = sig_pair(comm_id(comm), MPIC_NO_COMM);
	if (s->failed == 0)
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

int wrap_MPI_Comm_free(MPI_Comm *comm)
{
	struct call_span s;
	bool traced = SPAN_OPEN(&s, OP_MPI_Comm_free);
	uint64_t from = tick_now();
	uint32_t id = traced ? comm_id(*comm) : MPIC_NO_COMM;
	comm_freed(*comm);
	if (!traced)
		return next.MPI_Comm_free(comm);
	span_start(&s);
	stream_slow_until(s.stream, from, s.enter);
	int rc = next.MPI_Comm_free(comm);
	if (!span_stop(&s, rc))
		return rc;
	record_comm_end(&s, OP_MPI_Comm_free, id);
	return rc;
}

int wrap_MPI_Comm_disconnect(MPI_Comm *comm)
{
	struct call_span s;
	bool traced = SPAN_OPEN(&s, OP_MPI_Comm_disconnect);
	uint64_t from = tick_now();
	uint32_t id = traced ? comm_id(*comm) : MPIC_NO_COMM;
	comm_freed(*comm);
	if (!traced)
		return next.MPI_Comm_disconnect(comm);
	span_start(&s);
	stream_slow_until(s.stream, from, s.enter);
	int rc = next.MPI_Comm_disconnect(comm);
	if (!span_stop(&s, rc))
		return rc;
	record_comm_end(&s, OP_MPI_Comm_disconnect, id);
	return rc;
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
