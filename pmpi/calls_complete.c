/* calls_complete.c - Wait*, Test*: which operations a call completed.
 * In: request handles before the call, statuses after it.  Out: runs of request serials.
 * What MPI refuses with an error, as an array that is not there or a handle that is none, it leaves what it returns
 * untouched: so that is looked at only as far as it can be true. */
#include "pmpi/completion.h"
#include "pmpi/fast.h"

/* Handles and statuses of one call, kept for when it returns. */
struct before {
	int n;
	MPI_Request *handles;
	MPI_Status *statuses; /* the caller's or ours; NULL when nothing needs them */
	MPI_Request handles_here[ON_STACK];
	MPI_Status statuses_here[ON_STACK];
};

/* False without memory or requests: then only the time of the call is recorded. */
static bool remember(struct call_span *s, struct before *b, int n, const MPI_Request *requests, MPI_Status *statuses)
{
	bool want = requests_wanting_status > 0 && statuses == MPI_STATUSES_IGNORE;
	b->n = n;
	b->handles = b->handles_here;
	b->statuses = statuses == MPI_STATUSES_IGNORE ? NULL : statuses;
	if (n > 0 && requests == NULL) {
		b->n = -1;
		return false;
	}
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
	s->stream->completing = (struct completing){b->handles, n, s->stream->open.inside};
	return true;
}

/* What to pass to MPI for statuses. */
static MPI_Status *statuses_for(const struct before *b, MPI_Status *given)
{
	return b->n >= 0 && b->statuses != NULL ? b->statuses : given;
}

/* Of an array of n, as MPI returned it, MPI_UNDEFINED included. */
static int so_many(const int *count, int n)
{
	return count != NULL && *count >= 0 && *count <= n ? *count : 0;
}

static int one_of(const int *index, int n)
{
	return index != NULL && *index >= 0 && *index < n;
}

/* The requests at `which` (all if NULL) of those remembered completed; status j belongs to the j-th of them. */
static void completed(struct call_span *s, uint32_t op, const struct before *before, const int *which, int nwhich,
		      const MPI_Request *after)
{
	struct builder b;
	unsigned part = 0;
	s->stream->completing.n = 0;
	if (before->n < 0 || !builder_begin(&b, s->stream, nwhich)) {
		record_time(s, op);
		return;
	}
	for (int j = 0; j < nwhich; j++) {
		int i = which != NULL ? which[j] : j;
		if (i < 0 || i >= before->n)
			continue;
		MPI_Request handle = before->handles[i];
		if (b.ntaken == COMPLETION_CHUNK)
			builder_record(s, op, SIG_COMPLETE, &b, before->n, before->statuses, part++, true);
		if (handle == MPI_REQUEST_NULL || (s->failed && after[i] == handle) ||
		    !request_take(handle, false, &b.taken[b.ntaken].request))
			continue;
		b.taken[b.ntaken++].status = j;
	}
	builder_record(s, op, SIG_COMPLETE, &b, before->n, before->statuses, part, false);
}

static void polled(struct call_span *s, uint32_t op, int n)
{
	s->stream->completing.n = 0;
	record_poll(s, op, n);
}

/* As a call that is not recorded, which returns. */
#define UNSEEN(count, requests, call) \
	do { \
		struct unseen unseen; \
		unseen_begin(&unseen, (count), (requests)); \
		int result = (call); \
		unseen_end(&unseen, (requests), false); \
		return result; \
	} while (0)

