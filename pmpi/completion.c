/* completion.c - see completion.h. */
#include "pmpi/completion.h"

#include <string.h>
#include <sys/mman.h>

#define TAKEN_WORDS ((sizeof(struct taken) + 7) / 8)

bool builder_begin(struct builder *b, struct stream *stream, int n)
{
	b->ntaken = 0;
	b->w = b->here;
	b->statuses = b->statuses_here;
	b->taken = b->taken_here;
	if (__builtin_expect(n > ON_STACK, false)) {
		size_t room = n < COMPLETION_CHUNK ? (size_t)n : COMPLETION_CHUNK;
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
	while (i + count < n && count < SIG_RUN_COUNT_MAX &&
	       t[i + count].request.serial == first->serial + count * step &&
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

/* Of MPICH 4.0 it is empty, of 4.2 left from a message that MPICH has sent itself. */
static bool is_false(const struct request *r)
{
	return (r->flags & REQUEST_MAY_BE_FALSE) != 0 && strncmp(segfile->library, "MPICH", 5) == 0;
}

static void put_statuses(struct builder *b, const MPI_Status *statuses)
{
	b->nstatuses = 0;
	for (uint32_t i = 0; statuses != NULL && i < b->ntaken; i++) {
		const MPI_Status *status = &statuses[b->taken[i].status];
		if (__builtin_expect(!(b->taken[i].request.flags & REQUEST_WANTS_STATUS), true))
			continue;
		uint64_t *w = b->statuses + (size_t)b->nstatuses++ * STATUS_WORDS;
		bool known = !is_false(&b->taken[i].request);
		w[0] = sig_pair(i, known ? peer_of(status->MPI_SOURCE) : (uint32_t)SIG_ANY);
		w[1] = known ? sig_pair((uint32_t)status->MPI_TAG, status_cancelled(status) ? 1 : 0) : 0;
		w[2] = known ? status_bytes(status) : 0;
	}
}

/* The words are complete: their number. */
static uint32_t builder_end(struct builder *b, const struct call_span *s, uint32_t op, enum sig_shape shape,
			    int requests, const MPI_Status *statuses, unsigned kind)
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

void unseen_begin(struct unseen *u, int n, const MPI_Request *requests)
{
	u->n = 0;
	u->map_bytes = 0;
	u->handles = u->here;
	if (requests == NULL || n <= 0 || requests_held == 0 || forked || segfile == NULL)
		return;
	if (n > ON_STACK) {
		u->map_bytes = (size_t)n * sizeof(*requests);
		u->handles = memory_reserve(u->map_bytes);
		if (u->handles == NULL)
			return;
	}
	u->n = n;
	memcpy(u->handles, requests, (size_t)n * sizeof(*requests));
}

/* The open call completes it itself. */
static bool is_awaited(MPI_Request handle)
{
	const struct stream *s = stream_mine;
	const struct completing *c = s != NULL && s->completing.inside == s->open.inside ? &s->completing : NULL;
	for (int i = 0; c != NULL && i < c->n; i++)
		if (((const MPI_Request *)c->handles)[i] == handle)
			return true;
	return false;
}

void unseen_end(struct unseen *u, const MPI_Request *requests, bool freed)
{
	struct request taken;
	for (int i = 0; i < u->n && !forked; i++)
		if (u->handles[i] != MPI_REQUEST_NULL && requests[i] != u->handles[i] && !is_awaited(u->handles[i]) &&
		    request_take(u->handles[i], freed, &taken))
			atomic_fetch_add_explicit(&segfile->requests_unseen, 1, memory_order_relaxed);
	if (u->map_bytes > 0 && u->handles != NULL)
		munmap(u->handles, u->map_bytes);
}

void record_poll(struct call_span *s, uint32_t op, int n)
{
	uint64_t w[3 + FRAMES_MAX] = {sig_head((uint16_t)op, SIG_COMPLETE, SIG_POLLS, 0, 0, 0), s->address,
				      sig_pair(0, (uint32_t)n)};
	span_end_poll(s, w, 3);
}

/* One part of a long array. The first carries the time and counts as the call; what follows has no duration. */
static void record_part(struct call_span *s, uint64_t *words, uint32_t n, unsigned part)
{
	bool literal = false;
	uint32_t sig = record_sig(s->stream, words, n, &literal);
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

void builder_record(struct call_span *s, uint32_t op, enum sig_shape shape, struct builder *b, int requests,
		    const MPI_Status *statuses, unsigned part, bool more)
{
	uint32_t n = builder_end(b, s, op, shape, requests, statuses, part > 0);
	if (part == 0 && !more) {
		span_end(s, b->w, n);
		return;
	}
	record_part(s, b->w, n, part);
	b->ntaken = 0;
	if (!more)
		s->stream->open.inside = 0;
}
