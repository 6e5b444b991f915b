/* calls_requests.c - Start*, Cancel, Request_free, Request_get_status: calls that name requests without completing
 * them. */
#include "pmpi/completion.h"

enum request_use { USE_START, USE_CANCEL, USE_FREE };

static void named(struct call_span *s, uint32_t op, enum sig_shape shape, const MPI_Request *handles, int n,
		  enum request_use use)
{
	struct builder b;
	unsigned part = 0;
	if (handles == NULL || !builder_begin(&b, s->stream, n)) { /* none: MPI has refused them */
		record_time(s, op);
		return;
	}
	for (int i = 0; i < n; i++) {
		if (b.ntaken == COMPLETION_CHUNK)
			builder_record(s, op, shape, &b, n, NULL, part++, true);
		struct request *r = &b.taken[b.ntaken].request;
		bool freed = use == USE_FREE && s->failed == 0;
		if (freed ? request_take(handles[i], true, r) : request_get(handles[i], r))
			b.ntaken++;
		if (use == USE_CANCEL)
			request_want_status(handles[i]);
	}
	builder_record(s, op, shape, &b, n, NULL, part, false);
}

int wrap_MPI_Start(MPI_Request *request)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Start))
		return next.MPI_Start(request);
	int rc = next.MPI_Start(request);
	if (!span_stop(&s, rc))
		return rc;
	named(&s, OP_MPI_Start, SIG_START, request, 1, USE_START);
	return rc;
}

int wrap_MPI_Startall(int count, MPI_Request requests[])
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Startall))
		return next.MPI_Startall(count, requests);
	int rc = next.MPI_Startall(count, requests);
	if (!span_stop(&s, rc))
		return rc;
	named(&s, OP_MPI_Startall, SIG_START, requests, count, USE_START);
	return rc;
}

int wrap_MPI_Cancel(MPI_Request *request)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Cancel))
		return next.MPI_Cancel(request);
	int rc = next.MPI_Cancel(request);
	if (!span_stop(&s, rc))
		return rc;
	named(&s, OP_MPI_Cancel, SIG_REQUEST, request, 1, USE_CANCEL);
	return rc;
}

int wrap_MPI_Request_free(MPI_Request *request)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Request_free)) {
		struct unseen unseen;
		unseen_begin(&unseen, 1, request);
		int result = next.MPI_Request_free(request);
		unseen_end(&unseen, request, true);
		return result;
	}
	MPI_Request handle = request != NULL ? *request : MPI_REQUEST_NULL;
	int rc = next.MPI_Request_free(request);
	if (!span_stop(&s, rc))
		return rc;
	named(&s, OP_MPI_Request_free, SIG_REQUEST, &handle, 1, USE_FREE);
	return rc;
}

int wrap_MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	struct call_span s;
	if (!SPAN_BEGIN(&s, OP_MPI_Request_get_status))
		return next.MPI_Request_get_status(request, flag, status);
	int rc = next.MPI_Request_get_status(request, flag, status);
	if (!span_stop(&s, rc))
		return rc;
	if (rc == MPI_SUCCESS && !*flag)
		record_poll(&s, OP_MPI_Request_get_status, 1);
	else
		named(&s, OP_MPI_Request_get_status, SIG_REQUEST, &request, 1, USE_START);
	return rc;
}
