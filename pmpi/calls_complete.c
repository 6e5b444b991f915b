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

/* A request that a call completed, and where its status stands. */
struct taken {
	struct request request;
	int status;
};

struct builder {
	uint64_t *w; /* words[0..2] are the head */
	struct taken *taken;
	uint32_t ntaken;
	uint32_t nruns, nrun_words, nstatuses;
	uint64_t *statuses; /* kept apart, joined at the end */
	uint64_t here[WORDS_FOR(ON_STACK)];
	uint64_t statuses_here[STATUS_WORDS * ON_STACK];
	struct taken taken_here[ON_STACK];
};

#define TAKEN_WORDS ((sizeof(struct taken) + 7) / 8)

/* For the requests of an array of n, CHUNK at a time. */
static bool builder_begin(struct builder *b, struct stream *stream, int n)
{
	b->ntaken = 0;
	b->w = b->here;
	b->statuses = b->statuses_here;
	b->taken = b->taken_here;
	if (__builtin_expect(n > ON_STACK, false)) {
		size_t room = n < CHUNK ? (size_t)n : CHUNK;
		b->w = stream_scratch(stream, SCRATCH_WORDS, WORDS_FOR(room) + (STATUS_WORDS + TAKEN_WORDS) * room);
		if (b->w == NULL)
			return false;
		b->statuses = b->w + WORDS_FOR(room);
		b->taken = (struct taken *)(void *)(b->statuses + STATUS_WORDS * room);
	}
	return true;
}

/* How many requests from the i-th on one run holds: serials of one thread that go up, or down, by one. */
static uint32_t run_length(const struct taken *t, uint32_t n, uint32_t i, uint64_t *ret_flags)
{
	const struct request *first = &t[i].request;
	uint32_t count = 1;
	uint64_t step = i + 1 < n && t[i + 1].request.serial + 1 == first->serial ? UINT64_MAX : 1;
	while (i + count < n && count < SIG_RUN_COUNT_MAX && t[i + count].request.serial == first->serial + count * step &&
	       t[i + count].request.thread == first->thread &&
	       ((t[i + count].request.flags ^ first->flags) & REQUEST_PERSISTENT) == 0)
		count++;
	*ret_flags = (count > 1 && step != 1 ? SIG_RUN_DESCENDING : 0) |
		     (first->flags & REQUEST_PERSISTENT ? SIG_RUN_ABSOLUTE : 0);
	return count;
}

static void put_runs(struct builder *b, const struct stream *stream)
{
	uint64_t *w = b->w + 3;
	b->nruns = 0;
	for (uint32_t i = 0; i < b->ntaken;) {
		const struct request *first = &b->taken[i].request;
		bool other = first->thread != stream->thread;
		uint64_t flags;
		uint32_t count = run_length(b->taken, b->ntaken, i, &flags);
		bool absolute = other || (flags & SIG_RUN_ABSOLUTE) != 0;
		*w++ = sig_run_word(absolute ? first->serial : stream->next_serial - first->serial, count,
				    flags | (other ? SIG_RUN_OTHER_THREAD : 0));
		if (other)
			*w++ = first->thread;
		b->nruns++;
		i += count;
	}
	b->nrun_words = (uint32_t)(w - b->w) - 3;
}

static void put_statuses(struct builder *b, const MPI_Status *statuses)
{
	b->nstatuses = 0;
	for (uint32_t i = 0; statuses != NULL && i < b->ntaken; i++) {
		const MPI_Status *status = &statuses[b->taken[i].status];
		if (__builtin_expect(!(b->taken[i].request.flags & REQUEST_WANTS_STATUS), true))
			continue;
		uint64_t *w = b->statuses + (size_t)b->nstatuses++ * STATUS_WORDS;
		w[0] = sig_pair(i, peer_of(status->MPI_SOURCE));
		w[1] = sig_pair((uint32_t)status->MPI_TAG, status_cancelled(status) ? 1 : 0);
		w[2] = status_bytes(status);
	}
}

/* The words are complete: their number. */
static uint32_t builder_end(struct builder *b, const struct call_span *s, uint32_t op, enum sig_shape shape, int requests,
			    const MPI_Status *statuses, unsigned kind)
{
	put_runs(b, s->stream);
	put_statuses(b, statuses);
	uint32_t n = 3 + b->nrun_words;
	b->w[0] = sig_head((uint16_t)op, shape, s->failed, b->nstatuses, 0, kind);
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

/* What was taken is told; `more` = the array goes on. */
static void tell(struct call_span *s, uint32_t op, enum sig_shape shape, struct builder *b, int requests,
		 const MPI_Status *statuses, unsigned part, bool more)
{
	uint32_t n = builder_end(b, s, op, shape, requests, statuses, part > 0);
	if (part == 0 && !more) {
		span_end(s, b->w, n);
		return;
	}
	tell_part(s, b->w, n, part);
	b->ntaken = 0;
	if (!more)
		s->stream->inside = 0;
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
		MPI_Request handle = before->handles[i];
		if (b.ntaken == CHUNK)
			tell(s, op, SIG_COMPLETE, &b, before->n, before->statuses, part++, true);
		if (handle == MPI_REQUEST_NULL || (s->failed && after[i] == handle) ||
		    !request_take(handle, false, &b.taken[b.ntaken].request))
			continue;
		b.taken[b.ntaken++].status = j;
	}
	tell(s, op, SIG_COMPLETE, &b, before->n, before->statuses, part, false);
}

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

