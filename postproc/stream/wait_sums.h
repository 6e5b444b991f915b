/* wait_sums.h - time lost in waiting, by Scalasca's definitions (docs/SEMANTICS.md): who waited where, for whom. */
#pragma once

#include "format/waits.h"
#include "postproc/read/step.h"

static inline const char *wait_state_name(enum wait_state state)
{
	return wait_kinds[1 + state].name;
}

/* One state of one rank at one call site (where the rank waited). */
struct wait_row {
	enum wait_state state;
	uint32_t rank;
	uint32_t site; /* or NONE */
	uint64_t count;
	int64_t ns;
	uint32_t causer;			      /* the rank that was waited for longest, or NONE */
	int64_t causer_ns;			      /* and how long in one piece */
	int64_t from_ns, to_ns;			      /* the time in which it happened */
	int64_t worst_ns, worst_from_ns, worst_to_ns; /* the call that waited longest */
};

struct waits {
	VEC(struct wait_row) rows;
	struct index index;
	int64_t *by_rank; /* ns */
	int64_t *caused;  /* ns that others waited for this rank */
	int64_t total_ns[WAIT_STATES];
	int64_t all_ns;
};

/* A call that waited. */
struct wait_case {
	enum wait_state state;
	uint32_t rank, site;
	int64_t start_ns, end_ns; /* of the call */
	int64_t ns;
	uint32_t causer; /* rank or NONE */
};

int waits_begin(struct waits *w, const struct step *s);
void waits_done(struct waits *w);
/* Enter a case. One that is part of another state counts in its row only. 0 or -ENOMEM. */
int waits_note(struct waits *w, const struct wait_case *x, bool part);
/* Add another table: of other ranks. */
int waits_merge(struct waits *into, const struct waits *from, const struct step *s);