#define BEGIN(name, count, requests, ...) \
	struct call_span s; \
	struct before before; \
	if (!SPAN_OPEN(&s, OP_##name)) \
	UNSEEN(count, requests, next.name(__VA_ARGS__))

/* ---- Wait and Waitall of a few requests: what halo exchanges are made of ---- */

/* Taken before the call, which completes them all, or fails. */
struct waited {
	uint32_t n;
	struct taken taken[ON_STACK];
};

INLINE void take_few(struct waited *w, int count, const MPI_Request *requests)
{
	w->n = 0;
	for (int i = 0; i < count; i++)
		if (requests[i] != MPI_REQUEST_NULL && request_take(requests[i], false, &w->taken[w->n].request))
			w->taken[w->n++].status = i;
}

/* For the agent, should the call never return. */
INLINE void waits_for_taken(const struct call_span *s, uint32_t op, const struct waited *w)
{
	struct open_words *o = stream_open_words(s->stream);
	s->stream->open.sig = open_by_name(op, SIG_COMPLETE, 0);
	o->address = s->address;
	o->nrequests = w->n;
	for (uint32_t i = 0; i < w->n; i++)
		o->requests[i] = (struct open_request){w->taken[i].request.serial, w->taken[i].request.thread};
}

/* True when it was one run of this thread's requests, with no status wanted, and the like was recorded before. */
INLINE bool record_known_run(struct call_span *s, uint32_t op, int count, const struct waited *w)
{
	const struct request *first = &w->taken[0].request;
	bool down = w->n > 1 && w->taken[1].request.serial < first->serial;
	uint64_t step = down ? UINT64_MAX : 1, serial = first->serial, differ = s->failed | (w->n == 0);
	for (uint32_t i = 0; i < w->n; i++, serial += step) {
		const struct request *r = &w->taken[i].request;
		differ |= (r->serial ^ serial) | (r->thread ^ s->stream->thread) | r->flags;
	}
	if (__builtin_expect(differ != 0, false))
		return false;
	const uint64_t words[4] = {
		sig_head((uint16_t)op, SIG_COMPLETE, 0, 0, 0, 0), s->address, sig_pair(1, (uint32_t)count),
		sig_run_word(s->stream->next_serial - first->serial, w->n, down ? SIG_RUN_DESCENDING : 0)};
	return span_end_known(s, words, 4);
}

/* In every other case. Of a call that failed, what is still there was not completed. */
static void record_few(struct call_span *s, uint32_t op, int count, const struct waited *w, const MPI_Status *statuses,
		       const MPI_Request *after)
{
	struct builder b;
	builder_begin(&b, s->stream, count);
	for (uint32_t i = 0; i < w->n; i++) {
		MPI_Request left = after[w->taken[i].status];
		if (!s->failed || left == MPI_REQUEST_NULL)
			b.taken[b.ntaken++] = w->taken[i];
		else if (!(w->taken[i].request.flags & REQUEST_PERSISTENT))
			request_put(left, w->taken[i].request);
	}
	builder_record(s, op, SIG_COMPLETE, &b, count, statuses, 0, false);
}

INLINE int wait_few(struct call_span *s, uint32_t op, int count, MPI_Request *requests, MPI_Status *statuses,
		    bool ignored)
{
	struct waited w;
	MPI_Status own[ON_STACK];
	if (__builtin_expect(ignored && requests_wanting_status > 0, false)) {
		statuses = own;
		ignored = false;
	}
	take_few(&w, count, requests);
	waits_for_taken(s, op, &w);
	span_start(s);
	int rc = op == OP_MPI_Wait ? next.MPI_Wait(requests, statuses) : next.MPI_Waitall(count, requests, statuses);
	if (!span_stop(s, rc))
		return rc;
	if (__builtin_expect(!record_known_run(s, op, count, &w), false))
		record_few(s, op, count, &w, ignored ? NULL : statuses, requests);
	return rc;
}

COLD static void put_back(const MPI_Request *handles, uint32_t n, uint32_t thread, uint64_t first)
{
	for (uint32_t i = 0; i < n; i++)
		request_put(handles[i], (struct request){.serial = first + i, .thread = thread});
}

/* The requests are one run of this thread's, in order and nothing else is to be known about them, and the like was
 * recorded before: then they are taken. */
INLINE bool fast_take(struct fast *q, uint32_t op, int count, const MPI_Request *requests, bool ignored,
		      uint64_t *ret_first)
{
	uint64_t owner = request_owner(q->stream->thread, 0);
	if (__builtin_expect(requests_room == 0 || (ignored && requests_wanting_status > 0), false))
		return false;
	struct request_slot *s = request_plain(requests[0], owner);
	if (s == NULL)
		return false;
	uint64_t first = s->serial;
	const uint64_t words[4] = {sig_head((uint16_t)op, SIG_COMPLETE, 0, 0, 0, 0), q->address,
				   sig_pair(1, (uint32_t)count),
				   sig_run_word(q->stream->next_serial - first, (uint32_t)count, 0)};
	if (!fast_known(q, words, 4))
		return false;
	request_drop(s);
	for (int i = 1; i < count; i++) {
		s = request_plain(requests[i], owner);
		if (__builtin_expect(s == NULL || s->serial != first + (uint32_t)i, false)) {
			put_back(requests, (uint32_t)i, q->stream->thread, first);
			return false;
		}
		request_drop(s);
	}
	*ret_first = first;
	return true;
}

/* A fast one returned an error. */
COLD static void wait_failed(struct stream *stream, uint64_t enter, uint64_t exit, uint32_t op, int count,
			     uint64_t first, const MPI_Request *after, void *address)
{
	struct call_span s = {stream, enter, exit, (uintptr_t)address, SIG_FAILED};
	struct waited w = {.n = (uint32_t)count};
	for (uint32_t i = 0; i < w.n; i++)
		w.taken[i] = (struct taken){{.serial = first + i, .thread = stream->thread}, (int)i};
	record_few(&s, op, count, &w, NULL, after);
}

/* Of requests that are not there. */
COLD static int wait_nothing(struct call_span *s, uint32_t op, int count, MPI_Request *none, MPI_Status *statuses)
{
	span_start(s);
	int rc = op == OP_MPI_Wait ? next.MPI_Wait(none, statuses) : next.MPI_Waitall(count, none, statuses);
	if (span_stop(s, rc))
		record_time(s, op);
	return rc;
}

NOINLINE static int long_MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	struct call_span s;
	if (!SPAN_OPEN(&s, OP_MPI_Wait))
		UNSEEN(1, request, next.MPI_Wait(request, status));
	if (request == NULL)
		return wait_nothing(&s, OP_MPI_Wait, 1, NULL, status);
	return wait_few(&s, OP_MPI_Wait, 1, request, status, status == MPI_STATUS_IGNORE);
}

int wrap_MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	struct fast q;
	uint64_t first;
	if (request == NULL || !FAST_OPEN(&q) ||
	    !fast_take(&q, OP_MPI_Wait, 1, request, status == MPI_STATUS_IGNORE, &first))
		return long_MPI_Wait(request, status);
	FAST_START(&q);
	int rc = next.MPI_Wait(request, status);
	uint64_t exit = tick_now();
	if (!stream_is_ours())
		return rc;
	if (__builtin_expect(rc == MPI_SUCCESS, true))
		fast_end(&q, exit);
	else
		wait_failed(q.stream, q.enter, exit, OP_MPI_Wait, 1, first, request, __builtin_return_address(0));
	return rc;
}

