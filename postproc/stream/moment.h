/* moment.h - when something happened in the stream, and what waits until it is known what it waited for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Which event of the stream: the at-th of a lane in a window. */
struct position {
	uint32_t window, lane, at;
};

#define NOWHERE ((struct position){NONE, NONE, NONE})

/* A call that starts or completes something, as far as others need it. */
struct moment {
	int64_t start_ns, end_ns;
	struct position at;
};

/* A call that others waited for, by its start (its end, where that is said). */
struct arrival {
	int64_t ns;
	struct position at;
	uint32_t rank; /* NONE: nobody */
};

#define NOBODY ((struct arrival){INT64_MIN, NOWHERE, NONE})

static inline struct arrival arrival_of(uint32_t rank, const struct moment *call)
{
	return (struct arrival){call->start_ns, call->at, rank};
}

/* A call that completes messages or its part in collectives, until it is known what it waited for. */
struct wait {
	struct moment call;
	uint32_t rank, site;
	uint32_t open;	       /* messages and parts that are not classified yet */
	bool receives;	       /* it completes receives too */
	uint8_t state;	       /* LATE_SENDER, else LATE_RECEIVER, else LATE_PROGRESS: */
	int64_t late_ns;       /* the longest that a message was late, or a receive, or its receiver inside of MPI */
	struct arrival causer; /* who was that */
	int64_t other_ns;      /* of a late message: something else could have been received */
	struct claim *claim;   /* if that is received one day, or NULL */
	struct poll *poll;     /* before it, or NULL */
	int64_t from_ns;       /* since when it was waited for what it completes: the start of that, or of the call */
	int64_t wait_ns;       /* noted so far */
};

/* Is that longer than what it is known to have waited for, or of a state that counts before? */
static inline bool wait_is_longer(const struct wait *w, uint8_t state, int64_t ns)
{
	return ns > 0 && (w->late_ns == 0 || state < w->state || (state == w->state && ns > w->late_ns));
}

static inline void wait_late(struct wait *w, uint8_t state, int64_t ns, struct arrival causer)
{
	w->state = state;
	w->late_ns = ns;
	w->causer = causer;
}

/* Tests in vain for the same, from the first run to the last. */
struct poll {
	struct moment call; /* of the first run, to the end of the last */
	uint32_t sig;
	uint64_t serials; /* of the lane, by which its requests count */
	int64_t inside_ns;
	struct need *need; /* of the first run, or NULL */
	struct edge *edge; /* that it gets, of the latest sender so far */
};

#define POLLS_MAX 8u /* of a lane that wait for their end; of more the first are forgotten */

/* Was a rank outside of MPI at some time, and which call did it come with next? */
struct coming {
	bool outside, came;
	int64_t left_ns; /* when it was outside at last: from_ns, or the end of what it was in */
	struct moment at;
};

/* A call that completes a send and takes longer than that can. */
struct slow_send {
	struct wait *wait;
	struct need *need; /* or NULL */
	uint32_t rank, peer;
	struct moment call;
	int64_t moves_ns; /* what sending may take */
	struct coming coming;
	uint64_t origin_wait, origin_need; /* of a copy */
};

/* Part of a wait in which another message was on its way: it counts if that is received later in the run. Held by the
 * wait, until that is closed, and by the message. */
struct claim {
	struct claim *next; /* of the message */
	struct moment call;
	struct arrival sender;
	uint32_t rank, site;
	int64_t ns;	       /* 0: it does not count */
	bool received, closed; /* the message; the wait */
};
