/* completion.h - which requests a call names or completes, as the words of a signature (format/sig.h). */
#pragma once

#include "pmpi/record.h"

#define COMPLETION_CHUNK 1024 /* requests in one record; more continue in the next */
#define ON_STACK 16	      /* requests handled without scratch memory */
#define STATUS_WORDS 3
#define WORDS_FOR(n) (3 + (2 + STATUS_WORDS) * (n) + FRAMES_MAX)

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

/* For the requests of an array of n, COMPLETION_CHUNK at a time. False without memory: then only the time of
 * the call is recorded. */
bool builder_begin(struct builder *b, struct stream *stream, int n) HIDDEN;
/* What was taken is recorded as part 0, 1, ... of the call and forgotten; `more` = the array goes on. statuses may be
 * NULL. */
void builder_record(struct call_span *s, uint32_t op, enum sig_shape shape, struct builder *b, int requests,
		    const MPI_Status *statuses, unsigned part, bool more) HIDDEN;
/* A call that is not recorded may complete requests that are: of these is known from then on that they are over, and no
 * more. Not where it was made by a call that is recorded and completes the same. */
struct unseen {
	int n;
	size_t map_bytes;
	MPI_Request *handles, here[ON_STACK];
};
void unseen_begin(struct unseen *u, int n, const MPI_Request *requests) HIDDEN COLD;
/* freed: by MPI_Request_free, also if persistent. */
void unseen_end(struct unseen *u, const MPI_Request *requests, bool freed) HIDDEN COLD;
/* n requests were tested and none was complete. */
void record_poll(struct call_span *s, uint32_t op, int n) HIDDEN;