int wrap_MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	BEGIN(MPI_Test, 1, request, request, flag, status);
	remember(&s, &before, 1, request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status);
	if (before.statuses != NULL)
		status = before.statuses;
	span_start(&s);
	int rc = next.MPI_Test(request, flag, status);
	if (!span_stop(&s, rc))
		return rc;
	if (rc == MPI_SUCCESS && !*flag)
		polled(&s, OP_MPI_Test, 1);
	else
		completed(&s, OP_MPI_Test, &before, NULL, 1, request);
	return rc;
}

NOINLINE static int long_MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	struct call_span s;
	struct before before;
	if (!SPAN_OPEN(&s, OP_MPI_Waitall))
		UNSEEN(count, requests, next.MPI_Waitall(count, requests, statuses));
	if (requests == NULL)
		return wait_nothing(&s, OP_MPI_Waitall, count, requests, statuses);
	if (count <= ON_STACK)
		return wait_few(&s, OP_MPI_Waitall, count, requests, statuses, statuses == MPI_STATUSES_IGNORE);
	remember(&s, &before, count, requests, statuses);
	span_start(&s);
	int rc = next.MPI_Waitall(count, requests, statuses_for(&before, statuses));
	if (!span_stop(&s, rc))
		return rc;
	completed(&s, OP_MPI_Waitall, &before, NULL, count, requests);
	return rc;
}

