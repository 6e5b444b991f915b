/* calls_complete.c - Wait*, Test*, Start*, Cancel, Request_free: which operations a call completed.
 * In: request handles before the call, statuses after it.  Out: runs of request serials (format/sig.h). */
#include "pmpi/record.h"

#define CHUNK 1024	 /* requests told in one record; more continue in the next */
#define ON_STACK 16	 /* requests handled without scratch memory */
#define STATUS_WORDS 3
#define WORDS_FOR(n) (3 + (2 + STATUS_WORDS) * (n) + FRAMES_MAX)

/* Handles and statuses of one call, kept for when it returns. */
struct before {
	int n;
	MPI_Request *handles;
	MPI_Status *statuses; /* the caller's or ours; NULL when nothing needs them */
	MPI_Request handles_here[ON_STACK];
	MPI_Status statuses_here[ON_STACK];
};

/* False without memory: then the call is told by time only. */
static bool remember(struct call_span *s, struct before *b, int n, const MPI_Request *requests, MPI_Status *statuses)
{
	bool want = requests_wanting_status > 0 && statuses == MPI_STATUSES_IGNORE;
	b->n = n;
	b->handles = b->handles_here;
	b->statuses = statuses == MPI_STATUSES_IGNORE ? NULL : statuses;
	if (n > ON_STACK) {
		size_t handle_words = ((size_t)n * sizeof(MPI_Request) + 7) / 8;
		size_t status_words = want ? ((size_t)n * sizeof(MPI_Status) + 7) / 8 : 0;
		uint64_t *p = stream_scratch(s->stream, SCRATCH_REQUESTS, handle_words + status_words);
		if (p == NULL) {
			b->n = -1;
			return false;
		}
		b->handles = (MPI_Request *)(void *)p;
		if (want)
			b->statuses = (MPI_Status *)(void *)(p + handle_words);
	} else if (want) {
		b->statuses = b->statuses_here;
	}
	for (int i = 0; i < n; i++)
		b->handles[i] = requests[i];
	return true;
}

/* What to pass to MPI for statuses. */
static MPI_Status *statuses_for(const struct before *b, MPI_Status *given)
{
	return b->n >= 0 && b->statuses != NULL ? b->statuses : given;
}

/* ---- building the words ---- */

struct builder {
	uint64_t *w; /* words[0..2] are the head */
	uint32_t nruns, nrun_words, nstatuses, completed;
	uint64_t last_serial;
	uint64_t open_flags; /* of the run that may still grow */
	uint32_t open_at, open_thread;
	uint64_t *statuses; /* kept apart, joined at the end */
	uint64_t here[WORDS_FOR(ON_STACK)];
	uint64_t statuses_here[STATUS_WORDS * ON_STACK];
};

static bool builder_begin(struct builder *b, struct stream *stream, int n)
{
	b->nruns = b->nrun_words = b->nstatuses = b->completed = 0;
	b->open_at = 0;
	b->w = b->here;
	b->statuses = b->statuses_here;
	if (n > ON_STACK) {
		int room = n < CHUNK ? n : CHUNK;
		b->w = stream_scratch(stream, SCRATCH_WORDS,
				      (size_t)(WORDS_FOR(room) + STATUS_WORDS * room));
		b->statuses = b->w != NULL ? b->w + WORDS_FOR(room) : NULL;
	}
	return b->w != NULL;
}

static bool extend_run(struct builder *b, const struct request *r, uint64_t flags)
{
	uint64_t *run = &b->w[b->open_at];
	uint32_t count = (uint32_t)(*run >> 40) & SIG_RUN_COUNT_MAX;
	if (b->open_at == 0 || flags != b->open_flags || r->thread != b->open_thread || count == SIG_RUN_COUNT_MAX)
		return false;
	bool down = r->serial + 1 == b->last_serial;
	if (!down && r->serial != b->last_serial + 1)
		return false;
	if (count > 1 && ((*run & SIG_RUN_DESCENDING) != 0) != down)
		return false;
	*run = (*run & ~(SIG_RUN_DESCENDING | (uint64_t)SIG_RUN_COUNT_MAX << 40)) | (uint64_t)(count + 1) << 40 |
	       (down ? SIG_RUN_DESCENDING : 0);
	return true;
}

