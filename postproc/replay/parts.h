/* parts.h - what load.c, fit.c, change.c and walk.c share of a replay. Private to this room. */
#pragma once

#include "base/index.h"
#include "base/search.h"
#include "base/vec.h"
#include "format/waits.h"
#include "postproc/replay/replay.h"

#define DISTANCES 2u /* in a node, between nodes */
#define NO_DISTANCE DISTANCES
#define SIZE_BINS 48u /* by the binary logarithm of bytes */
#define NO_EVENT UINT32_MAX
#define SITES_KNOWN 4u
#define WALKS 2u /* at the same time: unchanged, and with a change */

/* How members of a collective wait for each other. */
enum gathering { GATHER_NONE, GATHER_ALL, GATHER_FROM_ROOT, GATHER_TO_ROOT };

enum event_flag {
	EVENT_POLLS = 1,   /* tests in vain */
	EVENT_NEEDED = 2,  /* others may need its start */
	EVENT_WAITED = 4,  /* what it needed came after its start */
	EVENT_ENTERS = 8,  /* it is a part of a collective */
	EVENT_BLOCKS = 16, /* and ends with it */
	EVENT_ROOT = 32,   /* of it */
	EVENT_FINALIZE = 64,
	EVENT_INIT = 128,
	EVENT_SYNCHRONOUS = 256, /* a send that ends with its receive, of whatever size */
	EVENT_COMPLETES = 512,	 /* a nonblocking collective */
	EVENT_MEETS = 1024,	 /* and not before all have come to do so */
	EVENT_LOCAL = 2048,	 /* passes no data on: the start of a receive, and what is no communication */
	EVENT_STARTS = 4096,	 /* what another call completes */
};

/* One call. Times are those of the file. */
struct event {
	int64_t start_ns, end_ns;
	uint32_t callsite;
	union {
		uint32_t meeting; /* number, with EVENT_ENTERS */
		uint32_t sends;	  /* without: bytes of its message, as far as 32 bits tell */
	};
	uint32_t bytes; /* that it moves, likewise */
	uint16_t flags;
	uint8_t gathering;
	uint8_t distance; /* of what it sends; NO_DISTANCE: nothing */
};

enum need_kind { NEED_NOTHING, NEED_MESSAGE, NEED_START, NEED_MEETING };

/* What a call needs before it can end. */
struct need {
	uint32_t event, of; /* whose; an event, or a meeting */
	uint32_t bytes;
	uint8_t kind, distance;
	uint8_t gathering; /* of a meeting */
	bool enters;	   /* and it is this call's start that others wait for there */
	bool in_call; /* of a large message: it moved while its receiver was in the call, which came behind its send */
	float transfer_ns; /* of a message: from the start of its send, or of that call, until it is there */
};

/* One collective operation of which parts were recorded; or its completion, where nobody was through before all had
 * come to complete it. */
struct meeting {
	uint32_t comm;
	uint64_t number;
	uint32_t members, entered;
	int64_t last_ns, root_ns; /* recorded starts; INT64_MIN: none */
	double sum_ns;		  /* of recorded starts */
	int64_t out_ns;		  /* of a completion: when the first was through */
	bool everybody;		  /* all lanes are members */
	uint8_t gathering;
	uint32_t root_event;
};

/* A wait that was seen, with its causer. */
struct blame {
	uint32_t event, causer;
	uint32_t state;
	bool needed; /* the call could not end before the causer's began */
	int64_t ns;  /* from the start of the call to that of the causer's, or its own end */
};

/* What a call completes of those that were started before. */
struct completion {
	uint32_t event, meeting;
};

/* Who is at the other end of a large message that a call completes, or of a leaf's part of a collective. */
struct partner {
	uint32_t event, track, bytes;
};

struct base_of_window {
	uint32_t window, first;
};

/* One thread of one rank. */
struct track {
	uint32_t rank, first, n; /* of events */
	int64_t begin_ns;	 /* its computing begins here */
	VEC(struct base_of_window) windows;
};

/* What messages take, by what this run showed. */
struct model {
	double latency_ns[DISTANCES], ns_per_byte[DISTANCES]; /* 0: of no transfer both ends were seen */
	bool messages[DISTANCES], large;		      /* there are some; what a call moves is large */
	/* Sums of what calls took beyond what they needed; row 0: of what completes messages, the last of what sends.
	 * Whoever waited also takes until it notices that it need not any more. */
	struct spent {
		double ns, mean; /* mean: NaN of none */
		uint64_t calls;
	} spent[GATHER_TO_ROOT + 3][SIZE_BINS][2];
};

/* Events of one interval of the run. */
struct interval {
	struct track *tracks;
	uint32_t ntracks;
	uint32_t first_window, end_window;
	struct event *events; /* track by track; some may be of none, and are nothing */
	uint32_t n;
	VEC(struct need) needs; /* by event, ascending; needs_of[e] to needs_of[e + 1] */
	uint32_t *needs_of;
	size_t sorted; /* of needs */
	VEC(struct meeting) meetings;
	struct index meeting_index;
	VEC(struct blame) blames;
	VEC(struct completion) completions;
	VEC(struct partner) partners;
	bool completes_in_order; /* what all ranks complete each does in the same order */
	float *spent_ns;	 /* of each event beyond what it needed */
	int64_t from_ns, to_ns;	 /* of its first and last call; INT64_MAX and INT64_MIN: there is none */
	int64_t recorded_ns;	 /* from one to the other */
};