int wrap_MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	struct fast q;
	uint64_t first;
	if ((uint32_t)count - 1 >= ON_STACK || requests == NULL || !FAST_OPEN(&q) ||
	    !fast_take(&q, OP_MPI_Waitall, count, requests, statuses == MPI_STATUSES_IGNORE, &first))
		return long_MPI_Waitall(count, requests, statuses);
	FAST_START(&q);
	int rc = next.MPI_Waitall(count, requests, statuses);
	uint64_t exit = tick_now();
	if (!stream_is_ours())
		return rc;
	if (__builtin_expect(rc == MPI_SUCCESS, true))
		fast_end(&q, exit);
	else
		wait_failed(q.stream, q.enter, exit, OP_MPI_Waitall, count, first, requests,
			    __builtin_return_address(0));
	return rc;
}

int wrap_MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	BEGIN(MPI_Testall, count, requests, count, requests, flag, statuses);
	remember(&s, &before, count, requests, statuses);
	span_start(&s);
	int rc = next.MPI_Testall(count, requests, flag, statuses_for(&before, statuses));
	if (!span_stop(&s, rc))
		return rc;
	if (rc == MPI_SUCCESS && !*flag)
		polled(&s, OP_MPI_Testall, count);
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
	BEGIN(MPI_Waitany, count, requests, count, requests, index, status);
	remember(&s, &before, count, requests, MPI_STATUSES_IGNORE);
	span_start(&s);
	int rc = next.MPI_Waitany(count, requests, index, one_status(&before, status));
	if (!span_stop(&s, rc))
		return rc;
	completed(&s, OP_MPI_Waitany, &before, index, one_of(index, count), requests);
	return rc;
}

int wrap_MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	BEGIN(MPI_Testany, count, requests, count, requests, index, flag, status);
	remember(&s, &before, count, requests, MPI_STATUSES_IGNORE);
	span_start(&s);
	int rc = next.MPI_Testany(count, requests, index, flag, one_status(&before, status));
	if (!span_stop(&s, rc))
		return rc;
	if (rc == MPI_SUCCESS && !*flag)
		polled(&s, OP_MPI_Testany, count);
	else
		completed(&s, OP_MPI_Testany, &before, index, one_of(index, count), requests);
	return rc;
}

int wrap_MPI_Waitsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
	BEGIN(MPI_Waitsome, count, requests, count, requests, outcount, indices, statuses);
	remember(&s, &before, count, requests, statuses);
	span_start(&s);
	int rc = next.MPI_Waitsome(count, requests, outcount, indices, statuses_for(&before, statuses));
	if (!span_stop(&s, rc))
		return rc;
	completed(&s, OP_MPI_Waitsome, &before, indices, so_many(outcount, count), requests);
	return rc;
}

int wrap_MPI_Testsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
	BEGIN(MPI_Testsome, count, requests, count, requests, outcount, indices, statuses);
	remember(&s, &before, count, requests, statuses);
	span_start(&s);
	int rc = next.MPI_Testsome(count, requests, outcount, indices, statuses_for(&before, statuses));
	if (!span_stop(&s, rc))
		return rc;
	if (rc == MPI_SUCCESS && *outcount == 0)
		polled(&s, OP_MPI_Testsome, count);
	else
		completed(&s, OP_MPI_Testsome, &before, indices, so_many(outcount, count), requests);
	return rc;
}