static void put_request(struct builder *b, const struct stream *stream, const struct request *r)
{
	bool other = r->thread != stream->thread;
	uint64_t flags = (r->flags & REQUEST_PERSISTENT ? SIG_RUN_ABSOLUTE : 0) | (other ? SIG_RUN_OTHER_THREAD : 0);
	if (!extend_run(b, r, flags)) {
		b->open_at = 3 + b->nrun_words;
		b->open_flags = flags;
		b->open_thread = r->thread;
		b->w[3 + b->nrun_words++] = sig_run_word(flags != 0 ? r->serial : stream->next_serial - r->serial, 1, flags);
		if (other)
			b->w[3 + b->nrun_words++] = r->thread;
		b->nruns++;
	}
	b->last_serial = r->serial;
	b->completed++;
}

static void put_status(struct builder *b, const MPI_Status *status)
{
	uint64_t *w = b->statuses + (size_t)b->nstatuses++ * STATUS_WORDS;
	w[0] = sig_pair(b->completed - 1, peer_of(status->MPI_SOURCE));
	w[1] = sig_pair((uint32_t)status->MPI_TAG, status_cancelled(status) ? 1 : 0);
	w[2] = status_bytes(status);
}

/* The words are complete: n of them. */
static uint32_t builder_end(struct builder *b, uint16_t op, enum sig_shape shape, const struct call_span *s, int requests,
			    unsigned kind)
{
	uint32_t n = 3 + b->nrun_words;
	b->w[0] = sig_head(op, shape, s->failed, b->nstatuses, 0, kind);
	b->w[1] = s->address;
	b->w[2] = sig_pair(b->nruns, (uint32_t)requests);
	for (uint32_t i = 0; i < b->nstatuses * STATUS_WORDS; i++)
		b->w[n++] = b->statuses[i];
	return n;
}

/* ---- telling ---- */

static void poll(struct call_span *s, uint32_t op, int n)
{
	uint64_t w[3 + FRAMES_MAX] = {sig_head((uint16_t)op, SIG_COMPLETE, SIG_POLLS, 0, 0, 0), s->address,
				      sig_pair(0, (uint32_t)n)};
	span_end_poll(s, w, 3);
}

/* One part of a long array. The first carries the time and counts as the call; what follows has no duration. */
static void tell_part(struct call_span *s, uint64_t *words, uint32_t n, unsigned part)
{
	bool literal = false;
	uint32_t sig = stream_sig(s->stream, words, n, &literal);
	uint64_t enter = part == 0 ? s->enter : s->exit;
	if (part == 0) {
		s->stream->totals[sig].calls++;
		s->stream->totals[sig].ticks += s->exit - s->enter;
	}
	if (literal)
		stream_record_slow(s->stream, sig, enter, s->exit, words, n);
	else
		stream_record(s->stream, sig, enter, s->exit);
}

/* The requests at `which` (all if NULL) of those remembered completed; status j belongs to the j-th of them. */
static void completed(struct call_span *s, uint32_t op, const struct before *before, const int *which, int nwhich,
		      const MPI_Request *after)
{
	struct builder b;
	unsigned part = 0;
	if (before->n < 0 || !builder_begin(&b, s->stream, nwhich)) {
		record_time(s, op);
		return;
	}
	for (int j = 0; j < nwhich; j++) {
		int i = which != NULL ? which[j] : j;
		struct request r;
		if (before->handles[i] == MPI_REQUEST_NULL || (s->failed && after[i] == before->handles[i]) ||
		    !request_take(before->handles[i], false, &r))
			continue;
		if (b.completed == CHUNK) {
			tell_part(s, b.w, builder_end(&b, (uint16_t)op, SIG_COMPLETE, s, before->n, part > 0), part);
			part++;
			builder_begin(&b, s->stream, nwhich);
		}
		put_request(&b, s->stream, &r);
		if ((r.flags & REQUEST_WANTS_STATUS) && before->statuses != NULL)
			put_status(&b, &before->statuses[j]);
	}
	uint32_t n = builder_end(&b, (uint16_t)op, SIG_COMPLETE, s, before->n, part > 0);
	if (part == 0) {
		span_end(s, b.w, n);
		return;
	}
	tell_part(s, b.w, n, part);
	s->stream->inside = 0;
}

