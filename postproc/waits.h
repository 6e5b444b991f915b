/* waits.h - time lost in waiting, by Scalasca's definitions (SEMANTICS.md 3). */
#pragma once

#include "postproc/match.h"

enum wait_state {
	LATE_SENDER,
	LATE_SENDER_WRONG_ORDER, /* a part of LATE_SENDER, not counted again in sums */
	LATE_RECEIVER,
	WAIT_AT_BARRIER,
	BARRIER_COMPLETION,
	WAIT_AT_NXN,
	NXN_COMPLETION,
	LATE_BROADCAST,
	EARLY_REDUCE,
	EARLY_SCAN,
	WAIT_STATES
};

extern const char *const wait_state_names[WAIT_STATES];

/* One state of one rank at one call site (where the rank waited). */
struct wait_row {
	enum wait_state state;
	uint32_t rank;
	uint32_t site; /* or NONE */
	uint64_t count;
	int64_t ns;
	uint32_t causer;	/* the rank that was waited for longest, or NONE */
	int64_t causer_ns;	/* and how long in one piece */
	int64_t from_ns, to_ns; /* the time in which it happened */
};

/* Event at of rank waited until event causer_at of rank causer began. */
struct wait_link {
	uint32_t rank, at;
	uint32_t causer, causer_at;
};

struct waits {
	VEC(struct wait_row) rows;
	struct index index;
	VEC(struct wait_link) links; /* ascending (rank, at) after waits_find() */
	int64_t *by_rank;	     /* ns */
	int64_t *caused;	     /* ns that others waited for this rank */
	int64_t total_ns[WAIT_STATES];
	int64_t all_ns;
};

/* Needs aligned times. Also sets event.wait_ns. 0 or -ENOMEM. */
int waits_find(struct step *s, const struct ops *o, const struct matching *m, struct waits *ret_waits);
void waits_done(struct waits *w);

/* waits.c: note that link->rank waited ns in event link->at, because of link->causer (or NONE);
 * nothing if ns <= 0. */
int waits_note(struct waits *w, struct step *s, enum wait_state state, const struct wait_link *link, int64_t ns);
/* Add to a row only: a part of what waits_note() has already noted. */
int waits_note_part(struct waits *w, struct step *s, enum wait_state state, const struct wait_link *link, int64_t ns);
/* waits_p2p.c, waits_coll.c */
int waits_p2p(struct waits *w, struct step *s, const struct ops *o, const struct matching *m);
int waits_coll(struct waits *w, struct step *s, const struct ops *o, const struct matching *m);