/* What calls take beyond what they needed: as recorded, or by the model. */
enum way { AS_RECORDED, BY_MODEL, WAYS };

/* How long all intervals take, together. */
struct lengths {
	double ns[WAYS];
	uint64_t given_up, put_off;
};

struct replay {
	struct interval *intervals;
	uint32_t nintervals;
	bool one_node;
	int64_t calls_ns;    /* from the first of all calls that are there to the end of the last */
	int64_t recorded_ns; /* of the whole run, at least that */
	double covered;	     /* share of all calls */
	struct model model;
	double polls_ns, tracks_ns; /* of all tracks: tests in vain that nothing came of; all of their time */
	struct lengths unchanged;   /* 0: not known yet */
	/* Without who is waited for before calls of a site: several issues ask for the same. */
	struct site_lengths {
		uint32_t site;
		struct lengths x;
	} sites[SITES_KNOWN];
	uint32_t nsites;
	struct pool *pool;
	unsigned nthreads;
	struct walk_room { /* for one interval at a time: memory that is new costs as much as a walk over it */
		float *gaps;
		double (*started)[WAYS];
		size_t cap_gaps, cap_started;
	} rooms[WALKS];
};

/* Where intervals are read from: one file, opened as often as threads read it. */
struct replay_from {
	struct mpix_file *const *files;
	unsigned n;	   /* at least 1 */
	struct pool *pool; /* of as many threads; NULL: one */
};

/* share.c: call work(context, i, file, e) for each i below n, once each, whichever file has time; a file is one
 * thread's at a time. What the first i that fails returned, with its text; all before it were done. */
typedef int replay_piece(void *context, uint32_t i, unsigned file, struct error *e);
int replay_share(const struct replay_from *from, uint32_t n, replay_piece *work, void *context, struct error *e);

/* load.c: the events, needs, meetings and blames of windows [first, end). */
int interval_load(const struct replay_from *from, struct interval *v, struct error *e);
void interval_done(struct interval *v);
/* needs.c: one more; all by event, those of one as they are, with v->needs_of; and other things of size bytes that
 * begin with the event they are of, likewise. 0 or -ENOMEM. */
int interval_need(struct interval *v, struct need x);
int interval_sort_needs(struct interval *v);
/* The same of several lists, which become v->needs: counted (those of event e are v->needs_of[e + 1]), then placed. */
struct need_list {
	const struct need *at;
	size_t n;
};
int interval_count_needs(struct interval *v, const struct need_list *lists, size_t nlists);
int interval_place_needs(struct interval *v, const struct need_list *lists, size_t nlists);
int interval_sort_by_event(void *at, size_t n, size_t size);
/* completions.c: what calls that complete collectives need beside the others' starts; when needs are sorted, in which
 * order; and the first that all ranks take part in and need of each other, NULL: none. */
int need_completions(struct interval *v);
int find_order(struct interval *v);
const struct need *completion_of_all(const struct interval *v, uint32_t event);
bool blames_completion(const struct interval *v, const struct blame *b); /* and not who started it */
/* progress.c: what calls need beside all of this, of v->partners. */
int need_progress(struct interval *v);
/* fit.c: what transfers take, from all intervals; then what of each call lies beyond what it needed. */
int model_fit(struct replay *r);
/* change.c: computing before each event with the change; there is room for v->n. 0 or -ENOMEM. */
int change_gaps(const struct interval *v, const struct replay_change *change, float *ret_gaps);
/* nonblocking.c: the interval with change->nonblocking, and of how many calls that changes when they are completed,
 * which is added; the caller is done with it. 0 or -ENOMEM. */
int interval_nonblocking(const struct interval *v, const struct replay_change *change, struct interval *ret_v,
			 uint64_t *ret_calls);
/* walk.c: how long the interval takes either way, ns; given-up calls are added. 0 or -ENOMEM. */
struct walk_how {
	const float *gaps;
	double (*started)[WAYS]; /* room for v->n */
	const struct replay_change *change;
	const struct model *model;
	bool one_node;
};
int interval_walk(const struct interval *v, const struct walk_how *how, double ret_ns[WAYS], uint64_t *ret_given_up);

static inline unsigned size_bin(uint64_t bytes)
{
	unsigned bin = bytes == 0 ? 0 : 64u - (unsigned)__builtin_clzll(bytes);
	return bin < SIZE_BINS ? bin : SIZE_BINS - 1;
}

static inline uint32_t track_of(const struct interval *v, uint32_t event)
{
	return (uint32_t)search_first(0, v->ntracks, k, v->tracks[k].first + v->tracks[k].n <= event);
}

static inline unsigned row_of(const struct event *x)
{
	if ((x->flags & EVENT_BLOCKS) != 0)
		return x->gathering + 1u;
	return x->distance != NO_DISTANCE ? GATHER_TO_ROOT + 2u : 0;
}

/* What a call of this kind and size takes beyond what it needed, on the mean; NaN: there was none. */
static inline double model_spent_ns(const struct model *m, const struct event *x, bool waits)
{
	return m->spent[row_of(x)][size_bin(x->bytes)][waits].mean;
}

/* Computing recorded before event i of a track, ns. */
static inline int64_t gap_before(const struct interval *v, const struct track *t, uint32_t i)
{
	int64_t from = i == 0 ? t->begin_ns : v->events[t->first + i - 1].end_ns;
	int64_t ns = v->events[t->first + i].start_ns - from;
	return ns > 0 ? ns : 0;
}