#define BEGIN(name, ...) \
	struct call_span s; \
	struct before before; \
	if (!span_begin(&s, __builtin_return_address(0), __builtin_frame_address(0))) \
		return next.name(__VA_ARGS__)

int wrap_MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	BEGIN(MPI_Wait, request, status);
	remember(&s, &before, 1, request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status);
	if (before.statuses != NULL)
		status = before.statuses;
	int rc = next.MPI_Wait(request, status);
	span_stop(&s, rc);
	completed(&s, OP_MPI_Wait, &before, NULL, 1, request);
	return rc;
}

int wrap_MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	BEGIN(MPI_Test, request, flag, status);
	remember(&s, &before, 1, request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status);
	if (before.statuses != NULL)
		status = before.statuses;
	int rc = next.MPI_Test(request, flag, status);
	span_stop(&s, rc);
	if (rc == MPI_SUCCESS && !*flag)
		poll(&s, OP_MPI_Test, 1);
	else
		completed(&s, OP_MPI_Test, &before, NULL, 1, request);
	return rc;
}

int wrap_MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	BEGIN(MPI_Waitall, count, requests, statuses);
	remember(&s, &before, count, requests, statuses);
	int rc = next.MPI_Waitall(count, requests, statuses_for(&before, statuses));
	span_stop(&s, rc);
	completed(&s, OP_MPI_Waitall, &before, NULL, count, requests);
	return rc;
}

int wrap_MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	BEGIN(MPI_Testall, count, requests, flag, statuses);
	remember(&s, &before, count, requests, statuses);
	int rc = next.MPI_Testall(count, requests, flag, statuses_for(&before, statuses));
	span_stop(&s, rc);
	if (rc == MPI_SUCCESS && !*flag)
		poll(&s, OP_MPI_Testall, count);
	else
		completed(&s, OP_MPI_Testall, &before, NULL, count, requests);
	return rc;
}

/* The one status of Waitany and Testany. */
static MPI_Status *one_status(struct before *b, MPI_Status *given)
{
	if (b->n < 0)
		return given;
	b->statuses = given != MPI_STATUS_IGNORE ? given : b->statuses_here;
	return b->statuses;
}

int wrap_MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
	BEGIN(MPI_Waitany, count, requests, index, status);
	remember(&s, &before, count, requests, MPI_STATUSES_IGNORE);
	int rc = next.MPI_Waitany(count, requests, index, one_status(&before, status));
	span_stop(&s, rc);
	completed(&s, OP_MPI_Waitany, &before, index, *index == MPI_UNDEFINED ? 0 : 1, requests);
	return rc;
}

int wrap_MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	BEGIN(MPI_Testany, count, requests, index, flag, status);
	remember(&s, &before, count, requests, MPI_STATUSES_IGNORE);
	int rc = next.MPI_Testany(count, requests, index, flag, one_status(&before, status));
	span_stop(&s, rc);
	if (rc == MPI_SUCCESS && !*flag)
		poll(&s, OP_MPI_Testany, count);
	else
		completed(&s, OP_MPI_Testany, &before, index, *index == MPI_UNDEFINED ? 0 : 1, requests);
	return rc;
}

int wrap_MPI_Waitsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
	BEGIN(MPI_Waitsome, count, requests, outcount, indices, statuses);
	remember(&s, &before, count, requests, statuses);
	int rc = next.MPI_Waitsome(count, requests, outcount, indices, statuses_for(&before, statuses));
	span_stop(&s, rc);
	completed(&s, OP_MPI_Waitsome, &before, indices, *outcount == MPI_UNDEFINED ? 0 : *outcount, requests);
	return rc;
}