/* True when it was one run of this thread's requests, with no status wanted, and the like was told before. */
INLINE bool tell_known_run(struct call_span *s, uint32_t op, int count, const struct waited *w)
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
	const uint64_t key[KEY_WORDS] = {
		sig_head((uint16_t)op, SIG_COMPLETE, 0, 0, 0, 0), s->address, sig_pair(1, (uint32_t)count),
		sig_run_word(s->stream->next_serial - first->serial, w->n, down ? SIG_RUN_DESCENDING : 0)};
	return span_end_known(s, key);
}

/* In every other case. Of a call that failed, what is still there was not completed. */
static void tell_few(struct call_span *s, uint32_t op, int count, const struct waited *w, const MPI_Status *statuses,
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
	tell(s, op, SIG_COMPLETE, &b, count, statuses, 0, false);
}

INLINE int wait_few(struct call_span *s, uint32_t op, int count, MPI_Request *requests, MPI_Status *statuses, bool ignored)
{
	struct waited w;
	MPI_Status own[ON_STACK];
	if (__builtin_expect(ignored && requests_wanting_status > 0, false)) {
		statuses = own;
		ignored = false;
	}
	take_few(&w, count, requests);
	span_start(s);
	int rc = op == OP_MPI_Wait ? next.MPI_Wait(requests, statuses) : next.MPI_Waitall(count, requests, statuses);
	span_stop(s, rc);
	if (__builtin_expect(!tell_known_run(s, op, count, &w), false))
		tell_few(s, op, count, &w, ignored ? NULL : statuses, requests);
	return rc;
}

int wrap_MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	struct call_span s;
	if (!span_open(&s, __builtin_return_address(0), __builtin_frame_address(0)))
		return next.MPI_Wait(request, status);
	return wait_few(&s, OP_MPI_Wait, 1, request, status, status == MPI_STATUS_IGNORE);
}

#define BEGIN(name, ...) \
	struct call_span s; \
	struct before before; \
	if (!span_open(&s, __builtin_return_address(0), __builtin_frame_address(0))) \
		return next.name(__VA_ARGS__)

int wrap_MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	BEGIN(MPI_Test, request, flag, status);
	remember(&s, &before, 1, request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status);
	if (before.statuses != NULL)
		status = before.statuses;
	span_start(&s);
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
	struct call_span s;
	struct before before;
	if (!span_open(&s, __builtin_return_address(0), __builtin_frame_address(0)))
		return next.MPI_Waitall(count, requests, statuses);
	if (count <= ON_STACK)
		return wait_few(&s, OP_MPI_Waitall, count, requests, statuses, statuses == MPI_STATUSES_IGNORE);
	remember(&s, &before, count, requests, statuses);
	span_start(&s);
	int rc = next.MPI_Waitall(count, requests, statuses_for(&before, statuses));
	span_stop(&s, rc);
	completed(&s, OP_MPI_Waitall, &before, NULL, count, requests);
	return rc;
}

int wrap_MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	BEGIN(MPI_Testall, count, requests, flag, statuses);
	remember(&s, &before, count, requests, statuses);
	span_start(&s);
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
	span_start(&s);
	int rc = next.MPI_Waitany(count, requests, index, one_status(&before, status));
	span_stop(&s, rc);
	completed(&s, OP_MPI_Waitany, &before, index, *index == MPI_UNDEFINED ? 0 : 1, requests);
	return rc;
}

int wrap_MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	BEGIN(MPI_Testany, count, requests, index, flag, status);
	remember(&s, &before, count, requests, MPI_STATUSES_IGNORE);
	span_start(&s);
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
	span_start(&s);
	int rc = next.MPI_Waitsome(count, requests, outcount, indices, statuses_for(&before, statuses));
	span_stop(&s, rc);
	completed(&s, OP_MPI_Waitsome, &before, indices, *outcount == MPI_UNDEFINED ? 0 : *outcount, requests);
	return rc;
}

int wrap_MPI_Testsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
	BEGIN(MPI_Testsome, count, requests, outcount, indices, statuses);
	remember(&s, &before, count, requests, statuses);
	span_start(&s);
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
		if (b.ntaken == CHUNK)
			tell(s, op, shape, &b, n, NULL, part++, true);
		struct request *r = &b.taken[b.ntaken].request;
		if (use == USE_FREE ? request_take(handles[i], true, r) : request_get(handles[i], r))
			b.ntaken++;
		if (use == USE_CANCEL)
			request_want_status(handles[i]);
	}
	tell(s, op, shape, &b, n, NULL, part, false);
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
