/* loading.h - what load.c and links.c share while an interval is read. Private to them. */
#pragma once

#include "postproc/replay/parts.h"

/* What an operation's name says. */
struct op_what {
	uint16_t flags;
	uint8_t gathering;
	bool started; /* what it begins another call completes */
	bool posts;   /* and it is a receive */
};

/* A call that is a part of a collective operation of which the number is known. */
struct entering {
	uint32_t event, comm;
	uint64_t number;
};

typedef VEC(struct entering) enterings;

struct loading {
	const struct replay_from *from;
	struct interval *v;
	struct op_what *ops;
	uint32_t nops;
	uint32_t *place;  /* of ranks */
	enterings *parts; /* by group, by event */
	uint32_t ngroups;
	uint32_t *bases; /* of groups: where their events have room, and the end of all */
};

/* As many as the index says; where that is more than a chunk may have, reading it fails. */
static inline uint32_t load_records(uint32_t n)
{
	return n < MPIX_CHUNK_RECORDS_MAX ? n : MPIX_CHUNK_RECORDS_MAX;
}

/* links.c: v->needs, v->blames and v->completions, of events that are there. */
int load_needs(const struct loading *l, struct error *e);