int wrap_MPI_Testsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
	BEGIN(MPI_Testsome, count, requests, outcount, indices, statuses);
	remember(&s, &before, count, requests, statuses);
	int rc = next.MPI_Testsome(count, requests, outcount, indices, statuses_for(&before, statuses));
	span_stop(&s, rc);
	if (rc == MPI_SUCCESS && *outcount == 0)
		poll(&s, OP_MPI_Testsome, count);
	else
		completed(&s, OP_MPI_Testsome, &before, indices, *outcount == MPI_UNDEFINED ? 0 : *outcount, requests);
	return rc;
}

/* ---- calls that name requests without completing them ---- */

enum request_use { USE_START, USE_CANCEL, USE_FREE };

static void named(struct call_span *s, uint32_t op, enum sig_shape shape, const MPI_Request *handles, int n, enum request_use use)
{
	struct builder b;
	unsigned part = 0;
	if (!builder_begin(&b, s->stream, n)) {
		record_time(s, op);
		return;
	}
	for (int i = 0; i < n; i++) {
		struct request r;
		if (b.completed == CHUNK) {
			tell_part(s, b.w, builder_end(&b, (uint16_t)op, shape, s, n, part > 0), part);
			part++;
			builder_begin(&b, s->stream, n);
		}
		if (use == USE_FREE ? request_take(handles[i], true, &r) : request_get(handles[i], &r))
			put_request(&b, s->stream, &r);
		if (use == USE_CANCEL)
			request_want_status(handles[i]);
	}
	uint32_t words = builder_end(&b, (uint16_t)op, shape, s, n, part > 0);
	if (part == 0) {
		span_end(s, b.w, words);
		return;
	}
	tell_part(s, b.w, words, part);
	s->stream->inside = 0;
}

int wrap_MPI_Start(MPI_Request *request)
{
	struct call_span s;
	if (!span_begin(&s, __builtin_return_address(0), __builtin_frame_address(0)))
		return next.MPI_Start(request);
	int rc = next.MPI_Start(request);
	span_stop(&s, rc);
	named(&s, OP_MPI_Start, SIG_START, request, 1, USE_START);
	return rc;
}

int wrap_MPI_Startall(int count, MPI_Request requests[])
{
	struct call_span s;
	if (!span_begin(&s, __builtin_return_address(0), __builtin_frame_address(0)))
		return next.MPI_Startall(count, requests);
	int rc = next.MPI_Startall(count, requests);
	span_stop(&s, rc);
	named(&s, OP_MPI_Startall, SIG_START, requests, count, USE_START);
	return rc;
}

int wrap_MPI_Cancel(MPI_Request *request)
{
	struct call_span s;
	if (!span_begin(&s, __builtin_return_address(0), __builtin_frame_address(0)))
		return next.MPI_Cancel(request);
	int rc = next.MPI_Cancel(request);
	span_stop(&s, rc);
	named(&s, OP_MPI_Cancel, SIG_REQUEST, request, 1, USE_CANCEL);
	return rc;
}

int wrap_MPI_Request_free(MPI_Request *request)
{
	struct call_span s;
	if (!span_begin(&s, __builtin_return_address(0), __builtin_frame_address(0)))
		return next.MPI_Request_free(request);
	MPI_Request handle = *request;
	int rc = next.MPI_Request_free(request);
	span_stop(&s, rc);
	named(&s, OP_MPI_Request_free, SIG_REQUEST, &handle, 1, USE_FREE);
	return rc;
}

int wrap_MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	struct call_span s;
	if (!span_begin(&s, __builtin_return_address(0), __builtin_frame_address(0)))
		return next.MPI_Request_get_status(request, flag, status);
	int rc = next.MPI_Request_get_status(request, flag, status);
	span_stop(&s, rc);
	if (rc == MPI_SUCCESS && !*flag)
		poll(&s, OP_MPI_Request_get_status, 1);
	else
		named(&s, OP_MPI_Request_get_status, SIG_REQUEST, &request, 1, USE_START);
	return rc;
}
